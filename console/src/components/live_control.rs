//! How alive the figures are, and the button that stops them.

use leptos::prelude::*;

use crate::format;
use crate::live::{LiveState, Phase};

/// The state in words, with the age of the figures unless they are live.
#[component]
pub fn LiveControl(
    /// What to show.
    #[prop(into)]
    state: Signal<LiveState>,
    /// The user wants the figures to stop.
    pause: Callback<()>,
    /// The user wants them to go on.
    resume: Callback<()>,
) -> impl IntoView {
    let phase = Memo::new(move |_| state.get().phase);
    let age = move || {
        let age_s = state.get().age_s?;
        Some(
            view! { <span class="age">"figures are "{format::duration(age_s * 1_000)}" old"</span> },
        )
    };
    let press = move |_| match phase.get_untracked() {
        Phase::Paused => resume.run(()),
        _ => pause.run(()),
    };
    view! {
        <div class="live">
            <span class="state" data-testid="live-state" data-state=move || phase.get().slug()>
                <span class="lamp" aria-hidden="true"></span>
                {move || phase.get().name()}
            </span>
            {age}
            <button type="button" data-testid="live-toggle" on:click=press>
                {move || if phase.get() == Phase::Paused { "Resume" } else { "Pause" }}
            </button>
        </div>
    }
}
