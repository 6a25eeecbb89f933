//! A limit whose algorithm or windows change never gives back what was used, and denies for no longer than the stricter
//! of both rules.

use proptest::prelude::*;
use weir_shared::algorithms::calendar::{Period, Zone};
use weir_shared::algorithms::deficit_bucket::DeficitBucket;
use weir_shared::algorithms::dual_token_bucket::DualTokenBucket;
use weir_shared::algorithms::fixed_window::FixedWindow;
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::algorithms::guard::Guard;
use weir_shared::algorithms::leaky_bucket::LeakyBucket;
use weir_shared::algorithms::quota::Quota;
use weir_shared::algorithms::scale::{Scaled, ScaledState};
use weir_shared::algorithms::sliding_log::SlidingLog;
use weir_shared::algorithms::sliding_window::SlidingWindow;
use weir_shared::algorithms::token_bucket::TokenBucket;
use weir_shared::algorithms::{Algorithm, State};
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::policy::Cadence;

const HOUR_MS: u64 = 3_600_000;
/// Five minutes after an hour began.
const NOW: EpochMs = EpochMs(472_222 * HOUR_MS + 300_000);
const KINDS: usize = 10;
/// The kind that may owe units.
const DEFICIT: usize = 7;

/// `limit` units in `window_ms`, by each algorithm.
fn algorithm(kind: usize, limit: u64, window_ms: u64) -> Algorithm {
    let rate = Decimal((limit * 1_000_000 / window_ms).max(1) as f64 / 1_000.0);
    match kind {
        0 => Algorithm::Gcra(Gcra::new(limit, window_ms, limit).unwrap()),
        1 => Algorithm::TokenBucket(TokenBucket::new(Decimal(limit as f64), rate).unwrap()),
        2 => Algorithm::FixedWindow(FixedWindow::new(limit, window_ms).unwrap()),
        3 => Algorithm::SlidingWindow(SlidingWindow::new(limit, window_ms, 10).unwrap()),
        4 => Algorithm::SlidingLog(SlidingLog::new(limit, window_ms).unwrap()),
        5 => {
            let period = Period::calendar(Cadence::CalendarDay, Zone::offset(0).unwrap(), 1);
            Algorithm::Quota(Quota::new(limit, period.unwrap()).unwrap())
        }
        6 => Algorithm::Quota(Quota::rolling(limit, window_ms, 10).unwrap()),
        DEFICIT => {
            let burst_ms = limit as f64 / rate.0;
            let burst = Decimal((burst_ms.min(80_000.0) * 1_000.0).round() / 1_000.0);
            Algorithm::DeficitBucket(DeficitBucket::new(rate, burst, 1_000).unwrap())
        }
        8 => {
            let [capacity, peak] = [limit, limit.div_ceil(2)].map(|units| Decimal(units as f64));
            let peak_rate = Decimal(rate.0 * 4.0);
            let bucket = DualTokenBucket::new(capacity, rate, peak, peak_rate);
            Algorithm::DualTokenBucket(bucket.unwrap())
        }
        _ => Algorithm::Guard(Guard::new(Some(limit), Some(limit), 60_000).unwrap()),
    }
}

fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..KINDS).flat_map(|from| (0..KINDS).map(move |to| (from, to)))
}

/// All that a key admits at once, charged; of a bucket with a peak, which admits less at once, all that it holds.
fn exhausted(algorithm: &Algorithm, now: EpochMs) -> State {
    if let Algorithm::DualTokenBucket(bucket) = algorithm {
        return State::DualTokenBucket(bucket.exhausted(now));
    }
    let all = algorithm.at_once(None, now);
    algorithm.check(None, all, now).next.unwrap()
}

/// The most single units that a key admits in `within_ms` from `now` on, asked for as soon as each is due.
fn admitted(algorithm: &Algorithm, state: Option<State>, now: EpochMs, within_ms: u64) -> u64 {
    let (mut state, mut at, mut units) = (state, now, 0);
    // More turns than any time here has: to stop sooner would compare how often each has to wait.
    for _ in 0..20_000 {
        let checked = algorithm.check(state.as_ref(), 1, at);
        let retry_ms = checked.decision.retry.after_ms().unwrap_or(u64::MAX);
        if checked.decision.admitted() {
            state = checked.next;
            units += 1;
        } else if at.since(now).saturating_add(retry_ms) < within_ms {
            at = at.plus(retry_ms);
        } else {
            break;
        }
    }
    units
}

#[test]
fn a_key_that_was_used_up_stays_so_whatever_the_algorithm_becomes() {
    for (from, to) in pairs() {
        for (old_ms, new_ms) in [(HOUR_MS, HOUR_MS), (HOUR_MS, 60_000), (60_000, HOUR_MS)] {
            let (old, new) = (algorithm(from, 10, old_ms), algorithm(to, 10, new_ms));
            let state = exhausted(&old, NOW);
            let decision = new.check(Some(&state), 1, NOW.plus(1)).decision;
            assert!(!decision.admitted(), "{old:?} to {new:?}: {decision:?}");
            let carried = new.carried(&state, NOW.plus(1));
            let decision = new
                .check(carried.as_ref().or(Some(&state)), 1, NOW.plus(1))
                .decision;
            assert!(
                !decision.admitted(),
                "{old:?} to {new:?}, carried: {decision:?}"
            );
        }
    }
}

#[test]
fn a_key_that_was_used_up_is_denied_for_no_longer_than_one_that_the_new_rule_has_used_up() {
    for (from, to) in pairs() {
        for (old_ms, new_ms) in [(HOUR_MS, 60_000), (24 * HOUR_MS, 60_000), (60_000, HOUR_MS)] {
            let (old, new) = (algorithm(from, 10, old_ms), algorithm(to, 10, new_ms));
            let state = exhausted(&old, NOW);
            let at = NOW.plus(1_500);
            let Some(carried) = new.carried(&state, at) else {
                continue;
            };
            let whole = exhausted(&new, at);
            let retry_ms = |state| new.check(Some(state), 1, at).decision.retry.after_ms();
            let (is, most) = (retry_ms(&carried), retry_ms(&whole));
            assert!(is <= most, "{old:?} to {new:?}: {is:?} of {most:?}");
            assert!(is > Some(0), "{old:?} to {new:?}");
            // It is as long as told, and free when it is over.
            assert!(
                new.check(Some(&carried), 1, at.plus(is.unwrap()))
                    .decision
                    .admitted()
            );
            assert!(new.carried(&carried, at).is_none(), "{new:?} keeps its own");
        }
    }
}

#[test]
fn rules_that_take_turns_admit_no_more_than_one_of_them() {
    for (from, to) in pairs().filter(|(from, to)| from != to) {
        let rules = [algorithm(from, 10, HOUR_MS), algorithm(to, 10, HOUR_MS)];
        let mut state = None;
        let mut admitted = 0;
        for turn in 0..60 {
            let (rule, now) = (&rules[turn % 2], NOW.plus(turn as u64 * 100));
            if let Some(carried) = state.as_ref().and_then(|state| rule.carried(state, now)) {
                state = Some(carried);
            }
            for _ in 0..20 {
                let checked = rule.check(state.as_ref(), 1, now);
                admitted += u64::from(checked.decision.admitted());
                state = checked.next.or(state);
            }
        }
        let most = rules.each_ref().map(|rule| rule.at_once(None, NOW));
        let most = most.into_iter().max().unwrap_or(0);
        assert!(admitted <= most, "{rules:?} in turn: {admitted} of {most}");
    }
}

#[test]
fn a_window_that_becomes_shorter_ends_with_the_first_short_one() {
    let rolling = |ms| Algorithm::SlidingWindow(SlidingWindow::new(100, ms, 10).unwrap());
    let log = |ms| Algorithm::SlidingLog(SlidingLog::new(100, ms).unwrap());
    let fixed = |ms| Algorithm::FixedWindow(FixedWindow::new(100, ms).unwrap());
    let gcra = |ms| Algorithm::Gcra(Gcra::new(100, ms, 100).unwrap());
    let cases: [(&dyn Fn(u64) -> Algorithm, u64); 4] = [
        (&rolling, 66_000),
        (&log, 60_000),
        (&fixed, 60_000),
        (&gcra, 60_000),
    ];
    for (of, longest_ms) in cases {
        let state = exhausted(&of(24 * HOUR_MS), NOW);
        let short = of(60_000);
        let at = NOW.plus(7_000);
        let carried = short.carried(&state, at).unwrap();
        let remaining = |ms| {
            short
                .check(Some(&carried), 0, at.plus(ms))
                .decision
                .remaining
        };
        assert_eq!(remaining(0), 0, "{short:?}");
        assert_eq!(remaining(longest_ms), 100, "{short:?}");
    }
}

#[test]
fn a_window_that_becomes_longer_counts_what_the_short_one_still_counts() {
    let log = |ms| Algorithm::SlidingLog(SlidingLog::new(10, ms).unwrap());
    let state = log(60_000).check(None, 4, NOW).next.unwrap();
    let hour = log(HOUR_MS);
    let carried = hour.carried(&state, NOW.plus(30_000)).unwrap();
    let remaining = |ms| {
        hour.check(Some(&carried), 0, NOW.plus(ms))
            .decision
            .remaining
    };
    assert_eq!((remaining(HOUR_MS), remaining(HOUR_MS + 30_000)), (6, 10));
}

#[test]
fn parts_of_a_unit_are_carried_over_as_parts_of_the_new_scale() {
    for (from, to) in pairs().filter(|(from, to)| *from < 8 && *to < 8 && from != to) {
        for (old_scale, new_scale) in [(1, 2), (4, 1), (3, 7)] {
            let old = Scaled::new(&algorithm(from, 10, HOUR_MS), old_scale).unwrap();
            let new = Scaled::new(&algorithm(to, 10, HOUR_MS), new_scale).unwrap();
            let state = old.check(None, 5 * old_scale, NOW).next.unwrap();
            let whole = new.check(None, 5 * new_scale, NOW.plus(1)).next.unwrap();
            let most = new.remaining(Some(&whole), NOW.plus(1));
            let carried = new.carried(&state, NOW.plus(1)).unwrap();
            for state in [&state, &carried] {
                let is = new.remaining(Some(state), NOW.plus(1));
                // What drained in the millisecond, rounded up, is at most one part.
                assert!(is <= most + 1, "{old:?} to {new:?}: {is} of {most}");
                assert!(
                    is + 2 * new_scale >= most,
                    "{old:?} to {new:?}: {is} of {most}"
                );
            }
        }
    }
}

#[test]
fn a_gcra_in_halves_that_changes_its_scale_and_its_rate_gives_nothing_back() {
    let old = Scaled::whole(algorithm(0, 10, HOUR_MS));
    let new = Scaled::new(&algorithm(0, 10, 60_000), 2).unwrap();
    let state = old.check(None, 10, NOW).next.unwrap();
    let carried = new.carried(&state, NOW).unwrap();
    assert_eq!(new.remaining(Some(&carried), NOW), 0);
    assert_eq!(new.remaining(Some(&carried), NOW.plus(60_000)), 20);
}

#[test]
fn a_queue_that_becomes_a_limit_and_back_gives_nothing_back() {
    let bucket = LeakyBucket::new(Decimal(1.0), Decimal(5_000.0)).unwrap();
    let mut waiting = None;
    for _ in 0..3 {
        waiting = bucket.reserve(waiting.as_ref(), 1, NOW).next;
    }
    let queue = State::LeakyBucket(waiting.unwrap());
    for kind in 0..KINDS {
        let limit = algorithm(kind, 10, 60_000);
        let decision = limit.check(Some(&queue), 1, NOW.plus(2_999)).decision;
        assert!(!decision.admitted(), "{limit:?}: {decision:?}");
        assert!(
            limit
                .check(Some(&queue), 1, NOW.plus(3_000))
                .decision
                .admitted()
        );
        let used = ScaledState::whole(limit.check(None, 2, NOW).next.unwrap());
        let carried = bucket.carried(&used, NOW.plus(10)).unwrap();
        let delay_ms = bucket
            .reserve(Some(&carried), 1, NOW.plus(10))
            .outcome
            .delay_ms;
        assert!((1_990..=2_000).contains(&delay_ms), "{limit:?}: {delay_ms}");
    }
    assert_eq!(bucket.carried(&ScaledState::whole(queue), NOW), None);
}

#[test]
fn what_a_bucket_owes_is_carried_over_to_the_unit() {
    let (old, new) = (algorithm(DEFICIT, 4, 1_000), algorithm(0, 7, 1_000));
    // A full one of 4 takes up to 4 more than it has.
    assert_eq!(old.at_once(None, NOW), 8);
    let owing = old.check(None, 6, NOW).next.unwrap();
    let carried = new.carried(&owing, NOW).unwrap();
    assert_eq!(new.at_once(Some(&carried), NOW), 1);
}

#[test]
fn a_carried_state_is_no_longer_than_told_and_is_read_as_it_was_written() {
    let log = Algorithm::SlidingLog(SlidingLog::new(2_000, HOUR_MS).unwrap());
    let mut state = None;
    for n in 0..2_000 {
        state = log.check(state.as_ref(), 1, NOW.plus(n * 1_800)).next;
    }
    let now = NOW.plus(HOUR_MS - 1);
    for kind in 0..KINDS {
        for limit in [1, 7, 900] {
            let new = algorithm(kind, limit, 60_000);
            let carried = new.carried(state.as_ref().unwrap(), now).unwrap();
            let json = serde_json::to_string(&carried).unwrap();
            assert!(
                json.len() as u64 <= new.state_bytes_max(),
                "{new:?}: {json}"
            );
            assert_eq!(serde_json::from_str::<State>(&json).unwrap(), carried);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 400 } else { 4_000 }))]

    /// For every ordered pair, at every instant of the change, whatever was charged before and however long nobody asks
    /// after it: what the old rule still counted when it changed stays charged.
    #[test]
    fn after_a_change_no_more_is_admitted_than_if_what_still_counted_were_charged_anew(
        limits in (1..=12_u64, 1..=12_u64),
        windows in (0..4_usize, 0..4_usize),
        charges in prop::collection::vec((0..40_000_u64, 1..=6_u64), 1..8),
        change_ms in 0..2 * 60_000_u64,
        silence_ms in prop_oneof![Just(0), 0..90_000_u64],
        within_ms in prop_oneof![Just(1), 0..200_000_u64],
        anchored in any::<bool>(),
    ) {
        let lengths = [1_000, 10_000, 60_000, HOUR_MS];
        for (from, to) in pairs().filter(|(from, to)| from != to && (*from, *to) != (5, 6)) {
            let old = algorithm(from, limits.0, lengths[windows.0]);
            let new = algorithm(to, limits.1, lengths[windows.1]);
            let (mut state, mut now) = (None, NOW);
            for (gap_ms, cost) in &charges {
                now = now.plus(*gap_ms);
                state = old.check(state.as_ref(), *cost, now).next.or(state);
            }
            let Some(state) = state else { continue };
            // What still counts when the rule changes: what a cold key could be charged, and this one can not.
            let changed_at = now.plus(change_ms);
            let left = |state: Option<&State>| match from {
                // Who is in debt lacks all that is ready; what it would take on top when full, it may not owe.
                DEFICIT => old.check(state, 0, changed_at).decision.remaining,
                _ => old.at_once(state, changed_at),
            };
            let count = left(None) - left(Some(&state));
            let most = new.at_once(None, changed_at);
            let fresh = (count.min(most) > 0)
                .then(|| new.check(None, count.min(most), changed_at).next.unwrap());
            let asked_at = changed_at.plus(silence_ms);
            let mut carried = state.clone();
            if anchored {
                carried = new.carried(&state, asked_at).unwrap_or(state.clone());
            }
            let is = admitted(&new, Some(carried), asked_at, within_ms);
            let allowed = admitted(&new, fresh, asked_at, within_ms);
            prop_assert!(is <= allowed, "{:?} to {:?}: {} of {}, {} counted", old, new, is, allowed, count);
        }
    }
}
