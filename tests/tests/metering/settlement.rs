//! Meters that are charged by an estimate and settled by what was used.

use std::time::Duration;

use serde_json::json;
use weir_shared::wire::settle::SettledBody;
use weir_tests::calls::reserved;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::workerd::Setup;

use crate::metering::{
    THERE, await_left, charge, decide, offer, start, still, still_in_region, take,
};

/// What is settled, once the holders answer: it can be repeated.
async fn settle(client: &Client, reservation: &str, actual: u64) -> SettledBody {
    let start = now();
    loop {
        match client.settle(reservation, actual).await {
            Ok(settled) => return settled,
            Err(error) => assert!(start.elapsed() < THERE, "{error:#}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Charged in one region and settled from another: what was not used comes back once, to the shard that has it.
#[tokio::test(flavor = "multi_thread")]
async fn a_meter_is_settled_from_any_region_where_it_was_charged() {
    let meters = json!({ "ours": still(100), "mine": still_in_region(100) });
    let workerd = start(Setup::isolates(&["weur", "apac"]), meters, json!({})).await;
    let clients = workerd.clients().unwrap();
    for meter in ["ours", "mine"] {
        let question = reserved(charge("pro:a", meter, 30));
        let reservation = decide(&clients[0], &question)
            .await
            .reservation
            .expect("a reservation");
        await_left(&clients[0], "pro:a", meter, 70).await;
        for client in clients.iter().rev() {
            let settled = settle(client, &reservation, 12).await;
            assert_eq!(
                (settled.actual, settled.refunded, settled.debt),
                (12, 18, 0),
                "{meter}"
            );
        }
        await_left(&clients[0], "pro:a", meter, 88).await;
        let released = decide(&clients[0], &question).await.reservation.unwrap();
        let settled = settle(&clients[1], &released, 0).await;
        assert_eq!(settled.refunded, 30);
        await_left(&clients[0], "pro:a", meter, 88).await;
        let over = decide(&clients[0], &question).await.reservation.unwrap();
        let settled = settle(&clients[1], &over, 40).await;
        assert_eq!((settled.refunded, settled.debt), (0, 10));
        await_left(&clients[0], "pro:a", meter, 48).await;
    }
}

/// Several meters of one request, each settled in proportion; units that were drawn ahead come back like any.
#[tokio::test(flavor = "multi_thread")]
async fn several_meters_are_settled_together_and_drawn_units_come_back() {
    // Each gains a unit in 80 seconds.
    let meters = json!({ "rows": still(1_000), "bytes": still(1_000) });
    let workerd = start(Setup::isolates(&["weur"]), meters, json!({})).await;
    let client = workerd.client(0).unwrap();
    // The isolate draws ahead by now.
    assert_eq!(offer(&client, "pro:a", "rows", 200).await, 200);
    assert!(take(&client, "pro:a", "bytes", 100).await.allowed);
    let question = reserved(json!({ "tenant": "pro:a", "meters": { "rows": 10, "bytes": 200 } }));
    let decision = decide(&client, &question).await;
    assert!(decision.allowed, "{decision:?}");
    let settled = settle(&client, &decision.reservation.unwrap(), 50).await;
    assert_eq!((settled.reserved, settled.refunded), (200, 150));
    await_left(&client, "pro:a", "bytes", 1_000 - 100 - 50).await;
    // A quarter of ten rows, rounded up.
    await_left(&client, "pro:a", "rows", 1_000 - 200 - 3).await;
}
