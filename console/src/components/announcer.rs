//! A live region: what is written here is read aloud by a screen reader.

use leptos::prelude::*;

/// Speaks to who does not see the page.
#[derive(Clone, Copy)]
pub struct Announcer {
    message: RwSignal<String>,
}

impl Announcer {
    /// Silent at first.
    pub fn new() -> Self {
        Self {
            message: RwSignal::new(String::new()),
        }
    }

    /// Says it, as soon as the reader is idle.
    pub fn say(self, message: impl Into<String>) {
        self.message.set(message.into());
    }
}

impl Default for Announcer {
    fn default() -> Self {
        Self::new()
    }
}

/// Where the announcer's words stand, out of sight.
#[component]
pub fn AnnouncerRegion(
    /// Whose words.
    announcer: Announcer,
) -> impl IntoView {
    view! { <div class="unseen" role="status" aria-live="polite" data-testid="announcer">{announcer.message}</div> }
}
