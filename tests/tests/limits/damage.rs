//! Rows of limits that cannot be read: a key counts as used up, for one window and no longer.

use std::time::Duration;

use rusqlite::Connection;
use serde_json::json;
use weir_shared::limits::HOLD_MS;
use weir_tests::calls::charge_keys;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::storage::{Damage, objects};
use weir_tests::workerd::Workerd;

use crate::limits::{HOUR_MS, LONG_MS, SETTLING, alone, decide, fixed, key_in, place, start, take};

const BOUND: u64 = 5;
const SHORT_MS: u64 = 1_000;

fn names() -> [&'static str; 6] {
    ["gcra", "bucket", "fixed", "sliding", "log", "cycle"]
}

async fn deployment() -> (Workerd, Client) {
    let limits = json!({
        "gcra": { "algorithm": "gcra", "limit": 1, "period_ms": HOUR_MS, "burst": BOUND, "scope": "region" },
        "bucket": { "algorithm": "token_bucket", "capacity": BOUND, "refill_per_sec": 0.0001, "scope": "region" },
        "fixed": fixed(BOUND, LONG_MS, "region"),
        "sliding": { "algorithm": "sliding_window", "limit": BOUND, "window_ms": LONG_MS, "scope": "region" },
        "log": { "algorithm": "sliding_log", "limit": BOUND, "window_ms": HOUR_MS, "scope": "region" },
        "cycle": { "algorithm": "quota", "limit": BOUND, "cadence": "calendar_month", "scope": "region" },
        "short": fixed(BOUND, SHORT_MS, "region"),
        "pair": { "all": [{ "name": "a", "limit": "fixed" }, { "name": "b", "limit": "fixed" }] },
        "shape": { "algorithm": "leaky_bucket", "rate_per_sec": 0.1, "max_queue_ms": 60_000, "scope": "region" },
    });
    let workerd = start(alone(), limits).await;
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

/// Kills, damages the rows of every shard of keys, and starts again.
async fn damage(workerd: &mut Workerd, harm: impl Fn(&Connection) -> usize) -> usize {
    workerd.kill_hard();
    let mut damaged = 0;
    for object in objects(&workerd.disk(), "Region").expect("the class has objects") {
        if object
            .tables()
            .unwrap()
            .iter()
            .any(|table| table == "states")
        {
            damaged += harm(&object.open().unwrap());
        }
    }
    workerd.restart().await.expect("workerd comes back");
    damaged
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_whose_state_is_damaged_counts_as_used_up() {
    let (mut workerd, client) = deployment().await;
    for harm in Damage::ALL {
        let key = format!("{harm:?}");
        for limit in names() {
            assert!(
                take(&client, limit, &key, 1).await.allowed,
                "{limit} {harm:?}"
            );
        }
        assert!(place(&client, "shape", &key, 1).await.accepted);
        let log_before = workerd.log().len();
        let mut damaged = 0;
        workerd.kill_hard();
        for object in objects(&workerd.disk(), "Region").unwrap() {
            damaged += object.damage(harm).unwrap();
        }
        workerd.restart().await.unwrap();
        assert!(damaged > 0, "{harm:?}");
        for limit in names() {
            let denied = take(&client, limit, &key, 1).await;
            assert!(!denied.allowed, "{limit}, {harm:?}: {denied:?}");
            assert!(
                denied.retry_after_ms.is_some_and(|hint| hint > 1_000),
                "{limit}, {harm:?}: {denied:?}"
            );
            assert!(
                take(&client, limit, &format!("{key} other"), BOUND)
                    .await
                    .allowed,
                "{limit}, {harm:?}"
            );
        }
        let refused = place(&client, "shape", &key, 1).await;
        assert!(!refused.accepted, "{harm:?}: {refused:?}");
        // What is logged takes its time to be read.
        let begun = now();
        loop {
            let log = workerd.log()[log_before..].to_owned();
            if log.contains("damaged row") {
                break;
            }
            assert!(begun.elapsed() < SETTLING, "{harm:?}: not a word:\n{log}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// What removes expired rows, and what holds lapse by, may not bring a damaged key back either.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_key_stays_used_up_when_expired_rows_are_removed() {
    let (mut workerd, client) = deployment().await;
    let spent = key_in(0, 0);
    assert!(take(&client, "fixed", &spent, BOUND).await.allowed);
    for (round, harm) in [Damage::Number, Damage::Null].into_iter().enumerate() {
        workerd.kill_hard();
        for object in objects(&workerd.disk(), "Region").unwrap() {
            object.damage(harm).unwrap();
        }
        workerd.restart().await.unwrap();
        assert!(!take(&client, "fixed", &spent, 1).await.allowed, "{harm:?}");
        // A question of two shards is held; when its time is over, the shard looks after its rows.
        let (first, second) = (key_in(0, 1 + round), key_in(1, 1 + round));
        let ask = charge_keys("pair", &[("a", &first), ("b", &second)], 1);
        assert!(decide(&client, &ask).await.allowed, "{harm:?}");
        tokio::time::sleep(Duration::from_millis(HOLD_MS + 1_500)).await;
        let denied = take(&client, "fixed", &spent, 1).await;
        assert!(!denied.allowed, "{harm:?}: {denied:?}");
    }
}

/// One whole window, and it is as good as new.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_key_is_back_after_one_window() {
    let (mut workerd, client) = deployment().await;
    for sql in [
        "UPDATE states SET body = substr(body, 1, length(body) / 2) WHERE name = 'short'",
        "UPDATE states SET body = x'ff00fe' WHERE name = 'short'",
        "UPDATE states SET body = '{\"v\":9999}', expires_at = NULL WHERE name = 'short'",
    ] {
        assert!(take(&client, "short", "k", 1).await.allowed, "{sql}");
        let rows = damage(&mut workerd, |rows| rows.execute(sql, []).unwrap()).await;
        assert_eq!(rows, 1, "{sql}");
        let start = now();
        while !take(&client, "short", "k", 1).await.allowed {
            assert!(
                start.elapsed() < SETTLING,
                "{sql}: a window of {SHORT_MS} ms is not over after {:?}\n{}",
                start.elapsed(),
                workerd.log()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_millis(SHORT_MS)).await;
    }
}

/// A hold that cannot be read stays charged: nobody knows what it was.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_hold_gives_nothing_back_and_stands_in_nobodys_way() {
    let (mut workerd, client) = deployment().await;
    let (first, second) = (key_in(0, 0), key_in(1, 0));
    let ask = |cost| charge_keys("pair", &[("a", &first), ("b", &second)], cost);
    assert!(decide(&client, &ask(2)).await.allowed);
    let harm = "UPDATE states SET body = substr(body, 3) WHERE name NOT IN ('fixed')";
    damage(&mut workerd, |rows| rows.execute(harm, []).unwrap()).await;
    let start = now();
    while start.elapsed() < Duration::from_millis(HOLD_MS + 1_500) {
        let left = take(&client, "fixed", &first, 0).await.remaining;
        assert!(left <= BOUND - 2, "{left}: what was committed came back");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    assert!(decide(&client, &ask(BOUND - 2)).await.allowed);
    assert!(!decide(&client, &ask(1)).await.allowed);
}
