//! How many refused changes the log takes: so many a minute, and the number of those that it did not take.

use crate::limits::AUDIT_REFUSED_PER_MINUTE_MAX;
use crate::units::EpochMs;

const MINUTE_MS: u64 = 60_000;

/// Lets refused changes into the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gate {
    since: EpochMs,
    passed: u64,
    left_out: u64,
}

impl Gate {
    /// Whether one more is recorded: `Some` with how many were not, since the last that was.
    ///
    /// ```
    /// use weir_shared::audit::gate::Gate;
    /// use weir_shared::units::EpochMs;
    /// let mut gate = Gate::default();
    /// for _ in 0..120 {
    ///     assert_eq!(gate.pass(EpochMs(1_000)), Some(0));
    /// }
    /// assert_eq!(gate.pass(EpochMs(2_000)), None);
    /// assert_eq!(gate.pass(EpochMs(61_000)), Some(1));
    /// ```
    pub fn pass(&mut self, now: EpochMs) -> Option<u64> {
        if now.since(self.since) >= MINUTE_MS || now < self.since {
            self.since = now;
            self.passed = 0;
        }
        if self.passed >= AUDIT_REFUSED_PER_MINUTE_MAX {
            self.left_out += 1;
            return None;
        }
        self.passed += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}
