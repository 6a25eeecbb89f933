//! What the generic cell rate algorithm and the token bucket have in common: the continuous-state leaky bucket of
//! ITU-T I.371, annex A, as a meter.
//!
//! The `level` is what was charged and has not drained. It rises by `ticks_per_unit` with each unit, falls by
//! `ticks_per_ms` with each millisecond, never below 0, and a charge is admitted if it leaves the level at most at
//! `size`. All of it is integers: one tick is as small as the ratio of the rate needs.

use weir_core::units::EpochMs;
use weir_decision::{Decision, Reason, Retry};

use super::Checked;
use super::fine_ms::FineMs;
use super::rational::{Rational, gcd};

/// The numbers of a meter. `ticks_per_ms` and `ticks_per_unit` are at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meter {
    /// What drains in a millisecond.
    pub ticks_per_ms: u64,
    /// What one unit adds.
    pub ticks_per_unit: u64,
    /// The highest level, in ticks.
    pub size: u128,
    /// Whole units that fit into an empty meter.
    pub ceiling: u64,
}

/// When a meter is asked: by the caller's clock, and by the time that never steps back behind the state's latest.
#[derive(Debug, Clone, Copy)]
pub(super) struct AskedAt {
    /// The caller's clock.
    pub now: EpochMs,
    /// The later of it and of the state's latest.
    pub at: EpochMs,
}

impl AskedAt {
    /// `now`, but no earlier than the state's `latest_ms`.
    pub fn clamped(now: EpochMs, latest_ms: Option<u64>) -> Self {
        let at = now.max(EpochMs(latest_ms.unwrap_or(0)));
        Self { now, at }
    }
}

impl Meter {
    /// Drains `units` in `ms`, neither of which may be 0. It has no room yet.
    pub fn new(units: u64, ms: u64) -> Self {
        let common = gcd(units, ms).max(1);
        Self {
            ticks_per_ms: units / common,
            ticks_per_unit: ms / common,
            size: 0,
            ceiling: 0,
        }
    }

    /// Drains `units` a second; `None` when a unit would have too many ticks.
    pub fn per_second(units: Rational) -> Option<Self> {
        let ms = units.denominator().checked_mul(1_000)?;
        Some(Self::new(units.numerator(), ms))
    }

    /// With room for `size` ticks.
    pub fn with_size(self, size: u128) -> Self {
        Self {
            size,
            ceiling: quotient(size, self.ticks_per_unit),
            ..self
        }
    }

    /// Ticks of `units`.
    pub fn ticks(&self, units: u64) -> u128 {
        u128::from(units) * u128::from(self.ticks_per_unit)
    }

    /// The units that `level` is, rounded up.
    pub fn units(&self, level: u128) -> u64 {
        quotient_up(level, self.ticks_per_unit)
    }

    /// The milliseconds in which `level` drains, rounded up.
    pub fn drained_ms(&self, level: u128) -> u64 {
        quotient_up(level, self.ticks_per_ms)
    }

    /// Decides `cost` units on top of `level`. `next` is the level after it, absent when nothing was charged. A cost
    /// of 0 tells what one unit would meet.
    pub fn check(&self, level: u128, cost: u64, asked: AskedAt) -> Checked<u128> {
        let size = self.ticks(cost.max(1));
        let room = self.size.saturating_sub(level);
        let (reason, retry) = if size > self.size {
            (Reason::Never, Retry::Never)
        } else if size > room {
            let wait_ms = self.drained_ms(level - (self.size - size));
            let at = asked.at.plus(wait_ms);
            (Reason::LimitExceeded, Retry::AfterMs(at.since(asked.now)))
        } else {
            (Reason::Admitted, Retry::Now)
        };
        let next = (reason == Reason::Admitted && cost > 0).then(|| level + size);
        let left = next.map_or(room, |next| self.size - next);
        let decision = Decision {
            reason,
            limit: self.ceiling,
            remaining: quotient(left, self.ticks_per_unit),
            reset_at: asked.at.plus(self.drained_ms(next.unwrap_or(level))),
            retry,
        };
        Checked { decision, next }
    }

    /// The level after `units` were given back, but not below `floor_units`.
    pub fn give_back(&self, level: u128, units: u64, floor_units: u64) -> u128 {
        let lowered = level.saturating_sub(self.ticks(units));
        lowered.max(self.ticks(floor_units)).min(level)
    }

    /// The level at `at` that has drained at `due`.
    pub fn level_until(&self, due: Due, at: EpochMs) -> u128 {
        let Some(ms) = due.ms.checked_sub(at.0) else {
            return 0;
        };
        let per_ms = u128::from(self.ticks_per_ms);
        let rest = rescaled(due.ticks, due.ticks_per_ms, self.ticks_per_ms);
        u128::from(ms) * per_ms + rest.min(per_ms)
    }

    /// The time in which `level` drains.
    pub fn drains_in(&self, level: u128) -> FineMs {
        let (ms, ticks) = divided(level, self.ticks_per_ms);
        FineMs { ms, ticks }
    }

    /// When `level` at `at` has drained.
    pub fn due(&self, level: u128, at: EpochMs) -> Due {
        let drains = self.drains_in(level);
        Due {
            ms: at.0.saturating_add(drains.ms),
            ticks: drains.ticks,
            ticks_per_ms: self.ticks_per_ms,
        }
    }
}

/// An instant: `ms` since the epoch and `ticks` of `1 / ticks_per_ms` milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub ms: u64,
    pub ticks: u64,
    pub ticks_per_ms: u64,
}

/// `ticks` of one unit of `from` ticks in ticks of one of `to`, rounded up: nothing that was used gets lost.
pub(super) fn rescaled(ticks: u64, from: u64, to: u64) -> u128 {
    if from == to {
        return u128::from(ticks);
    }
    (u128::from(ticks) * u128::from(to)).div_ceil(u128::from(from.max(1)))
}

/// Quotient and remainder; in 64 bits where that is enough, which is several times as fast.
#[inline]
pub(super) fn divided(number: u128, by: u64) -> (u64, u64) {
    match u64::try_from(number) {
        // What a denied key has left: no division at all.
        Ok(number) if number < by => (0, number),
        Ok(number) => (number / by, number % by),
        Err(_) => divided_wide(number, u128::from(by)),
    }
}

#[cold]
fn divided_wide(number: u128, by: u128) -> (u64, u64) {
    (saturated(number / by), saturated(number % by))
}

#[inline]
fn quotient(number: u128, by: u64) -> u64 {
    divided(number, by).0
}

#[inline]
pub(super) fn quotient_up(number: u128, by: u64) -> u64 {
    let (quotient, rest) = divided(number, by);
    quotient.saturating_add(u64::from(rest > 0))
}

/// The nearest 64-bit number.
pub(super) fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_division_in_64_bits_is_that_in_128() {
        let edge = u128::from(u64::MAX);
        let numbers = [
            0,
            1,
            2,
            999,
            1_000,
            1_001,
            edge - 1,
            edge,
            edge + 1,
            edge * edge,
        ];
        for number in numbers {
            for by in [1, 2, 3, 1_000, u64::MAX - 1, u64::MAX] {
                let wide = u128::from(by);
                let rest = saturated(number % wide);
                assert_eq!(divided(number, by), (saturated(number / wide), rest));
                let up = saturated(number.div_ceil(wide));
                assert_eq!(quotient_up(number, by), up, "{number} / {by}");
            }
        }
    }

    #[test]
    fn a_part_of_a_unit_counts_as_one_and_a_part_of_a_millisecond_too() {
        // 3 in a second: a unit has 1,000 ticks, of which 3 drain in a millisecond.
        let meter = Meter::new(3, 1_000);
        let levels = [0, 1, 1_000, 1_001];
        assert_eq!(levels.map(|level| meter.units(level)), [0, 1, 1, 2]);
        let levels = [0, 1, 3, 4];
        assert_eq!(levels.map(|level| meter.drained_ms(level)), [0, 1, 1, 2]);
    }
}
