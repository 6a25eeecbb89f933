//! Tenant names that a hostile client invents: memory and storage stay within their bounds, and the tenants that the
//! policy names keep their service.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use weir_shared::limiting::key::shard;
use weir_shared::limits::{CALL_MS_MAX, KEY_SHARDS, KNOWN_KEYS_MAX, LIMIT_KEYS_MAX};
use weir_shared::wire::check::Reason;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::storage::{count, databases, objects};
use weir_tests::workerd::{Setup, Workerd};

use crate::metering::{charge, document, meter, offer, restart, still, take, take_once};

/// Names that the normal run invents. All 10^6 of them: `WEIR_NAMES=1000000`.
const NAMES: usize = 4_000;

/// Names of one call.
const BATCH: usize = 200;

/// Calls at a time.
const AT_ONCE: usize = 1;

const KNOWN: &str = "pro:known";

fn names() -> usize {
    let asked = std::env::var("WEIR_NAMES").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(NAMES)
}

async fn deployment() -> (Workerd, Client) {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    let base = document(
        json!({ "m": still(100), "flow": meter(1_000.0, 10.0) }),
        json!({}),
    );
    let tenants = json!({ KNOWN: { "tier": "pro" } });
    workerd
        .apply(&with(base, "/tenants", tenants))
        .await
        .unwrap();
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

/// Each name takes one unit. The named tenant asks all the time, and none of its calls is shed.
#[tokio::test(flavor = "multi_thread")]
async fn a_million_names_stay_within_the_bounds_and_cost_the_named_tenant_nothing() {
    let (mut workerd, client) = deployment().await;
    let (all, started) = (names(), now());
    let (mut decided, mut admitted, mut worst) = (0, 0, Duration::ZERO);
    for start in (0..all).step_by(BATCH * AT_ONCE) {
        let batches = (0..AT_ONCE).map(|nth| {
            let from = start + nth * BATCH;
            let tenants = (from..(from + BATCH).min(all)).map(|name| format!("x:{name:07}"));
            let questions: Vec<_> = tenants.map(|tenant| charge(&tenant, "m", 1)).collect();
            let client = client.clone();
            async move {
                match questions.is_empty() {
                    true => Vec::new(),
                    false => client.batch(&questions).await.unwrap(),
                }
            }
        });
        let asked = now();
        let known = async {
            let known = take_once(&client, KNOWN, "flow", 1).await;
            (known, asked.elapsed())
        };
        let (decisions, (known, took)) = tokio::join!(join_all(batches), known);
        // Beside the batch, a slow machine may have no time for it in a call's time.
        let is_late =
            known.reason == Reason::Unavailable && took >= Duration::from_millis(CALL_MS_MAX);
        assert!(
            known.allowed || is_late,
            "after {decided} names: {known:?} in {took:?}"
        );
        worst = worst.max(asked.elapsed());
        let decisions = decisions.concat();
        decided += decisions.len();
        admitted += decisions.iter().filter(|decision| decision.allowed).count();
    }
    println!(
        "{decided} names in {:?}, {admitted} admitted, the slowest round {worst:?}",
        started.elapsed()
    );
    assert_eq!(decided, all);
    let room = LIMIT_KEYS_MAX * KEY_SHARDS as usize;
    assert!(
        admitted >= all.min(room) / 2,
        "{admitted} of {all}: the flood itself was refused"
    );
    assert_eq!(
        offer(&client, KNOWN, "m", 100).await,
        100,
        "all that is the named tenant's"
    );
    workerd.kill_hard();
    let rows = rows(&workerd);
    println!("rows by shard: {rows:?}");
    assert!(
        rows.iter()
            .all(|rows| *rows <= LIMIT_KEYS_MAX + KNOWN_KEYS_MAX),
        "{rows:?}"
    );
    assert!(rows.iter().sum::<usize>() >= all.min(room) / 2);
}

/// The states of every shard of the deployment.
fn rows(workerd: &Workerd) -> Vec<usize> {
    let shards = databases(&workerd.disk(), "Coordinator", "states").unwrap();
    let sql = "SELECT COUNT(*) FROM states";
    let counts = shards.iter().map(|shard| count(shard, sql, []).unwrap());
    counts.filter(|count| *count > 0).collect()
}

/// Fills the shard that keeps the tenant's key with copies of its row, under invented names.
fn fill(workerd: &Workerd, tenant: &str) {
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
               INSERT INTO states (name, key, expires_at, body) \
               SELECT name, 'fill' || i, expires_at, body FROM states, n WHERE key = ?1";
    let shards = objects(&workerd.disk(), "Coordinator").unwrap();
    let filled: usize = shards
        .iter()
        .map(|shard| {
            shard
                .open()
                .unwrap()
                .execute(sql, (tenant, LIMIT_KEYS_MAX as i64))
                .unwrap()
        })
        .sum();
    assert_eq!(filled, LIMIT_KEYS_MAX);
}

/// Where invented names have filled a shard, further ones share one key; a tenant that the policy names has its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_named_tenant_has_its_own_key_where_invented_names_have_filled_the_shard() {
    let (mut workerd, client) = deployment().await;
    let secret = Some(workerd.shard_key().unwrap());
    let wanted = shard(KNOWN, secret);
    let mut strangers = (0..)
        .map(|nth| format!("x:{nth}"))
        .filter(|name| shard(name, secret) == wanted);
    let first = strangers.next().unwrap();
    assert!(take(&client, &first, "m", 1).await.allowed);
    workerd.kill_hard();
    fill(&workerd, &first);
    restart(&mut workerd).await;
    let (one, other) = (strangers.next().unwrap(), strangers.next().unwrap());
    assert!(
        take(&client, &one, "m", 100).await.allowed,
        "those beyond share one key"
    );
    assert!(
        !take(&client, &other, "m", 1).await.allowed,
        "{other} has a key of its own"
    );
    assert_eq!(
        offer(&client, KNOWN, "m", 130).await,
        100,
        "the named tenant's own"
    );
    assert!(
        take(&client, &first, "m", 99).await.allowed,
        "who was there is as before"
    );
}
