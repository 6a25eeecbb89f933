//! A denial says when to come back, and that is true: not before, and then surely.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use weir_shared::wire::check::{DecisionBody, Reason};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::within::until;

use crate::limits::{alone, await_allowed, decide_once, fixed, start, take};
use weir_tests::calls::charge;

/// What every limit here admits at once.
const BOUND: u64 = 3;

/// The longest hint: a window of two counters leaves after two lengths.
const HINT_MAX: Duration = Duration::from_millis(4_000);

/// How long after its time what was lent from afar may come back, beside what an answer takes.
const LATE_MAX: Duration = Duration::from_secs(1);

/// The Worker's clock has whole milliseconds, the test's has not.
const GRAIN: Duration = Duration::from_millis(2);

/// Limits of three units that come back within seconds.
fn limits() -> Value {
    let bodies = [
        (
            "gcra",
            json!({ "algorithm": "gcra", "limit": 2, "period_ms": 2_000, "burst": BOUND }),
        ),
        (
            "bucket",
            json!({ "algorithm": "token_bucket", "capacity": 3, "refill_per_sec": 1.5 }),
        ),
        (
            "fixed",
            json!({ "algorithm": "fixed_window", "limit": BOUND, "window_ms": 2_000 }),
        ),
        (
            "sliding",
            json!({ "algorithm": "sliding_window", "limit": BOUND, "window_ms": 2_000, "buckets": 10 }),
        ),
        (
            "two_counters",
            json!({ "algorithm": "sliding_window", "limit": BOUND, "window_ms": 2_000, "buckets": 1 }),
        ),
        (
            "log",
            json!({ "algorithm": "sliding_log", "limit": BOUND, "window_ms": 2_000 }),
        ),
        (
            "cycle",
            json!({ "algorithm": "quota", "limit": BOUND, "cadence": "fixed", "period_ms": 2_000, "anchor": 250 }),
        ),
        (
            "rolling",
            json!({ "algorithm": "quota", "limit": BOUND, "cadence": "rolling", "period_ms": 2_000 }),
        ),
    ];
    let scoped = ["region", "isolate"].iter().flat_map(|scope| {
        bodies.clone().map(|(name, mut body)| {
            body["scope"] = json!(scope);
            (format!("{scope}_{name}"), body)
        })
    });
    Value::Object(scoped.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_before_the_hint_is_denied_and_at_the_hint_admitted() {
    let limits = limits();
    let names: Vec<String> = limits.as_object().unwrap().keys().cloned().collect();
    let workerd = start(alone(), limits).await;
    let client = workerd.client(0).unwrap();
    let cases = names.iter().flat_map(|name| [(name, 1), (name, BOUND)]);
    join_all(cases.map(|(name, cost)| assert_hint(&client, name, cost))).await;
}

/// Uses up a key, is denied `cost`, and asks on until that is admitted.
async fn assert_hint(client: &Client, limit: &str, cost: u64) {
    for attempt in 0..10 {
        let key = format!("{cost}-{attempt}");
        let whole = decide_once(client, &charge(limit, &key, BOUND)).await;
        let sent = now();
        let denied = decide_once(client, &charge(limit, &key, cost)).await;
        let received = now();
        if [whole.reason, denied.reason].contains(&Reason::Unavailable) {
            // Nobody knows whether it was charged: another key is tried.
            continue;
        }
        assert!(whole.allowed, "{limit}: a cold key");
        if denied.allowed {
            // Its window ended in between.
            continue;
        }
        let hint = hint(limit, &denied);
        loop {
            tokio::time::sleep(Duration::from_millis(60)).await;
            let asked = now();
            let retried = decide_once(client, &charge(limit, &key, cost)).await;
            if retried.reason == Reason::Unavailable {
                // Nobody knows whether it was charged: another key is tried.
                break;
            }
            if retried.allowed {
                assert!(
                    sent.elapsed() + GRAIN >= hint,
                    "{limit}: {cost} was admitted {:?} after a hint of {hint:?}",
                    sent.elapsed()
                );
                return;
            }
            assert!(
                asked < received + hint + GRAIN,
                "{limit}: {cost} was denied {:?} after a hint of {hint:?}: {retried:?}",
                asked - received
            );
        }
    }
    panic!("{limit}: no key stayed used up for as long as a request takes");
}

#[track_caller]
fn hint(limit: &str, denied: &DecisionBody) -> Duration {
    assert_eq!(denied.reason, Reason::LimitExceeded, "{limit}: {denied:?}");
    let hint = Duration::from_millis(denied.retry_after_ms.expect("a time"));
    assert!(
        hint > Duration::ZERO && hint <= HINT_MAX,
        "{limit}: {denied:?}"
    );
    hint
}

/// What is lent from afar comes back a round trip after its window ends, and a denial before it costs nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_global_window_is_back_in_full_when_it_said() {
    const WINDOW_MS: u64 = 2_000;
    let limits = json!({
        "fixed": fixed(BOUND, WINDOW_MS, "global"),
        "cycle": { "algorithm": "quota", "limit": BOUND, "cadence": "fixed", "period_ms": WINDOW_MS, "anchor": 500, "scope": "global" },
    });
    let workerd = start(alone(), limits).await;
    let client = workerd.client(0).unwrap();
    let both = ["fixed", "cycle"].map(|limit| assert_back(&client, limit, WINDOW_MS));
    join_all(both).await;
}

/// Window after window is used up, and the next asked for as soon as the hint says.
async fn assert_back(client: &Client, limit: &str, window_ms: u64) {
    let mut all = await_allowed(client, &charge(limit, "k", BOUND)).await;
    let mut windows = Vec::new();
    for _ in 0..4 {
        windows.push(all.window.expect("the label of a window"));
        all = take(client, limit, "k", BOUND).await;
        if all.allowed {
            // The next window had begun.
            continue;
        }
        let hint = hint(limit, &all);
        assert!(hint <= Duration::from_millis(window_ms), "{limit}: {all:?}");
        tokio::time::sleep(hint).await;
        until(LATE_MAX, async || {
            all = decide_once(client, &charge(limit, "k", BOUND)).await;
            all.allowed
        })
        .await;
    }
    assert!(
        windows.windows(2).all(|pair| pair[0] < pair[1]),
        "{limit}: a window admits {BOUND} once: {windows:?}"
    );
}
