//! What a parent said last of one tenant.

use weir_core::units::EpochMs;
use weir_wire::exchange::Seen;

/// What a parent said of one tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParentStatus {
    /// The message that it answered.
    pub by: Seen,
    /// Until when it counts.
    pub until: EpochMs,
    /// For how long it counted when it was said.
    pub span_ms: u64,
    /// The tenant's ceiling in the window; the limit where tenants draw from one pool.
    pub ceiling: u64,
    /// Units of the tenant that were used in the whole deployment, those that this holder had included.
    pub used: u64,
    /// Units that the tenant could still have had, and what this holder gave back since.
    pub left: u64,
    /// Whether less was lent than was waited for.
    pub unserved: bool,
    /// Whether it wants more than it could have had: what it may use counts as had by it.
    pub contended: bool,
    /// Whether the parent's own parent was out of reach.
    pub outage: bool,
    /// When more may be lent, if the parent said so.
    pub again: Option<Again>,
}

/// When a parent that lent less than was waited for expects to lend more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// When `units` can be lent, if nothing else is lent before.
    pub at: EpochMs,
    /// When the parent is asked again: not before `at`.
    pub asked_at: EpochMs,
    /// The fewest units that a request waited for.
    pub units: u64,
}

impl ParentStatus {
    /// Whether it still counts. One that would count for longer than it was said for comes from a clock that has
    /// stepped back since.
    #[must_use]
    pub fn recent(&self, now: EpochMs) -> bool {
        now < self.until && self.until.since(now) <= self.span_ms
    }

    /// So many units go back to the parent: they are left for the tenant, also before the parent says so.
    pub fn gave_back(&mut self, units: u64) {
        self.left = self.left.saturating_add(units).min(self.ceiling);
        self.used = self.used.saturating_sub(units);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const NOW: EpochMs = EpochMs(10_000);

    /// Of 90 units 30 are used, and the rest is left, for half a second.
    pub(crate) fn told() -> ParentStatus {
        ParentStatus {
            by: Seen::default(),
            until: NOW.plus(500),
            span_ms: 500,
            ceiling: 90,
            used: 30,
            left: 60,
            unserved: false,
            contended: false,
            outage: false,
            again: None,
        }
    }

    #[test]
    fn a_word_counts_until_its_end_and_not_on_a_clock_that_stepped_back() {
        let recent = |now| told().recent(EpochMs(now));
        assert_eq!(
            [9_999, 10_000, 10_499, 10_500].map(recent),
            [false, true, true, false]
        );
    }

    #[test]
    fn what_goes_back_is_left_up_to_the_ceiling() {
        let after = |units| {
            let mut told = told();
            told.gave_back(units);
            (told.left, told.used)
        };
        assert_eq!(
            [0, 7, 30, 40].map(after),
            [(60, 30), (67, 23), (90, 0), (90, 0)]
        );
    }
}
