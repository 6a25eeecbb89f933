//! Instants on the page: in the zone that is preferred, or as an age by the server's clock.

use std::time::Duration;

use leptos::prelude::*;

use crate::clock;
use crate::context::Console;
use crate::instant::{TimeZone, age, date_time, rfc3339};
use crate::preferences::Zone;

/// An age is counted anew this often.
const AGE_EVERY_MS: u64 = 5_000;

/// The zone that times are shown in.
pub fn use_time_zone() -> Signal<TimeZone> {
    let console = use_context::<Console>();
    let zone = console.map(|console| console.preferences.zone);
    Signal::derive(move || match zone.map(|zone| zone.get()) {
        Some(Zone::Local) => TimeZone::local(clock::local_offset_minutes),
        _ => TimeZone::UTC,
    })
}

/// The time by the server's clock, read anew every `every_ms`.
pub fn use_server_clock(every_ms: u64) -> Signal<u64> {
    let now_ms = RwSignal::new(clock::server_ms());
    let tick = move || {
        now_ms.try_set(clock::server_ms());
    };
    if let Ok(ticking) = set_interval_with_handle(tick, Duration::from_millis(every_ms)) {
        on_cleanup(move || ticking.clear());
    }
    now_ms.into()
}

/// A date and a time.
#[component]
pub fn Time(
    /// The instant.
    #[prop(into)]
    at: Signal<u64>,
) -> impl IntoView {
    let zone = use_time_zone();
    view! {
        <time class="time" datetime=move || rfc3339(at.get())>
            {move || date_time(at.get(), zone.get())}
        </time>
    }
}

/// How long ago. The instant itself is what is shown on pointing at it.
#[component]
pub fn Age(
    /// The instant.
    #[prop(into)]
    at: Signal<u64>,
) -> impl IntoView {
    let zone = use_time_zone();
    let now_ms = use_server_clock(AGE_EVERY_MS);
    let text = Memo::new(move |_| {
        // The server's clock is known better with each answer, and an answer brings what is not yet a tick old.
        let now_ms = now_ms.get().max(clock::server_ms());
        age(at.get(), now_ms)
    });
    view! {
        <time
            class="time"
            datetime=move || rfc3339(at.get())
            title=move || date_time(at.get(), zone.get())
        >
            {move || text.get()}
        </time>
    }
}
