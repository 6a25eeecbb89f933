//! What was charged under other numbers than the present ones: it counts in full until a given time, so that a
//! changed limit never gives back what was used.

use serde::{Deserialize, Serialize};
use weir_core::units::EpochMs;

use super::scale::rescaled_up;

/// Steps that are kept. Finer ones are joined at the later time: they count for longer, never shorter.
const STEPS_MAX: usize = 16;

/// Bytes of it as JSON, at most: `[U,N],` for each step, with numbers of 20 digits, and a name.
pub(super) const CARRIED_UNITS_BYTES_MAX: u64 = 16 * 44 + 20;

/// `(until, units)`, by time: the units count before `until`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct CarriedUnits(Vec<(EpochMs, u64)>);

impl CarriedUnits {
    /// Of units that each count until their time.
    pub fn new(units: impl IntoIterator<Item = (EpochMs, u64)>) -> Self {
        let units = units.into_iter().filter(|(_, units)| *units > 0);
        let mut steps: Vec<_> = units.collect();
        steps.sort_unstable_by_key(|(until, _)| *until);
        let size = steps.len().div_ceil(STEPS_MAX).max(1);
        Self(steps.chunks(size).filter_map(joined).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (EpochMs, u64)> {
        self.0.iter().copied()
    }

    /// The units that count at `now`.
    pub fn units_at(&self, now: EpochMs) -> u64 {
        self.open(now)
            .fold(0_u64, |sum, (_, units)| sum.saturating_add(units))
    }

    /// What still counts at `now`.
    pub fn at(&self, now: EpochMs) -> Self {
        Self(self.open(now).collect())
    }

    /// In parts of `1 / to` of a unit instead of `1 / from`, rounded up.
    pub fn rescaled(&self, from: u64, to: u64) -> Self {
        let step = |(until, units)| (until, rescaled_up(units, from, to));
        Self(self.iter().map(step).collect())
    }

    /// When the next units stop to count.
    pub fn next(&self, now: EpochMs) -> Option<EpochMs> {
        self.open(now).next().map(|(until, _)| until)
    }

    /// When none count any more, or `at` when that is later.
    pub fn end_or_later(&self, at: EpochMs) -> EpochMs {
        self.0.last().map_or(at, |(until, _)| at.max(*until))
    }

    /// The first time at which these and others are together at most `room`; `others_at` says from when on the
    /// others are at most that many.
    pub fn free_at(&self, room: u64, now: EpochMs, others_at: impl Fn(u64) -> EpochMs) -> EpochMs {
        let mut from = now;
        loop {
            let until = self.next(from);
            if let Some(left) = room.checked_sub(self.units_at(from)) {
                let at = from.max(others_at(left));
                if until.is_none_or(|until| at < until) {
                    return at;
                }
            }
            match until {
                Some(until) => from = until,
                // Nothing is held any more, and `room` is at least 0.
                None => return from,
            }
        }
    }

    fn open(&self, now: EpochMs) -> impl Iterator<Item = (EpochMs, u64)> {
        self.iter().filter(move |(until, _)| *until > now)
    }
}

fn joined(steps: &[(EpochMs, u64)]) -> Option<(EpochMs, u64)> {
    let (until, _) = steps.last()?;
    let units = steps
        .iter()
        .fold(0_u64, |sum, (_, units)| sum.saturating_add(*units));
    Some((*until, units))
}
