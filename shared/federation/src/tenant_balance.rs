//! What a holder has of one tenant's units in the open window.

use weir_core::limits::{COST_MAX, JSON_INTEGER_MAX, PART_REQUESTS_MIN};
use weir_core::units::EpochMs;
use weir_fairness::ask::Party;

use super::pace::Pace;
use super::parent_status::ParentStatus;

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
    /// Its allowance: unassigned units of the open window that it may still take.
    pub unassigned_max: u64,
    /// Beyond that, where it wants more than it can have and yet not more than is left: what it may take before the parent
    /// speaks of it again. Nothing of this is charged before it is taken.
    pub advance: u64,
    /// What it used of the last window in the time of two contacts: it may take as much of the open one before the parent
    /// speaks of it.
    pub opening: u64,
    /// Units that the parent counts as had by it here.
    pub stated: u64,
    /// Units of its last request that is known; 0 before there was one.
    pub cost: u64,
    pace: Pace,
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
            advance: 0,
            opening: 0,
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
        if unassigned == 0 {
            return 0;
        }
        let untold = self.told.is_none() && self.denied == 0 && self.party.takes_idle();
        let first = if untold && first_max > 0 {
            first_max.max(self.opening).saturating_sub(self.used)
        } else {
            0
        };
        unassigned.min(self.unassigned_max.saturating_add(self.advance).max(first))
    }

    /// Whether it wants more than it may have: it is told what it may have by name.
    #[must_use]
    pub fn is_short(&self) -> bool {
        // Where nothing is left to be lent, it may still use what lies idle.
        let used_up = |told: ParentStatus| told.left == 0 && self.unassigned_max == 0;
        let told_so = self.told.is_some_and(|told| told.unserved || used_up(told));
        let contended = self.told.is_some_and(|told| told.contended);
        self.denied > 0 || self.missed > 0 || told_so || contended || self.party.is_bounded()
    }

    /// Whether the parent counts another number of units as had by it here.
    #[must_use]
    pub fn is_untold(&self) -> bool {
        self.held != self.stated
    }

    /// Takes over what its tenant claims, unless that is by an earlier word.
    pub fn restate(&mut self, party: &Party) {
        let (Party::Tenant(own), Party::Tenant(party)) = (&mut self.party, party) else {
            return;
        };
        let later = party.claim.claim_version >= own.claim.claim_version;
        if later && own.claim != party.claim {
            let before = own.claim.ceiling;
            own.claim = party.claim.clone();
            if party.is_overflow() {
                // Of all for whom it is, the least ceiling counts.
                let ceilings = before.into_iter().chain(party.claim.ceiling);
                own.claim.ceiling = ceilings.min();
            }
        }
    }

    /// Units that it may use where so many are unassigned.
    #[must_use]
    pub fn available(&self, unassigned: u64, first_max: u64) -> u64 {
        self.balance()
            .saturating_add(self.unassigned_of(unassigned, first_max))
    }

    /// Adds to its allowance.
    pub fn allow(&mut self, units: u64) {
        self.unassigned_max = self.unassigned_max.saturating_add(units);
    }

    /// Takes over unassigned units, of those that it may take.
    pub fn take_unassigned(&mut self, units: u64) {
        if self.unassigned_max != u64::MAX {
            let beyond = units.saturating_sub(self.unassigned_max);
            self.unassigned_max -= units.min(self.unassigned_max);
            self.advance -= beyond.min(self.advance);
        }
        self.held = self.held.saturating_add(units);
    }

    /// Gives units back to the parent. Of a pool without tenants they go to whoever asks first.
    pub fn give_back(&mut self, units: u64) {
        self.held -= units.min(self.held);
        if let (Some(told), Party::Tenant(_)) = (self.told.as_mut(), &self.party) {
            told.gave_back(units);
        }
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

    /// Takes units out of the pace that were held and not used after all.
    pub fn unnote(&mut self, units: u64) {
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

    /// Whether at least `units` are expected to be used in `horizon_ms`.
    #[must_use]
    pub fn expects(&self, units: u64, horizon_ms: u64, now: EpochMs) -> bool {
        self.pace.expects(units, horizon_ms, now)
    }

    /// Units that would be asked for in `horizon_ms`, those that would be denied included.
    #[must_use]
    pub fn asks_for(&self, horizon_ms: u64, now: EpochMs) -> u64 {
        self.pace.demanded(horizon_ms, now)
    }

    /// The same, of one that is expected to ask for no longer than it has asked.
    #[must_use]
    pub fn lasting(&self, horizon_ms: u64, now: EpochMs) -> u64 {
        self.pace.lasting(horizon_ms, now)
    }

    /// As [`TenantBalance::asks_for`], at most [`TenantBalance::part`].
    #[must_use]
    pub fn demanded(&self, horizon_ms: u64, now: EpochMs) -> u64 {
        let asked = self.asks_for(horizon_ms, now);
        self.part().map_or(asked, |part| asked.min(part))
    }

    /// This holder's part of the tenant's ceiling, as it had its part of what the tenant used. `None` where that is not
    /// known, or tenants draw from one pool.
    #[must_use]
    pub fn part(&self) -> Option<u64> {
        let told = self.party.tenant().and(self.told)?;
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
        self.advance = 0;
        self.unassigned_max = most.map_or(u64::MAX, |most| most.saturating_sub(units));
    }

    /// Whether nothing would be lost with it.
    #[must_use]
    pub fn idle(&self, now: EpochMs) -> bool {
        self.held == 0 && self.used == 0 && self.denied == 0 && self.pace.still(now)
    }
}

#[cfg(test)]
mod tests {
    use weir_fairness::ask::{Claimant, TenantClaim};

    use super::*;
    use crate::parent_status::tests::told;

    const NOW: EpochMs = EpochMs(10_000);

    fn balance() -> TenantBalance {
        TenantBalance::new(Claimant::plain("a").into(), NOW)
    }

    fn of_claim(claim: TenantClaim) -> Party {
        let name = "a".to_owned();
        Claimant { name, claim }.into()
    }

    #[test]
    fn a_tenant_is_short_by_its_own_demand_by_the_parents_word_or_by_a_bound_and_else_is_not() {
        let with_told = |told| TenantBalance {
            told: Some(told),
            ..balance()
        };
        let mut bounded = balance();
        bounded.party = of_claim(TenantClaim {
            borrow_max: Some(1),
            ..TenantClaim::default()
        });
        let cases = [
            (balance(), false),
            (with_told(told()), false),
            (
                TenantBalance {
                    denied: 1,
                    ..balance()
                },
                true,
            ),
            (
                TenantBalance {
                    missed: 1,
                    ..balance()
                },
                true,
            ),
            (
                with_told(ParentStatus {
                    unserved: true,
                    ..told()
                }),
                true,
            ),
            (
                TenantBalance {
                    unassigned_max: 0,
                    ..with_told(ParentStatus { left: 0, ..told() })
                },
                true,
            ),
            // It may use what lies idle.
            (
                TenantBalance {
                    unassigned_max: 1,
                    ..with_told(ParentStatus { left: 0, ..told() })
                },
                false,
            ),
            (with_told(ParentStatus { left: 1, ..told() }), false),
            (
                with_told(ParentStatus {
                    contended: true,
                    ..told()
                }),
                true,
            ),
            (bounded, true),
        ];
        for (balance, short) in cases {
            assert_eq!(balance.is_short(), short, "{balance:?}");
        }
    }

    #[test]
    fn a_part_is_told_from_the_whole_when_enough_was_used_here_to_tell() {
        let left_here = |held, cost| {
            let balance = TenantBalance {
                held,
                cost,
                ..balance()
            };
            balance.left_here(&told())
        };
        // Of 60 that are left, as it had of 30.
        assert_eq!(PART_REQUESTS_MIN, 16);
        assert_eq!([15, 16, 29].map(|held| left_here(held, 0)), [60, 32, 58]);
        assert_eq!(left_here(29, 2), 60, "29 are no 16 requests of 2");
        assert_eq!(left_here(50, 1), 60, "no more than what is left");
    }

    #[test]
    fn a_holders_part_of_a_ceiling_is_as_it_had_its_part_of_what_was_used() {
        let part_of = |party, held, told| {
            let balance = TenantBalance {
                party,
                held,
                told,
                ..balance()
            };
            balance.part()
        };
        let part = |held, told| part_of(balance().party, held, told);
        assert_eq!(part(10, Some(told())), Some(30));
        assert_eq!(part(31, Some(told())), Some(90));
        let unused = ParentStatus { used: 0, ..told() };
        assert_eq!(part(10, Some(unused)), Some(90));
        assert_eq!(part(10, None), None);
        let of_all = part_of(Party::Everyone, 10, Some(told()));
        assert_eq!(of_all, None, "all draw from one pool");
    }

    #[test]
    fn of_idle_units_a_tenant_takes_its_allowance_or_before_it_is_spoken_of_a_few_requests() {
        let mut one = TenantBalance {
            unassigned_max: 5,
            used: 3,
            ..balance()
        };
        // Of the first 12, 3 are used.
        assert_eq!(one.unassigned_of(100, 12), 9);
        assert_eq!(one.unassigned_of(7, 12), 7);
        assert_eq!(one.unassigned_of(100, 6), 5);
        one.denied = 1;
        assert_eq!(one.unassigned_of(100, 12), 5);
        (one.denied, one.told) = (0, Some(told()));
        assert_eq!(one.unassigned_of(100, 12), 5);
        one.told = None;
        one.party = of_claim(TenantClaim {
            known: false,
            ..TenantClaim::default()
        });
        assert_eq!(one.unassigned_of(100, 12), 5);
    }

    #[test]
    fn before_it_is_spoken_of_a_tenant_takes_as_much_as_it_used_at_that_pace_of_the_last_window() {
        let one = TenantBalance {
            unassigned_max: 0,
            used: 3,
            opening: 20,
            ..balance()
        };
        assert_eq!(one.unassigned_of(100, 12), 17);
        assert_eq!(
            one.unassigned_of(100, 0),
            0,
            "where nothing lies idle for all"
        );
        let told = TenantBalance {
            told: Some(told()),
            ..one
        };
        assert_eq!(told.unassigned_of(100, 12), 0);
    }

    #[test]
    fn what_is_taken_in_advance_is_taken_after_the_allowance_and_ends_with_the_window() {
        let mut one = TenantBalance {
            unassigned_max: 5,
            advance: 4,
            told: Some(told()),
            ..balance()
        };
        let left = |one: &TenantBalance| (one.unassigned_max, one.advance);
        assert_eq!(one.unassigned_of(100, 0), 9);
        one.take_unassigned(4);
        assert_eq!(left(&one), (1, 4));
        one.take_unassigned(3);
        assert_eq!(left(&one), (0, 2));
        one.roll(0, Some(0));
        assert_eq!(left(&one), (0, 0));
    }

    #[test]
    fn an_allowance_falls_by_what_is_taken_of_it_unless_there_is_no_end_of_it() {
        let after = |unassigned_max| {
            let balance = || TenantBalance {
                unassigned_max,
                ..balance()
            };
            let (mut taken, mut learned) = (balance(), balance());
            taken.take_unassigned(4);
            learned.learn(4, NOW);
            assert_eq!((taken.held, taken.used), (4, 0));
            assert_eq!((learned.held, learned.used), (4, 4));
            assert_eq!(taken.unassigned_max, learned.unassigned_max);
            taken.unassigned_max
        };
        assert_eq!([10, 3, u64::MAX].map(after), [6, 0, u64::MAX]);
    }

    #[test]
    fn nothing_is_lost_with_a_balance_only_when_all_of_it_is_nothing() {
        assert!(balance().idle(NOW));
        let mut paced = balance();
        paced.use_units(1, NOW);
        paced.used = 0;
        let changed = |change: fn(&mut TenantBalance)| {
            let mut one = balance();
            change(&mut one);
            one
        };
        let (held, used) = (changed(|one| one.held = 1), changed(|one| one.used = 1));
        let kept = [held, used, changed(|one| one.denied = 1), paced];
        assert!(kept.iter().all(|balance| !balance.idle(NOW)));
    }
}
