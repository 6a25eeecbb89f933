//! What is missing in a bucket, as it is stored, and how it is charged and given back.

use serde::{Deserialize, Serialize};
use weir_core::units::EpochMs;

use super::carry::CarriedState;
use super::meter::{AskedAt, Meter, divided, rescaled, saturated};
use super::tally::{Tally, TallyMark};
use super::used::Used;

/// The tokens that are missing in a bucket: whole ones, and `ticks` of `1 / ticks_per_token`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketState {
    /// Whole tokens that are missing.
    pub missing: u64,
    /// The rest, in ticks; below `ticks_per_token`.
    pub ticks: u64,
    /// Ticks in one token when this was written, so that a changed rate reads it exactly.
    pub ticks_per_token: u64,
    /// When they were missing: nothing that happens to the key is earlier.
    pub latest_ms: u64,
    /// What was charged since the bucket was full.
    pub tally: Tally,
}

impl BucketState {
    /// Ticks that are missing at `at`. They are rounded up where the rate has changed: a change never refunds.
    pub(super) fn level(&self, meter: &Meter, at: EpochMs) -> u128 {
        let per_token = meter.ticks_per_unit;
        let rest = rescaled(self.ticks, self.ticks_per_token, per_token);
        let missing = meter.ticks(self.missing) + rest.min(u128::from(per_token));
        let elapsed_ms = at.since(EpochMs(self.latest_ms));
        missing.saturating_sub(u128::from(elapsed_ms) * u128::from(meter.ticks_per_ms))
    }

    /// After a charge of `cost` tokens at `at` that raised the level from `level` to `level_after`.
    pub(super) fn charged(
        before: Option<&Self>,
        meter: &Meter,
        (level, level_after): (u128, u128),
        cost: u64,
        at: EpochMs,
    ) -> Self {
        let before = before.filter(|_| level > 0).map(|state| state.tally);
        let tally = Tally::charged(before, || meter.units(level), cost, at);
        Self::write(meter, level_after, tally, at)
    }

    /// After `units` of the charge that `receipt` names were put back; `None` when there is nothing to put back.
    pub(super) fn refunded(
        &self,
        meter: &Meter,
        receipt: &TallyMark,
        units: u64,
        now: EpochMs,
    ) -> Option<Self> {
        let at = AskedAt::clamped(now, Some(self.latest_ms)).at;
        let level = Some(self.level(meter, at)).filter(|level| *level > 0)?;
        let refunded = self.tally.refund(*receipt, units)?;
        let lowered = meter.give_back(level, units, refunded.floor_units);
        Some(Self::write(meter, lowered, refunded.tally, at))
    }

    /// A bucket in which all that `meter` has room for is missing at `now`.
    pub(super) fn exhausted(meter: &Meter, now: EpochMs) -> Self {
        let missing = meter.units(meter.size);
        Self::write(meter, meter.size, Tally::start(now, missing), now)
    }

    /// A bucket that was full and of which is missing what was used, up to all that `meter` has room for.
    pub(super) fn spent(meter: &Meter, used: &Used, latest: EpochMs) -> Self {
        let level = used.level(meter.ticks_per_ms, meter.ticks_per_unit, meter.size);
        Self::write(
            meter,
            level,
            Tally::start(latest, meter.units(level)),
            latest,
        )
    }

    /// The first millisecond at which nothing is missing.
    pub(super) fn full_at(&self, meter: &Meter) -> EpochMs {
        let latest = EpochMs(self.latest_ms);
        latest.plus(meter.drained_ms(self.level(meter, latest)))
    }

    fn write(meter: &Meter, level: u128, tally: Tally, at: EpochMs) -> Self {
        let (missing, ticks) = divided(level, meter.ticks_per_unit);
        Self {
            missing,
            ticks,
            ticks_per_token: meter.ticks_per_unit,
            latest_ms: at.0,
            tally,
        }
    }
}

impl CarriedState for BucketState {
    fn used(&self, now: EpochMs) -> Used {
        Used::missing(self, now)
    }

    /// The same bucket in parts of `1 / to` of a token instead of `1 / from`, rounded up. What was charged before is
    /// not given back any more.
    fn rescaled(&self, from: u64, to: u64) -> Self {
        let (from, to) = (u128::from(from.max(1)), u128::from(to));
        let per_token = u128::from(self.ticks_per_token.max(1));
        let missing = u128::from(self.missing) * to;
        let rest = (missing % from * per_token)
            .saturating_add(u128::from(self.ticks) * to)
            .div_ceil(from);
        let missing = saturated((missing / from).saturating_add(rest / per_token));
        let ticks = saturated(rest % per_token);
        let level_units = missing.saturating_add(u64::from(ticks > 0));
        Self {
            missing,
            ticks,
            tally: self.tally.restarted(level_units, EpochMs(self.latest_ms)),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_scale_charges_the_whole_tokens_that_are_missing() {
        let state = |ticks| BucketState {
            missing: 3,
            ticks,
            ticks_per_token: 10,
            latest_ms: 5,
            tally: Tally::start(EpochMs(0), 9),
        };
        for (ticks, units) in [(0, 6), (1, 7)] {
            let halves = state(ticks).rescaled(1, 2);
            assert_eq!(halves.missing, 6);
            assert_eq!(
                halves.tally,
                Tally::start(EpochMs(0), 9).restarted(units, EpochMs(5))
            );
        }
    }
}
