//! The requests that one isolate has at a resource which takes so many at once: whose they are, and for how long they stay.

use weir_core::limits::{OVERLOAD_SLOT_MS, OVERLOAD_SLOT_MS_FIRST};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

/// How much a stay moves the mean of all before.
const MEAN_OF: u64 = 8;

/// A request at the resource.
#[derive(Debug, Clone)]
struct TakenSlot {
    tenant: String,
    since: EpochMs,
    until: EpochMs,
}

/// The slots of one resource that are taken.
///
/// ```
/// use weir_overload::slots::Slots;
/// use weir_core::units::EpochMs;
/// let mut slots = Slots::default();
/// let first = slots.take("acme", EpochMs(0));
/// let _second = slots.take("acme", EpochMs(100));
/// assert_eq!((slots.left(3, EpochMs(100)), slots.running("acme")), (1, 2));
/// slots.free(first, EpochMs(400));
/// assert_eq!((slots.left(3, EpochMs(400)), slots.running("acme")), (2, 1));
/// // One that nobody keeps lapses: whose isolate has it, was ended by the platform.
/// assert_eq!(slots.left(3, EpochMs(30_101)), 3);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Slots {
    held: OrderedMap<u64, TakenSlot>,
    given: u64,
    mean_ms: Option<u64>,
    changes: u64,
}

impl Slots {
    /// Takes a slot. Whether there is one is asked before.
    pub fn take(&mut self, tenant: &str, now: EpochMs) -> u64 {
        self.given += 1;
        self.changes += 1;
        let held = TakenSlot {
            tenant: tenant.to_owned(),
            since: now,
            until: now.plus(OVERLOAD_SLOT_MS),
        };
        self.held.insert(self.given, held);
        self.given
    }

    /// It is still in use.
    pub fn keep(&mut self, slot: u64, now: EpochMs) {
        if let Some(held) = self.held.get_mut(&slot) {
            held.until = now.plus(OVERLOAD_SLOT_MS);
        }
    }

    /// It is used no more.
    pub fn free(&mut self, slot: u64, now: EpochMs) {
        if let Some(held) = self.held.remove(&slot) {
            let ms = now.since(held.since);
            let mean_ms = self.mean_ms.unwrap_or(ms);
            self.mean_ms = Some((mean_ms * (MEAN_OF - 1) + ms) / MEAN_OF);
            self.changes += 1;
        }
    }

    /// It was taken for a request that was denied elsewhere.
    pub fn undo(&mut self, slot: u64) {
        self.changes += u64::from(self.held.remove(&slot).is_some());
    }

    /// How many of `slots` are free.
    pub fn left(&mut self, slots: u64, now: EpochMs) -> u64 {
        let before = self.held.len();
        self.held.retain(|_, held| now <= held.until);
        self.changes += u64::from(self.held.len() != before);
        slots.saturating_sub(self.held.len() as u64)
    }

    /// How many a tenant has.
    #[must_use]
    pub fn running(&self, tenant: &str) -> u64 {
        let held = self.held.values();
        held.filter(|held| held.tenant == tenant).count() as u64
    }

    /// A number that is another whenever somebody has taken or freed one.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// When the next of `slots` is expected to be free, where all are taken: they end one after the other.
    #[must_use]
    pub fn retry_ms(&self, slots: u64) -> u64 {
        let mean_ms = self.mean_ms.unwrap_or(OVERLOAD_SLOT_MS_FIRST);
        (mean_ms / slots.max(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_changes_is_another_whenever_a_slot_is_taken_or_freed_and_else_the_same() {
        type Happens<'a> = &'a dyn Fn(&mut Slots);

        let now = EpochMs(0);
        let lapsed = EpochMs(OVERLOAD_SLOT_MS + 1);
        let take = |slots: &mut Slots| {
            slots.take("acme", now);
        };
        let left = |slots: &mut Slots, at| {
            slots.left(3, at);
        };
        let cases: [(&str, Happens<'_>, u64); 9] = [
            ("the first is taken", &take, 1),
            ("the second is taken", &take, 1),
            ("the third is taken", &take, 1),
            ("the first is kept", &|slots| slots.keep(1, now), 0),
            ("the first is freed", &|slots| slots.free(1, now), 1),
            ("it is freed again", &|slots| slots.free(1, now), 0),
            ("the second is undone", &|slots| slots.undo(2), 1),
            ("it is undone again", &|slots| slots.undo(2), 0),
            ("the third has not lapsed", &|slots| left(slots, now), 0),
        ];
        let mut slots = Slots::default();
        assert_eq!(slots.changes(), 0);
        for (name, happens, changes) in cases {
            let before = slots.changes();
            happens(&mut slots);
            assert_eq!(slots.changes() - before, changes, "{name}");
        }
        let before = slots.changes();
        assert_eq!([slots.left(3, lapsed), slots.left(3, lapsed)], [3, 3]);
        assert_eq!(slots.changes() - before, 1, "the third has lapsed");
    }
}
