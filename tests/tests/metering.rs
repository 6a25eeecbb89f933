//! Meters and guards, end to end: what a tenant may bring and how many of its calls run, over isolates and regions.

mod bad_input;
mod durability;
mod guards;
mod meters;
mod names;
mod neighbour;
mod overrides;
mod settlement;
mod together;
mod unreachable;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_shared::wire::check::{DecisionBody, Reason};
use weir_shared::wire::guard::{AcquiredBody, SlotBody};
use weir_tests::again::answered;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{policy, with};
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, Workerd};

/// Thirty days: the budget of the policies here ends in no test.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// How long what is on its way between holders may take to arrive on a busy machine.
const SETTLING: Duration = Duration::from_secs(20);

/// What was charged for an answer that came too late comes back within this.
const UNDONE: Duration = Duration::from_secs(4);

/// By when holders find each other after a restart, on a machine that may be slow.
const THERE: Duration = Duration::from_secs(30);

/// A policy with these meters and guards.
fn document(meters: Value, guards: Value) -> Value {
    let base = with(policy(1_000, LONG_MS), "/meters", meters);
    with(base, "/guards", guards)
}

/// A deployment with these meters and guards in force.
async fn start(setup: Setup, meters: Value, guards: Value) -> Workerd {
    let workerd = setup.start().await.expect("workerd starts");
    workerd
        .apply(&document(meters, guards))
        .await
        .expect("the policy is saved");
    workerd
}

/// Kills the process and starts it again: each isolate decides by the policy afterwards, and its holders answer.
async fn restart(workerd: &mut Workerd) {
    workerd.restart().await.expect("workerd comes back");
    for client in workerd.clients().unwrap() {
        let start = now();
        let there = async || {
            let revision = client.policy().await?.revision()?;
            client.await_revision(revision, THERE).await
        };
        while let Err(error) = there().await {
            assert!(start.elapsed() < THERE, "{error:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// A meter of so many units a second, a bucket of so many seconds of them, and debts of up to a minute.
fn meter(per_sec: f64, burst_seconds: f64) -> Value {
    json!({ "per_sec": per_sec, "burst_seconds": burst_seconds, "max_debt_ms": 60_000 })
}

/// A meter that gives so many units, and no more while a test runs: it fills in most of a day, and owes next to nothing.
fn still(units: u64) -> Value {
    json!({ "per_sec": units as f64 / 80_000.0, "burst_seconds": 80_000, "max_debt_ms": 1 })
}

/// The same, of each region.
fn still_in_region(units: u64) -> Value {
    with(still(units), "/scope", json!("region"))
}

fn charge(tenant: &str, meter: &str, cost: u64) -> Value {
    json!({ "tenant": tenant, "meter": meter, "cost": cost })
}

/// The decision, once the holders answer. A denial behind an answer that came too late is asked for again until what was
/// charged for that is back.
async fn decide(client: &Client, question: &Value) -> DecisionBody {
    let (start, mut late) = (now(), None::<Instant>);
    loop {
        let decision = decide_once(client, question).await;
        let again = if decision.reason == Reason::Unavailable {
            late = Some(now());
            start.elapsed() < THERE
        } else {
            !decision.allowed && late.is_some_and(|at| at.elapsed() < UNDONE)
        };
        if !again {
            return decision;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The decision, also where a holder is out of reach.
async fn decide_once(client: &Client, question: &Value) -> DecisionBody {
    client.decide(question).await.unwrap().decision
}

async fn take(client: &Client, tenant: &str, meter: &str, cost: u64) -> DecisionBody {
    decide(client, &charge(tenant, meter, cost)).await
}

async fn take_once(client: &Client, tenant: &str, meter: &str, cost: u64) -> DecisionBody {
    decide_once(client, &charge(tenant, meter, cost)).await
}

/// What is left of a meter, as far as the isolate knows.
async fn left(client: &Client, tenant: &str, meter: &str) -> u64 {
    let look = take(client, tenant, meter, 0).await;
    assert_ne!(look.reason, Reason::Unavailable, "{look:?}");
    look.remaining
}

/// Waits until so much is left of a meter. An isolate that has drawn units ahead may know of more for half a second; what
/// was given back once too often stays.
async fn await_left(client: &Client, tenant: &str, meter: &str, expected: u64) {
    let start = now();
    loop {
        let left = left(client, tenant, meter).await;
        if left == expected {
            return;
        }
        assert!(
            start.elapsed() < SETTLING,
            "{left} are left of {meter} for {tenant}, not {expected}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Takes units one by one until so many came, or none for a while, and one more; how many came.
async fn take_the_rest(client: &Client, tenant: &str, meter: &str, expected: u64) -> u64 {
    let (mut taken, mut last) = (0, now());
    while taken < expected && last.elapsed() < SETTLING {
        if take(client, tenant, meter, 1).await.allowed {
            (taken, last) = (taken + 1, now());
        } else {
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    }
    taken + u64::from(take(client, tenant, meter, 1).await.allowed)
}

/// So many single units at once, in one call, and those again of which the answer came too late; how many were admitted.
async fn offer(client: &Client, tenant: &str, meter: &str, count: usize) -> u64 {
    let (start, mut total, mut rest) = (now(), 0, count);
    loop {
        let decisions = offer_once(client, tenant, meter, rest).await;
        total += admitted(&decisions);
        let late = |decision: &&DecisionBody| decision.reason == Reason::Unavailable;
        rest = decisions.iter().filter(late).count();
        if rest == 0 || start.elapsed() > THERE {
            return total;
        }
        // What was charged for those comes back first.
        tokio::time::sleep(UNDONE).await;
    }
}

async fn offer_once(client: &Client, tenant: &str, meter: &str, count: usize) -> Vec<DecisionBody> {
    let questions = vec![charge(tenant, meter, 1); count];
    client.batch(&questions).await.unwrap()
}

fn admitted(decisions: &[DecisionBody]) -> u64 {
    decisions.iter().filter(|decision| decision.allowed).count() as u64
}

/// What is answered to who wants a slot, once the holders answer. A refusal behind an answer that came too late is asked for
/// again until the slot of that is back.
async fn acquire(client: &Client, guard: &str, tenant: &str) -> Reply {
    let (start, mut late) = (now(), None::<Instant>);
    loop {
        let reply = acquire_once(client, guard, tenant).await;
        let again = if reply.status == 503 {
            late = Some(now());
            start.elapsed() < THERE
        } else {
            reply.status == 429 && late.is_some_and(|at| at.elapsed() < UNDONE)
        };
        if !again {
            return reply;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The same, also where a holder is out of reach.
async fn acquire_once(client: &Client, guard: &str, tenant: &str) -> Reply {
    let path = format!("/v1/guards/{guard}/acquire");
    client
        .post(&path, &json!({ "tenant": tenant }))
        .await
        .unwrap()
}

/// A slot, which there has to be.
async fn acquired(client: &Client, guard: &str, tenant: &str) -> AcquiredBody {
    acquire(client, guard, tenant).await.ok().unwrap()
}

/// What is answered to who renews or releases a slot, once the holders answer: it can be repeated.
async fn slot_call(client: &Client, guard: &str, action: &str, slot: &str) -> SlotBody {
    let path = format!("/v1/guards/{guard}/{action}");
    let question = json!({ "slot": slot });
    let ask = async || client.post(&path, &question).await;
    answered(ask).await.ok().unwrap()
}

async fn release(client: &Client, guard: &str, slot: &str) -> SlotBody {
    slot_call(client, guard, "release", slot).await
}

/// Why no slot was given, and after how many milliseconds there could be one.
fn refused(reply: &Reply) -> (String, u64) {
    assert_eq!(reply.status, 429, "{}", reply.text());
    let problem = reply.problem().unwrap();
    let after_ms = problem.retry_after_ms.expect("a time");
    let after_s: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(after_s, after_ms.div_ceil(1_000).max(1), "rounded up");
    (problem.detail, after_ms)
}
