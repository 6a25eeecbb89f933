//! What a holder still had when a window was over: told once, so that nothing that was lent goes missing.

use weir_core::limits::{AHEAD_CONTACTS, CALL_MS_MAX, CONTACT_MS_MIN};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, WindowLabel};

use super::super::ahead::Ahead;
use super::Holder;

/// Windows of which is remembered what lapsed: more than a holder has at a time.
const LAPSES_MAX: usize = 16;

/// Windows to come are asked for no sooner than this before they open, unless slices are held of them all the time.
const SOON_MS: u64 = 2 * AHEAD_CONTACTS * CONTACT_MS_MIN;

/// Units that lapsed, by window.
#[derive(Debug, Clone, Default)]
pub struct Lapses {
    untold: OrderedMap<WindowLabel, u64>,
    /// The last window that was told of while it was the present one.
    told: WindowLabel,
}

impl Lapses {
    pub(super) fn add(&mut self, label: WindowLabel, units: u64) {
        if units == 0 || (self.untold.len() >= LAPSES_MAX && !self.untold.contains_key(&label)) {
            return;
        }
        let lapsed = self.untold.entry(label).or_default();
        *lapsed = lapsed.saturating_add(units);
    }
}

impl Holder {
    /// Notes what is left of the present window, and of those before `label` that never opened here, as `label` opens.
    pub(super) fn note_lapse(&mut self, label: WindowLabel) {
        if let Some(lease) = self.lease.filter(|lease| lease.label > self.lapses.told) {
            self.lapses.add(lease.label, lease.balance());
        }
        for ahead in self.ahead.iter().filter(|ahead| ahead.label < label) {
            self.lapses
                .add(ahead.label, ahead.units.saturating_sub(ahead.lent));
        }
    }

    /// Whether units of a window that is over here may still have to be told of.
    #[must_use]
    pub fn lapsing(&self, now: EpochMs) -> bool {
        let left = |lease: &&super::Lease| {
            lease.label > self.lapses.told && lease.balance() > 0 && !lease.open(now)
        };
        // What was lent of a window that opens soon goes back when it has opened, if nobody wants it.
        let soon = |ahead: &Ahead| {
            let unused = ahead.units > ahead.lent && now < ahead.ends_at;
            unused && ahead.starts_at.since(now) <= SOON_MS
        };
        !self.lapses.untold.is_empty()
            || self.lease.as_ref().is_some_and(|lease| left(&lease))
            || self.ahead.iter().any(soon)
    }

    /// Takes out what lapsed and was not told yet: units that were lent here in a window and were neither used nor
    /// returned when it was over, for the parent too.
    pub fn take_lapsed(&mut self, now: EpochMs) -> OrderedMap<WindowLabel, u64> {
        if let Some(lease) = self.lease.filter(|lease| lease.over(now))
            && lease.label > self.lapses.told
        {
            self.lapses.add(lease.label, lease.balance());
            self.lapses.told = lease.label;
        }
        // Windows that opened here for nobody.
        let over = |ahead: &Ahead| now >= ahead.ends_at.plus(CALL_MS_MAX);
        for ahead in self.ahead.iter().filter(|ahead| over(ahead)) {
            let left = ahead.units.saturating_sub(ahead.lent);
            self.lapses.add(ahead.label, left);
        }
        self.ahead.retain(|ahead| !over(ahead));
        std::mem::take(&mut self.lapses.untold)
    }
}
