//! A refund never makes a key more generous than if the refunded units had never been charged.

use crate::drawn::{Drawn, Key, START_MS, Step, any_limit, config, rate, schedule};
use proptest::prelude::*;
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::algorithms::scale::Scaled;
use weir_shared::algorithms::token_bucket::TokenBucket;
use weir_shared::algorithms::{Algorithm, Receipt};
use weir_shared::limits::JSON_INTEGER_MAX;
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;

/// A charge that was admitted.
#[derive(Debug)]
struct Charge {
    at: EpochMs,
    cost: u64,
    /// Given back, also where that had no effect any more.
    returned: u64,
    /// Taken by the refund: a charge is given back once.
    receipt: Option<Receipt>,
}

/// A key, and all that it was ever charged.
struct World {
    key: Key,
    charges: Vec<Charge>,
    /// The latest that happened to the key.
    latest: EpochMs,
    /// When it was last charged from cold.
    busy_since: EpochMs,
}

impl World {
    fn cold(algorithm: &Algorithm) -> Self {
        Self {
            key: Key::cold(algorithm),
            charges: Vec::new(),
            latest: EpochMs(0),
            busy_since: EpochMs(0),
        }
    }

    /// Moves the clock, forth or back, and charges, then refunds.
    fn take(&mut self, step: Step, back: bool) {
        self.key.now = if back {
            EpochMs(self.key.now.0.saturating_sub(step.gap_ms))
        } else {
            self.key.now.plus(step.gap_ms)
        };
        self.charge(step.cost);
        if let Some((index, part)) = step.refund {
            self.refund(index, part);
        }
    }

    fn charge(&mut self, cost: u64) {
        let cold = self.key.is_cold();
        if self.key.check(cost).next.is_some() {
            if cold {
                self.busy_since = self.key.now;
            }
            self.latest = self.latest.max(self.key.now);
            self.charges.push(Charge {
                at: self.latest,
                cost,
                returned: 0,
                receipt: Some(self.key.receipt()),
            });
        }
    }

    /// Gives `part + 1` of 256 parts of one charge back.
    fn refund(&mut self, index: prop::sample::Index, part: u8) {
        let mut open: Vec<_> = self
            .charges
            .iter_mut()
            .filter(|charge| charge.receipt.is_some())
            .collect();
        if open.is_empty() {
            return;
        }
        let charge = index.get_mut(&mut open);
        let units = u128::from(charge.cost) * (u128::from(part) + 1) / 256;
        charge.returned = u64::try_from(units).unwrap();
        let (receipt, units) = (charge.receipt.take().unwrap(), charge.returned);
        let remaining = self.key.remaining();
        if self.key.refund(&receipt, units) {
            self.latest = self.latest.max(self.key.now);
            assert!(self.key.remaining() >= remaining, "a refund took units");
        }
    }

    /// The same key, if what was given back had never been charged.
    fn without(&self) -> Result<Key, TestCaseError> {
        let mut key = Key::cold(&self.key.algorithm);
        for charge in &self.charges {
            let kept = charge.cost - charge.returned;
            key.now = charge.at;
            prop_assert!(kept == 0 || key.check(kept).decision.admitted());
        }
        key.now = self.key.now.max(self.latest);
        Ok(key)
    }

    /// The key at a time that is not before anything that happened to it.
    fn clamped(&self) -> Key {
        Key {
            now: self.key.now.max(self.latest),
            ..self.key.clone()
        }
    }
}

/// Fails if `key` admits more than `other` at their time or at some later ones.
fn no_more_generous(key: &Key, other: &Key, drawn: &Drawn) -> Result<(), TestCaseError> {
    for later_ms in [0, 1, drawn.unit_ms, drawn.unit_ms + 1, drawn.full_ms / 2] {
        let now = key.now.plus(later_ms);
        let (got, most) = (key.at(0, now).decision, other.at(0, now).decision);
        prop_assert!(got.remaining <= most.remaining, "{got:?} beside {most:?}");
        prop_assert!(got.reset_at >= most.reset_at, "{got:?} beside {most:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_refunded_key_is_never_more_generous_than_one_that_was_not_charged(
        (drawn, steps) in schedule(any_limit(), 16),
    ) {
        let mut world = World::cold(&drawn.algorithm);
        for step in steps {
            world.take(step, false);
            if step.refund.is_some() {
                no_more_generous(&world.clamped(), &world.without()?, &drawn)?;
            }
        }
    }

    #[test]
    fn nor_is_it_when_the_clock_steps_back(
        (drawn, steps) in schedule(rate(), 16),
        back in prop::collection::vec(prop::bool::weighted(0.3), 16),
    ) {
        let mut world = World::cold(&drawn.algorithm);
        for (step, back) in steps.into_iter().zip(back) {
            world.take(step, back);
            if step.refund.is_some() {
                no_more_generous(&world.clamped(), &world.without()?, &drawn)?;
            }
        }
    }

    #[test]
    fn refunds_in_any_order_keep_back_at_most_what_has_drained_since_the_key_was_cold(
        (drawn, steps) in schedule(rate(), 16),
    ) {
        let mut world = World::cold(&drawn.algorithm);
        for step in steps {
            world.take(step, false);
            let since_ms = world.key.now.since(world.busy_since);
            let (got, least) = (world.clamped(), world.without()?);
            let got = got.at(0, got.now).decision.reset_at;
            let least = least.at(0, least.now).decision.reset_at;
            prop_assert!(got.since(least) <= since_ms + 1, "{got} is too far behind {least}");
        }
    }

    #[test]
    fn what_is_given_back_at_once_is_given_back_in_full_in_any_order(
        (drawn, steps) in schedule(any_limit(), 12),
    ) {
        let mut world = World::cold(&drawn.algorithm);
        for step in steps {
            world.take(Step { gap_ms: 0, ..step }, false);
            let kept: u64 = world.charges.iter().map(|charge| charge.cost - charge.returned).sum();
            prop_assert_eq!(world.key.remaining(), drawn.algorithm.ceiling() - kept);
        }
    }

    #[test]
    fn the_latest_charge_of_a_busy_key_is_given_back_in_full(
        (drawn, steps) in schedule(any_limit(), 12),
    ) {
        let mut key = Key::cold(&drawn.algorithm);
        for step in steps {
            key.now = key.now.plus(step.gap_ms);
            let before = key.at(0, key.now);
            if key.check(step.cost).next.is_some() && step.refund.is_some() {
                prop_assert!(key.refund(&key.receipt(), step.cost));
                prop_assert_eq!(&key.at(0, key.now), &before);
            }
        }
    }

    #[test]
    fn nothing_is_given_back_to_a_key_that_has_been_cold_since(
        (drawn, steps) in schedule(any_limit(), 8),
        cost in any::<u64>(),
        later_ms in 0..=5_000_u64,
    ) {
        let mut key = Key::after(&drawn.algorithm, &steps);
        let cost = 1 + cost % drawn.algorithm.ceiling();
        key.now = drawn.algorithm.expires_at(&drawn.algorithm.exhausted(key.now));
        key.check(cost);
        let receipt = key.receipt();
        key.now = drawn.algorithm.expires_at(key.state.as_ref().unwrap()).plus(later_ms);
        prop_assert!(!key.refund(&receipt, cost));
        // The row may be gone by now, and another may have come in its place.
        for forgotten in [false, true] {
            let mut key = key.clone();
            key.state = key.state.filter(|_| !forgotten);
            key.check(1);
            let remaining = key.remaining();
            prop_assert!(!key.refund(&receipt, cost));
            prop_assert_eq!(key.remaining(), remaining);
        }
    }
}

#[test]
fn units_that_drained_after_an_earlier_refund_are_not_given_back_again() {
    // One unit a millisecond. Two charges at once, the first of which is released; then the key runs empty before a
    // third comes, which the release of the second must not touch.
    let bucket = TokenBucket::new(Decimal(1_000.0), Decimal(1_000.0)).unwrap();
    let gcra = Gcra::new(1_000, 1_000, 1_000).unwrap();
    for algorithm in [Algorithm::TokenBucket(bucket), Algorithm::Gcra(gcra)] {
        let mut key = Key::cold(&algorithm);
        key.check(100);
        let first = key.receipt();
        key.check(10);
        let second = key.receipt();
        assert!(key.refund(&first, 100));
        assert_eq!(key.remaining(), 990);
        key.now = key.now.plus(20);
        key.check(50);
        key.now = key.now.plus(10);
        assert_eq!(key.remaining(), 960);
        assert!(!key.refund(&second, 10));
        assert_eq!(key.remaining(), 960);
    }
}

#[test]
fn what_was_charged_under_another_rate_is_given_back_in_tokens_and_not_in_time() {
    let start = EpochMs(START_MS);
    let slow = TokenBucket::new(Decimal(10.0), Decimal(1.0)).unwrap();
    let fast = TokenBucket::new(Decimal(10.0), Decimal(2.0)).unwrap();
    let charged = slow.check(None, 8, start).next.unwrap();
    let refunded = fast
        .refund(&charged, &slow.receipt(&charged), 3, start)
        .unwrap();
    assert_eq!(fast.check(Some(&refunded), 0, start).decision.remaining, 5);

    let slow = Gcra::new(1, 1_000, 10).unwrap();
    let fast = Gcra::new(2, 1_000, 10).unwrap();
    let charged = slow.check(None, 8, start).next.unwrap();
    assert_eq!(
        fast.refund(&charged, &slow.receipt(&charged), 3, start),
        None
    );
    // Nor when the limit is what it was again: the time in between has counted other units.
    let between = fast.check(Some(&charged), 1, start.plus(4_000)).next;
    let again = slow
        .check(between.as_ref(), 9, start.plus(8_000))
        .next
        .unwrap();
    for state in [&between.unwrap(), &again] {
        let refunded = slow.refund(state, &slow.receipt(&charged), 3, start.plus(8_000));
        assert_eq!(refunded, None);
    }
}

#[test]
fn what_was_charged_in_other_parts_of_a_unit_is_not_given_back() {
    let now = EpochMs(START_MS);
    let bucket = TokenBucket::new(Decimal(10.0), Decimal(1.0)).unwrap();
    let gcra = Gcra::new(1, 1_000, 10).unwrap();
    for algorithm in [Algorithm::TokenBucket(bucket), Algorithm::Gcra(gcra)] {
        let [halves, thirds] = [2, 3].map(|scale| Scaled::new(&algorithm, scale).unwrap());
        let charged = halves.check(None, 10, now).next.unwrap();
        let receipt = halves.receipt(&charged);
        assert!(halves.refund(&charged, &receipt, 10, now).is_some());
        assert_eq!(thirds.refund(&charged, &receipt, 10, now), None);
        let between = thirds.check(Some(&charged), 3, now).next.unwrap();
        assert_eq!(thirds.remaining(Some(&between), now), 12); // of 30, 15 and 3 are used
        assert_eq!(thirds.refund(&between, &receipt, 10, now), None);
        // Nor in the same parts again: those in between have counted others.
        let again = halves.check(Some(&between), 8, now).next.unwrap();
        assert_eq!(halves.remaining(Some(&again), now), 0); // 10, 2 and 8 are used
        assert_eq!(halves.refund(&again, &receipt, 10, now), None);
        assert!(
            halves
                .refund(&again, &halves.receipt(&again), 8, now)
                .is_some()
        );
    }
}

#[test]
fn a_count_that_passes_64_bits_starts_anew_and_gives_back_nothing_from_before() {
    // Half a burst a millisecond, for so long that 2^64 units are charged to a key that is never cold.
    let burst = JSON_INTEGER_MAX - 1;
    let gcra = Algorithm::Gcra(Gcra::new(burst / 2, 1, burst).unwrap());
    let mut key = Key::cold(&gcra);
    key.check(burst);
    let mut before = key.receipt();
    for _ in 0..5_000 {
        key.now = key.now.plus(1);
        assert!(key.check(burst / 2).decision.admitted());
        let mut refunded = key.clone();
        assert!(refunded.refund(&key.receipt(), burst / 2));
        assert_eq!(refunded.remaining(), burst / 2);
        // All of the charge before has drained.
        let mut old = key.clone();
        old.refund(&before, burst / 2);
        assert!(old.remaining() <= burst / 2);
        before = key.receipt();
    }
}
