//! How many requests wait in an isolate for their turn: each has a seat until it goes, or until the time is over for which
//! it took it, as the platform may end a request without a word.

use weir_core::limits::WAITING_MAX;
use weir_core::ordered::OrderedSet;
use weir_core::units::EpochMs;

/// The seats of an isolate.
///
/// ```
/// use weir_gateway::seats::Seats;
/// use weir_core::limits::WAITING_MAX;
/// use weir_core::units::EpochMs;
/// let mut seats = Seats::default();
/// let first = seats.take(EpochMs(5_000), EpochMs(0)).unwrap();
/// for _ in 1..WAITING_MAX {
///     assert!(seats.take(EpochMs(9_000), EpochMs(0)).is_some());
/// }
/// assert!(seats.take(EpochMs(9_000), EpochMs(4_999)).is_none());
/// assert!(seats.take(EpochMs(9_000), EpochMs(5_001)).is_some(), "the first has not said that it went");
/// seats.leave(first);
/// assert!(seats.take(EpochMs(9_000), EpochMs(5_001)).is_none(), "its seat is another's by then");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Seats {
    taken: OrderedSet<Seat>,
    next: u64,
}

/// A seat that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seat {
    until: EpochMs,
    number: u64,
}

impl Seats {
    /// Takes a seat until then; `None` while all are taken.
    pub fn take(&mut self, until: EpochMs, now: EpochMs) -> Option<Seat> {
        while self.taken.first().is_some_and(|first| first.until < now) {
            self.taken.pop_first();
        }
        if self.taken.len() >= WAITING_MAX {
            return None;
        }
        self.next += 1;
        let seat = Seat {
            until,
            number: self.next,
        };
        self.taken.insert(seat);
        Some(seat)
    }

    /// Keeps a seat until another time. One that was given to another meanwhile is taken beside it: who has waited is not
    /// sent away.
    pub fn keep(&mut self, seat: Seat, until: EpochMs) -> Seat {
        self.taken.remove(&seat);
        let seat = Seat { until, ..seat };
        self.taken.insert(seat);
        seat
    }

    /// Frees a seat.
    pub fn leave(&mut self, seat: Seat) {
        self.taken.remove(&seat);
    }

    /// How many are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_taken_through_its_last_millisecond() {
        let mut seats = Seats::default();
        for _ in 0..WAITING_MAX {
            seats.take(EpochMs(5_000), EpochMs(0)).expect("a seat");
        }
        assert!(seats.take(EpochMs(9_000), EpochMs(5_000)).is_none());
        assert!(seats.take(EpochMs(9_000), EpochMs(5_001)).is_some());
    }

    #[test]
    fn a_seat_counts_as_taken_from_when_it_is_until_who_has_it_leaves() {
        let mut seats = Seats::default();
        assert_eq!(seats.taken(), 0);
        let first = seats.take(EpochMs(5_000), EpochMs(0)).expect("a seat");
        let second = seats.take(EpochMs(5_000), EpochMs(0)).expect("a seat");
        assert_eq!(seats.taken(), 2);
        let kept = seats.keep(first, EpochMs(9_000));
        assert_eq!(seats.taken(), 2);
        seats.leave(second);
        assert_eq!(seats.taken(), 1);
        seats.leave(kept);
        assert_eq!(seats.taken(), 0);
    }
}
