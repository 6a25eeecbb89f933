//! What the registry can forget.

use weir_core::limits::TOKEN_USE_MS;
use weir_core::ordered::OrderedSet;
use weir_core::units::EpochMs;
use weir_policy::per_revision::PerRevision;

/// What the registry keeps between events. None of it is more than what the rows say, but for uses of the bootstrap token
/// that are not in the audit log yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    pub(super) bootstrap: BootstrapUses,
    /// Whether the keys of what callers keep were seen to be whole.
    pub(super) has_seals: bool,
    /// The regions of the policy in force, under the highest revision that there is.
    pub(super) regions: PerRevision<OrderedSet<String>>,
}

/// What is known once a write is durable, and not before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Learned {
    /// The audit log has that many uses of the bootstrap token.
    BootstrapUses { uses: u64, at: EpochMs },
    /// The keys of what callers keep are whole.
    Seals,
}

impl Memory {
    pub(super) fn learn(&mut self, learned: Learned) {
        match learned {
            Learned::BootstrapUses { uses, at } => self.bootstrap.recorded(uses, at),
            Learned::Seals => self.has_seals = true,
        }
    }
}

/// Uses of the bootstrap token that are not in the audit log yet.
#[derive(Debug, Clone, Default)]
pub(super) struct BootstrapUses {
    recorded_at: Option<EpochMs>,
    uses: u64,
}

impl BootstrapUses {
    /// Adds uses; `Some` with all that are not in the log when it is time to record them.
    pub(super) fn add(&mut self, uses: u64, now: EpochMs) -> Option<u64> {
        self.uses = self.uses.saturating_add(uses);
        let recent = |at: EpochMs| now.since(at) < TOKEN_USE_MS && now >= at;
        let rests = self.uses == 0 || self.recorded_at.is_some_and(recent);
        (!rests).then_some(self.uses)
    }

    fn recorded(&mut self, uses: u64, at: EpochMs) {
        self.uses = self.uses.saturating_sub(uses);
        self.recorded_at = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_recorded_once_a_minute_and_each_once() {
        let mut bootstrap = BootstrapUses::default();
        let start = EpochMs(1_000);
        assert_eq!(bootstrap.add(0, start), None);
        assert_eq!(bootstrap.add(2, start), Some(2));
        // The record was not written: they are recorded with the next.
        assert_eq!(bootstrap.add(1, start), Some(3));
        bootstrap.recorded(3, start);
        assert_eq!(bootstrap.add(5, start.plus(TOKEN_USE_MS - 1)), None);
        assert_eq!(bootstrap.add(0, start.plus(TOKEN_USE_MS)), Some(5));
        bootstrap.recorded(5, start.plus(TOKEN_USE_MS));
        assert_eq!(bootstrap.add(0, start.plus(2 * TOKEN_USE_MS)), None);
    }
}
