//! An icon beside a word.

use leptos::prelude::*;

use crate::icon::Icon;

/// An icon, which says nothing that the word beside it does not.
#[component]
pub fn IconView(
    /// Which.
    icon: Icon,
) -> impl IntoView {
    view! {
        <svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=icon.path()></path></svg>
    }
}
