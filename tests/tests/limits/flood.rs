//! What floods cost the objects behind an isolate, counted call by call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use weir_tests::calls::{charge, charge_keys};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::witness::Witness;
use weir_tests::workerd::Setup;

use crate::limits::{HOUR_MS, LONG_MS, alone, decide, fixed, key_in, start, still, take};

const DECIDE: &str = "Region/decide";

/// Checks of a flood; each sender has one under way at a time.
const CHECKS: usize = 600;
const SENDERS: usize = 8;

fn limits() -> Value {
    json!({
        "gcra": { "algorithm": "gcra", "limit": 6, "period_ms": HOUR_MS, "burst": 10, "scope": "region" },
        "log": { "algorithm": "sliding_log", "limit": 10, "window_ms": HOUR_MS, "scope": "region" },
        "other": still(1_000_000),
        "pair": { "all": ["other", "gcra"] },
        "hot": { "algorithm": "gcra", "limit": 10_000_000, "period_ms": 1_000, "burst": 1_000_000, "scope": "region" },
        "planet": fixed(10, LONG_MS, "global"),
    })
}

/// Where a flood costs too many calls, another may: on a machine that stands still answers come after the next contact.
const FLOODS: usize = 3;

/// What a flood came to.
#[derive(Debug)]
struct Flood {
    admitted: u64,
    /// Calls to the objects of the region's keys.
    calls: u64,
    time: Duration,
}

impl Flood {
    /// Each isolate asks at most once an interval between contacts, of half a second, once at each end, and a few times more
    /// where a busy machine brings answers after the next contact.
    fn calls_max(&self, isolates: u64) -> u64 {
        (self.time.as_millis() as u64 / 500 + 5) * isolates
    }
}

/// Sends the same question again and again, from every client.
async fn flood(witness: &Witness, clients: &[Client], question: Value) -> Flood {
    let before = witness.seen().await.unwrap().count(DECIDE);
    let (start, admitted) = (now(), Arc::new(AtomicU64::new(0)));
    let mut senders = JoinSet::new();
    for sender in 0..SENDERS {
        let (client, question) = (clients[sender % clients.len()].clone(), question.clone());
        let admitted = admitted.clone();
        senders.spawn(async move {
            for _ in 0..CHECKS / SENDERS {
                let allowed = decide(&client, &question).await.allowed;
                admitted.fetch_add(u64::from(allowed), Ordering::Relaxed);
            }
        });
    }
    while let Some(ended) = senders.join_next().await {
        ended.expect("a sender ends well");
    }
    let calls = witness.seen().await.unwrap().count(DECIDE) - before;
    Flood {
        admitted: admitted.load(Ordering::Relaxed),
        calls,
        time: start.elapsed(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_on_a_denied_key_costs_almost_no_calls() {
    let workerd = start(Setup::isolates(&["weur", "weur"]).witnessed(), limits()).await;
    let (clients, witness) = (workerd.clients().unwrap(), workerd.witness().unwrap());
    for limit in ["gcra", "log"] {
        let mut few = false;
        for nth in 0..FLOODS {
            let key = format!("k{nth}");
            assert!(take(&clients[0], limit, &key, 10).await.allowed);
            let flooded = flood(&witness, &clients, charge(limit, &key, 1)).await;
            // Those that are under way when an interval ends may each ask once.
            let calls_max = SENDERS as u64 / 2 * flooded.calls_max(2);
            println!("{limit}: {flooded:?}, at most {calls_max} calls");
            assert_eq!(flooded.admitted, 0, "{limit}");
            few = flooded.calls <= calls_max.min(CHECKS as u64 / 3);
            if few {
                break;
            }
        }
        assert!(few, "{limit}: no flood cost few calls");
    }
    // The control: as many questions on keys that are not denied are asked of the objects.
    let before = witness.seen().await.unwrap().count(DECIDE);
    for index in 0..50 {
        assert!(
            take(&clients[0], "gcra", &format!("cold{index}"), 1)
                .await
                .allowed
        );
    }
    let calls = witness.seen().await.unwrap().count(DECIDE) - before;
    assert!(calls >= 50, "the witness counts: {calls}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_on_one_denied_dimension_costs_almost_no_calls() {
    let workerd = start(alone().witnessed(), limits()).await;
    let (clients, witness) = (workerd.clients().unwrap(), workerd.witness().unwrap());
    for (other_shard, gcra_shard) in [(0, 0), (1, 2)] {
        let mut few = false;
        for nth in 0..FLOODS {
            let other = key_in(other_shard, 2 * nth);
            let gcra = key_in(gcra_shard, 2 * nth + 1);
            let question = charge_keys("pair", &[("other", &other), ("gcra", &gcra)], 1);
            assert!(take(&clients[0], "gcra", &gcra, 10).await.allowed);
            let flooded = flood(&witness, &clients, question).await;
            // Those that are under way when an interval ends may each ask once, of both shards.
            let calls_max = SENDERS as u64 * 2 * flooded.calls_max(1);
            println!("{flooded:?}, at most {calls_max} calls");
            assert_eq!(flooded.admitted, 0);
            few = flooded.calls <= calls_max.min(CHECKS as u64 / 3);
            if few {
                break;
            }
        }
        assert!(few, "shards {other_shard}, {gcra_shard}");
    }
}

/// What denies a large cost says nothing about a small one.
#[tokio::test]
async fn a_standing_denial_is_only_for_costs_as_large() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    for limit in ["gcra", "log"] {
        assert!(take(&client, limit, "k", 7).await.allowed);
        for (cost, allowed) in [
            (4, false),
            (5, false),
            (10, false),
            (2, true),
            (2, false),
            (1, true),
            (1, false),
        ] {
            let decision = take(&client, limit, "k", cost).await;
            assert_eq!(decision.allowed, allowed, "{limit}, {cost}: {decision:?}");
        }
    }
}

/// Units drawn ahead answer most of what is asked of a hot key.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_on_an_admitted_key_costs_few_calls() {
    let workerd = start(alone().witnessed(), limits()).await;
    let (clients, witness) = (workerd.clients().unwrap(), workerd.witness().unwrap());
    let mut few = false;
    for nth in 0..FLOODS {
        let flooded = flood(&witness, &clients, charge("hot", &format!("k{nth}"), 1)).await;
        println!("{flooded:?}");
        assert_eq!(flooded.admitted, CHECKS as u64);
        few = flooded.calls <= CHECKS as u64 / 4;
        if few {
            break;
        }
    }
    assert!(few, "no flood cost few calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_on_a_global_limit_that_is_used_up_costs_few_calls() {
    let workerd = start(alone().witnessed(), limits()).await;
    let (clients, witness) = (workerd.clients().unwrap(), workerd.witness().unwrap());
    assert!(take(&clients[0], "planet", "k", 10).await.allowed);
    let before = witness.seen().await.unwrap();
    let flooded = flood(&witness, &clients, charge("planet", "k", 1)).await;
    let after = witness.seen().await.unwrap();
    assert_eq!(flooded.admitted, 0);
    for call in ["Region/contact", "Coordinator/exchange"] {
        let calls = after.count(call) - before.count(call);
        println!("{call}: {calls} in {:?}", flooded.time);
        // Questions, and the rounds that hand counters on: a few each half second.
        assert!(
            calls <= 4 * flooded.calls_max(1),
            "{call}: {calls} in {flooded:?}"
        );
    }
}
