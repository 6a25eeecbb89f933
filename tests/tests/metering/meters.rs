//! One meter of a tenant: its rate and its burst over isolates and regions, large batches, what nobody bounds.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use weir_shared::limits::JSON_INTEGER_MAX;
use weir_shared::wire::check::Reason;
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::workerd::{REGIONS, Setup};

use crate::metering::{
    LONG_MS, acquire, await_left, charge, decide, document, left, meter, offer, refused, start,
    still, still_in_region, take, take_the_rest,
};

/// A single isolate.
fn alone() -> Setup {
    Setup::isolates(&["weur"])
}

fn none() -> Value {
    json!({})
}

/// The source's scenario, over two regions: at 100 a second with a burst of one second, 1,000 units at once admit 100
/// and what flows in meanwhile; a second later as many again. Another tenant gets its 50 of 50.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_units_over_two_regions_admit_the_burst_and_again_a_second_later() {
    let meters = json!({ "results": meter(100.0, 1.0) });
    let workerd = start(Setup::isolates(&["weur", "apac"]), meters, none()).await;
    let clients = workerd.clients().unwrap();
    for round in 0..3 {
        let started = now();
        let offered = clients
            .iter()
            .map(|client| offer(client, "pro:a", "results", 500));
        let other = offer(&clients[round % 2], "pro:b", "results", 50);
        let (admitted, other) = tokio::join!(join_all(offered), other);
        let elapsed = started.elapsed();
        let total: u64 = admitted.iter().sum();
        let bound = 101 + elapsed.as_millis() as u64 / 10;
        println!("round {round}: {admitted:?} in {elapsed:?}, at most {bound}");
        assert!(total >= 100, "{total} of a full bucket of 100");
        assert!(total <= bound, "{total} in {elapsed:?}");
        assert_eq!(other, 50, "the other tenant's are its own");
        tokio::time::sleep(Duration::from_millis(1_600)).await;
    }
}

/// The same at a hundredth of the pace, where the time that the calls take is worth no unit: exactly the burst.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_units_over_two_isolates_of_two_regions_admit_exactly_the_burst() {
    let meters = json!({ "results": meter(0.01, 10_000.0) });
    let setup = Setup::isolates(&["weur", "weur", "apac", "apac"]);
    let workerd = start(setup, meters, none()).await;
    let clients = workerd.clients().unwrap();
    let offered = clients
        .iter()
        .map(|client| offer(client, "pro:a", "results", 250));
    let admitted: Vec<u64> = join_all(offered).await;
    println!("admitted by isolate: {admitted:?}");
    let total: u64 = admitted.iter().sum();
    assert!((100..=101).contains(&total), "{total}");
}

/// A region's own meter bounds that region alone; the deployment's bounds all of them together.
#[tokio::test(flavor = "multi_thread")]
async fn scope_region_bounds_each_region_and_scope_global_all_of_them() {
    let meters = json!({ "mine": still_in_region(30), "ours": still(30) });
    let workerd = start(Setup::three_regions(), meters, none()).await;
    let clients = workerd.clients().unwrap();
    for client in &clients {
        assert_eq!(offer(client, "pro:a", "mine", 60).await, 30);
    }
    let offered = clients
        .iter()
        .map(|client| offer(client, "pro:a", "ours", 60));
    let ours: Vec<u64> = join_all(offered).await;
    assert_eq!(ours.iter().sum::<u64>(), 30, "{ours:?} in {REGIONS:?}");
}

/// A batch of 500 at 100 a second with a burst of one second passes, and blocks through exactly four seconds.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_five_bursts_passes_and_blocks_exactly_until_it_is_paid() {
    let meters = json!({ "results": meter(100.0, 1.0) });
    let workerd = start(alone(), meters, none()).await;
    let client = workerd.client(0).unwrap();
    let sent = now();
    let batch = take(&client, "pro:a", "results", 500).await;
    let received = now();
    assert!(batch.allowed, "{batch:?}");
    let first = take(&client, "pro:a", "results", 1).await;
    let told = now();
    assert_eq!(
        (first.allowed, first.reason),
        (false, Reason::LimitExceeded)
    );
    let retry_ms = first.retry_after_ms.unwrap();
    let passed_ms = told.duration_since(sent).as_millis() as u64;
    assert!(
        (4_000_u64.saturating_sub(passed_ms)..=4_001).contains(&retry_ms),
        "{retry_ms} ms to wait, {passed_ms} ms after the batch"
    );
    let mut denied = 0;
    loop {
        let asked = now();
        let decision = take(&client, "pro:a", "results", 1).await;
        let answered = now();
        if decision.allowed {
            let earliest = answered.duration_since(sent);
            assert!(
                earliest > Duration::from_millis(4_000),
                "passed after {earliest:?}"
            );
            let latest = asked.duration_since(received);
            println!("blocked for {earliest:?} at most, {latest:?} at least; {denied} denials");
            break;
        }
        denied += 1;
        let late = asked.duration_since(received);
        assert!(
            late < Duration::from_millis(4_050),
            "still denied after {late:?}: {decision:?}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(denied >= 3, "it was asked meanwhile");
}

/// A batch beyond burst and debt could never pass, and the answer says what could; anything up to that does.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_beyond_the_largest_debt_is_refused_for_ever_with_the_largest_that_passes() {
    let meters = json!({ "results": meter(100.0, 1.0) });
    let workerd = start(alone(), meters, none()).await;
    let client = workerd.client(0).unwrap();
    for cost in [6_101, 1_000_000, JSON_INTEGER_MAX] {
        let never = take(&client, "pro:a", "results", cost).await;
        assert_eq!(
            (
                never.allowed,
                never.reason,
                never.retry_after_ms,
                never.limit
            ),
            (false, Reason::Never, None, 6_100),
            "{never:?}"
        );
    }
    let largest = take(&client, "pro:a", "results", 6_100).await;
    assert!(largest.allowed, "{largest:?}");
    let after = take(&client, "pro:a", "results", 1).await;
    let retry_ms = after.retry_after_ms.unwrap();
    assert!(
        !after.allowed && (50_000..=60_001).contains(&retry_ms),
        "{after:?}"
    );
}

/// What is unlimited is answered without asking anyone; for one tenant by an override, for all by the meter.
#[tokio::test(flavor = "multi_thread")]
async fn an_unlimited_meter_admits_everything_and_asks_nobody() {
    let meters = json!({ "free": { "per_sec": "unlimited" }, "results": still(5) });
    let override_ = json!({ "meters": { "results": { "per_sec": "unlimited" } } });
    let base = document(meters, none());
    let base = with(
        base,
        "/tenants",
        json!({ "pro:vip": { "overrides": [override_] } }),
    );
    let workerd = alone().witnessed().start().await.unwrap();
    workerd.apply(&base).await.unwrap();
    let (client, witness) = (workerd.client(0).unwrap(), workerd.witness().unwrap());
    let before = witness.seen().await.unwrap();
    for (tenant, meter) in [("pro:a", "free"), ("pro:vip", "results")] {
        for cost in [1, 5, 1_000_000, JSON_INTEGER_MAX] {
            let decision = take(&client, tenant, meter, cost).await;
            assert!(decision.allowed, "{tenant} {meter} {cost}: {decision:?}");
            assert_eq!(decision.retry_after_ms, Some(0));
        }
    }
    let after = witness.seen().await.unwrap();
    for call in ["Coordinator/decide", "Region/decide"] {
        assert_eq!(after.count(call), before.count(call), "{call}");
    }
    assert_eq!(
        take_the_rest(&client, "pro:a", "results", 5).await,
        5,
        "others are bounded"
    );
    assert!(
        after.count("Coordinator/decide")
            < witness.seen().await.unwrap().count("Coordinator/decide")
    );
}

/// A meter in shadow, and a policy that does not enforce: decided and charged, never denying.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_enforced_lets_everything_pass_and_still_counts() {
    let meters = json!({ "shadow": with(still(3), "/shadow", json!(true)), "real": still(3) });
    let guards = json!({ "seen": { "concurrency": 1, "per_minute": "unlimited", "shadow": true } });
    let workerd = start(alone(), meters.clone(), guards.clone()).await;
    let client = workerd.client(0).unwrap();
    for taken in 0..6 {
        let decision = take(&client, "pro:a", "shadow", 1).await;
        assert!(decision.allowed, "{taken}: {decision:?}");
    }
    assert_eq!(left(&client, "pro:a", "shadow").await, 0);
    for _ in 0..3 {
        assert_eq!(acquire(&client, "seen", "pro:a").await.status, 200);
    }
    assert_eq!(take_the_rest(&client, "pro:a", "real", 3).await, 3);
    let lax = with(document(meters, guards), "/enforcing", json!(false));
    workerd.apply(&lax).await.unwrap();
    assert!(take(&client, "pro:a", "real", 1).await.allowed);
    workerd
        .apply(&with(lax, "/enforcing", json!(true)))
        .await
        .unwrap();
    assert!(!take(&client, "pro:a", "real", 1).await.allowed);
}

/// A look charges nothing, wherever it is asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_look_tells_what_is_left_and_charges_nothing() {
    let workerd = start(
        Setup::isolates(&["weur", "apac"]),
        json!({ "m": still(10) }),
        none(),
    )
    .await;
    let clients = workerd.clients().unwrap();
    for client in &clients {
        for _ in 0..20 {
            assert_eq!(left(client, "pro:a", "m").await, 10);
        }
    }
    assert!(take(&clients[0], "pro:a", "m", 4).await.allowed);
    await_left(&clients[1], "pro:a", "m", 6).await;
}

/// A busy tenant within its rate is never denied: 300 calls at four fifths of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_within_its_rate_is_never_denied() {
    let meters = json!({ "results": meter(100.0, 1.0) });
    let workerd = start(Setup::isolates(&["weur", "apac"]), meters, none()).await;
    let clients = workerd.clients().unwrap();
    let started = now();
    let mut next = started;
    for index in 0..300_u32 {
        tokio::time::sleep(next.saturating_duration_since(now())).await;
        // What a slow machine is late for is not caught up, which would be faster than the rate.
        next = next.max(now()) + Duration::from_micros(12_500);
        let decision = take(&clients[index as usize % 2], "pro:a", "results", 1).await;
        assert!(decision.allowed, "{index}: {decision:?}");
    }
    assert!(
        started.elapsed() >= Duration::from_millis(3_700),
        "{LONG_MS}"
    );
}

/// A tenant's state outlives changes of the numbers: nothing that was used comes back by them.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_numbers_gives_nothing_back() {
    let workerd = start(alone(), json!({ "m": still(10) }), none()).await;
    let client = workerd.client(0).unwrap();
    assert!(take(&client, "pro:a", "m", 8).await.allowed);
    workerd
        .apply(&document(json!({ "m": still(20) }), none()))
        .await
        .unwrap();
    await_left(&client, "pro:a", "m", 12).await;
    workerd
        .apply(&document(json!({ "m": still(5) }), none()))
        .await
        .unwrap();
    await_left(&client, "pro:a", "m", 0).await;
    let denied = decide(&client, &charge("pro:a", "m", 1)).await;
    assert!(!denied.allowed, "{denied:?}");
}

/// Guards are of a tenant too: refusals carry the true time, and one tenant's slots are nothing to another.
#[tokio::test(flavor = "multi_thread")]
async fn one_tenants_slots_are_nothing_to_another() {
    let guards =
        json!({ "queries": { "concurrency": 1, "per_minute": "unlimited", "lease_ms": 20_000 } });
    let workerd = start(alone(), none(), guards).await;
    let client = workerd.client(0).unwrap();
    assert_eq!(acquire(&client, "queries", "pro:a").await.status, 200);
    let (_, after_ms) = refused(&acquire(&client, "queries", "pro:a").await);
    assert!((15_000..=20_000).contains(&after_ms), "{after_ms}");
    assert_eq!(acquire(&client, "queries", "pro:b").await.status, 200);
}
