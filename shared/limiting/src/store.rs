//! The keys of limits that one isolate keeps for itself: bounded, in memory, and no owner's alone.

use std::rc::Rc;

use weir_algorithms::composite::StateKey;
use weir_algorithms::scale::{Scaled, ScaledState};
use weir_core::limits::PURGE_MS;
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

use super::owner::Account;
use super::room::{Bounds, Room, Size};

/// States by key.
#[derive(Debug, Clone)]
pub struct Store {
    states: OrderedMap<StateKey, LocalState>,
    room: Room,
    purged_at: EpochMs,
}

/// A state, on whose account it is, and when it may be forgotten.
#[derive(Debug, Clone)]
struct LocalState {
    expires_at: EpochMs,
    state: ScaledState,
    account: Rc<Account>,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            states: OrderedMap::new(),
            room: Room::counted(Bounds::ISOLATE, Size::default(), []),
            purged_at: EpochMs(0),
        }
    }
}

impl Store {
    /// The state of a key, as it is.
    #[must_use]
    pub fn get(&self, key: &StateKey) -> Option<ScaledState> {
        self.states.get(key).map(|kept| kept.state.clone())
    }

    /// The state of a key that `machine` decides. One that other rules wrote is carried over, and kept so.
    #[must_use]
    pub fn state(&mut self, machine: &Scaled, key: &StateKey, now: EpochMs) -> Option<ScaledState> {
        let kept = self.states.get_mut(key)?;
        if let Some(carried) = machine.carried(&kept.state, now) {
            kept.expires_at = machine.expires_at(&carried);
            kept.state = carried;
        }
        Some(kept.state.clone())
    }

    /// Keeps a state until `expires_at`, on that account if it is new.
    pub fn put(
        &mut self,
        key: StateKey,
        state: ScaledState,
        expires_at: EpochMs,
        account: &Rc<Account>,
    ) {
        if let Some(kept) = self.states.get_mut(&key) {
            (kept.state, kept.expires_at) = (state, expires_at);
            return;
        }
        self.room.took(account, 0);
        let account = Rc::clone(account);
        self.states.insert(
            key,
            LocalState {
                expires_at,
                state,
                account,
            },
        );
    }

    /// Where a key is kept: under itself if it is there or there is room for it, else under the overflow of whoever has
    /// used up its part. `only`: it is the one key of a tenant that the policy names.
    #[must_use]
    pub fn place(
        &mut self,
        key: &StateKey,
        only: bool,
        account: &Account,
        now: EpochMs,
    ) -> StateKey {
        if self.states.contains_key(key) {
            return key.clone();
        }
        let place = self.room.place(key.clone(), only, account);
        if place == *key || !self.purges(now) {
            return place;
        }
        self.retain_kept(|_, kept| now < kept.expires_at);
        self.room.place(key.clone(), only, account)
    }

    /// Forgets the limits that `keep` does not name.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.retain_kept(|key, _| keep(&key.limit));
    }

    fn retain_kept(&mut self, keep: impl Fn(&StateKey, &LocalState) -> bool) {
        self.states.retain(|key, kept| keep(key, kept));
        self.room = Room::counted(Bounds::ISOLATE, Size::default(), []);
        for kept in self.states.values() {
            self.room.took(&kept.account, 0);
        }
    }

    /// Whether what has expired is searched for, which reads every state: once in [`PURGE_MS`].
    fn purges(&mut self, now: EpochMs) -> bool {
        let due = now.since(self.purged_at) >= PURGE_MS || now < self.purged_at;
        if due {
            self.purged_at = now;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use weir_algorithms::Algorithm;
    use weir_algorithms::fixed_window::FixedWindow;
    use weir_algorithms::gcra::Gcra;

    use super::*;
    use crate::owner::Owner;

    fn key(limit: &str, key: &str) -> StateKey {
        StateKey {
            limit: limit.to_owned(),
            key: key.to_owned(),
        }
    }

    fn state() -> ScaledState {
        let gcra = Algorithm::Gcra(Gcra::new(10, 1_000, 10).unwrap());
        Scaled::whole(gcra).check(None, 1, EpochMs(1)).next.unwrap()
    }

    fn acme() -> Rc<Account> {
        Rc::new(Account {
            owner: Some(Owner::tenant("acme")),
            ..Account::NOBODY
        })
    }

    /// Uses up the part of an owner, with keys that are kept until `expires_at`; the first is of the limit `kept`.
    fn fill(store: &mut Store, expires_at: EpochMs) {
        for number in 0..Bounds::ISOLATE.owner.rows {
            let limit = if number == 0 { "kept" } else { "dropped" };
            store.put(
                key(limit, &number.to_string()),
                state(),
                expires_at,
                &acme(),
            );
        }
    }

    #[test]
    fn limits_that_the_policy_has_no_more_are_forgotten_and_leave_their_room() {
        let mut store = Store::default();
        fill(&mut store, EpochMs(u64::MAX));
        let new = key("kept", "new");
        assert_ne!(store.place(&new, false, &acme(), EpochMs(1)), new);
        store.retain(|limit| limit == "kept");
        assert_eq!(store.get(&key("kept", "0")), Some(state()));
        assert_eq!(store.get(&key("dropped", "1")), None);
        assert_eq!(store.place(&new, false, &acme(), EpochMs(1)), new);
    }

    #[test]
    fn what_has_expired_leaves_its_room_when_it_is_searched_for_once_a_minute() {
        let begin = EpochMs(1_000_000);
        let new = key("kept", "new");
        let has_room = |store: &mut Store, now| store.place(&new, false, &acme(), now) == new;
        for (expires_at, room) in [(begin.plus(1), false), (begin, true)] {
            let mut store = Store::default();
            fill(&mut store, expires_at);
            assert_eq!(
                has_room(&mut store, begin),
                room,
                "kept until {expires_at:?}"
            );
        }
        for (now, room) in [
            (begin, false),
            (begin.plus(PURGE_MS - 1), false),
            (begin.plus(PURGE_MS), true),
            (EpochMs(begin.0 - 1), true),
        ] {
            let mut store = Store::default();
            fill(&mut store, EpochMs(1));
            assert!(has_room(&mut store, begin));
            fill(&mut store, EpochMs(1));
            assert_eq!(has_room(&mut store, now), room, "searched at {now:?}");
        }
    }

    #[test]
    fn a_state_that_other_rules_wrote_is_carried_over_and_kept_so() {
        let rules = |algorithm| Scaled::whole(algorithm);
        let same = rules(Algorithm::Gcra(Gcra::new(10, 1_000, 10).unwrap()));
        let other = rules(Algorithm::FixedWindow(
            FixedWindow::new(10, 60_000).unwrap(),
        ));
        let (key, now) = (key("kept", "a"), EpochMs(2));
        let mut store = Store::default();
        assert_eq!(store.state(&same, &key, now), None);
        store.put(key.clone(), state(), EpochMs(50), &acme());
        assert_eq!(store.state(&same, &key, now), Some(state()));
        assert_eq!(store.states[&key].expires_at, EpochMs(50));
        let carried = other.carried(&state(), now).unwrap();
        assert_eq!(store.state(&other, &key, now), Some(carried.clone()));
        let kept = &store.states[&key];
        assert_eq!(kept.expires_at, other.expires_at(&carried));
        assert_eq!(kept.state, carried);
    }
}
