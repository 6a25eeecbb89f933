//! What a state says was used, in units that the rules of another limit can be charged: so that a limit whose algorithm
//! or windows change never gives back what was used.
//!
//! What still counts by the rules that wrote the state is charged at the instant at which the new rules first see it.
//! What does not count any more is charged at the last instant at which it did: the rules may have changed just before.
//! So, whenever they changed, the key is never more generous than one that was cold and was charged at that instant what
//! still counted then.

use weir_core::units::EpochMs;

use super::bucket::BucketState;

/// Steps in which what drains evenly is charged.
const STEPS: u64 = 16;

/// Units that were used, each with the instant at which they are charged, the earliest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Used {
    charges: Vec<(EpochMs, u64)>,
}

impl Used {
    /// Of units that each count until a time: before it they are charged at `now`, after it at the last instant at which
    /// they counted.
    pub fn until(units: impl IntoIterator<Item = (EpochMs, u64)>, now: EpochMs) -> Self {
        let charged_at = |until: EpochMs| now.min(EpochMs(until.0.saturating_sub(1)));
        Self::at(
            units
                .into_iter()
                .map(|(until, units)| (charged_at(until), units)),
        )
    }

    /// Of units that were used at a time each.
    pub fn at(units: impl IntoIterator<Item = (EpochMs, u64)>) -> Self {
        let mut charges: Vec<_> = units.into_iter().filter(|(_, units)| *units > 0).collect();
        charges.sort_unstable_by_key(|(at, _)| *at);
        Self { charges }
    }

    /// Of units of which `left` says how many count at a time, fewer and fewer from `latest` to `now`. What has stopped
    /// to count is charged in a few steps, none of which is before it did.
    pub fn drained(latest: EpochMs, now: EpochMs, left: impl Fn(EpochMs) -> u64) -> Self {
        let elapsed_ms = u128::from(now.since(latest));
        let times = (1..=STEPS).map(|step| {
            let ms = (elapsed_ms * u128::from(step)).div_ceil(u128::from(STEPS));
            latest.plus(u64::try_from(ms).unwrap_or(u64::MAX)).min(now)
        });
        let mut before = left(latest);
        let steps = times.map(|at| {
            let gone = before.saturating_sub(left(at));
            before -= gone;
            (at, gone)
        });
        let steps: Vec<_> = steps.collect();
        Self::at(steps.into_iter().chain([(now, before)]))
    }

    /// What a bucket lacks. At what rate it was filled is not known: all of it counts.
    pub fn missing(state: &BucketState, now: EpochMs) -> Self {
        let missing = state.missing.saturating_add(u64::from(state.ticks > 0));
        Self::at([(now.max(EpochMs(state.latest_ms)), missing)])
    }

    /// With others.
    pub fn and(self, others: Self) -> Self {
        Self::at(self.charges.into_iter().chain(others.charges))
    }

    /// The charges, the earliest first.
    pub fn charges(&self) -> impl DoubleEndedIterator<Item = (EpochMs, u64)> {
        self.charges.iter().copied()
    }

    /// The instant of the last charge; `None` where nothing was used.
    pub fn latest(&self) -> Option<EpochMs> {
        self.charges.last().map(|(at, _)| *at)
    }

    /// The level of a meter that drains `per_ms` in a millisecond and holds `size` at most, after the last charge; each
    /// unit adds `per_unit`.
    pub fn level(&self, per_ms: u64, per_unit: u64, size: u128) -> u128 {
        let (mut level, mut last) = (0_u128, EpochMs(0));
        for (at, units) in self.charges() {
            let drained = u128::from(at.since(last)) * u128::from(per_ms);
            let added = u128::from(units) * u128::from(per_unit);
            level = level
                .saturating_sub(drained)
                .saturating_add(added)
                .min(size);
            last = at;
        }
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Tally;

    #[test]
    fn what_used_nothing_was_not_there() {
        assert_eq!(Used::at([(EpochMs(9), 0)]).latest(), None);
        assert_eq!(
            Used::at([(EpochMs(3), 1), (EpochMs(9), 0)]).latest(),
            Some(EpochMs(3))
        );
    }

    #[test]
    fn what_drains_evenly_is_charged_in_even_steps() {
        let left = |at: EpochMs| 1_600_u64.saturating_sub(at.0);
        let drained = Used::drained(EpochMs(0), EpochMs(1_600), left);
        let due: Vec<_> = (1..=16).map(|step| (EpochMs(100 * step), 100)).collect();
        assert_eq!(drained.charges().collect::<Vec<_>>(), due);
    }

    #[test]
    fn a_part_of_a_token_that_is_missing_counts_as_one() {
        let missing = |ticks| {
            let state = BucketState {
                missing: 3,
                ticks,
                ticks_per_token: 10,
                latest_ms: 0,
                tally: Tally::start(EpochMs(0), 4),
            };
            Used::missing(&state, EpochMs(7))
                .charges()
                .collect::<Vec<_>>()
        };
        assert_eq!(missing(0), [(EpochMs(7), 3)]);
        assert_eq!(missing(1), [(EpochMs(7), 4)]);
    }
}
