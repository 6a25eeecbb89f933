//! The balances of a holder's tenants, in the order of their names.
//!
//! A request looks its tenant up by name. A search among sorted names compares several of them, in as many lines of memory,
//! so where each name was found is noted at a place that its hash says, and looked at first. A note may be out of date, or
//! another name's: what is there says whose it is, and where it is another's the names are searched. So names that were
//! invented to share a place make no search longer than it would be without notes.

use weir_core::name_hash::hash;

use super::tenant_balance::TenantBalance;

/// Notes for each tenant: of 50 names in 256 places, one in ten shares its place with another that is asked for as often.
const NOTES_PER_TENANT: usize = 4;

/// The balances of tenants, each by the name of its party.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::vec_box,
    reason = "those behind one that is put in move by a word each, and not by 400 bytes"
)]
pub(crate) struct TenantBalances {
    sorted: Vec<Box<TenantBalance>>,
    /// Where in `sorted` a name of this place was found last. There is a power of two of them.
    notes: Vec<u16>,
}

impl TenantBalances {
    pub(crate) fn len(&self) -> usize {
        self.sorted.len()
    }

    pub(crate) fn contains(&self, tenant: Option<&str>) -> bool {
        self.get(tenant).is_some()
    }

    /// The balance of a tenant; of everyone, where tenants do not share.
    pub(crate) fn get(&self, tenant: Option<&str>) -> Option<&TenantBalance> {
        let Some(name) = tenant else {
            let first = self.sorted.first().map(Box::as_ref);
            return first.filter(|first| first.party.tenant().is_none());
        };
        self.named(self.noted(self.place(name)), name)
            .or_else(|| self.sorted.get(self.search(tenant).ok()?).map(Box::as_ref))
    }

    pub(crate) fn get_mut(&mut self, tenant: Option<&str>) -> Option<&mut TenantBalance> {
        let Some(name) = tenant else {
            let first = self.sorted.first_mut().map(Box::as_mut);
            return first.filter(|first| first.party.tenant().is_none());
        };
        let place = self.place(name);
        let mut at = self.noted(place);
        if self.named(at, name).is_none() {
            at = self.search(tenant).ok()?;
            self.note(place, at);
        }
        self.sorted.get_mut(at).map(Box::as_mut)
    }

    /// Adds a balance, in place of one of the same tenant.
    pub(crate) fn insert(&mut self, balance: TenantBalance) {
        let balance = Box::new(balance);
        match self.search(balance.party.name()) {
            Ok(at) => {
                if let Some(before) = self.sorted.get_mut(at) {
                    *before = balance;
                }
            }
            Err(at) => self.sorted.insert(at, balance),
        }
        let notes = self.sorted.len() * NOTES_PER_TENANT;
        if notes > self.notes.len() {
            // What was noted is found anew, when it is next asked for.
            self.notes = vec![0; notes.next_power_of_two()];
        }
    }

    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(&TenantBalance) -> bool) {
        self.sorted.retain(|balance| keeps(balance));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &TenantBalance> {
        self.sorted.iter().map(Box::as_ref)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut TenantBalance> {
        self.sorted.iter_mut().map(Box::as_mut)
    }

    /// All, beginning with a tenant or the next after it, and with those before it last.
    pub(crate) fn iter_from(&self, tenant: Option<&str>) -> impl Iterator<Item = &TenantBalance> {
        let at = self.search(tenant).unwrap_or_else(|at| at);
        let (before, after) = self.sorted.split_at(at);
        after.iter().chain(before).map(Box::as_ref)
    }

    /// Everyone comes before all tenants.
    fn search(&self, tenant: Option<&str>) -> Result<usize, usize> {
        self.sorted
            .binary_search_by(|balance| balance.party.name().cmp(&tenant))
    }

    fn named(&self, at: usize, name: &str) -> Option<&TenantBalance> {
        let balance = self.sorted.get(at)?;
        (balance.party.name() == Some(name)).then_some(balance)
    }

    fn place(&self, name: &str) -> usize {
        hash(name.as_bytes()) as usize & self.notes.len().wrapping_sub(1)
    }

    fn noted(&self, place: usize) -> usize {
        self.notes.get(place).map_or(0, |at| usize::from(*at))
    }

    /// Positions that a note has no room for are searched each time: more than a holder has tenants.
    fn note(&mut self, place: usize, at: usize) {
        if let (Some(note), Ok(at)) = (self.notes.get_mut(place), u16::try_from(at)) {
            *note = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::limits::TENANT_BALANCES_MAX;
    use weir_core::units::EpochMs;
    use weir_fairness::ask::{Claimant, Party};

    use super::*;

    fn balance(name: &str) -> TenantBalance {
        TenantBalance::new(Claimant::plain(name).into(), EpochMs(0))
    }

    fn names(balances: &TenantBalances) -> Vec<&str> {
        balances.iter().filter_map(|one| one.party.name()).collect()
    }

    #[test]
    fn every_tenant_is_found_whoever_has_come_and_gone_since_it_was_noted() {
        let mut balances = TenantBalances::default();
        let name = |index: u64| format!("tenant-{}", index * 7_919 % 1_000);
        for index in 0..1_000 {
            balances.insert(balance(&name(index)));
            // Half of those that are there are noted, and move as others come.
            for known in (0..=index).step_by(2) {
                let found = balances.get_mut(Some(&name(known))).expect("it came");
                assert_eq!(found.party.name(), Some(name(known).as_str()));
                found.used += 1;
            }
        }
        balances.retain(|one| one.used > 0);
        for index in 0..1_000 {
            let there = index % 2 == 0;
            let used = there.then_some(1_000 - index);
            assert_eq!(balances.get(Some(&name(index))).map(|one| one.used), used);
            assert_eq!(balances.get_mut(Some(&name(index))).is_some(), there);
        }
        assert!(names(&balances).is_sorted() && balances.len() == 500);
        assert!(balances.get(Some("tenant")).is_none());
        assert!(balances.get(None).is_none() && balances.get_mut(None).is_none());
    }

    #[test]
    fn one_that_comes_again_takes_the_place_of_what_was_there() {
        let mut balances = TenantBalances::default();
        for used in [1, 2] {
            let mut one = TenantBalance::new(Party::Everyone, EpochMs(0));
            one.used = used;
            balances.insert(one);
            assert_eq!(balances.get_mut(None).map(|one| one.used), Some(used));
        }
        assert_eq!((balances.len(), balances.get(None).is_some()), (1, true));
    }

    #[test]
    fn they_are_told_from_a_name_on_and_around() {
        let mut balances = TenantBalances::default();
        for name in ["c", "a", "e"] {
            balances.insert(balance(name));
        }
        let from = |name| {
            let told = balances.iter_from(name);
            told.filter_map(|one| one.party.name()).collect::<String>()
        };
        let names = [None, Some("c"), Some("d"), Some("f")];
        assert_eq!(names.map(from), ["ace", "cea", "eac", "ace"]);
    }

    #[test]
    fn a_note_has_room_for_where_any_tenant_of_a_holder_is() {
        assert!(TENANT_BALANCES_MAX <= usize::from(u16::MAX));
    }
}
