//! Questions that several shards decide: what they hold is committed everywhere or given back, whatever dies or is lost
//! in between.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_shared::limits::HOLD_MS;
use weir_shared::wire::check::Reason;
use weir_tests::calls::charge_keys;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::witness::Fault;
use weir_tests::workerd::Workerd;

use crate::limits::{
    SETTLING, alone, await_left, decide, decide_once, key_in, left, start, still, take,
};

const DECIDE: &str = "Region/decide";
const FINISH: &str = "Region/finish";

/// Units of each of the two keys.
const BOUND: u64 = 10;

/// How long a hold may outlast its time until the shard has looked.
const LAPSED: Duration = Duration::from_millis(HOLD_MS + 1_000);

struct Pair {
    first: String,
    second: String,
}

impl Pair {
    /// Two keys in two shards.
    fn new(nth: usize) -> Self {
        Self {
            first: key_in(0, nth),
            second: key_in(1, nth),
        }
    }

    fn question(&self, cost: u64) -> Value {
        charge_keys(
            "pair",
            &[("first", &self.first), ("second", &self.second)],
            cost,
        )
    }

    async fn await_left(&self, client: &Client, expected: u64) {
        await_left(client, "first", &self.first, expected).await;
        await_left(client, "second", &self.second, expected).await;
    }
}

async fn deployment(first: u64, second: u64) -> Workerd {
    let limits = json!({
        "first": still(first),
        "second": still(second),
        "pair": { "all": ["first", "second"] },
    });
    start(alone().witnessed(), limits).await
}

/// Asks for a cost of a pair while so many commits stall, and kills the process when so many have and a pause is over,
/// before there is an answer. The pair, and when it was asked for.
async fn die_between(
    workerd: &mut Workerd,
    (stalled, struck): (u64, u64),
    cost: u64,
    pause: Duration,
) -> (Pair, Instant) {
    // On a busy machine the answer may come before the kill.
    const TRIES: usize = 5;
    let (client, witness) = (workerd.client(0).unwrap(), workerd.witness().unwrap());
    for nth in 0..TRIES {
        let pair = Pair::new(nth);
        witness.fault(FINISH, Fault::Stall, stalled).await.unwrap();
        let asked = now();
        let (question, asking) = (pair.question(cost), client.clone());
        let pending = tokio::spawn(async move { asking.decide(&question).await });
        witness.await_struck(struck, SETTLING).await.unwrap();
        tokio::time::sleep(pause).await;
        workerd.kill_hard();
        let answer = pending.await.unwrap();
        workerd.restart().await.unwrap();
        if answer.is_err() {
            return (pair, asked);
        }
    }
    panic!("{TRIES} times there was an answer before the kill");
}

/// Both shards hold, neither is told to commit, and the process dies. The hold is durable, and lapses.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_held_when_the_process_died_is_back_after_its_time() {
    let mut workerd = deployment(BOUND, BOUND).await;
    let client = workerd.client(0).unwrap();
    let (pair, asked) = die_between(&mut workerd, (100, 2), 3, Duration::ZERO).await;
    for (limit, key) in [("first", &pair.first), ("second", &pair.second)] {
        let left = left(&client, limit, key).await;
        assert!([BOUND - 3, BOUND].contains(&left), "{limit}: {left}");
        if asked.elapsed() < Duration::from_millis(HOLD_MS) {
            assert_eq!(left, BOUND - 3, "{limit}: a hold outlasts the process");
        }
    }
    tokio::time::sleep(LAPSED.saturating_sub(asked.elapsed())).await;
    pair.await_left(&client, BOUND).await;
    assert!(
        decide(&client, &pair.question(BOUND)).await.allowed,
        "nothing is lost for ever"
    );
    assert!(
        !decide(&client, &pair.question(1)).await.allowed,
        "and nothing came twice"
    );
}

/// One shard has committed and the other has not: nobody was told that the question passed.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_between_two_commits_lifts_no_bound() {
    let mut workerd = deployment(BOUND, BOUND).await;
    let client = workerd.client(0).unwrap();
    // The other commit is answered at once.
    let other = Duration::from_millis(100);
    let (pair, _) = die_between(&mut workerd, (1, 1), 4, other).await;
    tokio::time::sleep(LAPSED).await;
    let (start, mut before) = (now(), [0; 2]);
    // Until what comes back has come.
    let rests = loop {
        let rests = [
            left(&client, "first", &pair.first).await,
            left(&client, "second", &pair.second).await,
        ];
        for rest in rests {
            assert!([BOUND - 4, BOUND].contains(&rest), "{rests:?}");
        }
        if rests.contains(&BOUND) && rests == before {
            break rests;
        }
        assert!(
            start.elapsed() < SETTLING,
            "the hold that was not committed did not come back: {rests:?}"
        );
        before = rests;
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    assert!(take(&client, "first", &pair.first, rests[0]).await.allowed);
    assert!(
        take(&client, "second", &pair.second, rests[1])
            .await
            .allowed
    );
    for (limit, key) in [("first", &pair.first), ("second", &pair.second)] {
        assert!(!take(&client, limit, key, 1).await.allowed, "{limit}");
    }
}

/// The answer of one shard is lost on the way, in each place where it can be: the asker is told that a holder was out
/// of reach, and what was charged comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_call_is_undone() {
    let workerd = deployment(BOUND, BOUND).await;
    let (client, witness) = (workerd.client(0).unwrap(), workerd.witness().unwrap());
    let cases = [
        (DECIDE, Fault::Refuse, 1),
        (DECIDE, Fault::Lose, 1),
        (DECIDE, Fault::Lose, 2),
        (FINISH, Fault::Refuse, 1),
        (FINISH, Fault::Lose, 1),
        (FINISH, Fault::Refuse, 2),
        (FINISH, Fault::Lose, 2),
    ];
    for (nth, (call, kind, times)) in cases.into_iter().enumerate() {
        let pair = Pair::new(nth);
        assert!(decide(&client, &pair.question(1)).await.allowed);
        witness.fault(call, kind, times).await.unwrap();
        let decision = decide_once(&client, &pair.question(4)).await;
        let case = format!("{call} {kind:?} {times}");
        assert_eq!(
            (decision.allowed, decision.reason),
            (false, Reason::Unavailable),
            "{case}"
        );
        assert!(
            decision.retry_after_ms.is_some_and(|hint| hint > 0),
            "{case}: {decision:?}"
        );
        witness.calm().await.unwrap();
        pair.await_left(&client, BOUND - 1).await;
        assert!(
            decide(&client, &pair.question(BOUND - 1)).await.allowed,
            "{case}"
        );
        assert!(!decide(&client, &pair.question(1)).await.allowed, "{case}");
    }
}

/// A stalled shard: the answer comes within the deadline, and what the other held comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_never_answers_is_not_waited_for() {
    let workerd = deployment(BOUND, BOUND).await;
    let (client, witness) = (workerd.client(0).unwrap(), workerd.witness().unwrap());
    // Of an answer that comes late nobody knows whether the machine stood still: the best of three counts.
    let mut soonest = Duration::MAX;
    for nth in 0..3 {
        let pair = Pair::new(nth);
        assert!(decide(&client, &pair.question(1)).await.allowed);
        witness.fault(DECIDE, Fault::Stall, 1).await.unwrap();
        let asked = now();
        let decision = decide_once(&client, &pair.question(4)).await;
        soonest = soonest.min(asked.elapsed());
        assert_eq!(
            (decision.allowed, decision.reason),
            (false, Reason::Unavailable)
        );
        witness.calm().await.unwrap();
        pair.await_left(&client, BOUND - 1).await;
        assert!(decide(&client, &pair.question(BOUND - 1)).await.allowed);
        if soonest < Duration::from_secs(5) {
            return;
        }
    }
    panic!("no answer within {soonest:?}");
}
