//! How much room a table of keys has, and whose it is: no owner has more than its part, and what is above it goes to one
//! state of that owner.

use weir_algorithms::composite::StateKey;
use weir_core::limits::{
    CALLER_KEYS_MAX, CALLER_PART, CALLER_STATE_BYTES_MAX, HOLDERS_ISOLATE_MAX, HOLDS_MAX,
    ISOLATE_KEYS_MAX, KEY_CACHES_MAX, KEY_STATE_BYTES_MAX, KNOWN_KEYS_MAX, KNOWN_STATE_BYTES_MAX,
    LIMIT_KEYS_MAX, NAMED_KEYS_MAX, NAMED_PART, NAMED_STATE_BYTES_MAX, OWNER_PART,
    OWNERS_COUNTED_MAX, POOLS_MAX, TENANT_KEYS_MAX, TENANT_STATE_BYTES_MAX,
};
use weir_core::ordered::OrderedMap;

use super::owner::{Account, Owner, overflow_key};

/// Rows, and the bytes of their states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Rows.
    pub rows: u64,
    /// Bytes of their states.
    pub bytes: u64,
}

impl Size {
    /// Whether another row is within `bound`.
    #[must_use]
    pub fn is_below(self, bound: Self) -> bool {
        self.rows < bound.rows && self.bytes < bound.bytes
    }

    fn plus(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// What a table has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// For keys of one owner.
    pub owner: Size,
    /// For keys that one caller brings.
    pub caller: Size,
    /// For all keys.
    pub all: Size,
    /// Beyond, for keys of tenants that the policy names.
    pub named: Size,
    /// Beyond, for the only key of each of these.
    pub only: Size,
}

impl Bounds {
    /// Those of a shard.
    pub const SHARD: Self = Self {
        owner: Size {
            rows: TENANT_KEYS_MAX as u64,
            bytes: TENANT_STATE_BYTES_MAX,
        },
        caller: Size {
            rows: CALLER_KEYS_MAX as u64,
            bytes: CALLER_STATE_BYTES_MAX,
        },
        all: Size {
            rows: LIMIT_KEYS_MAX as u64,
            bytes: KEY_STATE_BYTES_MAX,
        },
        named: Size {
            rows: NAMED_KEYS_MAX as u64,
            bytes: NAMED_STATE_BYTES_MAX,
        },
        only: Size {
            rows: KNOWN_KEYS_MAX as u64,
            bytes: KNOWN_STATE_BYTES_MAX,
        },
    };

    /// Those of the keys that an isolate keeps for itself.
    pub const ISOLATE: Self = Self::counting(ISOLATE_KEYS_MAX);

    /// Those of the pools of keys that an isolate holds leases of.
    pub const LEASES: Self = Self::counting(HOLDERS_ISOLATE_MAX);

    /// Those of the pools of keys that a region holds.
    pub const POOLS: Self = Self::counting(POOLS_MAX);

    /// Bytes that the state of a key may have whatever others have: those of all keys, divided among them.
    #[must_use]
    pub const fn key_bytes(&self) -> u64 {
        self.all.bytes / self.all.rows
    }

    /// For all keys that there may be where one of them is asked for.
    fn whole(&self, only: bool, named: bool) -> Size {
        match (only, named) {
            (true, _) => self.all.plus(self.named).plus(self.only),
            (false, true) => self.all.plus(self.named),
            (false, false) => self.all,
        }
    }

    /// Those of what an isolate remembers of keys of shards, and of the lines before guards.
    pub const KEY_CACHES: Self = Self::counting(KEY_CACHES_MAX);

    /// Those of what a shard holds of questions that are not ended.
    pub const HOLDS: Self = Self::counting(HOLDS_MAX);

    /// Those of a table of so many keys, without a bound on bytes.
    const fn counting(all: usize) -> Self {
        const fn rows(rows: usize) -> Size {
            Size {
                rows: rows as u64,
                bytes: u64::MAX / 4,
            }
        }
        Self {
            owner: rows(all / OWNER_PART),
            caller: rows(all / CALLER_PART),
            all: rows(all),
            named: rows(all / NAMED_PART),
            only: rows(all / NAMED_PART),
        }
    }
}

/// What is known of the keys of a table without reading it.
#[derive(Debug, Clone)]
pub struct Room {
    bounds: Bounds,
    all: Size,
    owners: OrderedMap<Owner, Size>,
}

impl Room {
    /// A table of that size, with what is counted of its owners. Who has little may be left out: what it has by then is
    /// not counted.
    #[must_use]
    pub fn counted(
        bounds: Bounds,
        all: Size,
        owners: impl IntoIterator<Item = (Owner, Size)>,
    ) -> Self {
        Self {
            bounds,
            all,
            owners: owners.into_iter().collect(),
        }
    }

    /// Where a key is kept that the table does not have yet: under itself while there is room for it on its account, else
    /// under the overflow of whoever has used up its part. `only`: it is the one key of a tenant that the policy names,
    /// which nobody invents.
    ///
    /// ```
    /// use weir_algorithms::composite::StateKey;
    /// use weir_limiting::owner::{Account, Owner};
    /// use weir_limiting::room::{Bounds, Room, Size};
    /// use weir_core::limits::TENANT_KEYS_MAX;
    /// let account = |tenant| Account { owner: Some(Owner::tenant(tenant)), ..Account::default() };
    /// let mut room = Room::counted(Bounds::SHARD, Size::default(), []);
    /// for _ in 0..TENANT_KEYS_MAX {
    ///     room.took(&account("loud"), 100);
    /// }
    /// let place = |tenant| {
    ///     let key = StateKey { limit: "hourly".to_owned(), key: "new".to_owned() };
    ///     room.place(key, false, &account(tenant)).key
    /// };
    /// assert_eq!((place("loud"), place("other")), ("\u{1}t:loud".to_owned(), "new".to_owned()));
    /// ```
    #[must_use]
    pub fn place(&self, key: StateKey, only: bool, account: &Account) -> StateKey {
        let Some(full) = self.full(only, account) else {
            return key;
        };
        StateKey {
            key: overflow_key(full),
            ..key
        }
    }

    /// Where a key is kept that the table has on the account `of`, in so many bytes: under itself, unless it has more than a
    /// key's part of them and those of whose it is are used up. Then it grows no more, and what is charged goes to the
    /// overflow of whoever asks.
    ///
    /// ```
    /// use weir_algorithms::composite::StateKey;
    /// use weir_limiting::owner::{Account, Owner};
    /// use weir_limiting::room::{Bounds, Room, Size};
    /// use weir_core::limits::TENANT_STATE_BYTES_MAX;
    /// let loud = Account { owner: Some(Owner::tenant("loud")), ..Account::default() };
    /// let mut room = Room::counted(Bounds::SHARD, Size::default(), []);
    /// let place = |room: &Room, bytes| {
    ///     let key = StateKey { limit: "hourly".to_owned(), key: "a".to_owned() };
    ///     room.place_grown(key, bytes, &loud, (false, &loud)).key
    /// };
    /// assert_eq!(place(&room, 1_000_000), "a");
    /// room.took(&loud, TENANT_STATE_BYTES_MAX);
    /// assert_eq!((place(&room, 1_000_000), place(&room, 2_000)), ("\u{1}t:loud".to_owned(), "a".to_owned()));
    /// ```
    #[must_use]
    pub fn place_grown(
        &self,
        key: StateKey,
        bytes: u64,
        of: &Account,
        (only, asking): (bool, &Account),
    ) -> StateKey {
        if bytes <= self.bounds.key_bytes() {
            return key;
        }
        let spent = |owner: &&Owner, bound: Size| !only && self.of(owner).bytes >= bound.bytes;
        let owner = of.owner.as_ref();
        let owner = owner.filter(|owner| spent(owner, self.bounds.owner));
        let caller = || {
            let caller = of.caller.as_ref();
            caller.filter(|caller| spent(caller, self.bounds.caller))
        };
        let spent = owner.or_else(caller);
        let whole = self.bounds.whole(only, asking.named);
        if spent.is_none() && self.all.bytes < whole.bytes {
            return key;
        }
        let own = spent.filter(|spent| asking.owners().any(|one| one == *spent));
        // Callers are few, and what others have used up is not to be theirs.
        let whose = own.or(asking.caller.as_ref()).or(asking.owner.as_ref());
        StateKey {
            key: overflow_key(whose),
            ..key
        }
    }

    /// Whether there is room for another key on an account.
    #[must_use]
    pub fn admits(&self, only: bool, account: &Account) -> bool {
        self.full(only, account).is_none()
    }

    /// Whose part is used up, or who shares a state where the table is full. The outer `None`: there is room; the inner:
    /// the key is nobody's.
    pub(super) fn full<'a>(&self, only: bool, account: &'a Account) -> Option<Option<&'a Owner>> {
        let (owner, caller) = (account.owner.as_ref(), account.caller.as_ref());
        let is_full = |owner: &&Owner, bound| !self.of(owner).is_below(bound);
        if !only {
            let owner = owner.filter(|owner| is_full(owner, self.bounds.owner));
            let caller = || caller.filter(|caller| is_full(caller, self.bounds.caller));
            if let Some(full) = owner.or_else(caller) {
                return Some(Some(full));
            }
        }
        let bound = self.bounds.whole(only, account.named);
        // Callers are few: tokens and routes. Tenants that anyone can name are not.
        let last = || caller.or(owner.filter(|_| account.named));
        (!self.all.is_below(bound)).then(last)
    }

    /// A key was added with so many bytes.
    pub fn took(&mut self, account: &Account, bytes: u64) {
        self.all = self.all.plus(Size { rows: 1, bytes });
        for owner in account.owners() {
            let size = self.owners.entry(owner.clone()).or_default();
            *size = size.plus(Size { rows: 1, bytes });
        }
    }

    /// A key of that account has other bytes than before.
    pub fn grew(&mut self, account: &Account, before: u64, bytes: u64) {
        let grown = |size: &mut Size| size.bytes = (size.bytes + bytes).saturating_sub(before);
        grown(&mut self.all);
        for owner in account.owners() {
            grown(self.owners.entry(owner.clone()).or_default());
        }
    }

    /// A key of that account with so many bytes is no more.
    pub fn left(&mut self, account: &Account, bytes: u64) {
        let lessened = |size: &mut Size| {
            size.rows = size.rows.saturating_sub(1);
            size.bytes = size.bytes.saturating_sub(bytes);
        };
        lessened(&mut self.all);
        for owner in account.owners() {
            if let Some(size) = self.owners.get_mut(owner) {
                lessened(size);
                if *size == Size::default() {
                    self.owners.remove(owner);
                }
            }
        }
    }

    /// What an owner has, as far as it is counted.
    #[must_use]
    pub fn of(&self, owner: &Owner) -> Size {
        self.owners.get(owner).copied().unwrap_or_default()
    }

    /// Rows and bytes of the table.
    #[must_use]
    pub fn all(&self) -> Size {
        self.all
    }

    /// Whether so many owners are counted that the table has to be counted anew, with those alone that have much.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.owners.len() >= OWNERS_COUNTED_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_a_tenth_of_a_table_and_a_caller_half_of_it() {
        let tenant = Account {
            owner: Some(Owner::tenant("acme")),
            ..Account::NOBODY
        };
        let caller = Account {
            caller: Some(Owner::route("api")),
            ..Account::NOBODY
        };
        let named = Account {
            named: true,
            ..Account::NOBODY
        };
        for (account, only, rows) in [
            (&tenant, false, 1_000),
            (&caller, false, 5_000),
            (&Account::NOBODY, false, 10_000),
            (&named, false, 12_500),
            (&named, true, 15_000),
        ] {
            let mut room = Room::counted(Bounds::KEY_CACHES, Size::default(), []);
            let taken = (0..20_000).take_while(|_| {
                let admits = room.admits(only, account);
                room.took(account, 1_000_000);
                admits
            });
            assert_eq!(taken.count(), rows, "{account:?}");
        }
    }

    #[test]
    fn a_table_is_counted_anew_when_as_many_owners_are_counted_as_there_is_room_for() {
        for (owners, crowded) in [
            (0, false),
            (OWNERS_COUNTED_MAX - 1, false),
            (OWNERS_COUNTED_MAX, true),
        ] {
            let owners =
                (0..owners).map(|number| (Owner::tenant(&number.to_string()), Size::default()));
            let room = Room::counted(Bounds::SHARD, Size::default(), owners);
            assert_eq!(room.is_crowded(), crowded);
        }
    }

    #[test]
    fn a_table_of_so_many_keys_has_a_part_of_them_for_each_and_no_bound_on_bytes() {
        let bounds = Bounds::counting(1_000);
        let sizes = [
            bounds.owner,
            bounds.caller,
            bounds.all,
            bounds.named,
            bounds.only,
        ];
        assert_eq!(sizes.map(|size| size.rows), [100, 500, 1_000, 250, 250]);
        let whole = bounds.whole(true, true);
        assert_eq!(whole.rows, 1_500);
        assert!(whole.bytes > u64::MAX / 2, "{}", whole.bytes);
    }
}
