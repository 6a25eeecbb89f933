//! What a limit on a count of units decides, whatever the units are counted over.

use weir_core::units::EpochMs;
use weir_decision::{Decision, Reason, Retry};

/// A limit, and how much of it is used when it is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    /// Units that may be used.
    pub limit: u64,
    /// Units that are used.
    pub used: u64,
    /// When it is asked.
    pub now: EpochMs,
    /// What the decision names as its reset.
    pub reset_at: EpochMs,
}

impl Counted {
    /// Decides `cost` units; 0 tells what one unit would meet. `free_at` says from when on at most that many units
    /// will be used, if nothing else is charged.
    pub fn decide(self, cost: u64, free_at: impl FnOnce(u64) -> EpochMs) -> Decision {
        let asked = cost.max(1);
        let left = self.limit.saturating_sub(self.used);
        let (reason, retry) = if asked > self.limit {
            (Reason::Never, Retry::Never)
        } else if asked > left {
            // Not 0, even where time ends: what is denied now is admitted later at the earliest.
            let after_ms = free_at(self.limit - asked).since(self.now).max(1);
            (Reason::LimitExceeded, Retry::AfterMs(after_ms))
        } else {
            (Reason::Admitted, Retry::Now)
        };
        let charged = if reason == Reason::Admitted { cost } else { 0 };
        Decision {
            reason,
            limit: self.limit,
            remaining: left - charged,
            reset_at: self.reset_at,
            retry,
        }
    }
}
