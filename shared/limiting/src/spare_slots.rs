//! Slots of guards whose requests have ended at an isolate: for a moment it keeps them, so that the next request of the same
//! tenant needs no question and no row.
//!
//! The shard counts a spare slot as held, so no more are ever held than the guard allows. An isolate keeps one only if the
//! shard's last word on it counted at most a quarter of the guard's slots as taken. Of all slots that are held at an instant,
//! the one that was heard of last counted all the others with it: at most a quarter of a guard's slots are spare, in however
//! many isolates.

use weir_algorithms::composite::StateKey;
use weir_algorithms::scale::ScaledReceipt;
use weir_core::limits::{SPARE_SLOT_MS, SPARE_SLOTS_MAX, SPARE_SLOTS_PART};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;
use weir_decision::Decision;
use weir_wire::limit_terms::GuardTerms;

/// A slot, as the shard spoke of it last.
#[derive(Debug, Clone, PartialEq)]
pub struct HeardSlot {
    /// What names it.
    pub receipt: ScaledReceipt,
    /// What its first request was answered.
    pub decision: Decision,
    /// The rules by which it was taken.
    pub terms: GuardTerms,
    /// Slots that were taken then, with this one.
    pub taken: u64,
    /// When the call was sent that took or renewed it: its lease began no earlier.
    pub heard_at: EpochMs,
}

impl HeardSlot {
    /// How long until it has to be renewed: then two thirds of its lease are left, so that one call may be lost.
    #[must_use]
    pub fn renews_in_ms(&self, now: EpochMs) -> u64 {
        let due = self.heard_at.plus(renewal_ms(self.terms.lease_ms));
        due.since(now)
    }

    /// Whether half of its lease is left: then it can still be renewed twice.
    fn is_fresh(&self, now: EpochMs) -> bool {
        now.since(self.heard_at) < self.terms.lease_ms / 2
    }

    fn may_be_spare(&self, now: EpochMs) -> bool {
        let few = |slots: u64| self.taken.saturating_mul(SPARE_SLOTS_PART) <= slots;
        // Who took a spare slot would take nothing of a minute's budget.
        let unmetered = self.terms.per_minute.is_none();
        unmetered && self.terms.concurrency.is_some_and(few) && self.renews_in_ms(now) > 0
    }
}

/// How long after it was taken or renewed a slot is renewed.
#[must_use]
pub fn renewal_ms(lease_ms: u64) -> u64 {
    (lease_ms / 3).max(1)
}

#[derive(Debug, Clone)]
struct Spare {
    slot: HeardSlot,
    since: EpochMs,
}

/// The spare slots of an isolate in one region.
#[derive(Debug, Clone, Default)]
pub struct SpareSlots {
    by_key: OrderedMap<StateKey, Vec<Spare>>,
    count: usize,
}

impl SpareSlots {
    /// Keeps the slot of a request that has ended. `false` where it has to go back at once.
    #[must_use]
    pub fn keep(&mut self, key: &StateKey, slot: HeardSlot, now: EpochMs) -> bool {
        let keeps = slot.may_be_spare(now) && self.count < SPARE_SLOTS_MAX;
        if keeps {
            self.put_back(key, slot, now);
        }
        keeps
    }

    /// Puts a slot back that [`SpareSlots::take`] gave to a request which is denied elsewhere.
    pub fn put_back(&mut self, key: &StateKey, slot: HeardSlot, now: EpochMs) {
        let since = now;
        let spare = self.by_key.entry(key.clone()).or_default();
        spare.push(Spare { slot, since });
        self.count += 1;
    }

    /// The slot that was used last, for another request under the same rules. However long it was not used: while it is here
    /// it is nobody else's, and the shard might deny for want of it.
    pub fn take(&mut self, key: &StateKey, terms: &GuardTerms, now: EpochMs) -> Option<HeardSlot> {
        let spare = self.by_key.get_mut(key)?;
        let last = spare.last()?;
        if last.slot.terms != *terms || !last.slot.is_fresh(now) {
            return None;
        }
        let taken = spare.pop()?.slot;
        if spare.is_empty() {
            self.by_key.remove(key);
        }
        self.count -= 1;
        Some(taken)
    }

    /// Those that nobody has taken for long enough: they go back to their shards.
    pub fn over(&mut self, now: EpochMs) -> Vec<(StateKey, HeardSlot)> {
        let mut over = Vec::new();
        self.by_key.retain(|key, spare| {
            spare.retain(|one| {
                let stays = now.since(one.since) < SPARE_SLOT_MS && one.slot.is_fresh(now);
                if !stays {
                    over.push((key.clone(), one.slot.clone()));
                }
                stays
            });
            !spare.is_empty()
        });
        self.count -= over.len();
        over
    }

    /// Forgets all, which lapse at shards that are asked no more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
