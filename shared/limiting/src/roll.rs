//! Whose the pools of keys are that an isolate or a region keeps: what is above an owner's part is out of reach for that
//! owner alone.

use weir_core::ordered::OrderedMap;
use weir_federation::pool_name::PoolName;

use super::owner::Account;
use super::room::{Bounds, Room, Size};

/// The pools of keys that are kept, each on an account.
#[derive(Debug, Clone)]
pub struct Roll {
    bounds: Bounds,
    room: Room,
    accounts: OrderedMap<String, Account>,
}

impl Roll {
    /// One that has none.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            room: Room::counted(bounds, Size::default(), []),
            accounts: OrderedMap::new(),
        }
    }

    /// Whether a pool may be kept: it is there, or is taken on that account now. Budgets are the policy's, and always may.
    ///
    /// ```
    /// use weir_limiting::owner::{Account, Owner};
    /// use weir_limiting::roll::Roll;
    /// use weir_limiting::room::Bounds;
    /// let account = |tenant| Account { owner: Some(Owner::tenant(tenant)), ..Account::default() };
    /// let mut roll = Roll::new(Bounds::POOLS);
    /// // A tenth of 20,000.
    /// let taken = (0..3_000).filter(|key| roll.admits(&format!("hourly\u{1}loud\u{1}{key}"), &account("loud")));
    /// assert_eq!(taken.count(), 2_000);
    /// assert!(roll.admits("hourly\u{1}other\u{1}1", &account("other")));
    /// assert!(roll.admits("hourly\u{1}loud\u{1}7", &account("loud"))); // it is there
    /// ```
    pub fn admits(&mut self, pool: &str, account: &Account) -> bool {
        let Ok(PoolName::Limit { key, .. }) = PoolName::try_from(pool) else {
            return true;
        };
        if self.accounts.contains_key(pool) {
            return true;
        }
        let only = account.is_only_key(&key);
        let room = self.room.admits(only, account);
        if room {
            self.room.took(account, 0);
            self.accounts.insert(pool.to_owned(), account.clone());
        }
        room
    }

    /// On whose account a pool is kept.
    #[must_use]
    pub fn account(&self, pool: &str) -> Option<&Account> {
        self.accounts.get(pool)
    }

    /// Forgets a pool that is not kept any more.
    pub fn release(&mut self, pool: &str) {
        if let Some(account) = self.accounts.remove(pool) {
            self.room.left(&account, 0);
        }
    }

    /// Forgets the pools that `keep` does not name.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.accounts.retain(|pool, _| keep(pool));
        self.room = Room::counted(self.bounds, Size::default(), []);
        for account in self.accounts.values() {
            self.room.took(account, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::limits::{OWNER_PART, POOLS_MAX};

    use super::super::owner::Owner;
    use super::*;

    fn pool(key: usize) -> String {
        format!("hourly\u{1}loud\u{1}{key}")
    }

    /// A client may say in a header that it is a tenant that the policy names. The tenant's own key has its room whoever
    /// brought keys before.
    #[test]
    fn the_only_key_of_a_tenant_has_room_though_strangers_have_used_up_all_of_a_route() {
        let from = |address: usize| Account {
            owner: Some(Owner::address(&format!("203.0.113.{address}"))),
            caller: Some(Owner::route("api")),
            ..Account::default()
        };
        let mut roll = Roll::new(Bounds::POOLS);
        let part = POOLS_MAX / OWNER_PART;
        for address in 0..5 {
            let mut keys = (0..part).map(|key| pool(address * part + key));
            assert!(keys.all(|key| roll.admits(&key, &from(address))));
        }
        let (key, stranger) = ("hourly\u{1}acme", from(9));
        assert!(!roll.admits(key, &stranger), "as if acme were invented");
        assert!(roll.admits(key, &stranger.of_only_key()));
    }

    #[test]
    fn what_is_released_gives_its_owner_the_room_back() {
        let account = Account {
            owner: Some(Owner::tenant("loud")),
            caller: Some(Owner::token("k1")),
            named: false,
            only: false,
        };
        let mut roll = Roll::new(Bounds::POOLS);
        let part = POOLS_MAX / OWNER_PART;
        assert!((0..part).all(|key| roll.admits(&pool(key), &account)));
        assert!(!roll.admits(&pool(part), &account));
        roll.release(&pool(7));
        roll.release(&pool(7));
        assert!(roll.account(&pool(7)).is_none());
        assert!(roll.admits(&pool(part), &account));
        assert!(!roll.admits(&pool(7), &account));
        // A pool that it never had is nobody's to release.
        roll.release(&pool(part + 1));
        assert!(!roll.admits(&pool(part + 1), &account));
    }
}
