//! SIGKILL: what was admitted stays charged, what was lent stays lent, whoever dies.

use std::time::Duration;

use serde_json::json;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::workerd::Setup;

use crate::metering::{acquire, acquired, charge, left, meter, release, start, still, take};

/// Units are drawn ahead in two regions while the process dies, again and again.
#[tokio::test(flavor = "multi_thread")]
async fn no_meter_is_lifted_by_a_death_of_who_keeps_it() {
    const BOUND: u64 = 150;
    let meters = json!({ "ours": still(BOUND), "mine": crate::metering::still_in_region(BOUND) });
    let mut workerd = start(Setup::isolates(&["weur", "apac"]), meters, json!({})).await;
    let clients = workerd.clients().unwrap();
    let running: Vec<_> = ["ours", "mine"]
        .into_iter()
        .flat_map(|meter| clients.iter().map(move |client| (meter, client.clone())))
        .map(|(meter, client)| tokio::spawn(send(client, meter)))
        .collect();
    for after_ms in [300, 200, 400] {
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        workerd.restart().await.expect("workerd comes back");
    }
    let mut admitted = Vec::new();
    for one in running {
        admitted.push(one.await.unwrap());
    }
    println!(
        "ours by region {:?}, mine {:?} of {BOUND}",
        &admitted[..2],
        &admitted[2..]
    );
    let ours: u64 = admitted[..2].iter().sum();
    assert!(ours > 0 && ours <= BOUND, "{ours}");
    for mine in &admitted[2..] {
        assert!(*mine > 0 && *mine <= BOUND, "{mine}");
    }
    for meter in ["ours", "mine"] {
        assert!(left(&clients[0], "pro:a", meter).await <= BOUND - admitted[0].min(admitted[2]));
    }
}

/// Asks for five seconds; how many were admitted. What was lost may have been charged, and was not admitted.
async fn send(client: Client, meter: &'static str) -> u64 {
    let started = now();
    let mut admitted = 0;
    while started.elapsed() < Duration::from_secs(5) {
        match client.decide(&charge("pro:a", meter, 1)).await {
            Ok(checked) => admitted += u64::from(checked.decision.allowed),
            Err(_) => tokio::time::sleep(Duration::from_millis(25)).await,
        }
    }
    admitted
}

/// A debt is durable before the batch passes: a death forgives none of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_debt_outlives_the_death_of_who_keeps_it() {
    let meters = json!({ "results": meter(100.0, 1.0) });
    let mut workerd = start(Setup::isolates(&["weur"]), meters, json!({})).await;
    let client = workerd.client(0).unwrap();
    let sent = now();
    assert!(take(&client, "pro:a", "results", 1_600).await.allowed);
    workerd.restart().await.unwrap();
    let denied = take(&client, "pro:a", "results", 1).await;
    let passed_ms = sent.elapsed().as_millis() as u64;
    assert!(!denied.allowed, "{denied:?}");
    let retry_ms = denied.retry_after_ms.unwrap();
    assert!(
        retry_ms <= 15_001 && retry_ms + passed_ms >= 15_000,
        "{retry_ms} after {passed_ms}"
    );
}

/// Slots are durable too: after a death as many are taken as before, and their texts release them.
#[tokio::test(flavor = "multi_thread")]
async fn slots_outlive_the_death_of_who_keeps_them_and_are_released_by_their_texts() {
    let guards =
        json!({ "queries": { "concurrency": 3, "per_minute": "unlimited", "lease_ms": 120_000 } });
    let mut workerd = start(Setup::isolates(&["weur", "apac"]), json!({}), guards).await;
    let clients = workerd.clients().unwrap();
    let slots = [
        acquired(&clients[0], "queries", "pro:a").await.slot,
        acquired(&clients[1], "queries", "pro:a").await.slot,
    ];
    workerd.restart().await.unwrap();
    let third = acquired(&clients[1], "queries", "pro:a").await.slot;
    assert_eq!(acquire(&clients[0], "queries", "pro:a").await.status, 429);
    workerd.restart().await.unwrap();
    assert_eq!(acquire(&clients[0], "queries", "pro:a").await.status, 429);
    for slot in slots.iter().chain([&third]) {
        assert!(!release(&clients[0], "queries", slot).await.held);
        assert_eq!(acquire(&clients[1], "queries", "pro:a").await.status, 200);
    }
    assert_eq!(acquire(&clients[1], "queries", "pro:a").await.status, 429);
}
