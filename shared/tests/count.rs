//! What the tests of the counting algorithms share.

use proptest::prelude::*;
use weir_shared::algorithms::{Algorithm, Checked, Receipt, State};
use weir_shared::decision::Retry;
use weir_shared::units::EpochMs;

/// Cases of each property.
pub const CASES: u32 = 10_000;

/// A time of the present.
pub const NOW_MS: u64 = 1_700_000_000_000;

/// The configuration of a run: nothing is written to disk, a failing case is printed.
pub fn config() -> ProptestConfig {
    ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// What a schedule is made of: numbers that [`Scale`] reads as steps.
pub fn raw_steps(steps_max: usize) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 1..=steps_max)
}

/// When schedules start: at the epoch, near it, or in the present.
pub fn start() -> impl Strategy<Value = EpochMs> {
    prop_oneof![Just(0), 0..=10_000_u64, NOW_MS..=NOW_MS + 100_000_000].prop_map(EpochMs)
}

/// A limit of any size, but for a log.
pub fn limit() -> impl Strategy<Value = u64> {
    prop_oneof![1..=12_u64, 1..=1_000_u64, 1..=(1_u64 << 53) - 1]
}

/// The gaps and costs that matter to a limit.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub limit: u64,
    /// The shortest time that matters.
    pub short_ms: u64,
    /// The longest.
    pub long_ms: u64,
}

/// One check of a schedule.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub gap_ms: u64,
    pub cost: u64,
    /// A number that says what else happens.
    pub lot: u64,
}

impl Scale {
    pub fn step(self, raw: u64) -> Step {
        let (time, cost, lot) = (mixed(raw), mixed(raw ^ 0x5bd1_e995), mixed(!raw));
        let gap_ms = match time % 8 {
            0..=2 => 0,
            3 => (time >> 8) % 4,
            4 | 5 => (time >> 8) % (2 * self.short_ms + 2),
            6 => (time >> 8) % (self.long_ms + 2),
            _ => (time >> 8) % (2 * self.long_ms + self.short_ms + 2),
        };
        let cost = match cost % 8 {
            0..=2 => 1,
            3 | 4 => 1 + (cost >> 8) % self.limit.min(5),
            5 => 1 + (cost >> 8) % self.limit,
            6 => self.limit,
            _ => 1 + (cost >> 8) % (self.limit + 2),
        };
        Step { gap_ms, cost, lot }
    }

    /// Times after `now` at which something may have changed.
    pub fn later(self, now: EpochMs) -> impl Iterator<Item = EpochMs> {
        let (short_ms, long_ms) = (self.short_ms, self.long_ms);
        let both_ms = short_ms + long_ms;
        let near = [
            0,
            1,
            short_ms,
            long_ms / 2,
            long_ms - 1,
            long_ms,
            long_ms + 1,
        ];
        let far = [both_ms - 1, both_ms, both_ms + 1, 2 * long_ms, 3 * long_ms];
        near.into_iter().chain(far).map(move |ms| now.plus(ms))
    }
}

/// `raw` with its bits spread (the finalizer of SplitMix64: Steele, Lea, Flood, 2014).
fn mixed(raw: u64) -> u64 {
    let raw = (raw ^ (raw >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let raw = (raw ^ (raw >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    raw ^ (raw >> 31)
}

/// A key with its state.
#[derive(Debug, Clone)]
pub struct Key {
    pub algorithm: Algorithm,
    pub state: Option<State>,
}

impl Key {
    pub fn cold(algorithm: &Algorithm) -> Self {
        Self {
            algorithm: algorithm.clone(),
            state: None,
        }
    }

    pub fn check(&mut self, cost: u64, now: EpochMs) -> Checked<State> {
        let checked = self.algorithm.check(self.state.as_ref(), cost, now);
        if let Some(next) = &checked.next {
            self.state = Some(next.clone());
        }
        checked
    }

    pub fn remaining(&self, now: EpochMs) -> u64 {
        let looked = self.algorithm.check(self.state.as_ref(), 0, now);
        looked.decision.remaining
    }
}

/// A charge that was admitted, and what of it was given back.
#[derive(Debug)]
pub struct Charge {
    pub at: EpochMs,
    pub cost: u64,
    pub returned: u64,
    receipt: Receipt,
}

/// A key, and all that it was ever charged.
#[derive(Debug)]
pub struct World {
    pub key: Key,
    pub charges: Vec<Charge>,
    pub now: EpochMs,
}

impl World {
    pub fn cold(algorithm: &Algorithm, now: EpochMs) -> Self {
        Self {
            key: Key::cold(algorithm),
            charges: Vec::new(),
            now,
        }
    }

    pub fn take(&mut self, step: Step) {
        self.now = self.now.plus(step.gap_ms);
        let checked = self.key.check(step.cost, self.now);
        if let Some(after) = &checked.next {
            self.charges.push(Charge {
                at: self.now,
                cost: step.cost,
                returned: 0,
                receipt: self.key.algorithm.receipt(after),
            });
        }
    }

    /// Gives a part, or all, of one charge back that was not given back before.
    pub fn refund(&mut self, lot: u64) {
        let mut whole: Vec<_> = self
            .charges
            .iter_mut()
            .filter(|charge| charge.returned == 0)
            .collect();
        let count = whole.len() as u64;
        let (Some(state), true) = (&self.key.state, count > 0) else {
            return;
        };
        let charge = &mut whole[(lot % count) as usize];
        charge.returned = match lot >> 62 {
            0 => charge.cost,
            _ => 1 + (lot >> 8) % charge.cost,
        };
        let (receipt, units) = (charge.receipt, charge.returned);
        let refunded = self.key.algorithm.refund(state, &receipt, units, self.now);
        self.key.state = refunded.or(self.key.state.take());
    }

    /// The same key, if what was given back had never been charged.
    pub fn without(&self) -> Result<Key, TestCaseError> {
        let mut key = Key::cold(&self.key.algorithm);
        for charge in &self.charges {
            let kept = charge.cost - charge.returned;
            prop_assert!(kept == 0 || key.check(kept, charge.at).decision.admitted());
        }
        Ok(key)
    }
}

/// Fails unless a key to which units were given back decides, from then on, as one that was never charged them.
pub fn a_refund_is_exact(
    algorithm: &Algorithm,
    scale: Scale,
    start: EpochMs,
    raw: &[u64],
) -> Result<(), TestCaseError> {
    let mut world = World::cold(algorithm, start);
    for raw in raw {
        let step = scale.step(*raw);
        world.take(step);
        if !step.lot.is_multiple_of(3) {
            continue;
        }
        world.refund(step.lot / 3);
        let without = world.without()?;
        for at in scale.later(world.now) {
            let (got, expected) = (world.key.remaining(at), without.remaining(at));
            prop_assert_eq!(got, expected, "at {} after {:?}", at, world.charges);
        }
    }
    Ok(())
}

/// Fails unless a key that denies names the first millisecond at which it admits.
fn a_retry_is_exact(key: &Key, cost: u64, now: EpochMs) -> Result<(), TestCaseError> {
    let decide = |cost, at| key.algorithm.check(key.state.as_ref(), cost, at).decision;
    if let Retry::AfterMs(ms) = decide(cost, now).retry {
        prop_assert!(ms > 0);
        prop_assert!(
            decide(cost, now.plus(ms)).admitted(),
            "{cost} after {ms} ms in {key:?}"
        );
        prop_assert!(
            !decide(cost, now.plus(ms - 1)).admitted(),
            "{cost} before {ms} ms in {key:?}"
        );
    }
    Ok(())
}

/// By how much two counts that are rounded up may be more than their sum, rounded up.
const ROUNDED: u64 = 1;

/// Fails if a key whose limit became another ever counts less than what it was charged before and after the change, or
/// names a wrong time to try again; half of `raw` is charged under each.
pub fn a_change_never_frees(
    (before, after): (&Algorithm, &Algorithm),
    scale: Scale,
    start: EpochMs,
    raw: &[u64],
) -> Result<(), TestCaseError> {
    let mut key = Key::cold(before);
    let mut now = start;
    let (first, second) = raw.split_at(raw.len() / 2);
    for raw in first {
        let step = scale.step(*raw);
        now = now.plus(step.gap_ms);
        key.check(step.cost, now);
    }
    // What the first half counts for, if nothing had changed, and the second, if nothing had been before.
    let (old, mut new) = (key.clone(), Key::cold(after));
    let used = |key: &Key, at| key.algorithm.ceiling() - key.remaining(at);
    key.algorithm = after.clone();
    for raw in second {
        let step = scale.step(*raw);
        now = now.plus(step.gap_ms % (scale.long_ms / 4 + 2));
        let cost = 1 + step.cost % after.ceiling();
        for cost in [cost, key.remaining(now).saturating_add(1), after.ceiling()] {
            a_retry_is_exact(&key, cost, now)?;
        }
        if key.check(cost, now).decision.admitted() {
            prop_assert!(new.check(cost, now).decision.admitted());
        }
        for at in scale.later(now) {
            let (old, both) = (used(&old, at), used(&old, at) + used(&new, at));
            let most = after
                .ceiling()
                .saturating_sub(old.max(both.saturating_sub(ROUNDED)));
            prop_assert!(key.remaining(at) <= most, "{most} left at {at} in {key:?}");
        }
    }
    // Back again: what was charged in the meantime is forgotten at most, not what was charged before.
    key.algorithm = before.clone();
    for at in scale.later(now) {
        prop_assert!(key.remaining(at) <= old.remaining(at), "at {at} in {key:?}");
    }
    Ok(())
}
