//! A live region: what is written here is read aloud by a screen reader.

use leptos::prelude::*;

use crate::context::announcer::Announcer;

/// Where the announcer's words stand, out of sight.
#[component]
pub fn AnnouncerRegion(
    /// Whose words.
    announcer: Announcer,
) -> impl IntoView {
    view! { <div class="unseen" role="status" aria-live="polite" data-testid="announcer">{announcer.message}</div> }
}
