//! How alive the figures are, and the button that stops them.

use leptos::prelude::*;

use crate::live::Phase;
use crate::live_hub::LiveHub;

/// The state in a word, what it means, and the button.
#[component]
pub fn LiveControl(
    /// Whose state.
    hub: LiveHub,
) -> impl IntoView {
    let phase = Memo::new(move |_| hub.state.get().phase);
    let detail = Memo::new(move |_| hub.state.get().detail());
    let press = move |_| match phase.get_untracked() {
        Phase::Paused => hub.resume(),
        _ => hub.pause(),
    };
    view! {
        <div class="live">
            <span class="state-lamp" data-testid="live-state" data-state=move || phase.get().slug()>
                <span class="lamp" aria-hidden="true"></span>
                <span class="word">{move || phase.get().name()}</span>
            </span>
            <button type="button" data-testid="live-toggle" on:click=press>
                {move || if phase.get() == Phase::Paused { "Resume" } else { "Pause" }}
            </button>
            {move || detail.get().map(|detail| view! { <span class="age" data-testid="live-detail">{detail}</span> })}
        </div>
    }
}
