//! Slots of guards, held for as long as an answer lasts.

use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::json;
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::workerd::Setup;

use crate::gateway::{Gateway, LEASE_MS, LONG_LEASE_MS, eventually, route};

/// A deployment with a guard of two slots, which lapse after so long.
async fn guarded(lease_ms: u64) -> Gateway {
    Gateway::of(Setup::isolates(&["weur", "weur"]), |document, origin| {
        let guard = json!({ "concurrency": 2, "per_minute": "unlimited", "lease_ms": lease_ms });
        let document = with(document, "/guards", json!({ "calls": guard }));
        let route = route(origin, json!([{ "guard": "calls" }]));
        with(document, "/routes", json!([route]))
    })
    .await
}

async fn hold(gateway: &Gateway, tenant: &str) -> Response {
    let request = gateway.request(Method::GET, "/hold", tenant);
    let mut reply = gateway.begin(request).await;
    assert_eq!(reply.status(), 200);
    reply.chunk().await.unwrap().expect("the first bytes");
    reply
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_is_held_while_an_answer_streams_and_free_when_it_ends() {
    let gateway = guarded(LEASE_MS).await;
    let held = [hold(&gateway, "pro:a").await, hold(&gateway, "pro:a").await];
    // Two leases long: without a renewal both would have lapsed.
    let start = now();
    while start.elapsed() < Duration::from_millis(2 * LEASE_MS + 500) {
        tokio::time::sleep(Duration::from_millis(250)).await;
        let denied = gateway.get("/x", "pro:a").await;
        assert_eq!(denied.status, 429, "{}", denied.text());
    }
    let problem = gateway.get("/x", "pro:a").await.problem().unwrap();
    assert!(problem.retry_after_ms.is_some(), "{problem:?}");
    let other = gateway.workerd.client(1).unwrap().anonymous();
    let elsewhere = other.request(Method::GET, "/x").header("x-tenant", "pro:a");
    assert_eq!(
        gateway.send(elsewhere).await.status,
        429,
        "in every isolate"
    );
    assert_eq!(
        gateway.get("/x", "pro:b").await.status,
        200,
        "each tenant its own"
    );

    gateway.origin.let_go();
    for mut reply in held {
        while reply.chunk().await.unwrap().is_some() {}
    }
    eventually("both slots come back", async || {
        gateway.get("/x", "pro:a").await.status == 200
    })
    .await;
    let most = gateway.origin.in_flight_max();
    assert_eq!(most, 3, "two of one tenant and one of the other");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_is_given_back_serves_the_next_at_once() {
    let gateway = guarded(LONG_LEASE_MS).await;
    for number in 0..20 {
        let reply = gateway.get("/x", "pro:a").await;
        if reply.status == 200 {
            continue;
        }
        // The release of the one before may still be on its way.
        eventually(&format!("request {number} passes"), async || {
            gateway.get("/x", "pro:a").await.status == 200
        })
        .await;
    }
}
