//! A clock that never runs backwards inside one state.

use crate::limits::CLOCK_STEP_MS_MAX;
use crate::units::EpochMs;

/// Clamps what the platform's clock says: a step back is read as standing still. A step of more than a minute back
/// means that the clock was wrong before: it is followed, as standing still for so long would be worse than any
/// state that was made meanwhile.
///
/// ```
/// use weir_core::clock::MonotonicClock;
/// use weir_core::units::EpochMs;
/// let mut clock = MonotonicClock::default();
/// assert_eq!(clock.read(EpochMs(1_000)), EpochMs(1_000));
/// assert_eq!(clock.read(EpochMs(400)), EpochMs(1_000));
/// assert_eq!(clock.read(EpochMs(1_001)), EpochMs(1_001));
/// assert_eq!(clock.read(EpochMs(3_600_000)), EpochMs(3_600_000));
/// assert_eq!(clock.read(EpochMs(2_000)), EpochMs(2_000));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct MonotonicClock {
    latest: EpochMs,
}

impl MonotonicClock {
    /// The later of `now` and what was read before, unless that lies more than a minute ahead.
    pub fn read(&mut self, now: EpochMs) -> EpochMs {
        if now > self.latest || self.latest.since(now) > CLOCK_STEP_MS_MAX {
            self.latest = now;
        }
        self.latest
    }
}
