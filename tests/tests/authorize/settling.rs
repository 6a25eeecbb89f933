//! What a request that was let through owes, and the proxy or the application pays.

use std::time::Duration;

use serde_json::{Value, json};
use weir_tests::fixtures::with;
use weir_tests::workerd::Setup;

use crate::authorize::{Door, route};

const SETTLE: &str = "/v1/settle";

#[tokio::test]
async fn a_reservation_is_passed_on_and_settled_to_what_was_used() {
    let cost = json!({ "response_header": "x-tokens-used", "reserve": 300 });
    let checks = json!([{ "budget": "tokens", "cost": cost }]);
    let door = Door::with_routes(json!([route("all", "/*", checks)])).await;
    let settle = async |reservation: &str, actual: u64| {
        let body = json!({ "reservation": reservation, "actual": actual });
        door.settle(SETTLE, &body).await
    };
    let reply = door.ask("/x", "pro:a").await;
    assert_eq!(door.left("pro:a").await, 700);
    let reservation = reply.header("weir-settle").expect("an id").to_owned();
    let settled: Value = settle(&reservation, 30).await.ok().unwrap();
    assert_eq!(settled["refunded"], 270, "{settled}");
    door.admin.await_left("pro:a", "tokens", 970).await;
    // Once, however often it is said: what is refunded again is heard of by then.
    assert_eq!(settle(&reservation, 30).await.status, 200);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(door.left("pro:a").await, 970);
    // What costs more than was reserved is charged, too.
    let reply = door.ask("/x", "pro:a").await;
    let reservation = reply.header("weir-settle").expect("an id").to_owned();
    assert_eq!(settle(&reservation, 400).await.status, 200);
    door.admin.await_left("pro:a", "tokens", 570).await;
    assert_eq!(settle("weir_garbage", 1).await.status, 400);
}

#[tokio::test]
async fn each_check_that_is_settled_has_an_id_of_its_own() {
    let header = json!({ "response_header": "x-tokens-used", "reserve": 300 });
    let bytes = json!({ "body_bytes": { "per": 1_000, "reserve": 64 } });
    let door = Door::with_policy(|document| {
        let budget = document["budgets"]["tokens"].clone();
        let document = with(document, "/budgets/bytes", budget);
        let checks = json!([
            { "budget": "tokens", "cost": header },
            { "budget": "bytes", "cost": bytes }
        ]);
        with(document, "/routes", json!([route("all", "/*", checks)]))
    })
    .await;
    let ids = async |method: &str| {
        let reply = door.send(door.about(method, "/x", "pro:a")).await;
        let ids = reply.header("weir-settle").unwrap_or_default().to_owned();
        ids.split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        ids("GET").await.len(),
        1,
        "a request without a body has no bytes"
    );
    let ids = ids("POST").await;
    assert_eq!(ids.len(), 2, "in the order of the checks");
    for (id, actual) in ids.iter().zip([10, 2]) {
        let body = json!({ "reservation": id, "actual": actual });
        assert_eq!(door.settle(SETTLE, &body).await.status, 200);
    }
    door.admin.await_left("pro:a", "tokens", 690).await;
    door.admin.await_left("pro:a", "bytes", 998).await;
}

#[tokio::test]
async fn a_slot_is_passed_on_and_released() {
    let door = Door::guarded(Setup::isolates(&["weur"])).await;
    let reply = door.ask("/x", "pro:a").await;
    let slot = reply.header("weir-slot").expect("a slot").to_owned();
    assert_eq!(door.ask("/x", "pro:a").await.status, 429);
    let slot = json!({ "slot": slot });
    let released = door.settle("/v1/guards/calls/release", &slot).await;
    assert_eq!(released.status, 200);
    assert_eq!(door.ask("/x", "pro:a").await.status, 200);
}
