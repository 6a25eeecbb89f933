//! The live tail of decisions.

use leptos::prelude::*;

use crate::components::decisions::Tail;
use crate::components::shell::Shell;

/// The page.
#[component]
pub fn DecisionsPage() -> impl IntoView {
    let paused = RwSignal::new(false);
    let toggle = move || {
        view! {
            <button type="button" class="head-action" data-testid="tail-toggle" on:click=move |_| paused.update(|paused| *paused = !*paused)>
                {move || if paused.get() { "Resume the list" } else { "Pause the list" }}
            </button>
        }
    };
    view! {
        <Shell title="Decisions" actions=toggle>
            <Tail paused/>
        </Shell>
    }
}
