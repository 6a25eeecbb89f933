//! What the sliding window log promises, over drawn limits and schedules.

use crate::count;

use crate::count::{Key, NOW_MS, Scale, World, config, raw_steps, start};
use proptest::prelude::*;
use weir_shared::algorithms::Algorithm;
use weir_shared::algorithms::sliding_log::SlidingLog;
use weir_shared::decision::{Reason, Retry};
use weir_shared::limits::{SLIDING_LOG_LIMIT_MAX, WINDOW_MS_MAX};
use weir_shared::units::EpochMs;

/// The numbers of a limit.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    limit: u64,
    window_ms: u64,
}

impl Numbers {
    fn algorithm(self) -> Algorithm {
        Algorithm::SlidingLog(SlidingLog::new(self.limit, self.window_ms).unwrap())
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
    let limit = prop_oneof![1..=12_u64, 1..=1_000_u64, 1..=SLIDING_LOG_LIMIT_MAX];
    let window_ms = prop_oneof![1..=20_u64, 1..=100_000_u64, 1..=WINDOW_MS_MAX];
    (limit, window_ms).prop_map(|(limit, window_ms)| Numbers { limit, window_ms })
}

/// Every unit with its instant.
struct Log {
    numbers: Numbers,
    charges: Vec<(u64, u64)>,
}

impl Log {
    /// Units that count at `at_ms`.
    fn used(&self, at_ms: u64) -> u64 {
        let counts = |charged_ms: u64| charged_ms + self.numbers.window_ms > at_ms;
        let charges = self
            .charges
            .iter()
            .filter(|(charged_ms, _)| counts(*charged_ms));
        charges.map(|(_, units)| units).sum()
    }

    /// When at most `room` units count: when one of the charges leaves.
    fn free_at(&self, room: u64, at_ms: u64) -> u64 {
        let leaves = self
            .charges
            .iter()
            .map(|(charged_ms, _)| charged_ms + self.numbers.window_ms);
        leaves
            .filter(|leaves_at| *leaves_at > at_ms && self.used(*leaves_at) <= room)
            .min()
            .unwrap()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_decision_equals_that_of_a_log_of_every_charge(
        numbers in numbers(),
        start in start(),
        raw in raw_steps(24),
    ) {
        let mut key = Key::cold(&numbers.algorithm());
        let mut log = Log { numbers, charges: Vec::new() };
        let mut now = start;
        for raw in raw {
            let step = numbers.scale().step(raw);
            // One step in four goes back in time.
            now = if step.lot.is_multiple_of(4) {
                EpochMs(now.0.saturating_sub(step.gap_ms))
            } else {
                now.plus(step.gap_ms)
            };
            let at_ms = log.charges.last().map_or(now.0, |(latest_ms, _)| now.0.max(*latest_ms));
            let used = log.used(at_ms);
            let (reason, retry) = if step.cost > numbers.limit {
                (Reason::Never, Retry::Never)
            } else if used + step.cost > numbers.limit {
                let free_at = log.free_at(numbers.limit - step.cost, at_ms);
                (Reason::LimitExceeded, Retry::AfterMs(free_at - now.0))
            } else {
                log.charges.push((at_ms, step.cost));
                (Reason::Admitted, Retry::Now)
            };
            let decision = key.check(step.cost, now).decision;
            prop_assert_eq!((decision.reason, decision.retry), (reason, retry));
            prop_assert_eq!(decision.remaining, numbers.limit - log.used(at_ms));
            let leaving = log.charges.iter().map(|(charged_ms, _)| charged_ms + numbers.window_ms);
            let next = leaving.filter(|leaves_at| *leaves_at > at_ms).min();
            prop_assert_eq!(decision.reset_at.0, next.unwrap_or(at_ms + numbers.window_ms));
        }
    }

    #[test]
    fn no_trailing_window_ever_admits_more_than_the_limit(
        numbers in numbers(),
        start in start(),
        raw in raw_steps(40),
    ) {
        let mut world = World::cold(&numbers.algorithm(), start);
        for raw in raw {
            world.take(numbers.scale().step(raw));
        }
        for last in &world.charges {
            let within = |at: EpochMs| at <= last.at && last.at.since(at) < numbers.window_ms;
            let charges = world.charges.iter().filter(|charge| within(charge.at));
            let units: u64 = charges.map(|charge| charge.cost).sum();
            prop_assert!(units <= numbers.limit, "{units} in the window that ends at {}", last.at);
        }
    }

    #[test]
    fn a_charge_counts_up_to_its_instant_plus_the_window_exactly(
        numbers in numbers(),
        start in start(),
        cost in any::<u64>(),
    ) {
        let mut key = Key::cold(&numbers.algorithm());
        key.check(1 + cost % numbers.limit, start);
        let leaves_at = start.plus(numbers.window_ms);
        prop_assert!(key.remaining(EpochMs(leaves_at.0 - 1)) < numbers.limit);
        prop_assert_eq!(key.remaining(leaves_at), numbers.limit);
        prop_assert_eq!(key.algorithm.expires_at(key.state.as_ref().unwrap()), leaves_at);
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
        limit in prop_oneof![1..=12_u64, 1..=SLIDING_LOG_LIMIT_MAX],
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
}

#[test]
fn a_longer_window_counts_what_was_charged_before_it_was_longer() {
    let mut key = Key::cold(
        &Numbers {
            limit: 5,
            window_ms: 1_000,
        }
        .algorithm(),
    );
    key.check(5, EpochMs(NOW_MS));
    key.algorithm = Numbers {
        limit: 5,
        window_ms: 10_000,
    }
    .algorithm();
    let denied = key.check(1, EpochMs(NOW_MS + 1_000)).decision;
    assert_eq!(denied.retry, Retry::AfterMs(9_000));
}

#[test]
fn a_shorter_window_still_counts_what_was_charged_before_it_was_shorter() {
    let mut key = Key::cold(
        &Numbers {
            limit: 5,
            window_ms: 10_000,
        }
        .algorithm(),
    );
    key.check(3, EpochMs(NOW_MS));
    key.algorithm = Numbers {
        limit: 5,
        window_ms: 1_000,
    }
    .algorithm();
    assert!(key.check(2, EpochMs(NOW_MS + 500)).decision.admitted());
    assert_eq!(key.remaining(EpochMs(NOW_MS + 1_499)), 0);
    assert_eq!(key.remaining(EpochMs(NOW_MS + 1_500)), 2);
    assert_eq!(key.remaining(EpochMs(NOW_MS + 9_999)), 2);
    assert_eq!(key.remaining(EpochMs(NOW_MS + 10_000)), 5);
}

#[test]
fn many_charges_are_held_in_few_steps_none_of_which_is_freed_early() {
    let mut old = Key::cold(
        &Numbers {
            limit: 100,
            window_ms: 10_000,
        }
        .algorithm(),
    );
    for second in 0..100 {
        old.check(1, EpochMs(NOW_MS + second * 90));
    }
    let mut key = old.clone();
    key.algorithm = Numbers {
        limit: 101,
        window_ms: 500,
    }
    .algorithm();
    let now = EpochMs(NOW_MS + 9_500);
    let after = key.check(1, now).next.unwrap();
    let json = serde_json::to_value(&after).unwrap();
    assert!(json["sliding_log"]["held"].as_array().unwrap().len() <= 16);
    for later_ms in 500..=10_000 {
        let at = now.plus(later_ms);
        let (remaining, exact) = (key.remaining(at), old.remaining(at) + 1);
        assert!(
            remaining <= exact && exact <= remaining + 7,
            "{remaining} of {exact} at {at}"
        );
    }
}

#[test]
fn a_full_log_stays_within_its_bytes_and_a_row() {
    let numbers = Numbers {
        limit: SLIDING_LOG_LIMIT_MAX,
        window_ms: WINDOW_MS_MAX,
    };
    let mut key = Key::cold(&numbers.algorithm());
    let gap_ms = WINDOW_MS_MAX / SLIDING_LOG_LIMIT_MAX;
    // What a charge does is proportional to what is kept: a few large steps, and few small ones.
    let log = SlidingLog::new(numbers.limit, numbers.window_ms).unwrap();
    let charges = (0..SLIDING_LOG_LIMIT_MAX).map(|index| (NOW_MS + index * gap_ms, 1));
    let charges: Vec<_> = charges.collect();
    let gaps = charges.iter().scan(0, |before, (at, units)| {
        let gap = at - *before;
        *before = *at;
        Some((gap, *units))
    });
    let json = serde_json::json!({ "window_ms": numbers.window_ms, "charges": gaps.collect::<Vec<(u64, u64)>>() });
    let bytes = json.to_string().len() as u64;
    assert!(bytes <= log.state_bytes_max(), "{bytes}");
    assert!(log.state_bytes_max() <= 2_000_000);
    let full = serde_json::from_value(serde_json::json!({ "sliding_log": json })).unwrap();
    key.state = Some(full);
    let now = EpochMs(NOW_MS + (SLIDING_LOG_LIMIT_MAX - 1) * gap_ms);
    let denied = key.check(1_000, now).decision;
    assert_eq!(
        denied.retry,
        Retry::AfterMs(NOW_MS + 999 * gap_ms + WINDOW_MS_MAX - now.0)
    );
}

#[test]
fn a_denial_at_the_end_of_time_still_names_a_later_time() {
    let mut key = Key::cold(
        &Numbers {
            limit: 1,
            window_ms: 1_000,
        }
        .algorithm(),
    );
    key.state = Some(key.algorithm.exhausted(EpochMs(u64::MAX - 5)));
    let denied = key.check(1, EpochMs(u64::MAX)).decision;
    assert_eq!(denied.retry, Retry::AfterMs(1));
}

#[test]
fn numbers_out_of_range_are_refused_with_their_field() {
    let field = |limit, window_ms| SlidingLog::new(limit, window_ms).unwrap_err().field;
    assert_eq!(field(0, 1), "/limit");
    assert_eq!(field(SLIDING_LOG_LIMIT_MAX + 1, 1), "/limit");
    assert_eq!(field(1, 0), "/window_ms");
    assert_eq!(field(1, WINDOW_MS_MAX + 1), "/window_ms");
}
