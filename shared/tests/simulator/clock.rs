//! The clock of one part: true time with an offset, clamped or raw.

use weir_shared::clock::MonotonicClock;
use weir_shared::units::EpochMs;

/// One life's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) offset_ms: i64,
    clamp: Option<MonotonicClock>,
}

impl Clock {
    pub(crate) fn new(offset_ms: i64, clamped: bool) -> Self {
        Self {
            offset_ms,
            clamp: clamped.then(MonotonicClock::default),
        }
    }

    /// What the clock says at `true_ms`.
    pub(crate) fn read(&mut self, true_ms: u64) -> EpochMs {
        let said = EpochMs(true_ms.saturating_add_signed(self.offset_ms));
        match self.clamp.as_mut() {
            Some(clamp) => clamp.read(said),
            None => said,
        }
    }
}
