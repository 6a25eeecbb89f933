//! The one agent of the program: its state, what wakes whom, and the time.

use std::cell::{Cell, RefCell};

use tokio::sync::Notify;
use weir_shared::clock::MonotonicClock;
use weir_shared::units::{EpochMs, HolderId};

use crate::clock;
use crate::state::State;

/// The agent.
#[derive(Debug)]
pub struct Agent {
    state: RefCell<State>,
    clock: RefCell<MonotonicClock>,
    /// Something is to be sent, or the agent ends.
    pub to_send: Notify,
    /// Something came of a contact: whoever waits looks for its answer.
    pub heard: Notify,
    closing: Cell<bool>,
}

impl Agent {
    /// A new life of an agent, in a region or in the nearest.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn new(region: Option<String>) -> Result<Self, getrandom::Error> {
        let id = HolderId(getrandom::u64()?);
        Ok(Self {
            state: RefCell::new(State::new(id, region)),
            clock: RefCell::default(),
            to_send: Notify::new(),
            heard: Notify::new(),
            closing: Cell::new(false),
        })
    }

    /// The present time, never before an earlier reading.
    pub fn now(&self) -> EpochMs {
        self.clock.borrow_mut().read(clock::epoch())
    }

    /// One step on the state. Nothing in `step` may call back into this.
    pub fn with<R>(&self, step: impl FnOnce(&mut State) -> R) -> R {
        step(&mut self.state.borrow_mut())
    }

    /// The agent ends: what it holds goes back.
    pub fn close(&self) {
        self.closing.set(true);
        let now = self.now();
        self.with(|state| state.close(now));
        self.to_send.notify_one();
    }

    /// Whether it ends.
    pub fn is_closing(&self) -> bool {
        self.closing.get()
    }
}
