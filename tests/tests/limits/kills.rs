//! SIGKILL under load: no limit is lifted by it, and nothing is lost for ever.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_shared::limits::{CALL_MS_MAX, HOLD_MS};
use weir_tests::calls::charge_keys;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::history::{History, Operation, Outcome, outcomes};
use weir_tests::storage::{count, databases};
use weir_tests::workerd::{Setup, Workerd};
use weir_tests::workload::Workload;

use crate::limits::{HOUR_MS, LONG_MS, alone, fixed, key_in, left, start, still};

/// How long a hold is kept at most: it lapses, or, once committed, is kept in case another shard could not commit; and
/// then the shard has to look.
const FORGOTTEN: Duration = Duration::from_millis(HOLD_MS + 2 * CALL_MS_MAX + 1_500);

/// How long a load may take on a busy machine until something is admitted.
const UNDER_WAY: Duration = Duration::from_secs(30);

/// Units are drawn and leased ahead while the process dies, again and again.
#[tokio::test(flavor = "multi_thread")]
async fn no_limit_is_lifted_by_a_death_of_who_holds_it() {
    const BOUND: u64 = 100;
    let limits = json!({
        "gcra": { "algorithm": "gcra", "limit": 6, "period_ms": HOUR_MS, "burst": BOUND, "scope": "region" },
        "log": { "algorithm": "sliding_log", "limit": BOUND, "window_ms": HOUR_MS, "scope": "region" },
        "fixed": fixed(BOUND, LONG_MS, "region"),
        "global": fixed(BOUND, LONG_MS, "global"),
        "global_sliding": { "algorithm": "sliding_window", "limit": BOUND, "window_ms": LONG_MS, "scope": "global" },
    });
    let mut workerd = start(Setup::isolates(&["weur", "weur"]), limits.clone()).await;
    let clients = workerd.clients().unwrap();
    let names: Vec<&String> = limits.as_object().unwrap().keys().collect();
    let running: Vec<_> = names
        .iter()
        .map(|limit| {
            let load = Workload {
                workers: 1,
                ..Workload::on_limit(clients.clone(), limit, "k")
            };
            load.start()
        })
        .collect();
    // All of them are under way before the first kill.
    for (limit, running) in names.iter().zip(&running) {
        await_under_way(limit, || running.history().operations()).await;
    }
    for after_ms in [500, 200, 400] {
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        workerd.restart().await.expect("workerd comes back");
    }
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    for (limit, running) in names.iter().zip(running) {
        let operations = running.stop().await.unwrap();
        let admitted: u64 = operations.iter().map(Operation::admitted).sum();
        println!(
            "{limit}: {admitted} of {BOUND}, {:?}",
            outcomes(&operations)
        );
        assert!(
            admitted > 0 && admitted <= BOUND,
            "{limit}: {admitted} of {BOUND}"
        );
        let refused = operations.iter().find(|operation| is_refused(operation));
        assert!(refused.is_none(), "{limit}: {refused:?}");
    }
}

/// Waits until something of a load is admitted.
async fn await_under_way(of: &str, operations: impl Fn() -> Vec<Operation>) {
    let start = now();
    while !operations().iter().any(|one| one.admitted() > 0) {
        assert!(start.elapsed() < UNDER_WAY, "{of}: nothing is admitted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whether an answer is no decision. A new isolate that waited for its region in vain does not know the limit.
fn is_refused(operation: &Operation) -> bool {
    match operation.outcome {
        Outcome::Refused { status: 404, .. } => {
            operation.latency() < Duration::from_millis(CALL_MS_MAX)
        }
        Outcome::Refused { .. } => true,
        Outcome::Decided(_) | Outcome::Lost(_) => false,
    }
}

/// Questions of two shards are held and committed while the process dies, on the same storage: no key is lifted, and no
/// hold outlives its time.
#[tokio::test(flavor = "multi_thread")]
async fn kills_between_hold_and_commit_lift_no_bound_and_leave_no_hold() {
    const BOUND: u64 = 8;
    const PAIRS: usize = 60;
    let limits = json!({
        "first": still(BOUND),
        "second": still(BOUND),
        "pair": { "all": ["first", "second"] },
    });
    let mut workerd = start(alone(), limits).await;
    let client = workerd.client(0).unwrap();
    let pairs: Vec<(String, String)> = (0..PAIRS)
        .map(|nth| (key_in(0, nth), key_in(1, nth)))
        .collect();
    let questions: Vec<Value> = pairs
        .iter()
        .map(|(first, second)| charge_keys("pair", &[("first", first), ("second", second)], 1))
        .collect();
    let (history, origin) = (History::default(), now());
    let senders: Vec<_> = (0..6)
        .map(|worker| {
            let sender = send(
                client.clone(),
                questions.clone(),
                worker * PAIRS / 6,
                history.clone(),
                origin,
            );
            tokio::spawn(sender)
        })
        .collect();
    await_under_way("pair", || history.operations()).await;
    for after_ms in [700, 500, 900] {
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        workerd.restart().await.expect("workerd comes back");
    }
    tokio::time::sleep(Duration::from_millis(700)).await;
    senders.iter().for_each(tokio::task::JoinHandle::abort);
    for sender in senders {
        // Stopped on purpose, in the middle of a request.
        let _aborted = sender.await;
    }
    let operations = history.operations();
    println!("{:?}", outcomes(&operations));
    tokio::time::sleep(FORGOTTEN).await;
    let mut all = 0;
    for (nth, (first, second)) in pairs.iter().enumerate() {
        let of_pair = operations
            .iter()
            .filter(|operation| operation.tenant == nth.to_string());
        let admitted: u64 = of_pair.map(Operation::admitted).sum();
        assert!(admitted <= BOUND, "{first}, {second}: {admitted}");
        for (limit, key) in [("first", first), ("second", second)] {
            let left = left(&client, limit, key).await;
            assert!(
                left + admitted <= BOUND,
                "{limit} {key}: {left} are left, {admitted} of {BOUND} were admitted"
            );
        }
        all += admitted;
    }
    assert!(all > 0, "nothing was ever admitted");
    workerd.kill_hard();
    assert_eq!(holds(&workerd), 0, "holds outlived their time");
}

/// The holds that are stored, over all shards of keys.
fn holds(workerd: &Workerd) -> usize {
    let sql = "SELECT COUNT(*) FROM states WHERE name = char(1) || 'hold' AND body <> ''";
    let shards = databases(&workerd.disk(), "Region", "states").unwrap();
    shards
        .iter()
        .map(|shard| count(shard, sql, []).unwrap())
        .sum()
}

/// Asks one question after the other, from a place in the list on, until it is stopped.
async fn send(
    client: Client,
    questions: Vec<Value>,
    from: usize,
    history: History,
    origin: Instant,
) {
    for nth in (0..questions.len()).cycle().skip(from) {
        let sent = origin.elapsed();
        let outcome = match client.decide(&questions[nth]).await {
            Ok(checked) => Outcome::Decided(checked.decision),
            Err(error) => Outcome::Lost(format!("{error:#}")),
        };
        if matches!(outcome, Outcome::Lost(_)) {
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        history.push(Operation {
            client: from,
            tenant: nth.to_string(),
            cost: 1,
            sent,
            received: origin.elapsed(),
            outcome,
        });
    }
}
