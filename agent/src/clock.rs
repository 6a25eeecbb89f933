//! The machine's clock: the agent runs natively, where it is at hand.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weir_shared::units::EpochMs;

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
