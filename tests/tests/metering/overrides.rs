//! Overrides that start and end by time, while everything runs.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::client::Client;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::with;
use weir_tests::within;
use weir_tests::workerd::{Setup, Workerd};

use crate::metering::{LONG_MS, acquire, document, left, meter, still, take};

/// In force everywhere within a second, and half as long again for a busy machine.
const LATE: Duration = Duration::from_millis(1_500);

/// A dozen calls take at most so many times what saving a policy takes.
const SET_UP: u64 = 4;

/// Puts an override of `changes` into force for a tenant that starts and ends soon, and tells both times.
async fn soon(workerd: &Workerd, base: Value, changes: Value) -> (u64, u64) {
    let start = now();
    workerd.apply(&base).await.unwrap();
    let applied_ms = start.elapsed().as_millis() as u64;
    let starts_at = epoch_ms() + (SET_UP * applied_ms).max(8_000);
    let expires_at = starts_at + (SET_UP * applied_ms).max(8_000);
    let mut override_ = changes;
    override_["starts_at"] = json!(starts_at);
    override_["expires_at"] = json!(expires_at);
    let tenants = json!({ "pro:vip": { "overrides": [override_] } });
    workerd
        .apply(&with(base, "/tenants", tenants))
        .await
        .unwrap();
    (starts_at, expires_at)
}

/// Waits until something is so; fails if that comes before the time that it is due, or too late.
async fn from(due_ms: u64, mut is: impl AsyncFnMut() -> bool) {
    while epoch_ms() < due_ms {
        if is().await {
            // The clock of the machine is read by both.
            let early_ms = due_ms.saturating_sub(epoch_ms());
            assert!(early_ms <= 5, "{early_ms} ms early");
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    within::until(LATE, is).await;
}

/// A meter gets three times as much for a while: what was used stays used, before, within and after.
#[tokio::test(flavor = "multi_thread")]
async fn an_override_of_a_meter_starts_and_ends_by_time_and_gives_nothing_back() {
    let workerd = Setup::isolates(&["weur", "apac"]).start().await.unwrap();
    let more = json!({ "meters": { "m": { "per_sec": 30.0 / 80_000.0 } } });
    let base = document(json!({ "m": still(10) }), json!({}));
    let (starts_at, expires_at) = soon(&workerd, base, more).await;
    let clients = workerd.clients().unwrap();
    let (here, there) = (&clients[0], &clients[1]);
    assert!(take(here, "pro:vip", "m", 10).await.allowed);
    assert!(!take(there, "pro:vip", "m", 1).await.allowed);
    assert!(
        epoch_ms() < starts_at,
        "the machine is too slow for this test"
    );
    from(starts_at, async || left(there, "pro:vip", "m").await == 20).await;
    assert!(take(here, "pro:vip", "m", 12).await.allowed);
    assert_eq!(
        left(here, "pro:stranger", "m").await,
        10,
        "others are as ever"
    );
    from(expires_at, async || left(there, "pro:vip", "m").await == 0).await;
    assert_eq!(left(here, "pro:vip", "m").await, 0);
    assert!(!take(here, "pro:vip", "m", 1).await.allowed);
}

/// Unlimited for a while, and bounded again.
#[tokio::test(flavor = "multi_thread")]
async fn an_override_to_unlimited_ends_by_time() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    let free = json!({ "meters": { "m": { "per_sec": "unlimited" } } });
    let base = document(json!({ "m": still(3) }), json!({}));
    let (starts_at, expires_at) = soon(&workerd, base, free).await;
    let client = workerd.client(0).unwrap();
    assert!(take(&client, "pro:vip", "m", 3).await.allowed);
    from(starts_at, async || {
        take(&client, "pro:vip", "m", 1_000_000).await.allowed
    })
    .await;
    from(expires_at, async || {
        !take(&client, "pro:vip", "m", 1).await.allowed
    })
    .await;
}

/// A guard's slots and a limit of each tenant, by the same list.
#[tokio::test(flavor = "multi_thread")]
async fn overrides_of_guards_and_limits_start_and_end_by_time() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    let guards =
        json!({ "queries": { "concurrency": 1, "per_minute": "unlimited", "lease_ms": 60_000 } });
    let limits = json!({
        "calls": { "algorithm": "fixed_window", "limit": 2, "window_ms": LONG_MS, "scope": "region", "per_tenant": true },
    });
    let base = with(
        document(json!({ "m": meter(1.0, 1.0) }), guards),
        "/limits",
        limits,
    );
    let changes = json!({ "guards": { "queries": { "concurrency": 3 } }, "limits": { "calls": { "limit": 5 } } });
    let (starts_at, expires_at) = soon(&workerd, base, changes).await;
    let client = workerd.client(0).unwrap();
    let in_force = || {
        assert!(
            epoch_ms() < expires_at,
            "the machine is too slow for this test"
        )
    };
    let calls = |tenant: &'static str, cost: u64| {
        let question = json!({ "tenant": tenant, "limit": "calls", "cost": cost });
        let client = client.clone();
        async move {
            let begin = now();
            loop {
                let decision = client.decide(&question).await.unwrap().decision;
                if decision.reason != Reason::Unavailable || begin.elapsed() > LATE {
                    return decision.allowed;
                }
            }
        }
    };
    assert_eq!(acquire(&client, "queries", "pro:vip").await.status, 200);
    assert_eq!(acquire(&client, "queries", "pro:vip").await.status, 429);
    assert!(calls("pro:vip", 2).await && !calls("pro:vip", 1).await);
    assert!(
        epoch_ms() < starts_at,
        "the machine is too slow for this test"
    );
    from(starts_at, async || {
        acquire(&client, "queries", "pro:vip").await.status == 200
    })
    .await;
    assert!(calls("pro:vip", 2).await, "four of five");
    assert!(calls("pro:stranger", 2).await && !calls("pro:stranger", 1).await);
    assert_eq!(
        acquire(&client, "queries", "pro:stranger").await.status,
        200
    );
    assert_eq!(
        acquire(&client, "queries", "pro:stranger").await.status,
        429
    );
    in_force();
    from(expires_at, async || !calls("pro:vip", 0).await).await;
    assert_eq!(acquire(&client, "queries", "pro:vip").await.status, 429);
}

/// Where two overlap, the one that started later counts, each field by itself.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_overrides_that_overlap_the_later_one_counts_field_by_field() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    let now_ms = epoch_ms();
    let rate = |units: f64| units / 80_000.0;
    let overrides = json!([
        { "starts_at": now_ms - 60_000, "meters": { "m": { "per_sec": rate(7.0) }, "n": { "per_sec": rate(9.0) } } },
        { "starts_at": now_ms - 30_000, "meters": { "m": { "per_sec": rate(5.0) } } },
        { "starts_at": now_ms - 90_000, "expires_at": now_ms - 1_000, "meters": { "n": { "per_sec": rate(1.0) } } },
    ]);
    let base = document(json!({ "m": still(2), "n": still(2) }), json!({}));
    let base = with(
        base,
        "/tenants",
        json!({ "pro:vip": { "overrides": overrides } }),
    );
    workerd.apply(&base).await.unwrap();
    let client = workerd.client(0).unwrap();
    for (meter, units) in [("m", 5), ("n", 9)] {
        assert_eq!(left(&client, "pro:vip", meter).await, units, "{meter}");
        assert!(take(&client, "pro:vip", meter, units).await.allowed);
        assert!(!refilled(&client, meter).await);
    }
}

async fn refilled(client: &Client, meter: &str) -> bool {
    take(client, "pro:vip", meter, 1).await.allowed
}
