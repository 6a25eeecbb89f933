//! What a screen reader reads aloud.

use leptos::prelude::*;

use crate::visible::visible;

/// Speaks to who does not see the page.
#[derive(Clone, Copy)]
pub struct Announcer {
    /// What was said last.
    pub message: RwSignal<String>,
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
        self.message.set(visible(&message.into()));
    }
}

impl Default for Announcer {
    fn default() -> Self {
        Self::new()
    }
}
