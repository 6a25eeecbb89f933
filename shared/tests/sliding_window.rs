//! What the sliding window counter promises, over drawn limits and schedules.

use crate::count;

use crate::count::{Key, NOW_MS, Scale, World, config, limit, raw_steps, start};
use proptest::prelude::*;
use weir_shared::algorithms::Algorithm;
use weir_shared::algorithms::sliding_window::SlidingWindow;
use weir_shared::decision::{Reason, Retry};
use weir_shared::limits::{JSON_INTEGER_MAX, SLIDING_BUCKETS_MAX, WINDOW_MS_MAX};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

/// The numbers of a limit.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    limit: u64,
    window_ms: u64,
    buckets: u64,
}

impl Numbers {
    fn algorithm(self) -> Algorithm {
        let window = SlidingWindow::new(self.limit, self.window_ms, self.buckets).unwrap();
        Algorithm::SlidingWindow(window)
    }

    fn scale(self) -> Scale {
        Scale {
            limit: self.limit,
            short_ms: self.window_ms.div_ceil(self.buckets),
            long_ms: self.window_ms,
        }
    }

    /// The number of the sub-bucket at `now`.
    fn bucket(self, now: EpochMs) -> u128 {
        u128::from(now.0) * u128::from(self.buckets) / u128::from(self.window_ms)
    }
}

fn buckets() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(1), 3 => 2..=12_u64, 1 => 1..=SLIDING_BUCKETS_MAX]
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let window_ms = prop_oneof![1..=20_u64, 1..=100_000_u64, 1..=WINDOW_MS_MAX];
    (limit(), window_ms, buckets()).prop_map(|(limit, window_ms, buckets)| Numbers {
        limit,
        window_ms,
        buckets,
    })
}

/// The sub-buckets as they are defined, with all that was ever charged.
struct Estimate {
    numbers: Numbers,
    counts: OrderedMap<u128, u128>,
}

impl Estimate {
    /// The estimate at `at`, in parts of which a unit has `window_ms`.
    fn parts(&self, at: EpochMs) -> u128 {
        let window = u128::from(self.numbers.window_ms);
        let (buckets, bucket) = (u128::from(self.numbers.buckets), self.numbers.bucket(at));
        let elapsed = u128::from(at.0) * buckets - bucket * window;
        let parts = |(then, units): (&u128, &u128)| match bucket - then {
            age if age < buckets => units * window,
            age if age == buckets => units * (window - elapsed),
            _ => 0,
        };
        self.counts.iter().map(parts).sum()
    }

    fn admits(&self, cost: u64, at: EpochMs) -> bool {
        let (limit, cost) = (u128::from(self.numbers.limit), u128::from(cost));
        let window = u128::from(self.numbers.window_ms);
        self.parts(at) + cost * window <= limit * window
    }

    fn remaining(&self, at: EpochMs) -> u128 {
        let window = u128::from(self.numbers.window_ms);
        (u128::from(self.numbers.limit) * window - self.parts(at)) / window
    }

    fn charge(&mut self, cost: u64, at: EpochMs) {
        *self.counts.entry(self.numbers.bucket(at)).or_default() += u128::from(cost);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_decision_equals_that_of_the_exact_estimate(
        numbers in numbers(),
        start in start(),
        raw in raw_steps(24),
    ) {
        let mut key = Key::cold(&numbers.algorithm());
        let mut estimate = Estimate { numbers, counts: OrderedMap::new() };
        let (mut now, mut latest) = (start, EpochMs(0));
        for raw in raw {
            let step = numbers.scale().step(raw);
            // One step in four goes back in time.
            now = if step.lot.is_multiple_of(4) {
                EpochMs(now.0.saturating_sub(step.gap_ms))
            } else {
                now.plus(step.gap_ms)
            };
            let at = now.max(latest);
            let reason = if step.cost > numbers.limit {
                Reason::Never
            } else if estimate.admits(step.cost, at) {
                estimate.charge(step.cost, at);
                latest = at;
                Reason::Admitted
            } else {
                Reason::LimitExceeded
            };
            let decision = key.check(step.cost, now).decision;
            prop_assert_eq!(decision.reason, reason);
            prop_assert_eq!(u128::from(decision.remaining), estimate.remaining(at));
            let last = numbers.bucket(at) + u128::from(numbers.buckets) + 1;
            let reset_at = (last * u128::from(numbers.window_ms)).div_ceil(u128::from(numbers.buckets));
            prop_assert_eq!(u128::from(decision.reset_at.0), reset_at);
        }
    }

    #[test]
    fn the_estimate_is_off_by_at_most_what_the_oldest_sub_bucket_holds(
        numbers in numbers(),
        start in start(),
        raw in raw_steps(24),
    ) {
        let mut world = World::cold(&numbers.algorithm(), start);
        for raw in raw {
            world.take(numbers.scale().step(raw));
            for at in [world.now, world.now.plus(numbers.scale().short_ms / 2)] {
                let units = |counts: &dyn Fn(EpochMs) -> bool| -> u64 {
                    let charges = world.charges.iter().filter(|charge| counts(charge.at));
                    charges.map(|charge| charge.cost).sum()
                };
                let used = units(&|charged| at.since(charged) < numbers.window_ms);
                let age = u128::from(numbers.buckets);
                let oldest = units(&|charged| numbers.bucket(charged) + age == numbers.bucket(at));
                let estimate = numbers.limit - world.key.remaining(at);
                prop_assert!(used.abs_diff(estimate) <= oldest, "{used}, {estimate}, {oldest}");
                prop_assert!(used <= numbers.limit + oldest);
            }
        }
    }

    #[test]
    fn a_retry_is_the_first_millisecond_that_admits(
        limit in 1..=30_u64,
        window_ms in 1..=40_u64,
        buckets in 1..=60_u64,
        start in start(),
        raw in raw_steps(12),
        cost in any::<u64>(),
    ) {
        let numbers = Numbers { limit, window_ms, buckets };
        let mut world = World::cold(&numbers.algorithm(), start);
        for raw in raw {
            world.take(numbers.scale().step(raw));
        }
        let (key, now) = (world.key, world.now);
        let admits = |cost, ms| {
            let checked = key.algorithm.check(key.state.as_ref(), cost, now.plus(ms));
            checked.decision.admitted()
        };
        let cost = 1 + cost % limit;
        let first = (0..=3 * window_ms).find(|ms| admits(cost, *ms));
        let decision = key.algorithm.check(key.state.as_ref(), cost, now).decision;
        prop_assert_eq!(decision.retry.after_ms(), first);
    }

    #[test]
    fn a_refunded_key_decides_as_one_that_was_not_charged(
        numbers in numbers(),
        start in start(),
        raw in raw_steps(10),
    ) {
        count::a_refund_is_exact(&numbers.algorithm(), numbers.scale(), start, &raw)?;
    }

    #[test]
    fn a_changed_limit_window_or_number_of_sub_buckets_never_frees_what_was_used(
        before in numbers(),
        limit in limit(),
        buckets in buckets(),
        factor in prop_oneof![Just((1, 1)), (1..=8_u64, 1..=8_u64), (1..=100_u64, 1..=100_u64)],
        start in start(),
        raw in raw_steps(10),
    ) {
        let window_ms = (u128::from(before.window_ms) * u128::from(factor.0)
            / u128::from(factor.1)).clamp(1, u128::from(WINDOW_MS_MAX));
        let window_ms = u64::try_from(window_ms).unwrap();
        let after = Numbers { limit, window_ms, buckets };
        let pair = (&before.algorithm(), &after.algorithm());
        count::a_change_never_frees(pair, before.scale(), start, &raw)?;
    }

    #[test]
    fn units_may_be_spent_until_their_sub_bucket_ends(
        numbers in numbers(),
        start in start(),
        raw in raw_steps(8),
        cost in any::<u64>(),
        later in any::<u64>(),
    ) {
        let mut world = World::cold(&numbers.algorithm(), start);
        for raw in raw {
            world.take(numbers.scale().step(raw));
        }
        let now = world.now;
        let (mut charged, mut spent) = (world.key.clone(), world.key);
        let remaining = charged.remaining(now);
        if remaining == 0 {
            return Ok(());
        }
        let cost = 1 + cost % remaining;
        prop_assert!(charged.check(cost, now).decision.admitted());
        let until = charged.algorithm.spendable_until(charged.state.as_ref().unwrap(), now);
        prop_assert!(now < until);
        // Wherever in between they are spent, a limit that saw that counts as this one does.
        let at = now.plus(later % until.since(now));
        prop_assert!(spent.check(cost, at).decision.admitted());
        for at in numbers.scale().later(at) {
            prop_assert_eq!(charged.remaining(at), spent.remaining(at));
        }
        prop_assert!(numbers.bucket(until) > numbers.bucket(now));
    }
}

/// "How we built rate limiting capable of scaling to millions of domains" (Cloudflare, 2017): a limit of 50 requests a
/// minute, 42 in the minute before, 18 in the present one, which is 15 s old:
/// `42 * ((60 - 15) / 60) + 18 = 49.5`.
#[test]
fn one_sub_bucket_is_the_two_counters_of_the_published_example() {
    let minute = 60_000;
    let start = NOW_MS - NOW_MS % minute;
    let numbers = Numbers {
        limit: 50,
        window_ms: minute,
        buckets: 1,
    };
    let mut key = Key::cold(&numbers.algorithm());
    assert!(key.check(42, EpochMs(start - 30_000)).decision.admitted());
    let now = EpochMs(start + 15_000);
    assert!(key.check(18, now).decision.admitted());
    // 49.5 of 50 are used; with one counter more they would be 50.5.
    assert_eq!(key.remaining(now), 0);
    assert!(!key.check(1, now).decision.admitted());
    // In tenths of a unit: 495 of 500.
    let tenths = Algorithm::SlidingWindow(SlidingWindow::new(500, minute, 1).unwrap());
    let mut key = Key::cold(&tenths);
    key.check(420, EpochMs(start - 30_000));
    key.check(180, now);
    assert_eq!(key.remaining(now), 5);
}

#[test]
fn it_does_not_double_over_a_boundary_as_a_fixed_window_does() {
    let numbers = Numbers {
        limit: 100,
        window_ms: 1_000,
        buckets: 10,
    };
    let mut key = Key::cold(&numbers.algorithm());
    key.check(100, EpochMs(NOW_MS + 999));
    for later_ms in 1..=900 {
        assert_eq!(key.remaining(EpochMs(NOW_MS + 999 + later_ms)), 0);
    }
    // From 1900 on its sub-bucket leaves the window, evenly: one unit a millisecond.
    for later_ms in 0..=100 {
        assert_eq!(key.remaining(EpochMs(NOW_MS + 1_900 + later_ms)), later_ms);
    }
}

#[test]
fn sub_buckets_shorter_than_a_millisecond_are_as_good_as_a_log() {
    let numbers = Numbers {
        limit: 3,
        window_ms: 7,
        buckets: SLIDING_BUCKETS_MAX,
    };
    let mut key = Key::cold(&numbers.algorithm());
    key.check(1, EpochMs(NOW_MS));
    key.check(2, EpochMs(NOW_MS + 3));
    let denied = key.check(1, EpochMs(NOW_MS + 4)).decision;
    // The charge counts for the rest of its sub-bucket too: 7 ms and 0.07 us.
    assert_eq!(denied.retry, Retry::AfterMs(4));
    assert_eq!(key.remaining(EpochMs(NOW_MS + 7)), 0);
    assert_eq!(key.remaining(EpochMs(NOW_MS + 8)), 1);
}

#[test]
fn a_longer_window_counts_what_was_charged_before_it_was_longer() {
    let before = Numbers {
        limit: 5,
        window_ms: 1_000,
        buckets: 10,
    };
    let mut key = Key::cold(&before.algorithm());
    key.check(5, EpochMs(NOW_MS));
    let after = Numbers {
        window_ms: 10_000,
        ..before
    };
    key.algorithm = after.algorithm();
    // Its sub-bucket of 100 ms, and the window.
    let denied = key.check(1, EpochMs(NOW_MS + 1_100)).decision;
    assert_eq!(denied.retry, Retry::AfterMs(9_000));
}

#[test]
fn a_sub_bucket_of_another_window_is_not_given_back() {
    let numbers = |window_ms| Numbers {
        limit: 10,
        window_ms,
        buckets: 1,
    };
    let mut key = Key::cold(&numbers(100).algorithm());
    // Sub-bucket 100 of 100 ms each; then of 200 ms each.
    let charged = key.check(5, EpochMs(10_000)).next.unwrap();
    let receipt = key.algorithm.receipt(&charged);
    key.algorithm = numbers(200).algorithm();
    let now = EpochMs(20_000);
    let state = key.check(5, now).next.unwrap();
    assert_eq!(key.algorithm.refund(&state, &receipt, 5, now), None);
}

#[test]
fn a_full_window_of_many_sub_buckets_stays_within_its_bytes_and_a_row() {
    let numbers = Numbers {
        limit: JSON_INTEGER_MAX,
        window_ms: WINDOW_MS_MAX,
        buckets: SLIDING_BUCKETS_MAX,
    };
    let first = numbers.bucket(EpochMs(NOW_MS));
    let units = numbers.limit / numbers.buckets;
    let counts: Vec<_> = (0..=SLIDING_BUCKETS_MAX)
        .map(|index| (if index == 0 { first } else { 1 }, units))
        .collect();
    let now = EpochMs(NOW_MS + WINDOW_MS_MAX);
    let json = serde_json::json!({
        "slots": [numbers.window_ms, numbers.buckets],
        "latest_ms": now,
        "counts": counts,
    });
    let bytes = json.to_string().len() as u64;
    let mut key = Key::cold(&numbers.algorithm());
    assert!(bytes <= key.algorithm.state_bytes_max(), "{bytes}");
    assert!(key.algorithm.state_bytes_max() <= 2_000_000);
    key.state = serde_json::from_value(serde_json::json!({ "sliding_window": json })).unwrap();
    let denied = key.check(numbers.limit, now).decision;
    // It waits for the newest sub-bucket to leave: its number, and as many as the window has.
    let left_at =
        (first + 2 * u128::from(numbers.buckets) + 1) * u128::from(numbers.scale().short_ms);
    assert_eq!(
        u128::from(denied.retry.after_ms().unwrap() + now.0),
        left_at
    );
}

#[test]
fn numbers_out_of_range_are_refused_with_their_field() {
    let field = |limit, window_ms, buckets| {
        let refused = SlidingWindow::new(limit, window_ms, buckets).unwrap_err();
        refused.field
    };
    assert_eq!(field(0, 1, 1), "/limit");
    assert_eq!(field(JSON_INTEGER_MAX + 1, 1, 1), "/limit");
    assert_eq!(field(1, 0, 1), "/window_ms");
    assert_eq!(field(1, WINDOW_MS_MAX + 1, 1), "/window_ms");
    assert_eq!(field(1, 1, 0), "/buckets");
    assert_eq!(field(1, 1, SLIDING_BUCKETS_MAX + 1), "/buckets");
}

proptest! {
    // A state is read as JSON after each step: a fifth as many cases are enough of that.
    #![proptest_config(ProptestConfig { cases: config().cases / 5, ..config() })]

    #[test]
    fn at_most_one_more_than_the_sub_buckets_are_kept(
        limit in limit(),
        window_ms in 1..=200_u64,
        buckets in 1..=12_u64,
        start in start(),
        raw in raw_steps(60),
    ) {
        let numbers = Numbers { limit, window_ms, buckets };
        let mut key = Key::cold(&numbers.algorithm());
        let mut now = start;
        for raw in raw {
            let step = numbers.scale().step(raw);
            now = now.plus(step.gap_ms % (numbers.scale().short_ms + 1));
            if let Some(next) = key.check(1, now).next {
                let json = serde_json::to_value(&next).unwrap();
                let kept = json["sliding_window"]["counts"].as_array().unwrap().len();
                prop_assert!(kept as u64 <= buckets + 1, "{json}");
                prop_assert!(json.to_string().len() as u64 <= key.algorithm.state_bytes_max());
            }
        }
    }
}
