//! The keys of limits that one isolate keeps for itself: bounded, in memory.

use std::collections::BTreeMap;

use super::key::shared_key;
use crate::algorithms::composite::StateKey;
use crate::algorithms::scale::{Scaled, ScaledState};
use crate::limits::{ISOLATE_KEYS_MAX, PURGE_MS};
use crate::units::EpochMs;

/// States by key, each with the time at which it may be forgotten.
#[derive(Debug, Clone, Default)]
pub struct Store {
    states: BTreeMap<StateKey, (EpochMs, ScaledState)>,
    purged_at: EpochMs,
}

impl Store {
    /// The state of a key, as it is.
    #[must_use]
    pub fn get(&self, key: &StateKey) -> Option<ScaledState> {
        self.states.get(key).map(|(_, state)| state.clone())
    }

    /// The state of a key that `machine` decides. One that other rules wrote is carried over, and kept so.
    #[must_use]
    pub fn state(&mut self, machine: &Scaled, key: &StateKey, now: EpochMs) -> Option<ScaledState> {
        let (expires_at, state) = self.states.get_mut(key)?;
        if let Some(carried) = machine.carried(state, now) {
            *expires_at = machine.expires_at(&carried);
            *state = carried;
        }
        Some(state.clone())
    }

    /// Keeps a state until `expires_at`.
    pub fn put(&mut self, key: StateKey, state: ScaledState, expires_at: EpochMs) {
        self.states.insert(key, (expires_at, state));
    }

    /// Where a key is kept: under itself, or, when there is no room for another, under the key that all share.
    #[must_use]
    pub fn place(&mut self, key: StateKey, now: EpochMs) -> StateKey {
        if self.states.contains_key(&key) || self.has_room(now) {
            return key;
        }
        StateKey {
            key: shared_key(),
            ..key
        }
    }

    /// Forgets the limits that `keep` does not name.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.states.retain(|key, _| keep(&key.limit));
    }

    fn has_room(&mut self, now: EpochMs) -> bool {
        if self.states.len() < ISOLATE_KEYS_MAX {
            return true;
        }
        if now.since(self.purged_at) < PURGE_MS && now >= self.purged_at {
            return false;
        }
        self.purged_at = now;
        self.states.retain(|_, (expires_at, _)| now < *expires_at);
        self.states.len() < ISOLATE_KEYS_MAX
    }
}
