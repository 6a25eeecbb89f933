//! The alarm of an object: set once, until it rings.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use worker::{State, console_error};

/// An object's only alarm.
pub(super) struct Alarm {
    state: Rc<State>,
    is_set: Cell<bool>,
}

impl Alarm {
    pub(super) fn new(state: Rc<State>) -> Self {
        let is_set = Cell::default();
        Self { state, is_set }
    }

    /// Sets it for so many milliseconds ahead, unless it is set already.
    pub(super) async fn set(&self, after_ms: u64) {
        if self.is_set.replace(true) {
            return;
        }
        let offset = Duration::from_millis(after_ms);
        if let Err(error) = self.state.storage().set_alarm(offset).await {
            console_error!("alarm: {error}");
            self.is_set.set(false);
        }
    }

    /// It rings: who still needs it sets it again.
    pub(super) fn rang(&self) {
        self.is_set.set(false);
    }
}
