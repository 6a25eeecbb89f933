//! Weighted fair share (ThrottleKit's rule, in exact integers): each tenant may have up to `max(1, floor(w * L / W))`,
//! while units last; what others leave goes to whoever comes first. Where something is set aside for tenants, weights
//! divide the rest.

use super::accounts::{Account, AccountId, Accounts};
use super::ask::{Ask, ClaimVersion, Moment, Room, TenantClaim};
use super::member::Keeping;
use super::share::{ShareRow, ShareTerms};

/// Tenants that share by this rule.
///
/// ```
/// use weir_fairness::ask::{Ask, Moment, TenantClaim};
/// use weir_fairness::share::{Rule, ShareTerms};
/// use weir_fairness::weighted_fair_share::WeightedFairShare;
/// use weir_fairness::weight::Weight;
/// let mut share = WeightedFairShare::new(ShareTerms {
///     rule: Rule::Weighted, tenants_max: 100, unknown_weight_max: Weight::WHOLE, carried: false, floors: 0,
/// });
/// let at = Moment { limit: 100, unlent: 100, left_ms: 1_000, window_ms: 1_000 };
/// let one = TenantClaim::default();
/// let three = TenantClaim { weight: Weight::try_from(3.0).unwrap(), ..one.clone() };
/// share.join("light", &one);
/// // 3 * 100 / (1 + 3) = 75.
/// assert_eq!(share.room("heavy", &three, &Ask::default(), &at).ceiling, 75);
/// ```
#[derive(Debug, Clone)]
pub struct WeightedFairShare {
    accounts: Accounts,
}

impl WeightedFairShare {
    /// Nobody has used anything.
    #[must_use]
    pub fn new(terms: ShareTerms) -> Self {
        Self {
            accounts: Accounts::new(terms, Keeping::AboveLendMax),
        }
    }

    /// Other terms, for what comes.
    pub fn retune(&mut self, terms: ShareTerms) {
        self.accounts.retune(terms);
    }

    /// The next window.
    pub fn roll(&mut self) {
        self.accounts.roll();
    }

    /// Counts a tenant among those that are there.
    pub fn join(&mut self, name: &str, claim: &TenantClaim) {
        self.accounts.join(name, claim);
    }

    /// What a tenant may be charged. It counts as there from now on.
    pub fn room(&mut self, name: &str, claim: &TenantClaim, ask: &Ask, at: &Moment) -> Room {
        let id = self.accounts.join(name, claim);
        let account = self.accounts.at(id, at);
        let ceiling = cap(account.guarantee, account.most);
        let free = free(&account, ceiling);
        let cost = ask.smallest.clamp(1, ask.waiting.max(1));
        let waiting = if ask.waiting <= free {
            ask.waiting
        } else {
            free / cost * cost
        };
        let holders = ask.holders.max(1).saturating_mul(2);
        let ahead = if waiting == ask.waiting {
            ask.expected.min((free - waiting) / holders)
        } else {
            0
        };
        let is_denied = ask.waiting > 0 && waiting == 0;
        let retry_ms = is_denied
            .then(|| self.retry_ms(id, &account, cost, at))
            .flatten();
        Room {
            waiting,
            ahead,
            ceiling,
            used: account.used,
            left: free - waiting - ahead,
            retry_ms,
            allowance: 0,
            contended: false,
        }
    }

    /// A cap grows when tenants of the last window count no more, and as what is set aside for tenants that are not there
    /// is released.
    fn retry_ms(&self, id: AccountId, account: &Account, cost: u64, at: &Moment) -> Option<u64> {
        let wanted = account.used.saturating_add(cost);
        if cost > account.pool || wanted > account.most {
            return None;
        }
        let without = self.accounts.without_carried(id, at);
        let without = without.filter(|(_, later)| wanted <= cap(*later, account.most));
        let grown = || {
            let grown_ms = self.accounts.grows_to(id, wanted, at)?;
            let others = account.kept - self.accounts.absent(at).min(account.kept);
            let units_max = (account.pool - cost).checked_sub(others)?;
            let fits_ms = self.accounts.kept_for_absent(units_max, at)?;
            Some(grown_ms.max(fits_ms))
        };
        without.map(|(in_ms, _)| in_ms).or_else(grown)
    }

    /// What a tenant would be told, without it counting as there.
    #[must_use]
    pub fn peek(&self, name: &str, claim: &TenantClaim, at: &Moment) -> Room {
        let most = self.accounts.most(name, claim);
        let ceiling = cap(self.accounts.guarantee(name, claim, at), most);
        let used = self.accounts.used(name);
        let pool = at.limit.saturating_sub(self.used_total()).min(at.unlent);
        Room {
            ceiling,
            used,
            left: pool.min(ceiling.saturating_sub(used)),
            ..Room::default()
        }
    }

    /// Counts units as used.
    pub fn charge(&mut self, name: &str, units: u64) {
        self.accounts.charge(name, units);
    }

    /// Sets what a tenant has used, which counts as there from now on.
    pub fn set_used(&mut self, name: &str, claim: &TenantClaim, used: u64) {
        self.accounts.set_used(name, claim, used);
    }

    /// Takes units off what a tenant has used.
    pub fn lower(&mut self, name: &str, units: u64) {
        self.accounts.lower(name, units);
    }

    /// By which word the claim is that a tenant's own account goes by.
    #[must_use]
    pub fn claim_version(&self, name: &str) -> Option<ClaimVersion> {
        self.accounts.claim_version(name)
    }

    /// Units that a tenant has used, if it has an account of its own.
    #[must_use]
    pub fn own(&self, name: &str) -> Option<u64> {
        self.accounts.own(name)
    }

    /// Units that a tenant has used.
    #[must_use]
    pub fn used(&self, name: &str) -> u64 {
        self.accounts.used(name)
    }

    /// Units that all tenants have used.
    #[must_use]
    pub fn used_total(&self) -> u64 {
        self.accounts.used_total()
    }

    /// Each tenant's share, by name.
    #[must_use]
    pub fn rows(&self, at: &Moment) -> Vec<ShareRow> {
        let mut rows = self.accounts.rows(at);
        for row in &mut rows {
            row.ceiling = cap(row.guarantee, row.ceiling);
        }
        rows
    }

    /// Steps that were taken so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.accounts.operations()
    }
}

/// A tenant is never given a cap of nothing, unless the policy says so.
fn cap(guarantee: u64, most: u64) -> u64 {
    guarantee.max(1).min(most)
}

/// Units that a tenant could have at once.
fn free(account: &Account, ceiling: u64) -> u64 {
    ceiling.saturating_sub(account.used).min(account.surplus())
}

#[cfg(test)]
mod tests {
    use super::super::ask::TenantClaim;
    use super::super::share::Rule;
    use super::*;
    use crate::weight::Weight;

    const AT: Moment = Moment {
        limit: 100,
        unlent: 100,
        left_ms: 1_000,
        window_ms: 1_000,
    };

    /// One of two that may have 50 of 100 units.
    fn room(waiting: u64, smallest: u64, expected: u64, holders: u64) -> Room {
        let mut share = WeightedFairShare::new(ShareTerms {
            rule: Rule::Weighted,
            tenants_max: 10,
            unknown_weight_max: Weight::WHOLE,
            carried: false,
            floors: 0,
        });
        let claim = TenantClaim::default();
        share.join("other", &claim);
        let ask = Ask {
            waiting,
            smallest,
            expected,
            denied: 0,
            holders,
        };
        share.room("one", &claim, &ask, &AT)
    }

    #[test]
    fn ahead_of_demand_a_part_is_lent_when_all_that_waits_is() {
        let lent = |waiting, smallest, expected, holders| {
            let room = room(waiting, smallest, expected, holders);
            (room.waiting, room.ahead, room.left)
        };
        // Of 40 that are left, a half for each holder.
        assert_eq!(lent(10, 10, 100, 1), (10, 20, 20));
        assert_eq!(lent(10, 10, 100, 2), (10, 10, 30));
        assert_eq!(lent(10, 10, 100, 0), (10, 20, 20));
        assert_eq!(lent(10, 10, 3, 1), (10, 3, 37));
        assert_eq!(lent(50, 50, 100, 1), (50, 0, 0));
        // Whole requests of what waits, and nothing ahead.
        assert_eq!(lent(51, 7, 100, 1), (49, 0, 1));
        assert_eq!(lent(51, 51, 100, 1), (0, 0, 50));
    }

    #[test]
    fn who_is_denied_while_tenants_of_the_last_window_count_is_told_when_they_count_no_more() {
        let retry_ms = |waiting| {
            let mut share = WeightedFairShare::new(ShareTerms {
                rule: Rule::Weighted,
                tenants_max: 10,
                unknown_weight_max: Weight::WHOLE,
                carried: true,
                floors: 0,
            });
            let claim = TenantClaim::default();
            for name in ["a", "b", "c"] {
                share.join(name, &claim);
            }
            share.roll();
            let ask = Ask {
                waiting,
                smallest: waiting,
                ..Ask::default()
            };
            let room = share.room("one", &claim, &ask, &AT);
            assert_eq!(room.ceiling, 25, "of four");
            room.retry_ms
        };
        assert!(retry_ms(26).is_some());
        assert_eq!([0, 25].map(retry_ms), [None, None], "nobody is denied");
        assert_eq!(retry_ms(101), None, "there is no more than the limit");
    }

    #[test]
    fn who_is_denied_in_a_window_of_which_nothing_is_released_is_not_told_when_to_come_again() {
        assert_eq!(room(51, 51, 0, 1).retry_ms, None);
        assert_eq!(room(50, 50, 0, 1).retry_ms, None);
    }
}
