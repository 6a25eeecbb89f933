//! Short messages of what happened.

use std::time::Duration;

use leptos::leptos_dom::helpers::TimeoutHandle;
use leptos::prelude::*;

use crate::api::error::ApiError;
use crate::clock;
use crate::toast::{DONE_MS, Kind, ToastQueue};

/// Says what happened.
#[derive(Clone, Copy)]
pub struct Toasts {
    /// Those that stand.
    pub queue: RwSignal<ToastQueue>,
    timer: StoredValue<Option<TimeoutHandle>>,
}

impl Toasts {
    /// None yet.
    pub fn new() -> Self {
        Self {
            queue: RwSignal::new(ToastQueue::default()),
            timer: StoredValue::new(None),
        }
    }

    /// Says that something was done.
    pub fn say(self, text: impl Into<String>) {
        self.push(Kind::Done, text.into());
    }

    /// Says what did not work, why, and what to do.
    pub fn fail(self, error: &ApiError) {
        let text = format!("{}. {} {}", error.title(), error.detail(), error.advice());
        self.push(Kind::Failed, text);
    }

    fn push(self, kind: Kind, text: String) {
        self.queue
            .update(|queue| queue.push(kind, &text, clock::now_ms()));
        if kind == Kind::Done {
            self.wait();
        }
    }

    /// Takes one away.
    pub fn dismiss(self, number: u64) {
        self.queue.update(|queue| queue.dismiss(number));
    }

    /// Lets what was done go by itself.
    pub fn wait(self) {
        // A timer may fire a little before its time.
        let after = Duration::from_millis(DONE_MS + 50);
        let expire = move || {
            self.queue.try_update(|queue| queue.expire(clock::now_ms()));
        };
        self.hold();
        self.timer
            .set_value(set_timeout_with_handle(expire, after).ok());
    }

    /// Lets what stands stay for as long as somebody is at it.
    pub fn hold(self) {
        if let Some(handle) = self.timer.try_update_value(Option::take).flatten() {
            handle.clear();
        }
    }
}

impl Default for Toasts {
    fn default() -> Self {
        Self::new()
    }
}
