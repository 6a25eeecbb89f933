//! Which tenants hold what of a window's units, as the holders say.
//!
//! Units that were lent ahead of a window are no tenant's until their holder says whose they have become. Until then each
//! tenant is presumed to have as large a part of them as it had of what that holder held in the window before: else it
//! would be lent its share once more at the beginning of each window.

use weir_core::limits::LENDER_ACCOUNTS_MAX;
use weir_core::ordered::{OrderedMap, OrderedSet};
use weir_core::units::HolderId;

use super::holder::ceiling_part;

/// Which tenants hold what.
#[derive(Debug, Clone, Default)]
pub struct Attribution {
    accounts: OrderedMap<String, Account>,
    /// The sum of what is lent by them: each want asks for it.
    lent_total: u128,
    holders: OrderedMap<HolderId, Tenants>,
    /// Holders of units that are no tenant's.
    unassigned: OrderedSet<HolderId>,
}

/// What holders have of one tenant's units.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    lent: u64,
    holders: usize,
}

/// What one holder has of each tenant's units.
#[derive(Debug, Clone, Default)]
struct Tenants {
    held: OrderedMap<String, u64>,
    /// The sum of those.
    sum: u64,
    /// Units that are no tenant's.
    unassigned: u64,
    /// Units that it was lent before the window opened.
    early: u64,
    /// What it had in the window before, and the sum of that.
    before: OrderedMap<String, u64>,
    before_sum: u64,
}

impl Attribution {
    /// Units of a tenant that holders have.
    #[must_use]
    pub fn lent_to(&self, name: &str) -> u64 {
        self.accounts.get(name).map_or(0, |account| account.lent)
    }

    /// Holders that have any of a tenant's units.
    #[must_use]
    pub fn holders(&self, name: &str) -> usize {
        self.accounts.get(name).map_or(0, |account| account.holders)
    }

    /// Each tenant with the units that holders have of it.
    pub fn lent(&self) -> impl Iterator<Item = (&str, u64)> {
        let accounts = self.accounts.iter();
        accounts.map(|(name, account)| (name.as_str(), account.lent))
    }

    /// Units of all tenants.
    #[must_use]
    pub fn total(&self) -> u64 {
        u64::try_from(self.lent_total).unwrap_or(u64::MAX)
    }

    /// Units that are no tenant's yet and that this one is presumed to have.
    #[must_use]
    pub fn presumed(&self, name: &str) -> u64 {
        let holders = self
            .unassigned
            .iter()
            .filter_map(|holder| self.holders.get(holder));
        let parts = holders.map(|tenants| {
            let before = tenants.before.get(name).copied().unwrap_or(0);
            let part = u128::from(tenants.unassigned) * u128::from(before);
            part.checked_div(tenants.before_sum.into()).unwrap_or(0)
        });
        u64::try_from(parts.sum::<u128>()).unwrap_or(u64::MAX)
    }

    /// Units that are no tenant's yet and of which a tenant with a ceiling may have taken so many, in a window of `limit`
    /// units: of each holder the part of the ceiling that it may take before it says so.
    #[must_use]
    pub fn untold(&self, ceiling: u64, limit: u64) -> u64 {
        let holders = self
            .unassigned
            .iter()
            .filter_map(|holder| self.holders.get(holder));
        let parts = holders.map(|one| one.unassigned.min(ceiling_part(ceiling, one.early, limit)));
        parts.fold(0, u64::saturating_add)
    }

    /// A holder was lent `held` units of the window that opens now.
    pub fn opens(&mut self, holder: HolderId, held: u64) {
        self.holders.entry(holder).or_default().early = held;
        self.holds(holder, held);
    }

    /// Units of a tenant that a holder has.
    #[must_use]
    pub fn held(&self, holder: HolderId, name: &str) -> u64 {
        let tenants = self.holders.get(&holder);
        let held = tenants.and_then(|tenants| tenants.held.get(name));
        held.copied().unwrap_or(0)
    }

    /// Units that tenants may use at a holder of `held` and that it does not have: allowances that are charged to them.
    #[must_use]
    pub fn unbacked(&self, holder: HolderId, held: u64) -> u64 {
        let sum = self.holders.get(&holder).map_or(0, |tenants| tenants.sum);
        sum.saturating_sub(held)
    }

    /// Notes how many units of a tenant a holder has. Of more tenants than are told apart nothing is noted: a share has
    /// one account for all of them.
    pub fn note(&mut self, holder: HolderId, name: &str, held: u64) {
        let known = self.accounts.contains_key(name);
        let room = held > 0 && self.accounts.len() < LENDER_ACCOUNTS_MAX;
        if !(known || room) {
            return;
        }
        let before = self.held(holder, name);
        let account = self.accounts.entry(name.to_owned()).or_default();
        let lent_before = account.lent;
        // What was refunded is in `before` and in `held`, and in the account no more.
        account.lent = if held >= before {
            account.lent.saturating_add(held - before)
        } else {
            account.lent.saturating_sub(before - held)
        };
        self.lent_total = self.lent_total - u128::from(lent_before) + u128::from(account.lent);
        account.holders =
            (account.holders + usize::from(held > 0)).saturating_sub(usize::from(before > 0));
        let tenants = self.holders.entry(holder).or_default();
        tenants.sum = tenants.sum.saturating_sub(before).saturating_add(held);
        if held > 0 {
            tenants.held.insert(name.to_owned(), held);
        } else {
            tenants.held.remove(name);
        }
    }

    /// A holder has `held` units in all.
    pub fn holds(&mut self, holder: HolderId, held: u64) {
        let Some(tenants) = self.holders.get_mut(&holder) else {
            return;
        };
        tenants.unassigned = held.saturating_sub(tenants.sum);
        if tenants.unassigned > 0 {
            self.unassigned.insert(holder);
        } else {
            self.unassigned.remove(&holder);
        }
    }

    /// Units that a tenant used came back.
    pub fn refund(&mut self, name: &str, units: u64) {
        if let Some(account) = self.accounts.get_mut(name) {
            let taken = units.min(account.lent);
            account.lent -= taken;
            self.lent_total -= u128::from(taken);
        }
    }

    /// The holder is not told apart any more; what it has stays lent.
    pub fn forget(&mut self, holder: HolderId) {
        self.holders.remove(&holder);
        self.unassigned.remove(&holder);
    }

    /// Another window, of which nothing is any tenant's yet. Holders that had nothing in the last are forgotten.
    pub fn roll(&mut self) {
        self.accounts.clear();
        self.lent_total = 0;
        self.unassigned.clear();
        self.holders.retain(|_, tenants| tenants.sum > 0);
        for tenants in self.holders.values_mut() {
            tenants.before = std::mem::take(&mut tenants.held);
            tenants.before_sum = std::mem::take(&mut tenants.sum);
            tenants.unassigned = 0;
            tenants.early = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLDER: HolderId = HolderId(1);

    #[test]
    fn what_is_no_tenants_yet_is_presumed_to_be_had_as_the_window_before_was() {
        let mut attribution = Attribution::default();
        attribution.note(HOLDER, "a", 30);
        attribution.note(HOLDER, "b", 60);
        attribution.roll();
        attribution.holds(HOLDER, 12);
        assert_eq!(
            (attribution.presumed("a"), attribution.presumed("b")),
            (4, 8)
        );
        // It says whose half of them are.
        attribution.note(HOLDER, "a", 6);
        attribution.holds(HOLDER, 12);
        assert_eq!(
            (attribution.presumed("a"), attribution.presumed("b")),
            (2, 4)
        );
        assert_eq!((attribution.lent_to("a"), attribution.lent_to("b")), (6, 0));
        assert_eq!((attribution.holders("a"), attribution.total()), (1, 6));
        attribution.holds(HOLDER, 6);
        assert_eq!(attribution.presumed("b"), 0);
    }

    #[test]
    fn of_what_is_no_tenants_yet_a_holder_may_have_used_its_part_of_a_ceiling() {
        let mut attribution = Attribution::default();
        attribution.opens(HOLDER, 40);
        attribution.opens(HolderId(2), 10);
        // 40 and 10 of 100: 12 and 3 of 30.
        assert_eq!(attribution.untold(30, 100), 15);
        attribution.note(HOLDER, "a", 38);
        attribution.holds(HOLDER, 40);
        assert_eq!(attribution.untold(30, 100), 2 + 3);
        attribution.holds(HOLDER, 38);
        assert_eq!(attribution.untold(30, 100), 3);
        attribution.roll();
        assert_eq!(attribution.untold(30, 100), 0);
    }

    #[test]
    fn what_tenants_may_use_at_a_holder_beyond_its_units_is_not_backed() {
        let mut attribution = Attribution::default();
        assert_eq!(attribution.unbacked(HOLDER, 10), 0);
        attribution.note(HOLDER, "a", 30);
        attribution.note(HOLDER, "b", 20);
        assert_eq!(attribution.unbacked(HOLDER, 38), 12);
        assert_eq!(attribution.unbacked(HOLDER, 51), 0);
    }

    #[test]
    fn numbers_that_cannot_be_do_not_wrap() {
        let mut attribution = Attribution::default();
        attribution.note(HOLDER, "a", u64::MAX);
        attribution.note(HOLDER, "b", u64::MAX);
        assert_eq!(attribution.total(), u64::MAX);
        attribution.roll();
        attribution.holds(HOLDER, u64::MAX);
        assert_eq!(attribution.presumed("a"), u64::MAX);
        attribution.note(HOLDER, "a", u64::MAX);
        attribution.refund("a", u64::MAX);
        attribution.note(HOLDER, "a", 0);
        assert_eq!(attribution.total(), 0);
    }

    #[test]
    fn nothing_is_noted_of_who_has_nothing_and_of_more_tenants_than_are_told_apart() {
        let mut attribution = Attribution::default();
        attribution.note(HOLDER, "a", 0);
        assert_eq!((attribution.lent().count(), attribution.total()), (0, 0));
        for (accounts, noted) in [(LENDER_ACCOUNTS_MAX - 1, 5), (LENDER_ACCOUNTS_MAX, 0)] {
            let known = (0..accounts).map(|number| (number.to_string(), Account::default()));
            let mut attribution = Attribution {
                accounts: known.collect(),
                ..Attribution::default()
            };
            attribution.note(HOLDER, "new", 5);
            assert_eq!(attribution.lent_to("new"), noted, "{accounts}");
            assert_eq!(attribution.total(), noted, "{accounts}");
            // Who is told apart is noted all the same.
            attribution.note(HOLDER, "0", 7);
            assert_eq!(attribution.lent_to("0"), 7);
            attribution.note(HOLDER, "0", 0);
            assert_eq!((attribution.lent_to("0"), attribution.holders("0")), (0, 0));
        }
    }

    #[test]
    fn what_a_holder_has_that_is_not_told_apart_any_more_stays_lent_and_is_presumed_nobodys() {
        let mut attribution = Attribution::default();
        attribution.note(HOLDER, "a", 30);
        attribution.roll();
        attribution.note(HOLDER, "a", 4);
        attribution.holds(HOLDER, 10);
        let had =
            |attribution: &Attribution| (attribution.held(HOLDER, "a"), attribution.presumed("a"));
        assert_eq!(had(&attribution), (4, 6));
        attribution.forget(HOLDER);
        assert_eq!(had(&attribution), (0, 0));
        assert_eq!((attribution.lent_to("a"), attribution.total()), (4, 4));
    }
}
