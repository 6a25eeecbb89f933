//! How the slots of a guard, and what is missing of its budget, outlive a change of its numbers.

use std::cmp::Reverse;

use weir_core::units::EpochMs;

use super::{Guard, GuardState, NAMES_PER_MS, NOBODY, first_name};
use crate::bucket::BucketState;
use crate::carry::{CarriedState, Carry};
use crate::used::Used;

impl Carry for Guard {
    type State = GuardState;

    /// The state of a guard that was cold and is charged what was used, up to all that it admits: of slots that nobody
    /// can release too.
    fn charged(&self, used: &Used, latest: EpochMs) -> GuardState {
        let units = used
            .charges()
            .filter(|(at, _)| latest < at.plus(self.lease_ms));
        let units = units.fold(0, |sum: u64, (_, units)| sum.saturating_add(units));
        let slots = units.min(self.concurrency.unwrap_or(0)) as usize;
        GuardState {
            slots: vec![(NOBODY, latest.plus(self.lease_ms)); slots],
            last: first_name(latest).saturating_add(NAMES_PER_MS - 1),
            budget: self
                .budget
                .map(|meter| BucketState::spent(&meter, used, latest)),
            latest_ms: latest.0,
        }
    }
}

impl CarriedState for GuardState {
    /// What was taken of the budget, at `now`, and slots that are held beyond that.
    fn used(&self, now: EpochMs) -> Used {
        let at = now.max(EpochMs(self.latest_ms));
        let missing = self.budget.as_ref();
        let taken = missing.map_or_else(Used::default, |budget| Used::missing(budget, at));
        let units: u64 = taken.charges().map(|(_, units)| units).sum();
        // The slots that lapse last may be those that were taken beyond what the budget lacks.
        let mut ends: Vec<_> = self
            .slots
            .iter()
            .map(|(_, ends_at)| (*ends_at, 1))
            .collect();
        ends.sort_unstable_by_key(|(ends_at, _)| Reverse(*ends_at));
        let beyond = ends
            .len()
            .saturating_sub(usize::try_from(units).unwrap_or(usize::MAX));
        ends.truncate(beyond);
        taken.and(Used::until(ends, at))
    }

    /// A slot has no parts.
    fn rescaled(&self, _from: u64, _to: u64) -> Self {
        self.clone()
    }
}
