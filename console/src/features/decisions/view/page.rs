//! The live tail of decisions.

use leptos::prelude::*;

use crate::components::shell::Shell;
use crate::features::decisions::view::Tail;
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};

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
    let part = fetch_part(fetch);
    view! { <Shell title="Decisions" actions=toggle>{shown_with(part, move || content(paused))}</Shell> }
}

lazy!(
    figures,
    fetch,
    fn content(paused: RwSignal<bool>) {
        view! { <Tail paused/> }
    }
);
