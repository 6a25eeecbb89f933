//! An origin that serves so many requests at once.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Origin, locked};
use crate::clock;

/// What becomes of requests that come while all slots are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// They are answered with 503.
    Refused,
    /// They are served in the order in which they came.
    Queued,
}

/// From when to when a request was served.
pub type Served = (Instant, Instant);

/// The slots of an origin, where it has any.
#[derive(Debug, Default)]
pub(super) struct Slots {
    taken: Mutex<Option<(Arc<Semaphore>, Beyond)>>,
    spans: Mutex<Vec<Served>>,
}

/// A slot that is taken, since when.
pub(super) type Taken = Option<(OwnedSemaphorePermit, Instant)>;

impl Slots {
    /// Takes one, where there are any; none to be had is an error.
    pub(super) async fn take(&self) -> Result<Taken, ()> {
        let slots = locked(&self.taken).clone();
        let slot = match slots {
            None => return Ok(None),
            Some((slots, Beyond::Refused)) => slots.try_acquire_owned().map_err(|_| ())?,
            Some((slots, Beyond::Queued)) => slots.acquire_owned().await.map_err(|_| ())?,
        };
        Ok(Some((slot, clock::now())))
    }

    /// Frees one.
    pub(super) fn served(&self, taken: Taken) {
        if let Some((_slot, since)) = taken {
            locked(&self.spans).push((since, clock::now()));
        }
    }
}

impl Origin {
    /// Serves so many at once from now on.
    pub fn slots(&self, slots: usize, beyond: Beyond) {
        *locked(&self.state.slots.taken) = Some((Arc::new(Semaphore::new(slots)), beyond));
    }

    /// When requests were served, since they have slots.
    pub fn spans(&self) -> Vec<Served> {
        locked(&self.state.slots.spans).clone()
    }
}
