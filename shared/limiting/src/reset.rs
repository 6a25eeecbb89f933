//! Keys that an operator put back to their start, and what that voids: whatever was charged before is not given back to
//! what was charged after.

use weir_algorithms::composite::StateKey;
use weir_core::limits::{RESERVATION_MS, RESET_DRAWS_MS, RESETS_MAX};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

use super::rows::Put;
use super::shard::Shard;
use crate::messages::SettleKeysBody;

/// When keys were put back, as long as something from before may still come.
#[derive(Debug, Clone, Default)]
pub struct Resets(OrderedMap<StateKey, EpochMs>);

impl Resets {
    /// Those that were stored.
    #[must_use]
    pub fn wake(stored: impl IntoIterator<Item = (StateKey, EpochMs)>) -> Self {
        Self(OrderedMap::from_iter(stored))
    }

    /// Whether units that were drawn, or charged by a question that is undone, come from before. Within a few seconds
    /// all do, as far as is known: at worst they stay charged.
    #[must_use]
    pub fn void_draw(&self, key: &StateKey, now: EpochMs) -> bool {
        let recent = |at: &EpochMs| now.since(*at) <= RESET_DRAWS_MS;
        self.0.get(key).is_some_and(recent)
    }

    /// Whether what was charged at `charged_at` was charged before.
    #[must_use]
    pub fn void_charge(&self, key: &StateKey, charged_at: EpochMs) -> bool {
        self.0.get(key).is_some_and(|at| charged_at <= *at)
    }

    fn mark(&mut self, key: &StateKey, now: EpochMs) {
        if self.0.len() >= RESETS_MAX {
            self.0.retain(|_, at| now.since(*at) <= RESERVATION_MS);
        }
        // Beyond the bound the oldest is given up: what it voided may come back, as without a reset.
        if self.0.len() >= RESETS_MAX
            && let Some(oldest) = self.0.iter().min_by_key(|(_, at)| **at)
        {
            let oldest = oldest.0.clone();
            self.0.remove(&oldest);
        }
        self.0.insert(key.clone(), now);
    }
}

impl Shard {
    /// Puts keys back to their start; the rows to write. Whoever keeps the rows drops the states of the keys.
    pub fn reset(&mut self, keys: &[StateKey], now: EpochMs) -> Vec<Put> {
        let puts = keys.iter().map(|key| {
            self.resets.mark(key, now);
            Put::Reset {
                key: key.clone(),
                at: now,
                expires_at: now.plus(RESERVATION_MS),
            }
        });
        puts.collect()
    }

    /// When the first hold lapses.
    #[must_use]
    pub fn lapses_at(&self) -> Option<EpochMs> {
        self.holds.lapses_at()
    }

    /// A shard that knows which keys were put back, too.
    #[must_use]
    pub fn with_resets(mut self, stored: impl IntoIterator<Item = (StateKey, EpochMs)>) -> Self {
        self.resets = Resets::wake(stored);
        self
    }
}

/// When what a settlement is about was charged, at the latest: its result is kept for as long as a reservation may be
/// settled, after that.
pub(super) fn charged_at(body: &SettleKeysBody) -> EpochMs {
    EpochMs(body.expires_at.0.saturating_sub(2 * RESERVATION_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> StateKey {
        StateKey {
            limit: "hourly".to_owned(),
            key: name.to_owned(),
        }
    }

    #[test]
    fn what_was_charged_before_is_void_and_what_was_charged_after_is_not() {
        let mut shard = Shard::default();
        let puts = shard.reset(&[key("a")], EpochMs(1_000));
        assert_eq!(puts.len(), 1);
        let resets = &shard.resets;
        assert!(resets.void_charge(&key("a"), EpochMs(1_000)));
        assert!(!resets.void_charge(&key("a"), EpochMs(1_001)));
        assert!(!resets.void_charge(&key("b"), EpochMs(1)));
        assert!(resets.void_draw(&key("a"), EpochMs(1_000 + RESET_DRAWS_MS)));
        assert!(!resets.void_draw(&key("a"), EpochMs(1_001 + RESET_DRAWS_MS)));
    }

    #[test]
    fn resets_are_bounded_and_the_oldest_goes_first() {
        let mut shard = Shard::default();
        for number in 0..=RESETS_MAX as u64 {
            shard.reset(&[key(&number.to_string())], EpochMs(number));
        }
        assert_eq!(shard.resets.0.len(), RESETS_MAX);
        assert!(!shard.resets.void_charge(&key("0"), EpochMs(0)));
        assert!(shard.resets.void_charge(&key("1"), EpochMs(0)));
    }

    #[test]
    fn a_shard_that_wakes_knows_them_still() {
        let shard = Shard::default().with_resets([(key("a"), EpochMs(7))]);
        assert!(shard.resets.void_charge(&key("a"), EpochMs(7)));
    }
}
