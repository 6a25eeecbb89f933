//! Weighted fair escrow with pinned reserves (ThrottleKit's rule, in exact integers): whoever is there is guaranteed
//! `g`, what is set aside for it and `floor(w * R / W)` of the rest `R`, and what it does not use stays reserved for it
//! until the window ends. What is set aside for tenants that are not there is part of `R` as it is released.
//!
//! A cost `c` is admitted exactly if `c <= pool` and `used + c <= g + min(c, surplus)`, with `pool = L - sum(used)` and
//! `surplus = pool - sum over the others of max(0, g_j - used_j)`, at least 0.

use super::accounts::{Account, AccountId, Accounts};
use super::ask::{Ask, ClaimVersion, Moment, Room, TenantClaim};
use super::member::Keeping;
use super::share::{ShareRow, ShareTerms};

/// Tenants that share by this rule.
///
/// ```
/// use weir_fairness::ask::{Ask, Moment, TenantClaim};
/// use weir_fairness::pinned::Pinned;
/// use weir_fairness::share::{Rule, ShareTerms};
/// use weir_fairness::weight::Weight;
/// let mut pinned = Pinned::new(ShareTerms {
///     rule: Rule::Pinned, tenants_max: 100, unknown_weight_max: Weight::WHOLE, carried: false, floors: 0,
/// });
/// let at = Moment { limit: 100, unlent: 100, left_ms: 1_000, window_ms: 1_000 };
/// let claim = TenantClaim::default();
/// pinned.join("b", &claim);
/// // Two of equal weight: 50 each. When "a" has used 50, the 50 that remain are reserved for "b".
/// let ask = |cost| Ask { waiting: cost, smallest: cost, ..Ask::default() };
/// assert_eq!(pinned.room("a", &claim, &ask(50), &at).waiting, 50);
/// pinned.charge("a", 50);
/// assert_eq!(pinned.room("a", &claim, &ask(1), &at).waiting, 0);
/// assert_eq!(pinned.room("b", &claim, &ask(50), &at).waiting, 50);
/// ```
#[derive(Debug, Clone)]
pub struct Pinned {
    accounts: Accounts,
}

impl Pinned {
    /// Nobody has used anything.
    #[must_use]
    pub fn new(terms: ShareTerms) -> Self {
        Self {
            accounts: Accounts::new(terms, Keeping::Whole),
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
        let (after, waiting, ceiling) = account.serve(ask);
        let ahead = if waiting == ask.waiting {
            after.ahead(ask)
        } else {
            0
        };
        let left = after.charged(ahead).left();
        let is_denied = ask.waiting > 0 && waiting == 0;
        let retry_ms = is_denied
            .then(|| self.retry_ms(id, &after, ask.smallest, at))
            .flatten();
        Room {
            waiting,
            ahead,
            ceiling,
            used: account.used,
            left,
            allowance: 0,
            contended: false,
            retry_ms,
        }
    }

    /// When a cost that is denied could be had at the earliest, as what is kept for tenants that do not come shrinks.
    fn retry_ms(&self, id: AccountId, account: &Account, cost: u64, at: &Moment) -> Option<u64> {
        if cost > account.pool {
            return None;
        }
        let carried = self.carried_ms(id, account, cost, at);
        // Guarantees grow as what is set aside for tenants that are not there is released.
        let wanted = account.used.saturating_add(cost);
        carried.or_else(|| self.accounts.grows_to(id, wanted, at))
    }

    /// When it could be had as what is kept for tenants of the last window shrinks, or as those count no more.
    fn carried_ms(&self, id: AccountId, account: &Account, cost: u64, at: &Moment) -> Option<u64> {
        let (in_ms, later) = self.accounts.without_carried(id, at)?;
        let wanted = account.wanted(cost);
        let for_others = account.surplus_without_carried().saturating_sub(wanted);
        let shrinks =
            wanted <= cost.min(account.borrow_max) && wanted <= account.surplus_without_carried();
        let earlier = shrinks
            .then(|| self.accounts.kept_for_carried(for_others, at))
            .flatten();
        earlier.or_else(|| (account.used <= later).then_some(in_ms))
    }

    /// What a tenant would be told, without it counting as there.
    #[must_use]
    pub fn peek(&self, name: &str, claim: &TenantClaim, at: &Moment) -> Room {
        let used = self.accounts.used(name);
        let ceiling = self.accounts.guarantee(name, claim, at).max(used);
        let pool = at.limit.saturating_sub(self.used_total()).min(at.unlent);
        Room {
            ceiling,
            used,
            left: pool.min(ceiling - used),
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
            row.ceiling = row.guarantee.max(row.used);
        }
        rows
    }

    /// Steps that were taken so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.accounts.operations()
    }
}

impl Account {
    /// The account when so much more is used.
    fn charged(mut self, units: u64) -> Self {
        self.used = self.used.saturating_add(units);
        self.pool = self.pool.saturating_sub(units);
        self
    }

    /// Units that nobody has and nobody else's guarantee covers.
    pub fn surplus(&self) -> u64 {
        self.pool.saturating_sub(self.kept)
    }

    /// Units that nobody has and no guarantee of another that has come covers.
    fn surplus_without_carried(&self) -> u64 {
        self.pool.saturating_sub(self.kept - self.kept_carried)
    }

    /// Units of a cost that the guarantee does not cover.
    fn wanted(&self, cost: u64) -> u64 {
        let used = self.used.saturating_add(cost);
        used.saturating_sub(self.guarantee)
    }

    /// Up to where a request of this cost may go.
    fn ceiling(&self, cost: u64) -> u64 {
        if cost > self.pool {
            return self.guarantee.max(self.used);
        }
        let most = cost.min(self.surplus()).min(self.borrow_max);
        let borrowed = self.wanted(cost).min(most);
        self.guarantee.saturating_add(borrowed)
    }

    fn admits(&self, cost: u64) -> bool {
        cost <= self.pool && self.used.saturating_add(cost) <= self.ceiling(cost)
    }

    /// Serves what waits, request by request of the smallest cost; the last one has what remains. Answers the account
    /// after it, what was served, and the ceiling at the last request.
    fn serve(self, ask: &Ask) -> (Self, u64, u64) {
        let cost = ask.smallest.clamp(1, ask.waiting.max(1));
        if ask.waiting == 0 {
            return (self, 0, self.guarantee.max(self.used));
        }
        let own = self.guarantee.saturating_sub(self.used).min(self.pool);
        // Two divisions would be a good part of what one request costs.
        let requests = match ask.waiting == cost {
            true => u64::from(own >= cost),
            false => (own / cost).min(ask.waiting / cost),
        };
        // One of those within the guarantee is tried again below, for its ceiling.
        let first = requests.saturating_sub(1).saturating_mul(cost);
        let (mut account, mut served) = (self.charged(first), first);
        let mut ceiling = account.ceiling(cost);
        for _ in 0..3 {
            let next = cost.min(ask.waiting - served);
            if next == 0 || !account.admits(next) {
                if next > 0 {
                    ceiling = account.ceiling(next);
                }
                break;
            }
            ceiling = account.ceiling(next);
            account = account.charged(next);
            served += next;
        }
        (account, served, ceiling)
    }

    /// What may be lent ahead of demand: of the unused guarantee the part that leaves as much for the other holders,
    /// and nothing that is kept for others.
    fn ahead(&self, ask: &Ask) -> u64 {
        if ask.expected == 0 {
            return 0;
        }
        let holders = ask.holders.max(1).saturating_mul(2);
        let part = self.guarantee.saturating_sub(self.used) / holders;
        ask.expected.min(part).min(self.surplus())
    }

    /// What a request could have at most.
    fn left(&self) -> u64 {
        if self.used > self.guarantee {
            return 0;
        }
        let borrowed = self.surplus().min(self.borrow_max);
        (self.guarantee - self.used)
            .saturating_add(borrowed)
            .min(self.pool)
    }
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

    fn pinned(tenants_max: u64) -> Pinned {
        Pinned::new(ShareTerms {
            rule: Rule::Pinned,
            tenants_max,
            unknown_weight_max: Weight::WHOLE,
            carried: true,
            floors: 0,
        })
    }

    #[test]
    fn only_who_waits_and_gets_nothing_is_told_when_it_could_have_more() {
        let mut pinned = pinned(10);
        let claim = TenantClaim::default();
        for name in ["a", "b"] {
            pinned.join(name, &claim);
        }
        pinned.roll();
        pinned.join("a", &claim);
        pinned.charge("a", 50);
        let mut retry_ms = |name, waiting| {
            let ask = Ask {
                waiting,
                smallest: 1,
                ..Ask::default()
            };
            let room = pinned.room(name, &claim, &ask, &AT);
            (room.waiting, room.retry_ms)
        };
        // 50 are kept for "b", which was there in the window before: a thousandth less with each millisecond.
        assert_eq!(retry_ms("a", 1), (0, Some(1)));
        assert_eq!(retry_ms("a", 0), (0, None), "it waits for nothing");
        assert_eq!(retry_ms("b", 1), (1, None), "it is served");
    }

    #[test]
    fn those_that_share_an_account_have_the_least_ceiling_of_all_that_came_and_cost_no_more_for_it()
    {
        let mut pinned = pinned(1);
        let mut most = |name: &str, ceiling| {
            let claim = TenantClaim {
                known: false,
                ceiling,
                ..TenantClaim::default()
            };
            let before = pinned.operations();
            let id = pinned.accounts.join(name, &claim);
            let most = pinned.accounts.at(id, &AT).most;
            (most, pinned.operations() - before)
        };
        assert_eq!(most("own", None).0, u64::MAX);
        assert_eq!(most("b", Some(50)).0, 50);
        assert_eq!(most("c", Some(30)).0, 30);
        let (unchanged, steps) = most("d", None);
        assert_eq!(unchanged, 30);
        for ceiling in [30, 31, 50] {
            assert_eq!(most("e", Some(ceiling)), (30, steps), "{ceiling}");
        }
        assert_eq!(most("f", Some(29)).0, 29);
    }
}
