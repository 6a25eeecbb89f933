//! Who shares a limit: an isolate, a region, the whole deployment; a key, a tenant.

use serde_json::json;
use weir_shared::ordered::OrderedSet;
use weir_shared::wire::check::Reason;
use weir_tests::calls::charge;
use weir_tests::workerd::Setup;

use crate::limits::{
    LONG_MS, admitted, alone, await_allowed, decide, fixed, left, start, still, storm, take,
};

const BOUND: u64 = 12;

#[tokio::test]
async fn a_scope_is_who_shares_a_key() {
    let limits = json!({
        "isolate": fixed(BOUND, LONG_MS, "isolate"),
        "region": fixed(BOUND, LONG_MS, "region"),
        "global": fixed(BOUND, LONG_MS, "global"),
    });
    let workerd = start(Setup::isolates(&["wnam", "weur", "weur"]), limits).await;
    let clients = workerd.clients().unwrap();
    for client in &clients {
        assert!(
            take(client, "isolate", "k", BOUND).await.allowed,
            "each isolate has its own"
        );
        assert!(!take(client, "isolate", "k", 1).await.allowed);
    }
    for client in &clients[..2] {
        assert!(
            take(client, "region", "k", BOUND - 1).await.allowed,
            "each region has its own"
        );
    }
    assert!(
        !take(&clients[2], "region", "k", 2).await.allowed,
        "isolates of a region share"
    );
    assert!(take(&clients[2], "region", "k", 1).await.allowed);
    assert!(!take(&clients[1], "region", "k", 1).await.allowed);

    assert!(take(&clients[0], "global", "k", BOUND - 2).await.allowed);
    let over = take(&clients[1], "global", "k", 3).await;
    assert!(!over.allowed, "the whole deployment shares: {over:?}");
    let rest = await_allowed(&clients[1], &charge("global", "k", 2)).await;
    assert!(
        rest.window.is_some(),
        "a window that every holder names alike"
    );
    for client in &clients {
        let denied = take(client, "global", "k", 1).await;
        assert_eq!(
            (denied.allowed, denied.reason),
            (false, Reason::LimitExceeded)
        );
    }
}

#[tokio::test]
async fn keys_are_independent_at_every_scope() {
    let limits = json!({
        "isolate": fixed(BOUND, LONG_MS, "isolate"),
        "region": fixed(BOUND, LONG_MS, "region"),
        "global": fixed(BOUND, LONG_MS, "global"),
        "global_too": fixed(BOUND, LONG_MS, "global"),
    });
    let workerd = start(alone(), limits).await;
    let client = workerd.client(0).unwrap();
    for limit in ["isolate", "region", "global", "global_too"] {
        // Two keys that differ in one byte, in case, and in what would be a separator.
        for key in ["k", "K", "k ", "k/1", "weur/keys/0", "k.g1", "é", "tokens"] {
            assert_eq!(left(&client, limit, key).await, BOUND, "{limit} {key}");
            assert!(
                take(&client, limit, key, BOUND).await.allowed,
                "{limit} {key}"
            );
            assert!(!take(&client, limit, key, 1).await.allowed, "{limit} {key}");
        }
    }
}

#[tokio::test]
async fn each_tenant_has_its_own_keys_where_the_policy_says_so() {
    let limits = json!({
        "isolate": { "algorithm": "fixed_window", "limit": 3, "window_ms": LONG_MS, "scope": "isolate", "per_tenant": true },
        "region": { "algorithm": "fixed_window", "limit": 3, "window_ms": LONG_MS, "scope": "region", "per_tenant": true },
        "global": { "algorithm": "fixed_window", "limit": 3, "window_ms": LONG_MS, "scope": "global", "per_tenant": true },
        "shared": still(3),
    });
    let workerd = start(alone(), limits).await;
    let client = workerd.client(0).unwrap();
    let of = |tenant: &str, limit: &str, key: &str, cost: u64| json!({ "tenant": tenant, "limit": limit, "key": key, "cost": cost });
    for limit in ["isolate", "region", "global"] {
        // A key may look like another tenant's.
        for (tenant, key) in [
            ("pro:a", "k"),
            ("pro:b", "k"),
            ("pro:a", "j"),
            ("pro", "a:k"),
        ] {
            assert!(
                decide(&client, &of(tenant, limit, key, 3)).await.allowed,
                "{limit}: {tenant} {key}"
            );
            assert!(
                !decide(&client, &of(tenant, limit, key, 1)).await.allowed,
                "{limit}: {tenant} {key}"
            );
        }
    }
    assert!(
        decide(&client, &of("pro:a", "shared", "k", 3))
            .await
            .allowed
    );
    assert!(
        !decide(&client, &of("pro:b", "shared", "k", 1))
            .await
            .allowed,
        "all tenants share the key"
    );
    let nobody = client
        .post("/v1/check", &charge("region", "k", 1))
        .await
        .unwrap();
    let problem = nobody.problem().unwrap();
    assert_eq!(
        (problem.status, problem.field.as_deref()),
        (400, Some("/tenant"))
    );
}

/// A quota of the whole deployment, by key, that starts anew with each of its periods.
#[tokio::test]
async fn a_global_quota_bounds_every_region_by_key() {
    let cycle = json!({ "algorithm": "quota", "limit": 40, "cadence": "fixed", "period_ms": LONG_MS, "anchor": 1_000, "scope": "global" });
    let workerd = start(Setup::three_regions(), json!({ "cycle": cycle })).await;
    let clients = workerd.clients().unwrap();
    for key in ["acme", "globex"] {
        let first = storm(&clients, 120, |_| charge("cycle", key, 1)).await;
        assert!(
            admitted(&first) <= 40,
            "{key}: {} admitted",
            admitted(&first)
        );
        let passed = first.iter().filter(|decision| decision.allowed);
        let mut labels: OrderedSet<_> = passed.map(|decision| decision.window).collect();
        let mut all = admitted(&first);
        // What one region was lent and does not need goes to the others.
        for client in &clients {
            while all < 40 {
                let one = take(client, "cycle", key, 1).await;
                if !one.allowed {
                    break;
                }
                labels.insert(one.window);
                all += 1;
            }
        }
        while all < 40 {
            let one = await_allowed(&clients[0], &charge("cycle", key, 1)).await;
            labels.insert(one.window);
            all += 1;
        }
        assert_eq!(labels.len(), 1, "{key}: one window: {labels:?}");
        for client in &clients {
            assert!(
                !take(client, "cycle", key, 1).await.allowed,
                "{key}: the quota is used"
            );
        }
    }
}
