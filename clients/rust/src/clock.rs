//! The machine's wall clock: the client runs natively, where there is one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since the epoch.
#[expect(
    clippy::disallowed_methods,
    reason = "a native program, which has a wall clock"
)]
pub(crate) fn epoch_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    whole_ms(since.unwrap_or(Duration::ZERO))
}

/// A date of a header field (`Thu, 01 Jan 1970 00:00:02 GMT`), in milliseconds since the epoch.
pub(crate) fn date_ms(header: &str) -> Option<u64> {
    let date = httpdate::parse_http_date(header).ok()?;
    date.duration_since(UNIX_EPOCH).ok().map(whole_ms)
}

/// Whole milliseconds.
pub(crate) fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
