//! A clock that never runs backwards inside one state.

use crate::units::EpochMs;

/// Clamps what the platform's clock says: a step back is read as standing still.
///
/// ```
/// use weir_shared::clock::MonotonicClock;
/// use weir_shared::units::EpochMs;
/// let mut clock = MonotonicClock::default();
/// assert_eq!(clock.read(EpochMs(1_000)), EpochMs(1_000));
/// assert_eq!(clock.read(EpochMs(400)), EpochMs(1_000));
/// assert_eq!(clock.read(EpochMs(1_001)), EpochMs(1_001));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct MonotonicClock {
    latest: EpochMs,
}

impl MonotonicClock {
    /// The later of `now` and everything read before.
    pub fn read(&mut self, now: EpochMs) -> EpochMs {
        self.latest = self.latest.max(now);
        self.latest
    }
}
