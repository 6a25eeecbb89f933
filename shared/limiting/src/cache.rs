//! What an isolate remembers of keys that others keep: bounded, each on an account. Whoever has used up its part forgets
//! something of its own, so that nobody's keys push out another's.

use weir_algorithms::composite::StateKey;
use weir_core::limits::FORGOTTEN_OF;
use weir_core::ordered::{OrderedMap, OrderedSet};
use weir_core::units::EpochMs;

use super::owner::{Account, Owner};
use super::room::{Bounds, Room, Size};

/// What is lost with an entry that is forgotten: the least goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Worth {
    /// Nothing.
    Nothing,
    /// An answer: it has to be asked for again.
    Answer,
    /// Units that are charged, or the place of somebody who waits.
    Units,
}

/// What can be remembered.
pub trait Entry: Default {
    /// What would be lost.
    fn worth(&self, now: EpochMs) -> Worth;
}

/// Entries by key.
#[derive(Debug, Clone)]
pub struct Cache<E> {
    bounds: Bounds,
    room: Room,
    entries: OrderedMap<StateKey, CachedEntry<E>>,
    /// The keys, by when they came.
    ages: OrderedMap<u64, StateKey>,
    /// The same of each owner; of those that are nobody's under none.
    owned: OrderedMap<Option<Owner>, OrderedSet<u64>>,
    came: u64,
}

#[derive(Debug, Clone)]
struct CachedEntry<E> {
    entry: E,
    age: u64,
    account: Account,
}

impl<E: Entry> Cache<E> {
    /// One that remembers nothing.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            room: Room::counted(bounds, Size::default(), []),
            entries: OrderedMap::new(),
            ages: OrderedMap::new(),
            owned: OrderedMap::new(),
            came: 0,
        }
    }

    /// The entry of a key, which is made on that account where there is none.
    pub fn entry(&mut self, key: &StateKey, account: &Account, now: EpochMs) -> &mut E {
        if !self.entries.contains_key(key) {
            while let Some(full) = self.room.full(false, account) {
                let full = full.cloned();
                self.forget_one(&full, now);
            }
            self.take(key, account);
        }
        let kept = self
            .entries
            .entry(key.clone())
            .or_insert_with(|| CachedEntry {
                entry: E::default(),
                age: self.came,
                account: account.clone(),
            });
        &mut kept.entry
    }

    /// The entry of a key, if there is one.
    #[must_use]
    pub fn get(&self, key: &StateKey) -> Option<&E> {
        self.entries.get(key).map(|kept| &kept.entry)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, key: &StateKey) -> Option<&mut E> {
        self.entries.get_mut(key).map(|kept| &mut kept.entry)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&StateKey, &E)> {
        self.entries.iter().map(|(key, kept)| (key, &kept.entry))
    }

    /// All of them, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&StateKey, &mut E)> {
        let entries = self.entries.iter_mut();
        entries.map(|(key, kept)| (key, &mut kept.entry))
    }

    /// Forgets the keys that `keep` does not name.
    pub fn retain(&mut self, keep: impl Fn(&StateKey) -> bool) {
        let gone = self.entries.iter().filter(|(key, _)| !keep(key));
        let gone: Vec<_> = gone.map(|(_, kept)| kept.age).collect();
        for age in gone {
            self.forget(age);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::new(self.bounds);
    }

    /// Keeps the books of a key that comes.
    fn take(&mut self, key: &StateKey, account: &Account) {
        self.came += 1;
        self.room.took(account, 0);
        self.ages.insert(self.came, key.clone());
        for owner in owners(account) {
            self.owned.entry(owner).or_default().insert(self.came);
        }
    }

    /// Forgets one key of an owner, or of anybody where that one has none: of those that came first the one that is worth
    /// least. How many there are makes no difference to how long it takes.
    fn forget_one(&mut self, owner: &Option<Owner>, now: EpochMs) {
        let worth = |age: &u64| {
            let kept = self.ages.get(age).and_then(|key| self.entries.get(key));
            kept.map_or(Worth::Nothing, |kept| kept.entry.worth(now))
        };
        let least = match self.owned.get(owner) {
            Some(ages) => ages.iter().take(FORGOTTEN_OF).min_by_key(|age| worth(age)),
            None => self
                .ages
                .keys()
                .take(FORGOTTEN_OF)
                .min_by_key(|age| worth(age)),
        };
        if let Some(age) = least.copied() {
            self.forget(age);
        }
    }

    fn forget(&mut self, age: u64) {
        let key = self.ages.remove(&age);
        let Some(kept) = key.and_then(|key| self.entries.remove(&key)) else {
            return;
        };
        self.room.left(&kept.account, 0);
        for owner in owners(&kept.account) {
            if let Some(ages) = self.owned.get_mut(&owner) {
                ages.remove(&age);
                if ages.is_empty() {
                    self.owned.remove(&owner);
                }
            }
        }
    }
}

/// Under whom a key is found again.
fn owners(account: &Account) -> Vec<Option<Owner>> {
    let owners: Vec<_> = account.owners().cloned().map(Some).collect();
    match owners.is_empty() {
        true => vec![None],
        false => owners,
    }
}

#[cfg(test)]
mod tests {
    use weir_core::limits::{CALLER_PART, KEY_CACHES_MAX, OWNER_PART};

    use super::*;

    /// Worth what it says.
    #[derive(Debug, Clone, Default)]
    struct Said(Option<Worth>);

    impl Entry for Said {
        fn worth(&self, _now: EpochMs) -> Worth {
            self.0.unwrap_or(Worth::Answer)
        }
    }

    const NOW: EpochMs = EpochMs(1_000);

    fn key(name: &str) -> StateKey {
        StateKey {
            limit: "hourly".to_owned(),
            key: name.to_owned(),
        }
    }

    fn account(tenant: &str, token: &str) -> Account {
        Account {
            owner: Some(Owner::tenant(tenant)),
            caller: Some(Owner::token(token)),
            named: false,
            only: false,
        }
    }

    fn invent(cache: &mut Cache<Said>, account: &Account, prefix: &str, keys: usize) {
        for number in 0..keys {
            cache.entry(&key(&format!("{prefix}{number}")), account, NOW);
        }
    }

    fn all(cache: &Cache<Said>, prefix: &str, keys: usize) -> bool {
        (0..keys).all(|number| cache.get(&key(&format!("{prefix}{number}"))).is_some())
    }

    #[test]
    fn keys_that_one_tenant_chooses_push_out_its_own_alone() {
        let mut cache = Cache::new(Bounds::KEY_CACHES);
        let (quiet, loud) = (account("quiet", "k1"), account("loud", "k2"));
        invent(&mut cache, &quiet, "quiet", 100);
        invent(&mut cache, &loud, "loud", 3 * KEY_CACHES_MAX);
        assert!(all(&cache, "quiet", 100));
        assert_eq!(cache.iter().count(), 100 + KEY_CACHES_MAX / OWNER_PART);
        assert!(
            cache
                .get(&key(&format!("loud{}", 3 * KEY_CACHES_MAX - 1)))
                .is_some()
        );
    }

    #[test]
    fn tenants_that_one_caller_invents_push_out_that_callers_alone() {
        let mut cache = Cache::new(Bounds::KEY_CACHES);
        invent(&mut cache, &account("quiet", "k1"), "quiet", 100);
        for number in 0..3 * KEY_CACHES_MAX {
            let invented = account(&format!("x{number}"), "k2");
            invent(&mut cache, &invented, &format!("x{number}-"), 1);
        }
        assert!(all(&cache, "quiet", 100));
        assert_eq!(cache.iter().count(), 100 + KEY_CACHES_MAX / CALLER_PART);
        assert_eq!(cache.owned.len(), 2 + 1 + KEY_CACHES_MAX / CALLER_PART);
    }

    #[test]
    fn what_costs_least_is_forgotten_first() {
        let mut cache = Cache::new(Bounds::KEY_CACHES);
        let loud = account("loud", "k1");
        let part = KEY_CACHES_MAX / OWNER_PART;
        invent(&mut cache, &loud, "loud", part);
        let mut say = |number: usize, worth| {
            let entry = cache.get_mut(&key(&format!("loud{number}")));
            entry.unwrap().0 = Some(worth);
        };
        say(0, Worth::Units);
        say(3, Worth::Nothing);
        invent(&mut cache, &loud, "more", 2);
        let gone = |number: usize| cache.get(&key(&format!("loud{number}"))).is_none();
        assert!(gone(3) && gone(1), "nothing, then the first answer");
        assert!(!gone(0) && !gone(2));
    }

    #[test]
    fn where_all_is_full_a_newcomer_has_one_place_at_a_time() {
        let mut cache = Cache::new(Bounds::KEY_CACHES);
        for tenant in 0..OWNER_PART {
            let caller = format!("k{}", tenant % CALLER_PART);
            let loud = account(&format!("loud{tenant}"), &caller);
            invent(
                &mut cache,
                &loud,
                &format!("loud{tenant}-"),
                KEY_CACHES_MAX / OWNER_PART,
            );
        }
        invent(&mut cache, &account("new", "k9"), "new", 50);
        assert_eq!(cache.iter().count(), KEY_CACHES_MAX);
        assert!(cache.get(&key("new49")).is_some() && cache.get(&key("new48")).is_none());
    }

    #[test]
    fn what_is_forgotten_leaves_nothing_behind() {
        let mut cache = Cache::new(Bounds::KEY_CACHES);
        invent(&mut cache, &account("a", "k1"), "a", 5);
        invent(&mut cache, &Account::default(), "nobody", 5);
        cache.retain(|key| key.key == "a1");
        assert_eq!((cache.entries.len(), cache.ages.len()), (1, 1));
        assert_eq!(cache.owned.len(), 2);
        assert_eq!(cache.room.all().rows, 1);
        cache.clear();
        assert!(cache.owned.is_empty() && cache.room.all() == Size::default());
    }
}
