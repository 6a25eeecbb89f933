//! Where an edit of the policy meets the open window of a pool.

use weir_core::outlasting::Outlasting;
use weir_core::units::EpochMs;
use weir_core::window::Window;
use weir_wire::exchange::Terms;

use super::Pool;
use crate::handover::Handover;
use crate::history::History;
use crate::schedule::Schedule;

/// A window, and what counts in it of what was lent before.
pub(super) struct Counted {
    pub(super) window: Window,
    pub(super) history: History,
    pub(super) outlasting: Outlasting,
}

impl Pool {
    /// Goes by newer terms. What is lent in windows of another kind is kept until those, and the first of the new kind, would
    /// have ceased to count it.
    pub(super) fn adopt(&mut self, terms: &Terms, schedule: Schedule) {
        if schedule != self.schedule {
            let promised = self.promised().0.saturating_sub(self.window.label.0);
            let promised_ms = promised.saturating_mul(self.window.window_ms);
            let ends_at = self.window.ends_at.plus(promised_ms);
            let last = EpochMs(ends_at.0.saturating_sub(1));
            let covers = schedule.open(self.window.label, last);
            let old = ends_at.plus(self.schedule.rolls_ms());
            let new = covers.ends_at.plus(schedule.rolls_ms());
            self.outlasting = self.outlasting.lasting(old.max(new));
            self.schedule = schedule;
        }
        self.terms = terms.clone();
    }

    /// Takes over what terms of the revision in force say is set aside for tenants, where that is a later word.
    pub(super) fn merge_newer_floors(&mut self, terms: &Terms) {
        if let (Some(ours), Some(theirs)) = (self.terms.sharing.as_mut(), &terms.sharing)
            && ours.floors.since < theirs.floors.since
        {
            ours.floors = theirs.floors;
        }
    }

    /// The window at `now`, with what counts in it. Changes nothing.
    pub(super) fn at(&self, now: EpochMs) -> Counted {
        let counted = match self.window.held(now) {
            Some(window) => Counted {
                window,
                history: self.history.clone(),
                outlasting: self.outlasting,
            },
            None => self.next(now),
        };
        self.roused(counted, now)
    }

    /// With what was lent in windows that an edit closed early, where this one covers them.
    fn roused(&self, counted: Counted, now: EpochMs) -> Counted {
        let kept = counted.outlasting;
        if kept.units == 0 || !self.is_of_terms(&counted.window, now) {
            return counted;
        }
        let (units, outlasting) = kept.woken(self.reaches_to(&counted.window));
        // In a rolling window they leave when they would have left.
        let age = if counted.history.lent().len() == self.schedule.parts() {
            counted.window.starts_at().since(kept.ended_at) / counted.window.window_ms.max(1)
        } else {
            0
        };
        Counted {
            history: counted.history.with(units, age),
            outlasting,
            ..counted
        }
    }

    /// Whether a window is as long as those of the terms in force.
    fn is_of_terms(&self, window: &Window, now: EpochMs) -> bool {
        self.schedule.open(window.label, now).window_ms == window.window_ms
    }

    /// Units that count in the open window beside its own where it ends as it was, with the limit of those that take its
    /// place: what was lent in windows that one of those covers, and in those to come that it covers.
    pub(super) fn counted_beside(&self, now: EpochMs) -> u64 {
        if self.outlasting.units == 0 && self.lender.ahead().is_empty() {
            return 0;
        }
        let open = self.schedule.open(self.window.label, now);
        let closed = if self.is_of_terms(&self.window, now) {
            0
        } else {
            self.outlasting.woken(self.reaches_to(&open)).0
        };
        let covers = open.is_longer_than(&self.window) || self.schedule.parts() > 0;
        if !covers || self.is_shortened() {
            return closed;
        }
        let ahead = self.lender.ahead().values().copied();
        ahead.fold(closed, u64::saturating_add)
    }

    /// What is lent before this counts in no window like `window`.
    fn reaches_to(&self, window: &Window) -> EpochMs {
        let starts_at = window.starts_at();
        EpochMs(starts_at.0.saturating_sub(self.schedule.rolls_ms()))
    }

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
    /// may be spent until a holder hears of the end, under its own label alone. Where they say before it is over that
    /// windows are as long as it was, it ends as it was to: those of which units are lent ahead begin then.
    pub(super) fn shorten(&mut self, now: EpochMs) {
        let next = self.schedule.open(self.window.label, now);
        if let Some(whole) = self.whole_until
            && !self.window.is_longer_than(&next)
        {
            self.window.ends_at = whole;
            self.whole_until = None;
        }
        let Some(open) = self.window.held(now) else {
            return;
        };
        self.window = open.ending_with(&next);
        if self.window.ends_at < open.ends_at {
            self.whole_until.get_or_insert(open.ends_at);
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

    /// The window at `now`, after this window is over, with what counts in it of what was lent in this one and in those
    /// that counted in it. The rest is kept, where an edit closed those early.
    fn next(&self, now: EpochMs) -> Counted {
        let (window, begun) = self.after(now);
        let history = self.history_in(&window, begun);
        let passed = self.passed(&window).map(|(_, units)| units);
        let lent = passed.fold(self.lender.lent(), u64::saturating_add);
        let all = lent.saturating_add(self.history.total());
        let dropped = all.saturating_sub(history.total());
        Counted {
            window,
            history,
            outlasting: self.outlasting.and(dropped, self.reaches_to(&window), now),
        }
    }

    /// Units of windows to come that open nowhere any more, but at holders that have them: when each is over, and what was
    /// lent of it.
    fn passed(&self, next: &Window) -> impl Iterator<Item = (EpochMs, u64)> {
        // Those that are longer than what follows end with the open one.
        let length_ms = if self.is_shortened() {
            0
        } else {
            self.window.window_ms
        };
        self.lender
            .ahead()
            .range(..next.label)
            .map(move |(label, units)| {
                let windows = label.0.saturating_sub(self.window.label.0);
                let over_ms = windows.saturating_mul(length_ms);
                (self.window.ends_at.plus(over_ms), *units)
            })
    }

    /// What counts in `next` of what was lent before it: of a rolling window each part in its place, and else what was
    /// lent in windows and parts of which `next` covers the end, as where a longer window takes the place of a shorter
    /// one, or of one that rolls.
    fn history_in(&self, next: &Window, begun: u64) -> History {
        let parts = self.schedule.parts();
        if parts == 0 {
            return self.carried(next);
        }
        let (starts_at, part_ms) = (next.starts_at(), next.window_ms.max(1));
        // Windows that passed are no parts, where their length is another.
        let begun = match self.passed(next).next() {
            None => begun,
            Some(_) => starts_at.since(self.window.ends_at) / part_ms + 1,
        };
        let lent = (self.lender.lent(), self.window.window_ms);
        let rolled = self.history.rolled(lent, begun, (part_ms, parts));
        self.passed(next).fold(rolled, |history, (over_at, units)| {
            history.with(units, starts_at.since(over_at) / part_ms)
        })
    }

    fn carried(&self, next: &Window) -> History {
        let (length_ms, ends_at) = (self.window.window_ms, self.window.ends_at);
        // The part before the open one ended no later than that one began, and that one no later than it ends.
        let parts = self.history.lent().iter().zip(0_u64..);
        let parts = parts.map(|(units, age)| {
            let ago_ms = age.saturating_mul(length_ms);
            (EpochMs(ends_at.0.saturating_sub(ago_ms)), *units)
        });
        let lent = std::iter::once((ends_at, self.lender.lent()));
        let counts = lent.chain(self.passed(next)).chain(parts);
        let counts = counts.filter(|(over_at, _)| next.starts_at() < *over_at);
        let units = counts.fold(0, |sum: u64, (_, units)| sum.saturating_add(units));
        History::empty(0).with(units, 0)
    }
}

#[cfg(test)]
mod tests {
    use weir_core::units::{Revision, WindowLabel};
    use weir_wire::exchange::Cycle;

    use super::*;
    use crate::stored::StoredPool;

    const PART_MS: u64 = 6_000;

    fn terms(limit: u64, revision: u64) -> Terms {
        Terms {
            limit,
            window_ms: 10 * PART_MS,
            revision: Revision(revision),
            cycle: Some(Cycle::Sliding { buckets: 10 }),
            sharing: None,
            lease: None,
            standing: 0,
        }
    }

    #[test]
    fn terms_of_a_later_revision_are_adopted_and_no_others() {
        let limit = |revision| {
            let mut pool = Pool::open(terms(100, 2), EpochMs(0));
            pool.amend(&terms(50, revision));
            pool.limit()
        };
        assert_eq!([1, 2, 3].map(limit), [100, 100, 50]);
    }

    #[test]
    fn in_a_rolling_window_each_part_counts_in_its_place_and_what_was_promised_of_parts_passed_over_too()
     {
        let window = |label| Window {
            label: WindowLabel(label),
            ends_at: EpochMs(label * PART_MS),
            window_ms: PART_MS,
        };
        let counted = |promised: &[(u64, u64)], begun| {
            let ahead = promised
                .iter()
                .map(|(label, units)| (WindowLabel(*label), *units));
            let row = StoredPool::new(window(1), terms(100, 1), 30).with_ahead(ahead.collect());
            let history = Pool::wake(&row).history_in(&window(4), begun);
            history.lent()[..4].to_vec()
        };
        assert_eq!(counted(&[], 3), [0, 0, 30, 0]);
        assert_eq!(counted(&[], 4), [0, 0, 0, 30]);
        // Where windows passed, how many began follows from their times.
        for begun in [1, 3] {
            assert_eq!(counted(&[(2, 20)], begun), [0, 20, 30, 0]);
            assert_eq!(counted(&[(2, 20), (3, 5)], begun), [5, 20, 30, 0]);
        }
    }
}
