//! Very many keys: what isolates, shards and coordinators keep of them has a bound, and those that are known are as
//! before.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::limits::{CALLER_PART, ISOLATE_KEYS_MAX, LIMIT_KEYS_MAX, POOLS_MAX, PURGE_MS};
use weir_shared::wire::check::Reason;
use weir_tests::calls::charge;
use weir_tests::client::Client;
use weir_tests::storage::{count, databases};
use weir_tests::workerd::Workerd;

use crate::limits::{
    HOUR_MS, LONG_MS, alone, ask_all, await_allowed, decide_once, fixed, key_in, left, shard_of,
    start, still, take,
};

const BOUND: u64 = 5;

/// Questions of one batch.
const BATCH: usize = 1_000;

/// A window that lasts until all keys were asked for: what is over meanwhile is removed.
const SHORT_MS: u64 = HOUR_MS;

fn limits() -> Value {
    json!({
        "region": still(BOUND),
        "isolate": fixed(BOUND, LONG_MS, "isolate"),
        "global": fixed(BOUND, LONG_MS, "global"),
        "short": fixed(BOUND, SHORT_MS, "region"),
        "global_short": fixed(BOUND, SHORT_MS, "global"),
    })
}

async fn deployment() -> (Workerd, Client) {
    let workerd = start(alone().witnessed(), limits()).await;
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

/// Beyond its bound an isolate keeps one key for all that are new: it forgets none, and its memory does not grow.
#[tokio::test(flavor = "multi_thread")]
async fn an_isolate_keeps_a_bounded_number_of_keys() {
    let (_workerd, client) = deployment().await;
    let batches = ISOLATE_KEYS_MAX / CALLER_PART / BATCH;
    for batch in 0..batches {
        let questions: Vec<_> = (0..BATCH)
            .map(|index| charge("isolate", &format!("{batch}-{index}"), BOUND))
            .collect();
        let decisions = client.batch(&questions).await.unwrap();
        let refused: Vec<_> = decisions
            .iter()
            .filter(|decision| !decision.allowed)
            .collect();
        assert!(refused.is_empty(), "batch {batch}: {:?}", refused.first());
    }
    assert!(
        take(&client, "isolate", "one more", BOUND - 1)
            .await
            .allowed,
        "those beyond share one key of whoever brings them"
    );
    assert!(take(&client, "isolate", "and another", 1).await.allowed);
    for index in 0..20 {
        let denied = take(&client, "isolate", &format!("beyond{index}"), 1).await;
        assert!(!denied.allowed, "a key of its own for {index}: {denied:?}");
    }
    for kept in ["0-0", "7-500", "9-999"] {
        assert!(
            !take(&client, "isolate", kept, 1).await.allowed,
            "{kept} was forgotten"
        );
    }
    // Limits that are kept elsewhere are none the worse.
    assert!(take(&client, "region", "k", BOUND).await.allowed);
    assert!(take(&client, "global", "k", BOUND).await.allowed);
}

/// The rows of a limit in each shard of keys that has any.
fn rows(workerd: &Workerd, limit: &str) -> Vec<usize> {
    let sql = "SELECT COUNT(*) FROM states WHERE name = ?1";
    let shards = databases(&workerd.disk(), "Region", "states").unwrap();
    let counts = shards
        .iter()
        .map(|shard| count(shard, sql, [limit]).unwrap());
    counts.filter(|rows| *rows > 0).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_one_row_of_one_shard() {
    const KEYS: usize = 3_000;
    let (mut workerd, client) = deployment().await;
    for _ in 0..2 {
        for start in (0..KEYS).step_by(500) {
            let questions: Vec<_> = (start..start + 500)
                .map(|index| charge("region", &format!("key{index}"), 1))
                .collect();
            let decisions = ask_all(&client, &questions).await;
            assert!(
                decisions.iter().all(|decision| decision.allowed),
                "{:?}",
                decisions.iter().find(|decision| !decision.allowed)
            );
        }
    }
    // Those that were only looked at, or denied, are not kept.
    for index in 0..100 {
        assert_eq!(
            left(&client, "region", &format!("seen{index}")).await,
            BOUND
        );
        assert!(
            !take(&client, "region", &format!("never{index}"), BOUND + 1)
                .await
                .allowed
        );
    }
    workerd.kill_hard();
    let rows = rows(&workerd, "region");
    println!("rows by shard: {rows:?}");
    assert_eq!(rows.iter().sum::<usize>(), KEYS);
    assert!(
        rows.len() == 4 && rows.iter().all(|rows| *rows > KEYS / 8),
        "{rows:?}"
    );
}

/// Fills the shard that keeps `key` with copies of its row.
fn fill(workerd: &Workerd, key: &str, expires_at: Option<i64>) {
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
               INSERT INTO states (name, key, expires_at, body) \
               SELECT name, 'fill' || i, COALESCE(?3, expires_at), body FROM states, n WHERE name = 'region' AND key = ?1";
    let filled: usize = databases(&workerd.disk(), "Region", "states")
        .unwrap()
        .iter()
        .map(|shard| {
            shard
                .execute(sql, (key, LIMIT_KEYS_MAX as i64, expires_at))
                .unwrap()
        })
        .sum();
    assert_eq!(filled, LIMIT_KEYS_MAX);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_shard_keeps_what_it_has_and_grows_no_further() {
    let (mut workerd, client) = deployment().await;
    let known = key_in(2, 0);
    assert!(take(&client, "region", &known, 2).await.allowed);
    workerd.kill_hard();
    fill(&workerd, &known, None);
    workerd.restart().await.unwrap();
    let news: Vec<_> = (1..40).map(|nth| key_in(2, nth)).collect();
    assert!(news.iter().all(|key| shard_of(key) == 2));
    assert!(
        take(&client, "region", &news[0], BOUND - 1).await.allowed,
        "those beyond share one key"
    );
    assert!(take(&client, "region", &news[1], 1).await.allowed);
    for key in &news[2..] {
        let denied = take(&client, "region", key, 1).await;
        assert!(!denied.allowed, "a key of its own for {key}: {denied:?}");
    }
    assert!(
        take(&client, "region", &known, BOUND - 2).await.allowed,
        "who was there is as before"
    );
    assert!(!take(&client, "region", &known, 1).await.allowed);
    assert!(
        take(&client, "region", &key_in(1, 0), BOUND).await.allowed,
        "other shards have room"
    );
    workerd.kill_hard();
    let most = rows(&workerd, "region").into_iter().max().unwrap();
    assert!(most <= LIMIT_KEYS_MAX + 2, "{most} rows");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_shard_makes_room_of_what_has_expired() {
    let (mut workerd, client) = deployment().await;
    let known = key_in(2, 0);
    assert!(take(&client, "region", &known, 2).await.allowed);
    workerd.kill_hard();
    fill(&workerd, &known, Some(1_000));
    workerd.restart().await.unwrap();
    for nth in 1..6 {
        assert!(
            take(&client, "region", &key_in(2, nth), BOUND)
                .await
                .allowed,
            "a key of its own"
        );
    }
    assert_eq!(left(&client, "region", &known).await, BOUND - 2);
    workerd.kill_hard();
    let all: usize = rows(&workerd, "region").into_iter().sum();
    assert_eq!(all, 6, "what had expired is gone");
}

/// Keys whose windows are over are removed, wherever they were kept.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_over_are_removed() {
    const KEYS: usize = 150;
    let (mut workerd, client) = deployment().await;
    for limit in ["short", "global_short"] {
        for index in 0..KEYS {
            await_allowed(&client, &charge(limit, &format!("key{index}"), 1)).await;
        }
    }
    let all = |workerd: &Workerd| {
        let pools = "SELECT COUNT(*) FROM pools WHERE name LIKE ?1 || char(1) || '%'";
        let escrows = "SELECT COUNT(*) FROM escrows WHERE pool LIKE ?1 || char(1) || '%'";
        let sum = |class, table, sql| -> usize {
            let objects = databases(&workerd.disk(), class, table).unwrap();
            let counts = objects
                .iter()
                .map(|object| count(object, sql, ["global_short"]).unwrap());
            counts.sum()
        };
        let states: usize = rows(workerd, "short").iter().sum();
        [
            states,
            sum("Coordinator", "pools", pools),
            sum("Region", "escrows", escrows),
        ]
    };
    workerd.kill_hard();
    assert_eq!(all(&workerd), [KEYS; 3], "states, pools, escrows");
    workerd.restart().await.unwrap();
    let witness = workerd.witness().unwrap();
    let later = Duration::from_millis(SHORT_MS + 2 * PURGE_MS + 60_000);
    for round in 0..2 {
        // The first contact of an object with a new key may be the one that looks what is over, or the next.
        witness.ahead(later * (round + 1)).await.unwrap();
        for shard in 0..4 {
            for limit in ["short", "global_short"] {
                let key = key_in(shard, 500 + round as usize);
                await_allowed(&client, &charge(limit, &key, 1)).await;
            }
        }
    }
    workerd.kill_hard();
    let [_, pools, escrows] = all(&workerd);
    assert!(
        pools <= 20 && escrows <= 20,
        "{pools} pools, {escrows} escrows"
    );
}

/// A coordinator that has no room says so; the keys that it has go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_coordinator_lends_to_the_keys_that_it_has() {
    let (mut workerd, client) = deployment().await;
    let known = key_in(2, 0);
    assert!(take(&client, "global", &known, 2).await.allowed);
    workerd.kill_hard();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
               INSERT INTO pools (name, label, expires_at, body) \
               SELECT 'global' || char(1) || 'fill' || i, label, expires_at, body FROM pools, n \
               WHERE name = 'global' || char(1) || ?1";
    let filled: usize = databases(&workerd.disk(), "Coordinator", "pools")
        .unwrap()
        .iter()
        .map(|pools| {
            pools
                .execute(sql, (known.as_str(), POOLS_MAX as i64))
                .unwrap()
        })
        .sum();
    assert_eq!(filled, POOLS_MAX);
    workerd.restart().await.unwrap();
    let new = decide_once(&client, &charge("global", &key_in(2, 1), 1)).await;
    assert_eq!(
        (new.allowed, new.reason),
        (false, Reason::Unavailable),
        "{new:?}"
    );
    assert!(new.retry_after_ms.is_some_and(|hint| hint > 0), "{new:?}");
    // At most the rest: what the first life had borrowed and not spent is lost with it.
    let known_again = take(&client, "global", &known, 1).await;
    assert_ne!(known_again.reason, Reason::Unavailable, "{known_again:?}");
    let elsewhere = take(&client, "global", &key_in(1, 0), BOUND).await;
    assert!(
        elsewhere.allowed,
        "other coordinators have room: {elsewhere:?}"
    );
}
