//! A tenant's token is for that tenant, a service's for those whose names begin as it is told.

use serde_json::{Value, json};
use weir_shared::wire::role::Role;
use weir_tests::client::Client;
use weir_tests::fixtures::{BUDGET, LIMIT};
use weir_tests::workerd::{Setup, Workerd};

use crate::security::{
    BATCH, CHECK, FAIRNESS, GUARD, SETTLE, by_prefix, employ, got, of_tenant, policy, posted,
    request, reserved,
};

async fn deployment() -> (Workerd, Client) {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    workerd.apply(&policy()).await.unwrap();
    let root = workerd.client(0).unwrap();
    (workerd, root)
}

fn charge(tenant: &str, cost: u64) -> Value {
    json!({ "tenant": tenant, "budget": BUDGET, "cost": cost })
}

/// What is left of the budget.
async fn left(client: &Client) -> u64 {
    let looked = client.check_budget_once_there("acme", BUDGET, 0).await;
    looked.decision.remaining
}

#[tokio::test]
async fn a_tenant_decides_for_itself_and_for_nobody_else() {
    let (_workerd, root) = deployment().await;
    let (acme, _) = employ(&root, &of_tenant("acme")).await;
    let own = posted(&acme, CHECK, &charge("acme", 1)).await;
    assert_eq!(own.status, 200, "{}", own.text());
    // Without a name it is its own.
    let unnamed = json!({ "budget": BUDGET, "cost": 1 });
    assert_eq!(posted(&acme, CHECK, &unnamed).await.status, 200);

    let before = left(&root).await;
    for other in ["globex", "acme2", "Acme", "acm", " acme", "acme "] {
        let refused = posted(&acme, CHECK, &charge(other, 1)).await;
        assert_eq!(refused.status, 403, "{other:?}: {}", refused.text());
        assert_eq!(refused.problem().unwrap().field.as_deref(), Some("/tenant"));
        let shared = json!({ "tenant": other, "limit": LIMIT, "key": "k" });
        let refused = posted(&acme, CHECK, &shared).await;
        assert_eq!(refused.status, 403, "{other:?}");
        let place = json!({ "tenant": other, "limit": "shape", "key": "k" });
        let refused = posted(&acme, "/v1/reserve", &place).await;
        assert_eq!(refused.status, 403, "{other:?}");
        let slot = json!({ "tenant": other });
        let path = format!("/v1/guards/{GUARD}/acquire");
        let refused = posted(&acme, &path, &slot).await;
        assert_eq!(refused.status, 403, "{other:?}");
    }
    let mixed = json!({ "requests": [charge("acme", 1), charge("globex", 1)] });
    let refused = posted(&acme, BATCH, &mixed).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert_eq!(
        refused.problem().unwrap().field.as_deref(),
        Some("/requests/1/tenant")
    );
    assert_eq!(
        left(&root).await,
        before,
        "what was refused charged nothing"
    );
}

#[tokio::test]
async fn a_tenant_reads_its_own_accounting_and_nobody_elses() {
    let (_workerd, root) = deployment().await;
    let (acme, _) = employ(&root, &of_tenant("acme")).await;
    for tenant in ["acme", "globex"] {
        assert_eq!(posted(&root, CHECK, &charge(tenant, 1)).await.status, 200);
    }
    for path in ["/v1/fairness", "/v1/fairness?tenant=acme"] {
        let own = got(&acme, path).await;
        assert_eq!(own.status, 200, "{path}: {}", own.text());
        assert!(!own.text().contains("globex"), "{}", own.text());
    }
    for path in [
        "/v1/fairness?tenant=globex",
        "/v1/fairness?tenant=acme%20",
        FAIRNESS,
        "/operator/v1/tenants",
        "/operator/v1/tenants/acme",
        "/operator/v1/audit",
        "/operator/v1/series?tenant=acme",
        "/metrics",
    ] {
        let refused = got(&acme, path).await;
        assert_eq!(refused.status, 403, "{path}: {}", refused.text());
        assert!(
            !refused.text().contains("globex"),
            "{path}: {}",
            refused.text()
        );
    }
    let named = got(&root, "/v1/fairness?tenant=globex").await;
    assert_eq!(named.status, 200, "{}", named.text());
}

#[tokio::test]
async fn a_tenant_settles_and_frees_what_is_its_own_only() {
    let (_workerd, root) = deployment().await;
    let (acme, _) = employ(&root, &of_tenant("acme")).await;
    let (globex, _) = employ(&root, &of_tenant("globex")).await;
    let asked = json!({ "budget": BUDGET, "cost": 100, "reserve": true });
    let reservation = reserved(&acme, &asked).await;
    let settlement = json!({ "reservation": reservation, "actual": 0 });
    let refused = posted(&globex, SETTLE, &settlement).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    let settled = posted(&acme, SETTLE, &settlement).await;
    assert_eq!(settled.status, 200, "{}", settled.text());

    let at = |action: &str| format!("/v1/guards/{GUARD}/{action}");
    let taken = posted(&acme, &at("acquire"), &json!({})).await;
    let taken: Value = taken.ok().unwrap();
    let slot = json!({ "slot": taken["slot"] });
    for action in ["renew", "release"] {
        let refused = posted(&globex, &at(action), &slot).await;
        assert_eq!(refused.status, 403, "{action}: {}", refused.text());
    }
    for action in ["renew", "release"] {
        let own = posted(&acme, &at(action), &slot).await;
        assert_eq!(own.status, 200, "{action}: {}", own.text());
    }
}

#[tokio::test]
async fn a_service_decides_for_any_tenant_or_for_those_of_its_prefix() {
    let (_workerd, root) = deployment().await;
    let (service, _) = employ(&root, &request("service", Role::Service)).await;
    let (bound, _) = employ(&root, &by_prefix("free:eu-")).await;
    let unnamed = json!({ "limit": LIMIT, "key": "k" });
    for tenant in ["acme", "free:eu-1", "free:us-1"] {
        let reply = posted(&service, CHECK, &charge(tenant, 1)).await;
        assert_eq!(reply.status, 200);
    }
    assert_eq!(posted(&service, CHECK, &unnamed).await.status, 200);
    for (tenant, status) in [
        ("free:eu-1", 200),
        ("free:eu-", 200),
        ("free:eu", 403),
        ("free:us-1", 403),
        ("xfree:eu-1", 403),
        ("acme", 403),
    ] {
        let reply = posted(&bound, CHECK, &charge(tenant, 1)).await;
        assert_eq!(reply.status, status, "{tenant}: {}", reply.text());
    }
    let refused = posted(&bound, CHECK, &unnamed).await;
    assert_eq!(
        refused.status,
        403,
        "it has to name one: {}",
        refused.text()
    );
}

#[tokio::test]
async fn a_viewer_and_an_editor_decide_nothing() {
    let (_workerd, root) = deployment().await;
    let before = left(&root).await;
    for role in [Role::Viewer, Role::Editor] {
        let (client, _) = employ(&root, &request(role.name(), role)).await;
        for (path, body) in [
            (CHECK, charge("acme", 1)),
            (BATCH, json!({ "requests": [charge("acme", 1)] })),
            ("/v1/guards/queries/acquire", json!({ "tenant": "acme" })),
        ] {
            let refused = posted(&client, path, &body).await;
            assert_eq!(refused.status, 403, "{role:?} {path}: {}", refused.text());
        }
    }
    assert_eq!(left(&root).await, before);
}
