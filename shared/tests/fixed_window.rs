//! What the fixed window counter promises, over drawn limits and schedules.

use crate::count;

use crate::count::{Key, NOW_MS, Scale, World, config, limit, raw_steps, start};
use proptest::prelude::*;
use weir_shared::algorithms::Algorithm;
use weir_shared::algorithms::fixed_window::FixedWindow;
use weir_shared::decision::{Reason, Retry};
use weir_shared::limits::WINDOW_MS_MAX;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

/// The numbers of a limit.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    limit: u64,
    window_ms: u64,
}

impl Numbers {
    fn algorithm(self) -> Algorithm {
        Algorithm::FixedWindow(FixedWindow::new(self.limit, self.window_ms).unwrap())
    }

    fn scale(self) -> Scale {
        Scale {
            limit: self.limit,
            short_ms: self.window_ms.div_ceil(5),
            long_ms: self.window_ms,
        }
    }
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let window_ms = prop_oneof![1..=20_u64, 1..=100_000_u64, 1..=WINDOW_MS_MAX];
    (limit(), window_ms).prop_map(|(limit, window_ms)| Numbers { limit, window_ms })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_decision_equals_that_of_a_count_per_window(
        numbers in numbers(),
        start in start(),
        raw in raw_steps(24),
    ) {
        let mut key = Key::cold(&numbers.algorithm());
        let (mut counts, mut latest) = (OrderedMap::<u64, u64>::new(), 0);
        let mut now = start;
        for raw in raw {
            let step = numbers.scale().step(raw);
            // One step in four goes back in time.
            now = if step.lot.is_multiple_of(4) {
                EpochMs(now.0.saturating_sub(step.gap_ms))
            } else {
                now.plus(step.gap_ms)
            };
            let window = (now.0 / numbers.window_ms).max(latest);
            let end = EpochMs((window + 1) * numbers.window_ms);
            let count = counts.entry(window).or_default();
            let (reason, retry) = if step.cost > numbers.limit {
                (Reason::Never, Retry::Never)
            } else if *count + step.cost > numbers.limit {
                (Reason::LimitExceeded, Retry::AfterMs(end.since(now)))
            } else {
                *count += step.cost;
                latest = window;
                (Reason::Admitted, Retry::Now)
            };
            let decision = key.check(step.cost, now).decision;
            prop_assert_eq!((decision.reason, decision.retry), (reason, retry));
            prop_assert_eq!(decision.remaining, numbers.limit - *count);
            prop_assert_eq!(decision.reset_at, end);
        }
    }

    #[test]
    fn no_window_admits_more_than_the_limit_and_no_interval_of_its_length_more_than_twice(
        numbers in numbers(),
        start in start(),
        raw in raw_steps(40),
    ) {
        let mut world = World::cold(&numbers.algorithm(), start);
        for raw in raw {
            world.take(numbers.scale().step(raw));
        }
        let units = |within: &dyn Fn(u64) -> bool| {
            let charges = world.charges.iter().filter(|charge| within(charge.at.0));
            charges.map(|charge| u128::from(charge.cost)).sum::<u128>()
        };
        for first in &world.charges {
            let window = first.at.0 / numbers.window_ms;
            let in_window = units(&|at| at / numbers.window_ms == window);
            prop_assert!(in_window <= u128::from(numbers.limit));
            let interval = first.at.0..first.at.0 + numbers.window_ms;
            let in_interval = units(&|at| interval.contains(&at));
            prop_assert!(in_interval <= 2 * u128::from(numbers.limit));
        }
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
    fn a_changed_limit_or_window_never_frees_what_was_used(
        before in numbers(),
        limit in limit(),
        factor in prop_oneof![(1..=8_u64, 1..=8_u64), (1..=100_u64, 1..=100_u64)],
        start in start(),
        raw in raw_steps(10),
    ) {
        let window_ms = (u128::from(before.window_ms) * u128::from(factor.0)
            / u128::from(factor.1)).clamp(1, u128::from(WINDOW_MS_MAX));
        let after = Numbers { limit, window_ms: u64::try_from(window_ms).unwrap() };
        let pair = (&before.algorithm(), &after.algorithm());
        count::a_change_never_frees(pair, before.scale(), start, &raw)?;
    }

    #[test]
    fn units_may_be_spent_until_their_window_ends(
        numbers in numbers(),
        start in start(),
        raw in raw_steps(8),
    ) {
        let mut world = World::cold(&numbers.algorithm(), start);
        for raw in raw {
            world.take(numbers.scale().step(raw));
        }
        let (key, now) = (world.key, world.now);
        let after = key.state.as_ref().filter(|_| key.remaining(now) < numbers.limit);
        if let Some(after) = after {
            let until = key.algorithm.spendable_until(after, now);
            prop_assert_eq!(until.0 / numbers.window_ms, now.0 / numbers.window_ms + 1);
            prop_assert_eq!(until.0 % numbers.window_ms, 0);
            prop_assert_eq!(key.algorithm.expires_at(after), until);
            prop_assert!(key.remaining(EpochMs(until.0 - 1)) < key.remaining(until));
        }
    }
}

#[test]
fn the_end_of_one_window_and_the_start_of_the_next_may_both_be_full() {
    let mut key = Key::cold(
        &Numbers {
            limit: 100,
            window_ms: 1_000,
        }
        .algorithm(),
    );
    assert!(key.check(100, EpochMs(NOW_MS + 999)).decision.admitted());
    assert!(key.check(100, EpochMs(NOW_MS + 1_000)).decision.admitted());
    assert!(!key.check(1, EpochMs(NOW_MS + 1_001)).decision.admitted());
}

#[test]
fn a_shorter_window_counts_beside_the_longer_one_until_that_ends() {
    let (hour, minute) = (3_600_000, 60_000);
    let start = NOW_MS - NOW_MS % hour;
    let mut key = Key::cold(
        &Numbers {
            limit: 100,
            window_ms: hour,
        }
        .algorithm(),
    );
    key.check(70, EpochMs(start));
    key.algorithm = Numbers {
        limit: 100,
        window_ms: minute,
    }
    .algorithm();
    for window in 1..60 {
        let now = EpochMs(start + window * minute);
        assert_eq!(key.remaining(now), 30);
        assert!(key.check(30, now).decision.admitted());
        let denied = key.check(1, now).decision;
        assert_eq!(denied.retry, Retry::AfterMs(minute));
        // What the hour's 70 leave no room for waits for the hour.
        let denied = key.check(31, now).decision;
        assert_eq!(denied.retry, Retry::AfterMs((60 - window) * minute));
        assert_eq!(denied.reset_at, EpochMs(start + hour));
    }
    assert_eq!(key.remaining(EpochMs(start + hour)), 100);
}

#[test]
fn a_longer_window_goes_on_with_the_count_of_the_shorter_one_that_lies_in_it() {
    let (hour, minute) = (3_600_000, 60_000);
    let start = NOW_MS - NOW_MS % hour;
    let mut key = Key::cold(
        &Numbers {
            limit: 100,
            window_ms: minute,
        }
        .algorithm(),
    );
    key.check(70, EpochMs(start + 5 * minute));
    key.algorithm = Numbers {
        limit: 100,
        window_ms: hour,
    }
    .algorithm();
    for minutes in 5..60 {
        assert_eq!(key.remaining(EpochMs(start + minutes * minute)), 30);
    }
    assert_eq!(key.remaining(EpochMs(start + hour)), 100);
}

#[test]
fn an_exhausted_key_admits_nothing_until_its_window_ends() {
    let mut key = Key::cold(
        &Numbers {
            limit: 7,
            window_ms: 1_000,
        }
        .algorithm(),
    );
    key.state = Some(key.algorithm.exhausted(EpochMs(NOW_MS + 300)));
    let denied = key.check(1, EpochMs(NOW_MS + 300)).decision;
    assert_eq!(denied.retry, Retry::AfterMs(700));
    assert!(key.check(7, EpochMs(NOW_MS + 1_000)).decision.admitted());
}

#[test]
fn numbers_out_of_range_are_refused_with_their_field() {
    let field = |limit, window_ms| FixedWindow::new(limit, window_ms).unwrap_err().field;
    assert_eq!(field(0, 1), "/limit");
    assert_eq!(field(1 << 53, 1), "/limit");
    assert_eq!(field(1, 0), "/window_ms");
    assert_eq!(field(1, WINDOW_MS_MAX + 1), "/window_ms");
}
