//! The machine's clocks. The Worker's crates take the time from their caller; the tests are such a caller.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The monotonic clock.
#[expect(
    clippy::disallowed_methods,
    reason = "a native program, which has a monotonic clock"
)]
pub fn now() -> Instant {
    Instant::now()
}

/// Milliseconds since the epoch, by the clock that the workerd of the same machine reads.
#[expect(
    clippy::disallowed_methods,
    reason = "a native program, which has a wall clock"
)]
pub fn epoch_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    since.as_millis() as u64
}
