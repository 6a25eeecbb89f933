//! A state in a word.

use leptos::prelude::*;

use crate::health::Health;

/// A state in a word, with what it means.
#[component]
pub fn HealthWord(
    /// How it is.
    health: Health,
) -> impl IntoView {
    view! {
        <span class=health.class() title=health.meaning()><span class="dot" aria-hidden="true"></span>{health.words()}</span>
    }
}
