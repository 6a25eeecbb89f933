//! SIGKILL: what was admitted stays charged, what was lent stays lent, whoever dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::workerd::Setup;

use crate::metering::{
    acquire, acquired, charge, left, meter, release, restart, start, still, still_in_region, take,
};

/// Units are drawn ahead in two regions while the process dies, again and again.
#[tokio::test(flavor = "multi_thread")]
async fn no_meter_is_lifted_by_a_death_of_who_keeps_it() {
    const BOUND: u64 = 150;
    let meters = json!({ "ours": still(BOUND), "mine": still_in_region(BOUND) });
    let mut workerd = start(Setup::isolates(&["weur", "apac"]), meters, json!({})).await;
    let clients = workerd.clients().unwrap();
    let counters: [Arc<AtomicU64>; 4] = Default::default();
    let counted = || {
        let each = counters.iter();
        each.map(|one| one.load(Ordering::Relaxed))
            .collect::<Vec<_>>()
    };
    let stop = Arc::<AtomicBool>::default();
    let running: Vec<_> = ["ours", "mine"]
        .into_iter()
        .flat_map(|meter| clients.iter().map(move |client| (meter, client.clone())))
        .zip(&counters)
        .map(|((meter, client), admitted)| {
            let (admitted, stop) = (Arc::clone(admitted), Arc::clone(&stop));
            tokio::spawn(send(client, meter, admitted, stop))
        })
        .collect();
    for after_ms in [300, 200, 400] {
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        restart(&mut workerd).await;
    }
    // Long enough to bring more than the bounds, and until something was admitted on a slow machine.
    let restarted = now();
    let some = |admitted: &[u64]| {
        admitted[..2].iter().sum::<u64>() > 0 && admitted[2..].iter().all(|mine| *mine > 0)
    };
    tokio::time::sleep(Duration::from_secs(4)).await;
    while !some(&counted()) && restarted.elapsed() < Duration::from_secs(20) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stop.store(true, Ordering::Relaxed);
    for one in running {
        one.await.unwrap();
    }
    let admitted = counted();
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

/// Asks until it is stopped, and counts what was admitted. What was lost may have been charged, and was not admitted.
async fn send(
    client: Client,
    meter: &'static str,
    admitted: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
) {
    while !stop.load(Ordering::Relaxed) {
        match client.decide(&charge("pro:a", meter, 1)).await {
            Ok(checked) => {
                admitted.fetch_add(u64::from(checked.decision.allowed), Ordering::Relaxed);
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(25)).await,
        }
    }
}

/// A debt is durable before the batch passes: a death forgives none of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_debt_outlives_the_death_of_who_keeps_it() {
    let meters = json!({ "results": meter(100.0, 1.0) });
    let mut workerd = start(Setup::isolates(&["weur"]), meters, json!({})).await;
    let client = workerd.client(0).unwrap();
    let sent = now();
    assert!(take(&client, "pro:a", "results", 6_000).await.allowed);
    restart(&mut workerd).await;
    let denied = take(&client, "pro:a", "results", 1).await;
    let passed_ms = sent.elapsed().as_millis() as u64;
    assert!(!denied.allowed, "{denied:?}");
    let retry_ms = denied.retry_after_ms.unwrap();
    assert!(
        retry_ms <= 59_001 && retry_ms + passed_ms >= 59_000,
        "{retry_ms} after {passed_ms}"
    );
}

/// Slots are durable too: after a death as many are taken as before, and their texts release them.
#[tokio::test(flavor = "multi_thread")]
async fn slots_outlive_the_death_of_who_keeps_them_and_are_released_by_their_texts() {
    let guards =
        json!({ "queries": { "concurrency": 3, "per_minute": "unlimited", "lease_ms": 600_000 } });
    let mut workerd = start(Setup::isolates(&["weur", "apac"]), json!({}), guards).await;
    let clients = workerd.clients().unwrap();
    let slots = [
        acquired(&clients[0], "queries", "pro:a").await.slot,
        acquired(&clients[1], "queries", "pro:a").await.slot,
    ];
    restart(&mut workerd).await;
    let third = acquired(&clients[1], "queries", "pro:a").await.slot;
    assert_eq!(acquire(&clients[0], "queries", "pro:a").await.status, 429);
    restart(&mut workerd).await;
    assert_eq!(acquire(&clients[0], "queries", "pro:a").await.status, 429);
    for slot in slots.iter().chain([&third]) {
        assert!(!release(&clients[0], "queries", slot).await.held);
        assert_eq!(acquire(&clients[1], "queries", "pro:a").await.status, 200);
    }
    assert_eq!(acquire(&clients[1], "queries", "pro:a").await.status, 429);
}
