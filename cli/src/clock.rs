//! The machine's clocks: the command runs natively, where both are at hand.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weir_shared::units::EpochMs;

/// The monotonic clock.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "a native program, which has a monotonic clock"
)]
pub fn now() -> Instant {
    Instant::now()
}

/// The wall clock.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "a native program, which has a wall clock"
)]
pub fn epoch() -> EpochMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    EpochMs(since.unwrap_or(Duration::ZERO).as_millis() as u64)
}
