//! A state that the rules of another limit wrote, carried over to the present ones.

use super::used::Used;
use super::{Algorithm, State};
use crate::units::EpochMs;

impl Algorithm {
    /// The state to keep in the place of one that rules of other numbers, or of another algorithm, wrote: it is charged
    /// what that one says was used, and counts by these rules from now on. `None` for one that is kept as it is.
    ///
    /// A window that was long is closed early so: what was used in it counts until the end of the present, shorter one.
    ///
    /// ```
    /// use weir_shared::algorithms::Algorithm;
    /// use weir_shared::algorithms::fixed_window::FixedWindow;
    /// use weir_shared::units::EpochMs;
    /// let window = |ms| Algorithm::FixedWindow(FixedWindow::new(10, ms).unwrap());
    /// let (day, minute) = (window(86_400_000), window(60_000));
    /// let used = day.check(None, 10, EpochMs(1_000)).next.unwrap();
    /// let carried = minute.carried(&used, EpochMs(2_000)).unwrap();
    /// let look = |ms| minute.check(Some(&carried), 0, EpochMs(ms)).decision.remaining;
    /// assert_eq!((look(59_999), look(60_000)), (0, 10));
    /// ```
    #[must_use]
    pub fn carried(&self, state: &State, now: EpochMs) -> Option<State> {
        if self.owns(state) {
            return None;
        }
        self.charged(&state.used(now))
    }

    /// Whether a state is of this algorithm, by whatever numbers.
    #[inline]
    fn is_kind(&self, state: &State) -> bool {
        matches!(
            (self, state),
            (Self::Gcra(_), State::Gcra(_))
                | (Self::TokenBucket(_), State::TokenBucket(_))
                | (Self::FixedWindow(_), State::FixedWindow(_))
                | (Self::SlidingWindow(_), State::SlidingWindow(_))
                | (Self::SlidingLog(_), State::SlidingLog(_))
                | (Self::Quota(_), State::Quota(_))
                | (Self::DeficitBucket(_), State::DeficitBucket(_))
                | (Self::LeakyBucket(_), State::LeakyBucket(_))
                | (Self::Guard(_), State::Guard(_))
        )
    }

    /// Whether a state is decided on as it is: what other numbers of the same algorithm count in units, counts for no
    /// shorter than by either until it is carried over.
    #[inline]
    pub(super) fn reads(&self, state: &State) -> bool {
        match (self, state) {
            // What it keeps is a time, in which its rate is.
            (Self::Gcra(gcra), State::Gcra(state)) => gcra.wrote(state),
            _ => self.is_kind(state),
        }
    }

    /// Whether a state counts by these rules as it is. What a bucket lacks does by any numbers: it is paid back at the
    /// rate in force.
    pub(super) fn owns(&self, state: &State) -> bool {
        match (self, state) {
            (Self::Gcra(gcra), State::Gcra(state)) => gcra.wrote(state),
            (Self::FixedWindow(window), State::FixedWindow(state)) => window.owns(state),
            (Self::SlidingWindow(window), State::SlidingWindow(state)) => window.owns(state),
            (Self::SlidingLog(log), State::SlidingLog(state)) => log.owns(state),
            (Self::Quota(quota), State::Quota(state)) => quota.owns(state),
            _ => self.is_kind(state),
        }
    }

    /// The state of a key that was cold and is charged what was used, up to all that it admits; `None` where nothing was.
    #[cold]
    pub(super) fn charged(&self, used: &Used) -> Option<State> {
        let latest = used.latest()?;
        Some(match self {
            Self::Gcra(gcra) => State::Gcra(gcra.charged(used, latest)),
            Self::TokenBucket(bucket) => State::TokenBucket(bucket.charged(used, latest)),
            Self::FixedWindow(window) => State::FixedWindow(window.charged(used, latest)),
            Self::SlidingWindow(window) => State::SlidingWindow(window.charged(used, latest)),
            Self::SlidingLog(log) => State::SlidingLog(log.charged(used)),
            Self::Quota(quota) => State::Quota(quota.charged(used, latest)),
            Self::DeficitBucket(bucket) => State::DeficitBucket(bucket.charged(used, latest)),
            Self::LeakyBucket(bucket) => State::LeakyBucket(bucket.charged(used, latest)),
            Self::Guard(guard) => State::Guard(guard.charged(used, latest)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::fixed_window::FixedWindow;
    use crate::algorithms::guard::Guard;
    use crate::algorithms::leaky_bucket::LeakyBucket;
    use crate::wire::decimal::Decimal;

    const NOW: EpochMs = EpochMs(50_000);

    /// The state of a key that has used so many units of a minute.
    fn used(units: u64) -> State {
        let window = Algorithm::FixedWindow(FixedWindow::new(1_000, 60_000).unwrap());
        window.check(None, units, NOW).next.unwrap()
    }

    #[test]
    fn slots_of_a_guard_that_takes_over_are_named_after_all_that_its_millisecond_can_have_named() {
        let guard = Guard::new(Some(5), None, 30_000).unwrap();
        let carried = Algorithm::Guard(guard).carried(&used(2), NOW);
        let Some(State::Guard(carried)) = carried else {
            panic!("two slots are taken");
        };
        assert_eq!(guard.in_flight(Some(&carried), NOW).slots, 2);
        for later_ms in [0, 1] {
            let taken = guard.check(Some(&carried), 1, NOW.plus(later_ms));
            let slot = guard.receipt(&taken.next.unwrap()).slot;
            assert_eq!(slot, (NOW.0 + 1) * 1_024, "{later_ms} ms later");
        }
    }

    #[test]
    fn a_queue_that_takes_over_is_full_at_most() {
        for max_queue_ms in [0.0, 500.0] {
            let queue = LeakyBucket::new(Decimal(10.0), Decimal(max_queue_ms)).unwrap();
            let carried = |units| Algorithm::LeakyBucket(queue).carried(&used(units), NOW);
            let full = State::LeakyBucket(queue.exhausted(NOW));
            assert_eq!(carried(1_000), Some(full.clone()));
            assert_eq!(carried(1) == Some(full), max_queue_ms == 0.0);
        }
    }
}
