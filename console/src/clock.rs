//! The browser's clocks.

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
