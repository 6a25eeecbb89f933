//! A state that the rules of another limit wrote, carried over to the present ones.

use weir_core::units::EpochMs;

use super::used::Used;
use super::{Algorithm, State};

/// How the states of an algorithm outlive a change of its numbers, or of the algorithm itself.
pub(super) trait Carry {
    /// What it keeps of a key.
    type State: CarriedState;

    /// Whether a state of it is decided on as it is: what other numbers of the same algorithm count in units, counts for
    /// no shorter than by either until it is carried over.
    #[inline]
    fn reads(&self, _state: &Self::State) -> bool {
        true
    }

    /// Whether a state of it counts by these numbers as it is. What a bucket lacks does by any: it is paid back at the
    /// rate in force.
    fn owns(&self, state: &Self::State) -> bool {
        self.reads(state)
    }

    /// The state of a key that was cold and is charged what was used, the last of it at `latest`, up to all that it
    /// admits.
    fn charged(&self, used: &Used, latest: EpochMs) -> Self::State;
}

/// What a state says by itself, whatever the numbers of the limit.
pub(super) trait CarriedState {
    /// What was used, at `now`.
    fn used(&self, now: EpochMs) -> Used;

    /// The state of the same limit counted in parts of `1 / to` of a unit instead of `1 / from`. What was used is rounded
    /// up.
    fn rescaled(&self, from: u64, to: u64) -> Self;
}

impl Algorithm {
    /// The state to keep in the place of one that rules of other numbers, or of another algorithm, wrote: it is charged
    /// what that one says was used, and counts by these rules from now on. `None` for one that is kept as it is.
    ///
    /// A window that was long is closed early so: what was used in it counts until the end of the present, shorter one.
    ///
    /// ```
    /// use weir_algorithms::Algorithm;
    /// use weir_algorithms::fixed_window::FixedWindow;
    /// use weir_core::units::EpochMs;
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
}

#[cfg(test)]
mod tests {
    use weir_wire::decimal::Decimal;

    use super::*;
    use crate::fixed_window::FixedWindow;
    use crate::guard::Guard;
    use crate::leaky_bucket::LeakyBucket;

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
