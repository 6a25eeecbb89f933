//! Meters that are charged by an estimate and settled by what was used.

use serde_json::json;
use weir_tests::calls::reserved;
use weir_tests::workerd::Setup;

use crate::metering::{await_left, charge, decide, offer, start, still, still_in_region, take};

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
            let settled = client.settle(&reservation, 12).await.unwrap();
            assert_eq!(
                (settled.actual, settled.refunded, settled.debt),
                (12, 18, 0),
                "{meter}"
            );
        }
        await_left(&clients[0], "pro:a", meter, 88).await;
        let released = decide(&clients[0], &question).await.reservation.unwrap();
        let settled = clients[1].settle(&released, 0).await.unwrap();
        assert_eq!(settled.refunded, 30);
        await_left(&clients[0], "pro:a", meter, 88).await;
        let over = decide(&clients[0], &question).await.reservation.unwrap();
        let settled = clients[1].settle(&over, 40).await.unwrap();
        assert_eq!((settled.refunded, settled.debt), (0, 10));
        await_left(&clients[0], "pro:a", meter, 48).await;
    }
}

/// Several meters of one request, each settled in proportion; units that were drawn ahead come back like any.
#[tokio::test(flavor = "multi_thread")]
async fn several_meters_are_settled_together_and_drawn_units_come_back() {
    // The larger one gains a unit in eight seconds.
    let meters = json!({ "rows": still(1_000), "bytes": still(10_000) });
    let workerd = start(Setup::isolates(&["weur"]), meters, json!({})).await;
    let client = workerd.client(0).unwrap();
    // The isolate draws ahead by now.
    assert_eq!(offer(&client, "pro:a", "rows", 200).await, 200);
    assert!(take(&client, "pro:a", "bytes", 1_000).await.allowed);
    let question = reserved(json!({ "tenant": "pro:a", "meters": { "rows": 10, "bytes": 2_000 } }));
    let decision = decide(&client, &question).await;
    assert!(decision.allowed, "{decision:?}");
    let settled = client
        .settle(&decision.reservation.unwrap(), 500)
        .await
        .unwrap();
    assert_eq!((settled.reserved, settled.refunded), (2_000, 1_500));
    await_left(&client, "pro:a", "bytes", 10_000 - 1_000 - 500).await;
    // A quarter of ten rows, rounded up.
    await_left(&client, "pro:a", "rows", 1_000 - 200 - 3).await;
}
