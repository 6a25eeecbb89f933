//! Slots of guards that an isolate keeps for the next request of a tenant.

use serde_json::json;
use weir_tests::client::Client;
use weir_tests::fixtures::with;
use weir_tests::witness::Witness;
use weir_tests::workerd::Setup;

use crate::gateway::{Gateway, eventually, route};

/// A deployment with a guard of eight slots before its origin.
async fn guarded() -> (Gateway, Witness) {
    let setup = Setup::isolates(&["weur", "weur"]).witnessed();
    let gateway = Gateway::of(setup, |document, origin| {
        let guard = json!({ "concurrency": 8, "per_minute": "unlimited", "lease_ms": 30_000 });
        let document = with(document, "/guards", json!({ "calls": guard }));
        let route = route(origin, json!([{ "guard": "calls" }]));
        with(document, "/routes", json!([route]))
    })
    .await;
    let witness = gateway.workerd.witness().unwrap();
    (gateway, witness)
}

/// How often shards were asked for slots.
async fn asked(witness: &Witness) -> u64 {
    let seen = witness.seen().await.unwrap();
    seen.count("Region/decide") + seen.count("Coordinator/decide")
}

/// Slots that are free, as another isolate hears of its shard.
async fn free(client: &Client) -> u64 {
    let look = json!({ "tenant": "pro:a", "guard": "calls", "cost": 0 });
    client.decide(&look).await.unwrap().decision.remaining
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_follows_another_asks_no_object_for_its_slot() {
    let (gateway, witness) = guarded().await;
    assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
    let first = asked(&witness).await;
    assert!(first > 0, "the first asks");
    // On a busy machine one may come too late for the slot of the one before.
    eventually("a request finds a spare slot", async || {
        let before = asked(&witness).await;
        assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
        asked(&witness).await == before
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_was_spare_is_free_everywhere_after_a_moment() {
    let (gateway, _witness) = guarded().await;
    let other = gateway.workerd.client(1).unwrap();
    for _ in 0..5 {
        assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
    }
    eventually("all eight are free", async || free(&other).await == 8).await;
    assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
}
