//! Places in a queue that were given back before their time: stretches in which nobody leaves, for whoever comes next.
//!
//! All that leaves has a stretch of its own, as long as its units take at the rate. A place that was given back goes to the
//! next who fits in, so no two stretches ever overlap, and what leaves stays as far apart as without the refund.

use serde::{Deserialize, Serialize};
use weir_core::limits::FREE_PLACES_MAX;

use super::meter::{divided, saturated};

/// A stretch of time in a queue: from `ms` and `ticks` on, for `length` ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Whole milliseconds since the epoch.
    pub ms: u64,
    /// The rest, in ticks.
    pub ticks: u64,
    /// How long it is, in ticks.
    pub length: u64,
}

/// The same in ticks since the epoch: `to` does not belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub from: u128,
    pub to: u128,
}

impl Place {
    /// The place of a span, where a millisecond has `ticks_per_ms`.
    pub(super) fn of(span: Span, ticks_per_ms: u64) -> Self {
        let (ms, ticks) = divided(span.from, ticks_per_ms.max(1));
        Self {
            ms,
            ticks,
            length: saturated(span.to.saturating_sub(span.from)),
        }
    }

    /// Its span, where a millisecond has `ticks_per_ms`.
    pub(super) fn span(&self, ticks_per_ms: u64) -> Span {
        let from = u128::from(self.ms) * u128::from(ticks_per_ms) + u128::from(self.ticks);
        Span {
            from,
            to: from + u128::from(self.length),
        }
    }

    /// The first whole millisecond that does not come before it.
    pub(super) fn begins_ms(&self) -> u64 {
        self.ms.saturating_add(u64::from(self.ticks > 0))
    }
}

/// The places that are free before the end of a queue, in their order, none touching the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FreePlaces(Vec<Span>);

impl FreePlaces {
    /// Those of a stored list that are not over at `now`, which is in ticks. A list that is out of order is no list.
    pub fn read(places: &[Place], ticks_per_ms: u64, now: u128) -> Self {
        let spans: Vec<_> = places.iter().map(|one| one.span(ticks_per_ms)).collect();
        if spans.windows(2).any(|two| two[0].to > two[1].from) {
            return Self::default();
        }
        Self(spans.into_iter().filter(|span| span.to > now).collect())
    }

    /// As they are stored.
    pub fn write(&self, ticks_per_ms: u64) -> Vec<Place> {
        let spans = self.0.iter();
        spans.map(|span| Place::of(*span, ticks_per_ms)).collect()
    }

    /// The first stretch of `length` from `now` on that is free.
    pub fn first_fit(&self, length: u128, now: u128) -> Option<Span> {
        self.0.iter().find_map(|span| {
            let from = span.from.max(now);
            let to = from.checked_add(length)?;
            (to <= span.to).then_some(Span { from, to })
        })
    }

    /// Takes a stretch that is free. What is before it in its place is over.
    pub fn take(&mut self, taken: Span) {
        let at = self.0.iter().position(|span| span.to >= taken.to);
        if let Some(at) = at {
            self.0[at].from = taken.to;
            if self.0[at].from >= self.0[at].to {
                self.0.remove(at);
            }
        }
    }

    /// Frees a stretch. False where some of it is free already: then it was given back before. Of too many the one that is
    /// over first is forgotten.
    pub fn give(&mut self, back: Span) -> bool {
        let at = self.0.partition_point(|span| span.to <= back.from);
        if self.0.get(at).is_some_and(|next| next.from < back.to) {
            return false;
        }
        self.0.insert(at, back);
        if self.0.get(at + 1).is_some_and(|next| next.from == back.to) {
            self.0[at].to = self.0.remove(at + 1).to;
        }
        if at > 0 && self.0[at - 1].to == back.from {
            self.0[at - 1].to = self.0.remove(at).to;
        }
        if self.0.len() > FREE_PLACES_MAX {
            self.0.remove(0);
        }
        true
    }

    /// The end of a queue that ended at `end`: a free place there is none, as nobody comes after it.
    pub fn trim(&mut self, end: u128) -> u128 {
        match self.0.pop_if(|last| last.to == end) {
            Some(last) => last.from,
            None => end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u128, to: u128) -> Span {
        Span { from, to }
    }

    #[test]
    fn places_side_by_side_are_one_and_what_is_free_is_not_freed_again() {
        let mut free = FreePlaces::default();
        assert!(free.give(span(30, 40)));
        assert!(free.give(span(10, 20)));
        assert_eq!(free.first_fit(11, 0), None);
        assert!(free.give(span(20, 30)));
        assert_eq!(free.0, [span(10, 40)]);
        assert!(!free.give(span(15, 16)));
        assert!(!free.give(span(0, 11)));
        assert_eq!(free.first_fit(11, 0), Some(span(10, 21)));
        assert_eq!(free.first_fit(11, 29), Some(span(29, 40)));
        assert_eq!(free.first_fit(11, 30), None);
        free.take(span(10, 21));
        assert_eq!(free.0, [span(21, 40)]);
        free.take(span(21, 40));
        assert_eq!(free.0, []);
    }

    #[test]
    fn the_end_of_the_queue_moves_back_over_what_is_free() {
        let mut free = FreePlaces::default();
        assert!(free.give(span(30, 40)));
        assert_eq!(free.trim(50), 50);
        assert!(free.give(span(40, 50)));
        assert_eq!(free.trim(50), 30);
        assert_eq!(free.0, []);
    }

    #[test]
    fn there_are_no_more_than_the_bound_and_the_first_to_end_goes() {
        let mut free = FreePlaces::default();
        for number in 0..=FREE_PLACES_MAX as u128 {
            assert!(free.give(span(10 * number, 10 * number + 5)));
        }
        assert_eq!(free.0.len(), FREE_PLACES_MAX);
        assert_eq!(free.first_fit(1, 0), Some(span(10, 11)));
    }

    #[test]
    fn a_list_out_of_order_and_numbers_without_end_free_nothing_twice() {
        let place = |ms, length| Place {
            ms,
            ticks: 0,
            length,
        };
        let crossed = [place(10, 10), place(15, 5)];
        assert_eq!(FreePlaces::read(&crossed, 1, 0), FreePlaces::default());
        let huge = [place(u64::MAX, u64::MAX)];
        let free = FreePlaces::read(&huge, u64::MAX, 0);
        assert!(free.first_fit(u128::MAX, 0).is_none());
        assert_eq!(
            FreePlaces::read(&[place(1, 2)], 1, 3),
            FreePlaces::default()
        );
    }
}
