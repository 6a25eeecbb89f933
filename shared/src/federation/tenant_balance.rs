//! What a holder has of one tenant's units in the open window, and what its parent said last of that tenant.

use super::pace::Pace;
use crate::fairness::ask::Party;
use crate::limits::{COST_MAX, JSON_INTEGER_MAX, PART_REQUESTS_MIN};
use crate::units::EpochMs;
use crate::wire::exchange::Seen;

/// One tenant's part of what a holder holds; all of it where tenants draw from one pool.
#[derive(Debug, Clone)]
pub struct TenantBalance {
    /// Who it is for.
    pub party: Party,
    /// Units lent to it and not returned.
    pub held: u64,
    /// Units of those that were spent, or lent on.
    pub used: u64,
    /// Units that were denied since the last message: demand.
    pub denied: u64,
    /// Units that holders below asked for since the last message and were not lent.
    pub missed: u64,
    /// What the parent said last.
    pub told: Option<ParentStatus>,
    /// Its allowance: units that it may still take from what is nobody's in the open window.
    pub unassigned_max: u64,
    /// Units that the parent counts as had by it here.
    pub stated: u64,
    /// Units of its last request that is known; 0 before there was one.
    pub cost: u64,
    pace: Pace,
}

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
    /// Units that the tenant could still have had.
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
}

impl TenantBalance {
    /// An empty balance.
    #[must_use]
    pub fn new(party: Party, now: EpochMs) -> Self {
        Self {
            party,
            held: 0,
            used: 0,
            denied: 0,
            missed: 0,
            told: None,
            unassigned_max: u64::MAX,
            stated: 0,
            cost: 0,
            pace: Pace::new(now),
        }
    }

    /// Units that may be used.
    #[must_use]
    pub fn balance(&self) -> u64 {
        self.held.saturating_sub(self.used)
    }

    /// Units that it may take of the `unassigned`. `first_max`: of a tenant that the policy names and of which the parent has not
    /// spoken in this window, so many of what it uses.
    #[must_use]
    pub fn unassigned_of(&self, unassigned: u64, first_max: u64) -> u64 {
        let untold = self.told.is_none() && self.denied == 0 && self.party.standing.takes_idle();
        let first = if untold {
            first_max.saturating_sub(self.used)
        } else {
            0
        };
        unassigned.min(self.unassigned_max.max(first))
    }

    /// Whether it wants more than it may have: it is told what it may have by name.
    #[must_use]
    pub fn is_short(&self) -> bool {
        let told_so = self
            .told
            .is_some_and(|told| told.unserved || told.left == 0);
        let contended = self.told.is_some_and(|told| told.contended);
        self.denied > 0
            || self.missed > 0
            || told_so
            || contended
            || self.party.standing.is_bounded()
    }

    /// Whether the parent counts another number of units as had by it here.
    #[must_use]
    pub fn is_untold(&self) -> bool {
        self.held != self.stated
    }

    /// Takes over what its tenant claims, unless that is by an earlier word.
    pub fn restate(&mut self, party: &Party) {
        let later = party.standing.claim_version >= self.party.standing.claim_version;
        if later && self.party.standing != party.standing {
            let before = self.party.standing.ceiling;
            self.party.standing = party.standing.clone();
            if party.is_overflow() {
                // Of all for whom it is, the least ceiling counts.
                let ceilings = before.into_iter().chain(party.standing.ceiling);
                self.party.standing.ceiling = ceilings.min();
            }
        }
    }

    /// Units that it may use where so many are nobody's.
    #[must_use]
    pub fn available(&self, unassigned: u64, first_max: u64) -> u64 {
        self.balance()
            .saturating_add(self.unassigned_of(unassigned, first_max))
    }

    /// Adds to its allowance.
    pub fn allow(&mut self, units: u64) {
        self.unassigned_max = self.unassigned_max.saturating_add(units);
    }

    /// Takes units over that were nobody's, of those that it may take.
    pub fn take_unassigned(&mut self, units: u64) {
        if self.unassigned_max != u64::MAX {
            self.unassigned_max -= units.min(self.unassigned_max);
        }
        self.held = self.held.saturating_add(units);
    }

    /// Uses `units` of the balance.
    pub fn use_units(&mut self, units: u64, now: EpochMs) {
        self.used = self.used.saturating_add(units);
        self.pace.note(units, 0, now);
    }

    /// Learns that `units` are used in all. What it did not know of was held beside what it has, and is used up.
    pub fn learn(&mut self, units: u64, now: EpochMs) {
        let more = units.saturating_sub(self.used);
        if self.unassigned_max != u64::MAX {
            self.unassigned_max -= more.min(self.unassigned_max);
        }
        self.held = self.held.saturating_add(more);
        self.used = units;
        self.pace.note(more, 0, now);
    }

    /// Puts units back that were used here.
    pub fn unuse(&mut self, units: u64) {
        self.used -= units.min(self.used);
        self.pace.unnote(units);
    }

    /// Counts units that were denied.
    pub fn deny(&mut self, cost: u64, now: EpochMs) {
        self.denied = self.denied.saturating_add(cost).min(JSON_INTEGER_MAX);
        self.pace.note(0, cost, now);
    }

    /// Units expected to be used in `horizon_ms`.
    #[must_use]
    pub fn expected(&self, horizon_ms: u64, now: EpochMs) -> u64 {
        self.pace.expected(horizon_ms, now)
    }

    /// Units that would be asked for in `horizon_ms`, those that would be denied included.
    #[must_use]
    pub fn asks_for(&self, horizon_ms: u64, now: EpochMs) -> u64 {
        self.pace.demanded(horizon_ms, now)
    }

    /// The same, at most [`TenantBalance::part`].
    #[must_use]
    pub fn demanded(&self, horizon_ms: u64, now: EpochMs) -> u64 {
        let asked = self.asks_for(horizon_ms, now);
        self.part().map_or(asked, |part| asked.min(part))
    }

    /// This holder's part of the tenant's ceiling, as it had its part of what the tenant used. `None` where that is not
    /// known, or tenants draw from one pool.
    #[must_use]
    pub fn part(&self) -> Option<u64> {
        let told = self.told.filter(|_| !self.party.name.is_empty())?;
        let part = u128::from(told.ceiling) * u128::from(self.held.min(told.used));
        let used = u128::from(told.used);
        Some(
            part.checked_div(used)
                .map_or(told.ceiling, |part| u64::try_from(part).unwrap_or(COST_MAX)),
        )
    }

    /// This holder's part of what is left for the tenant, as it had its part of what the tenant used; all of it while too
    /// little was used here to tell.
    #[must_use]
    pub fn left_here(&self, told: &ParentStatus) -> u64 {
        let enough = self.cost.max(1).saturating_mul(PART_REQUESTS_MIN);
        let had = self.held.min(told.used);
        if had < enough {
            return told.left;
        }
        let left = u128::from(told.left) * u128::from(had) / u128::from(told.used);
        u64::try_from(left).unwrap_or(told.left)
    }

    /// Another window, of which it holds `units`, and may take up to `most` where it is known how much that is.
    pub fn roll(&mut self, units: u64, most: Option<u64>) {
        self.held = units;
        self.used = 0;
        self.told = None;
        self.missed = 0;
        self.stated = 0;
        self.unassigned_max = most.map_or(u64::MAX, |most| most.saturating_sub(units));
    }

    /// Whether nothing would be lost with it.
    #[must_use]
    pub fn idle(&self, now: EpochMs) -> bool {
        self.held == 0 && self.used == 0 && self.denied == 0 && self.pace.still(now)
    }
}
