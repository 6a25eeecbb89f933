//! Parts of Weir out of reach while requests pass the gateway.

use reqwest::Method;
use serde_json::json;
use weir_tests::fixtures::with;
use weir_tests::witness::Fault;
use weir_tests::workerd::Setup;

use crate::gateway::{Gateway, TENANT, eventually, route};

/// A deployment with a witness, a guard of one slot for `/strict`, and one that is lenient for everything else.
async fn watched() -> Gateway {
    let setup = Setup::isolates(&["weur"]).witnessed();
    Gateway::of(setup, |document, origin| {
        let guard = json!({ "concurrency": 1, "per_minute": "unlimited", "lease_ms": 60_000 });
        let lenient = with(guard.clone(), "/on_unavailable", json!("allow"));
        let document = with(
            document,
            "/guards",
            json!({ "strict": guard, "lenient": lenient }),
        );
        let mut strict = route(origin, json!([{ "guard": "strict" }]));
        strict["name"] = json!("strict");
        strict["path"] = json!("/strict");
        let rest = route(origin, json!([{ "guard": "lenient" }]));
        with(document, "/routes", json!([strict, rest]))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_decided_is_503_or_passes_as_the_policy_says() {
    let gateway = watched().await;
    let witness = gateway.workerd.witness().unwrap();
    let refuse = witness.fault("Coordinator/decide", Fault::Refuse, 1_000_000);
    refuse.await.unwrap();
    let request = gateway.request(Method::GET, "/strict", "pro:a");
    let refused = gateway.send_once(request).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    let problem = refused.problem().unwrap();
    let reduced = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
    assert_eq!(problem.kind, reduced);
    assert!(refused.header("retry-after").is_some(), "{problem:?}");
    assert_eq!(gateway.origin.served(), 0);
    assert_eq!(gateway.get("/rest", "pro:a").await.status, 200);
    witness.calm().await.unwrap();
    assert_eq!(gateway.get("/strict", "pro:a").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_is_lost_is_repeated() {
    let gateway = watched().await;
    let witness = gateway.workerd.witness().unwrap();
    assert_eq!(gateway.get("/warm", "pro:a").await.status, 200);
    for kind in [Fault::Refuse, Fault::Lose] {
        witness.fault("Coordinator/guard", kind, 1).await.unwrap();
        let tenant = format!("pro:{kind:?}");
        let request = gateway.client.request(Method::GET, "/strict");
        let reply = gateway.send(request.header(TENANT, &tenant)).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        eventually("the only slot is free again", async || {
            gateway.get("/strict", &tenant).await.status == 200
        })
        .await;
        assert!(witness.seen().await.unwrap().struck >= 1, "{kind:?}");
    }
}
