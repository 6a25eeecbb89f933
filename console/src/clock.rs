//! The browser's clocks, and what the server's says.

use std::cell::Cell;

/// Milliseconds since the page was loaded: no step, whatever happens to the machine's clock.
pub fn now_ms() -> u64 {
    leptos::prelude::window()
        .performance()
        .map_or(0, |performance| performance.now() as u64)
}

/// Epoch milliseconds, by the machine's clock.
pub fn epoch_ms() -> u64 {
    js_sys::Date::now() as u64
}

thread_local! {
    static AHEAD_MS: Cell<Option<i64>> = const { Cell::new(None) };
}

/// Takes note of the server's time, as an answer says it.
pub fn heard(server_ms: u64) {
    AHEAD_MS.set(Some(epoch_ms() as i64 - server_ms as i64));
}

/// The time that a `Date` header says.
pub fn parsed(date: &str) -> Option<u64> {
    let epoch_ms = js_sys::Date::parse(date);
    epoch_ms.is_finite().then_some(epoch_ms as u64)
}

/// How far the machine's clock is ahead of the server's, to within a second or two; none before the first answer.
pub fn ahead_ms() -> Option<i64> {
    AHEAD_MS.get()
}

/// Epoch milliseconds, by the server's clock as far as it is known.
pub fn server_ms() -> u64 {
    epoch_ms().saturating_add_signed(-ahead_ms().unwrap_or(0))
}

/// Minutes that the machine's time zone is ahead of UTC at an instant.
pub fn local_offset_minutes(epoch_ms: u64) -> i32 {
    let date = js_sys::Date::new(&(epoch_ms as f64).into());
    -date.get_timezone_offset() as i32
}
