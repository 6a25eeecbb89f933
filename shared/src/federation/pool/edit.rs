//! Where an edit of the policy meets the open window of a pool.

use super::Pool;
use crate::federation::handover::Handover;
use crate::federation::history::History;
use crate::units::{EpochMs, WindowLabel};
use crate::window::Window;

impl Pool {
    /// Holds the share of a static partition to what its region had, while a change of the shares is not over.
    pub fn hold_to(&mut self, handover: Option<Handover>) {
        self.handover = handover;
    }

    /// Units of the open window.
    pub(super) fn limit(&self) -> u64 {
        self.limit_from(self.window.starts_at())
    }

    /// Units of a window that begins then.
    pub(super) fn limit_from(&self, starts_at: EpochMs) -> u64 {
        let limit = self.terms.limit;
        self.handover
            .map_or(limit, |handover| handover.allows(limit, starts_at))
    }

    /// Ends the open window with the first of shorter ones that the terms say by now. What was lent in it stays lent, and
    /// may be spent until a holder hears of the end, under its own label alone.
    pub(super) fn shorten(&mut self, now: EpochMs) {
        if let Some(open) = self.window.held(now) {
            self.window = open.ending_with(&self.schedule.open(open.label, now));
        }
    }

    /// Whether windows that follow this one are shorter.
    pub(super) fn is_shortened(&self) -> bool {
        let next = self.schedule.open(self.window.label, self.window.ends_at);
        self.window.is_longer_than(&next)
    }

    /// The window at `now`, after this one is over, and how many have begun, where they are shorter. Labels of which
    /// units are lent for windows of the old length are passed over: nothing else may be lent under them.
    pub(super) fn after_longer(&self, now: EpochMs) -> (Window, u64) {
        let passed = Window {
            label: self.promised(),
            ..self.window
        };
        self.schedule.after(&passed, now)
    }

    /// What counts in `next` of what was lent before it: of a rolling window each part in its place, and else what was
    /// lent in windows and parts of which `next` covers the end, as where a longer window takes the place of a shorter
    /// one, or of one that rolls.
    pub(super) fn history_in(&self, next: &Window, begun: u64) -> History {
        // Of windows that open nowhere any more, but at holders that have units of them.
        let ahead = self.lender.ahead();
        let passed = ahead.range(..next.label);
        let (passed, last) = passed.fold((0_u64, self.window.label), |(sum, _), (label, units)| {
            (sum.saturating_add(*units), *label)
        });
        let lent = self.lender.lent().saturating_add(passed);
        let length_ms = self.window.window_ms;
        match self.schedule.parts() {
            0 => self.carried(lent, last, next),
            parts => self
                .history
                .rolled((lent, length_ms), begun, (next.window_ms, parts)),
        }
    }

    fn carried(&self, lent: u64, last: WindowLabel, next: &Window) -> History {
        let length_ms = self.window.window_ms;
        let promised = last.0.saturating_sub(self.window.label.0);
        let promised = if self.is_shortened() { 0 } else { promised };
        let open_ends_at = self.window.ends_at;
        let ends_at = open_ends_at.plus(promised.saturating_mul(length_ms));
        // The part before the open one ended no later than that one began, and that one no later than it ends.
        let parts = self.history.lent().iter().zip(0_u64..);
        let parts = parts.map(|(units, age)| {
            let ago_ms = age.saturating_mul(length_ms);
            (EpochMs(open_ends_at.0.saturating_sub(ago_ms)), *units)
        });
        let counts = std::iter::once((ends_at, lent)).chain(parts);
        let counts = counts.filter(|(ends_at, _)| next.starts_at() < *ends_at);
        match counts.fold(0, |sum: u64, (_, units)| sum.saturating_add(units)) {
            0 => History::empty(0),
            // Whole for as long as the window lasts: nothing of it leaves.
            units => History::of(vec![units, 0]),
        }
    }
}
