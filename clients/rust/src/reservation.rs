//! What was charged before it is known what it costs.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;

use crate::answer::{Decision, Settled};
use crate::slot::{Shared, Slot, SlotLost};
use crate::weir::Weir;

/// A reservation, to be settled at the end of its scope. Clones stand for the same one.
#[derive(Clone)]
pub struct Reservation {
    slot: Shared,
    used: Arc<Mutex<Option<u64>>>,
}

impl Reservation {
    /// The decision.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        self.slot.decision()
    }

    /// Says what was used, in units: 0 to 2^53-1. The last word counts. More than was reserved is charged as debt.
    pub fn used(&self, units: u64) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Some(units);
    }

    /// Why the slot of a guard that the question named is lost; `None` while it is not, and where it named none.
    #[must_use]
    pub fn lost(&self) -> Option<SlotLost> {
        self.slot.lost()
    }

    /// Waits until that slot is lost, and says why; for ever where it never is.
    pub async fn until_lost(&self) -> SlotLost {
        self.slot.until_lost().await
    }

    fn said(&self) -> Option<u64> {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a reservation's scope. One that is dropped before, as its future was, settles in the background: to what was
/// said, else to 0.
pub(crate) struct Settling {
    weir: Weir,
    reservation: Reservation,
    units: u64,
    settled: bool,
}

impl Settling {
    /// `units` is what a settlement in full names.
    pub(crate) fn new(weir: &Weir, slot: Slot, units: u64) -> Self {
        let reservation = Reservation {
            slot: Arc::new(slot),
            used: Arc::default(),
        };
        Self {
            weir: weir.clone(),
            reservation,
            units,
            settled: false,
        }
    }

    pub(crate) fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    /// The end of a scope: to what was said, else in full where it succeeded.
    pub(crate) async fn settle(mut self, succeeded: bool) -> Option<Settled> {
        self.settled = true;
        self.ending(if succeeded { self.units } else { 0 }).await
    }

    fn ending(&self, otherwise: u64) -> impl Future<Output = Option<Settled>> + Send + 'static {
        let (weir, reservation) = (self.weir.clone(), self.reservation.clone());
        async move {
            let actual = reservation.said().unwrap_or(otherwise);
            let named = reservation.decision().reservation.clone();
            let settling = async {
                // A reservation that is not known, or whose time is over, stays charged as well.
                weir.settle(&named?, actual).await.ok().flatten()
            };
            let (settled, ()) = tokio::join!(settling, reservation.slot.release());
            settled
        }
    }
}

impl Drop for Settling {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        // Where the runtime has ended, all stays charged.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(self.ending(0));
        }
    }
}
