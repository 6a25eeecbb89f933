//! Limits, meters and guards of a tier's and of a tenant's own, at every scope that each is kept at.

use reqwest::Method;
use reqwest::header::IF_MATCH;
use serde_json::{Value, json};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::workerd::{Setup, Workerd};

use crate::limits::{LONG_MS, SETTLING, alone, answered, decide, document, fixed};

/// A limit of each tenant's own at every scope, a meter and a guard: 3 for all, 5 for the tier `pro`, 7 for one of its tenants.
async fn deployment(setup: Setup) -> Workerd {
    let scopes = ["isolate", "region", "global"];
    let own = |scope: &str| with(fixed(3, LONG_MS, scope), "/per_tenant", json!(true));
    let limits = scopes.map(|scope| (scope.to_owned(), own(scope)));
    let document = document(Value::Object(limits.into_iter().collect()));
    let changes = |units: u64| {
        let limits = scopes.map(|scope| (scope.to_owned(), json!({ "limit": units })));
        let limits = Value::Object(limits.into_iter().collect());
        json!({ "limits": limits, "guards": { "jobs": { "concurrency": units } } })
    };
    let tier = with(changes(5), "/weight", json!(2));
    let document = with(document, "/tiers/pro", tier);
    let document = with(document, "/tenants", json!({ "pro:big": changes(7) }));
    let guards =
        json!({ "jobs": { "concurrency": 3, "per_minute": "unlimited", "lease_ms": 600_000 } });
    let document = with(document, "/guards", guards);
    let workerd = setup.start().await.expect("workerd starts");
    workerd.apply(&document).await.expect("the policy is saved");
    workerd
}

fn of_limit(limit: &str, tenant: &str) -> Value {
    json!({ "tenant": tenant, "limit": limit, "key": "k" })
}

/// How many of twelve requests are admitted.
async fn admitted(clients: &[Client], question: &Value) -> usize {
    let mut admitted = 0;
    for turn in 0..12 {
        let decision = decide(&clients[turn % clients.len()], question).await;
        admitted += usize::from(decision.allowed);
    }
    admitted
}

#[tokio::test]
async fn each_tenant_has_what_its_tier_and_its_own_entry_say() {
    let workerd = deployment(alone()).await;
    let clients = [workerd.client(0).unwrap()];
    for (tenant, units) in [("stranger", 3), ("pro:any", 5), ("pro:big", 7)] {
        for scope in ["isolate", "region", "global"] {
            let question = of_limit(scope, tenant);
            assert_eq!(
                admitted(&clients, &question).await,
                units,
                "{tenant} {scope}"
            );
        }
        let question = json!({ "tenant": tenant, "guard": "jobs" });
        assert_eq!(admitted(&clients, &question).await, units, "{tenant} guard");
    }
}

/// What is lent over regions is lent by the tenant's own number.
#[tokio::test]
async fn a_tenants_quota_of_the_whole_deployment_holds_over_regions() {
    let workerd = deployment(Setup::isolates(&["weur", "enam"])).await;
    let clients = workerd.clients().unwrap();
    for (tenant, units) in [("stranger", 3), ("pro:any", 5), ("pro:big", 7)] {
        // What a region was lent and does not use comes back in a while: nothing is beyond, and all is to be had.
        let question = of_limit("global", tenant);
        let mut total = admitted(&clients, &question).await;
        let start = now();
        while total < units && start.elapsed() < SETTLING {
            total += admitted(&clients, &question).await;
        }
        assert_eq!(total, units, "{tenant}");
    }
}

#[tokio::test]
async fn a_tenants_own_numbers_are_changed_told_and_taken_back() {
    let workerd = deployment(alone()).await;
    let client = workerd.client(0).unwrap();
    let patch = async |body: Value| -> Value {
        let request = client.request(Method::PATCH, "/operator/v1/tenants/pro:big");
        let request = request.header(IF_MATCH, "*").json(&body);
        answered(&client, &request).await.ok().unwrap()
    };
    let told = |reply: &Value| {
        let limit = reply["effective"]["limits"]["region"]["limit"].clone();
        (limit["value"].clone(), limit["origin"].clone())
    };
    let changed = patch(json!({ "limits": { "region": { "limit": 9 } } })).await;
    assert_eq!(told(&changed), (json!(9), json!("tenant")));
    let question = of_limit("region", "pro:big");
    assert_eq!(admitted(std::slice::from_ref(&client), &question).await, 9);
    let back = patch(json!({ "limits": null })).await;
    assert_eq!(told(&back), (json!(5), json!("tier")));
    let full = decide(&client, &question).await;
    assert!(
        !full.allowed && full.limit == 5,
        "nothing that was used came back: {full:?}"
    );
    let request = client.request(Method::PATCH, "/operator/v1/tenants/pro:big");
    let request = request.header(IF_MATCH, "*");
    let request = request.json(&json!({ "limits": { "region": { "limit": 0 } } }));
    let refused = answered(&client, &request).await.problem().unwrap();
    assert_eq!(
        (refused.status, refused.field.as_deref()),
        (400, Some("/limits/region/limit"))
    );
}
