//! Whose the pools of keys are that an isolate or a region keeps: what is above an owner's part is out of reach for that
//! owner alone.

use std::collections::BTreeMap;

use super::owner::Account;
use super::room::{Bounds, Room, Size};
use crate::federation::pool_name::PoolName;

/// The pools of keys that are kept, each on an account.
#[derive(Debug, Clone)]
pub struct Roll {
    bounds: Bounds,
    room: Room,
    accounts: BTreeMap<String, Account>,
}

impl Roll {
    /// One that has none.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            room: Room::counted(bounds, Size::default(), []),
            accounts: BTreeMap::new(),
        }
    }

    /// Whether a pool may be kept: it is there, or is taken on that account now. Budgets are the policy's, and always may.
    ///
    /// ```
    /// use weir_shared::limiting::owner::{Account, Owner};
    /// use weir_shared::limiting::roll::Roll;
    /// use weir_shared::limiting::room::Bounds;
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

    /// Forgets the pools that `keep` does not name.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.accounts.retain(|pool, _| keep(pool));
        self.room = Room::counted(self.bounds, Size::default(), []);
        for account in self.accounts.values() {
            self.room.took(account, 0);
        }
    }
}
