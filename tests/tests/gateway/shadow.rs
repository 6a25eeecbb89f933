//! Routes in shadow: decided and counted, never enforced.

use serde_json::json;
use weir_tests::fixtures::with;

use crate::gateway::{Gateway, eventually, route};

#[tokio::test]
async fn a_route_in_shadow_counts_what_it_would_have_denied_and_denies_nothing() {
    let gateway = Gateway::with_policy(|document, origin| {
        let document = with(document, "/budgets/tokens/limit", json!(3));
        let mut route = route(origin, json!([{ "budget": "tokens" }]));
        route["shadow"] = json!(true);
        with(document, "/routes", json!([route]))
    })
    .await;
    for number in 0..8 {
        let reply = gateway.get("/x", "pro:a").await;
        assert_eq!(reply.status, 200, "{number}");
        for header in ["ratelimit", "ratelimit-policy", "retry-after"] {
            assert_eq!(reply.header(header), None, "clients would heed it");
        }
    }
    let nobody = gateway.client.get("/x").await.unwrap();
    assert_eq!(nobody.status, 200, "not even for want of a tenant");
    assert_eq!(gateway.origin.served(), 9);
    let admin = gateway.workerd.client(0).unwrap();
    eventually("both are counted, and nothing was denied", async || {
        let tenants = admin.fairness().await.unwrap().tenants;
        let of_a = tenants.iter().find(|report| report.tenant == "pro:a");
        of_a.is_some_and(|report| {
            let total = &report.total;
            let would = total.would_deny_calls.0;
            (total.admitted_calls.0, total.denied_calls.0, would) == (3, 0, 5)
        })
    })
    .await;
}
