//! The machines of limits, each with a few rules of its own between which keys change.

use weir_shared::algorithms::Algorithm;
use weir_shared::algorithms::calendar::{Period, Zone};
use weir_shared::algorithms::fixed_window::FixedWindow;
use weir_shared::algorithms::leaky_bucket::{LeakyBucket, LeakyBucketState};
use weir_shared::algorithms::quota::Quota;
use weir_shared::algorithms::sliding_log::SlidingLog;
use weir_shared::algorithms::sliding_window::SlidingWindow;
use weir_shared::algorithms::token_bucket::TokenBucket;
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::policy::Cadence;

use crate::digest::START_MS;
use crate::digest::log::Log;
use crate::random::Random;

pub(crate) fn token_buckets() -> Vec<Algorithm> {
    let bucket = |capacity, refill| {
        Algorithm::TokenBucket(TokenBucket::new(Decimal(capacity), Decimal(refill)).unwrap())
    };
    vec![
        bucket(100.0, 10.0),
        bucket(7.5, 0.3),
        bucket(1.0, 1_000.0),
        bucket(1_000_000.0, 33.333),
    ]
}

pub(crate) fn fixed_windows() -> Vec<Algorithm> {
    let window =
        |limit, window_ms| Algorithm::FixedWindow(FixedWindow::new(limit, window_ms).unwrap());
    vec![
        window(100, 60_000),
        window(7, 1_000),
        window(3, 77),
        window(10_000_000, 3_600_000),
    ]
}

pub(crate) fn sliding_windows() -> Vec<Algorithm> {
    let window = |limit, window_ms, buckets| {
        Algorithm::SlidingWindow(SlidingWindow::new(limit, window_ms, buckets).unwrap())
    };
    vec![
        window(100, 60_000, 1),
        window(7, 1_000, 5),
        window(20, 333, 12),
        window(5_000, 10_000, 10),
    ]
}

pub(crate) fn sliding_logs() -> Vec<Algorithm> {
    let log = |limit, window_ms| Algorithm::SlidingLog(SlidingLog::new(limit, window_ms).unwrap());
    vec![log(10, 60_000), log(7, 1_000), log(3, 77), log(40, 5_000)]
}

pub(crate) fn quotas() -> Vec<Algorithm> {
    let civil = |limit, cadence, minutes| {
        let zone = Zone::offset(minutes).unwrap();
        Algorithm::Quota(Quota::new(limit, Period::calendar(cadence, zone, 1).unwrap()).unwrap())
    };
    let fixed = |limit, period_ms| {
        Algorithm::Quota(Quota::new(limit, Period::fixed(period_ms, 500).unwrap()).unwrap())
    };
    let rolling = |limit, period_ms| Algorithm::Quota(Quota::rolling(limit, period_ms, 6).unwrap());
    vec![
        civil(500, Cadence::CalendarDay, 330),
        civil(5_000, Cadence::CalendarMonth, -480),
        fixed(20, 7_000),
        rolling(30, 60_000),
    ]
}

/// Until `decisions` places in queues are given or refused.
pub(crate) fn queues(seed: u64, decisions: usize) -> Log {
    const KEYS: usize = 8;
    let mut random = Random::new(seed);
    let queue = |rate, queue_ms| LeakyBucket::new(Decimal(rate), Decimal(queue_ms)).unwrap();
    let queues = [
        queue(10.0, 1_000.0),
        queue(0.3, 0.5),
        queue(333.333, 50.0),
        queue(7.0, 86_400_000.0),
    ];
    let mut states = [const { None }; KEYS];
    let mut now = EpochMs(START_MS);
    let mut log = Log::default();
    for _ in 0..decisions {
        now = match random.below(20) {
            0 => EpochMs(now.0 - random.below(3_000)),
            _ => now.plus(random.below(400)),
        };
        let key = random.below(KEYS as u64) as usize;
        let which = match random.chance(900) {
            true => key % queues.len(),
            false => random.below(4) as usize,
        };
        let cost = random.one_of(&[0, 1, 1, 2, 5, 40]);
        let reserved = queues[which].reserve(states[key].as_ref(), cost, now);
        if let Some(next) = reserved.next {
            states[key] = Some(next);
        }
        let outcome = reserved.outcome;
        log.decision(outcome.accepted, &[which as u64, cost, outcome.delay_ms]);
        log.number(outcome.retry.after_ms());
        let state: Option<&LeakyBucketState> = states[key].as_ref();
        log.number(state.map(|state| queues[which].expires_at(state).0));
    }
    log
}
