//! In steady state no request waits because a window ends: what the next one needs is there before it begins.

use std::time::{Duration, Instant};

use serde_json::Value;
use weir_shared::wire::check::Reason;
use weir_tests::checker::{admitted_by_window, violations};
use weir_tests::clock::epoch_ms;
use weir_tests::fixtures::with;
use weir_tests::history::{Operation, outcomes};
use weir_tests::shares::percentiles;
use weir_tests::stage::Stage;
use weir_tests::tempo::Tempo;
use weir_tests::watch::{Stood, Watch};
use weir_tests::workerd::{REGIONS, Setup};

use crate::shares::{budget, document, escrow, load, weighing, window_start};

const WINDOW: Duration = Duration::from_secs(4);

/// Twice what is asked for in a window.
const LIMIT: u64 = 2_400;

/// Rolls that are judged.
const ROLLS: u32 = 4;

/// How long before an instant calls to objects become slow, and how long they stay so.
const BEFORE: Duration = Duration::from_millis(250);
const AROUND: Duration = Duration::from_millis(1_000);

/// By how much: as between places that are far from each other.
const SLOW: [(&str, Duration); 2] = [
    ("Region/contact", Duration::from_millis(100)),
    ("Coordinator/exchange", Duration::from_millis(250)),
];

/// On a slow machine, at most: a call of a region that calls its coordinator ends after a second.
const SLOW_MAX: Duration = Duration::from_millis(300);

/// How often it is tried: a machine that has hardly time for the load is late at rolls now and then, a fault always.
const TRIES: u32 = 3;

/// Who took so long has waited for a call, or for a busy machine.
const WAITED: Duration = Duration::from_millis(80);

/// Instants around which calls were slow, by the time since the load began.
#[derive(Default)]
struct Instants {
    rolls: Vec<Duration>,
    /// Between the rolls: what waits there does not wait because a window ends.
    middles: Vec<Duration>,
}

/// Slows down what a request could wait for around every roll, and as long in the middle of every window.
async fn slow_down(stage: &Stage, begun_at_ms: u64) -> Instants {
    let witness = stage.workerd.witness().unwrap();
    let mut instants = Instants::default();
    let window_ms = stage.window.as_millis() as u64;
    let before_ms = stage.tempo.stretched(BEFORE).as_millis() as u64;
    for _ in 0..2 * ROLLS {
        let now_ms = epoch_ms();
        let half = window_ms / 2;
        let next_ms = (now_ms + before_ms) / half * half + half;
        let is_roll = next_ms.is_multiple_of(window_ms);
        sleep_until(next_ms - before_ms).await;
        for (call, by) in SLOW {
            let by = stage.tempo.stretched(by).min(SLOW_MAX);
            witness.slow(call, by).await.unwrap();
        }
        tokio::time::sleep(stage.tempo.stretched(AROUND)).await;
        witness.calm().await.unwrap();
        let instant = Duration::from_millis(next_ms - begun_at_ms);
        if is_roll {
            instants.rolls.push(instant);
        } else {
            instants.middles.push(instant);
        }
    }
    instants
}

async fn sleep_until(at_ms: u64) {
    tokio::time::sleep(Duration::from_millis(at_ms.saturating_sub(epoch_ms()))).await;
}

/// Of the requests that were sent around one of the instants those that waited, and how many there were in all. A request has
/// waited if it took half of that longer than the machine stood still meanwhile.
fn waited<'a>(
    operations: &'a [Operation],
    instants: &[Duration],
    tempo: Tempo,
    stood: impl Fn(&Operation) -> Duration,
) -> (usize, Vec<&'a Operation>) {
    let [before, around, long] = [BEFORE, AROUND, WAITED].map(|time| tempo.stretched(time));
    let near = |operation: &&Operation| {
        let sent = operation.sent;
        instants
            .iter()
            .any(|instant| sent + before / 2 >= *instant && sent < *instant + around - before)
    };
    let asked: Vec<&Operation> = operations.iter().filter(near).collect();
    let waited = asked.iter().copied();
    let waited =
        waited.filter(|one| one.latency() >= long && one.latency() >= long / 2 + stood(one));
    (asked.len(), waited.collect())
}

/// For how long the machine stood still around an instant, in the middle of all.
fn still_around(instants: &[Duration], began: Instant, tempo: Tempo, stood: &Stood) -> Duration {
    let [before, around] = [BEFORE, AROUND].map(|time| tempo.stretched(time));
    let still = instants.iter().map(|instant| {
        let at = began + *instant;
        stood.during(at - before / 2, at + around - before)
    });
    let mut still: Vec<Duration> = still.collect();
    still.sort();
    still[still.len() / 2]
}

/// Who waited, where, when by the time since the nearest instant, and for how long, for messages.
fn told(waited: &[&Operation], instants: &[Duration]) -> String {
    let told = waited.iter().map(|operation| {
        let since = instants
            .iter()
            .map(|instant| operation.sent.as_millis() as i128 - instant.as_millis() as i128)
            .min_by_key(|since| since.abs());
        let region = operation
            .decision()
            .map(|decision| decision.region.as_str());
        format!(
            "{} in {region:?} at {since:?} ms for {} ms",
            operation.tenant,
            operation.latency().as_millis()
        )
    });
    told.collect::<Vec<_>>().join("; ")
}

async fn assert_nobody_waits(what: &str, budget: impl Fn(Duration) -> Value) {
    for _ in 0..TRIES {
        if nobody_waits(what, &budget).await {
            return;
        }
    }
    panic!("{what}: {TRIES} times more requests waited at rolls than between them");
}

/// Whether no more requests waited at rolls than between them.
async fn nobody_waits(what: &str, budget: impl Fn(Duration) -> Value) -> bool {
    let weights = weighing(&[("one", 1), ("two", 2), ("four", 4)]);
    let policy = |window| document(budget(window), weights);
    let stage = Stage::new(Setup::isolates(&REGIONS).witnessed(), WINDOW, policy).await;
    let (window, tempo) = (stage.window, stage.tempo);
    // Some 25 a second of each tenant at each isolate: 900 a window.
    let loads = ["one", "two", "four"].map(|tenant| load(&stage.clients, tenant, 1, 40));
    let running = stage.start(loads.to_vec());
    let (watch, began) = (Watch::start(&stage.clients), running.origin());
    let begun_at_ms = epoch_ms() - running.elapsed().as_millis() as u64;
    // The first window is learned from, and the second opened from it.
    window_start(window).await;
    tokio::time::sleep(window + window / 4).await;
    let instants = slow_down(&stage, begun_at_ms).await;
    let operations = running.stop().await.unwrap();
    let stood = watch.stop().await;
    let around = |instants: &[Duration]| still_around(instants, began, tempo, &stood);
    let (still_at_rolls, still_between) = (around(&instants.rolls), around(&instants.middles));
    let excuses = |one: &Operation| stood.excuses(began + one.sent, began + one.received);
    let stood = |one: &Operation| stood.during(began + one.sent, began + one.received);
    let latencies = operations.iter().map(Operation::latency).collect();
    let (around, waited_there) = waited(&operations, &instants.rolls, tempo, stood);
    let (between, waited_between) = waited(&operations, &instants.middles, tempo, stood);
    println!(
        "{what}: {} of {around} waited at rolls: {}; {} of {between} between them: {}; all {:?} ms, by window {:?}, {:?}",
        waited_there.len(),
        told(&waited_there, &instants.rolls),
        waited_between.len(),
        told(&waited_between, &instants.middles),
        percentiles(latencies, [50, 95, 100]),
        admitted_by_window(&operations),
        outcomes(&operations)
    );
    assert_eq!(violations(&operations, LIMIT, window), [], "{what}");
    let settled = operations
        .iter()
        .filter(|operation| operation.sent > instants.rolls[0]);
    // A call between objects ends after a second, whoever stood still.
    let away = |one: &Operation, reason| reason == Reason::Unavailable && excuses(one);
    let denied = settled.filter_map(|one| {
        let decision = one.decision().filter(|decision| !decision.allowed)?;
        (!away(one, decision.reason)).then_some(decision.reason)
    });
    let denied: Vec<Reason> = denied.collect();
    assert_eq!(denied, [], "{what}: half of the limit was asked for");
    assert!(
        around > 50 && between > 50,
        "{what}: {around} and {between} requests"
    );
    println!("it stood still for {still_at_rolls:?} at rolls, for {still_between:?} between them");
    // Two of a hundred may fall into the moment between a holder's own end of a window and its beginning of the next.
    let allowed = around * waited_between.len() / between + around / 50;
    // A machine stands still at any time; what stands still at rolls, far above that, is at fault.
    let still_allowed = still_between.mul_f64(1.5) + tempo.stretched(WAITED) / 2;
    waited_there.len() <= allowed && still_at_rolls <= still_allowed
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_at_a_roll_of_a_first_come_budget() {
    assert_nobody_waits("first come", |window| {
        budget("first_come", "global", LIMIT, window.as_millis() as u64)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_at_a_roll_of_a_pinned_escrow() {
    assert_nobody_waits("pinned", |window| escrow("pinned", LIMIT, window)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_at_a_roll_of_a_paced_escrow() {
    assert_nobody_waits("paced", |window| escrow("paced", LIMIT, window)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_at_a_roll_of_a_regions_budget() {
    assert_nobody_waits("region", |window| {
        let window_ms = window.as_millis() as u64;
        let body = budget("weighted_fair_escrow", "region", LIMIT, window_ms);
        with(body, "/reserve", "pinned".into())
    })
    .await;
}
