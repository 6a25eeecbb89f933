//! Where an edit of the policy meets the open window of a pool.

use super::Pool;
use crate::policy::handover::Handover;
use crate::units::EpochMs;

impl Pool {
    /// Holds the share of a static partition to what its region had, while a change of the shares is not over.
    pub fn hold_to(&mut self, handover: Option<Handover>) {
        self.handover = handover;
    }

    /// Units of the open window.
    pub(super) fn limit(&self) -> u64 {
        self.limit_from(self.window.starts_at())
    }

    /// Units of a window that begins then.
    pub(super) fn limit_from(&self, starts_at: EpochMs) -> u64 {
        let limit = self.terms.limit;
        self.handover
            .map_or(limit, |handover| handover.allows(limit, starts_at))
    }
}
