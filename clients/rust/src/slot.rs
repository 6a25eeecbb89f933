//! A slot of a guard: one call at a time of those that a tenant may have open.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::answer::Decision;
use crate::clock::{epoch_ms, whole_ms};
use crate::error::WeirError;
use crate::schedule::{lease_ms, renewal};
use crate::weir::Weir;

/// Why a slot is lost: another may have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotLost {
    why: &'static str,
    /// What was said of the last renewal, where there was an error.
    pub cause: Option<WeirError>,
}

impl fmt::Display for SlotLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why)
    }
}

impl Error for SlotLost {}

/// A slot that is renewed at a third of its lease until it is released or dropped. It is lost when Weir refuses to renew it,
/// or when its lease passes while Weir is out of reach. What it guards should stop then, for another may have the slot.
pub struct Slot {
    decision: Decision,
    lost: watch::Receiver<Option<SlotLost>>,
    keeping: Option<Keeping>,
}

/// How a slot is kept and given back.
struct Keeping {
    weir: Weir,
    guard: String,
    slot: String,
    renewing: JoinHandle<()>,
    released: AtomicBool,
}

impl Slot {
    /// `date_ms` is Weir's clock at the decision.
    pub(crate) fn new(weir: &Weir, guard: &str, decision: Decision, date_ms: Option<u64>) -> Self {
        let (losing, lost) = watch::channel(None);
        let keeping = decision.slot.clone().map(|slot| {
            let renewal = Renewal {
                weir: weir.clone(),
                guard: guard.to_owned(),
                slot: slot.clone(),
                lost: losing,
            };
            let lease = Lease::of(decision.expires_at, date_ms);
            Keeping {
                weir: weir.clone(),
                guard: guard.to_owned(),
                slot,
                renewing: tokio::spawn(renewal.run(lease)),
                released: AtomicBool::new(false),
            }
        });
        Self {
            decision,
            lost,
            keeping,
        }
    }

    /// The decision.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Whether the request may pass.
    #[must_use]
    pub fn allowed(&self) -> bool {
        self.decision.allowed
    }

    /// Why the slot is lost; `None` while it is not, and where there is none.
    #[must_use]
    pub fn lost(&self) -> Option<SlotLost> {
        self.lost.borrow().clone()
    }

    /// Waits until the slot is lost, and says why; for ever where it never is.
    pub async fn until_lost(&self) -> SlotLost {
        let mut lost = self.lost.clone();
        let why = match lost.wait_for(Option::is_some).await {
            Ok(why) => why.clone(),
            // It was released, or never taken.
            Err(_) => None,
        };
        match why {
            Some(why) => why,
            None => std::future::pending().await,
        }
    }

    /// Gives the slot back; a second call changes nothing. Where Weir cannot be told, the slot lapses with its lease. A slot
    /// that is dropped is given back in the background.
    pub async fn release(&self) {
        if let Some(giving) = self.giving() {
            giving.await;
        }
    }

    /// What gives the slot back, the first time that it is asked for; `None` where there is nothing to give back.
    fn giving(&self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let keeping = self.keeping.as_ref()?;
        if keeping.released.swap(true, Ordering::Relaxed) {
            return None;
        }
        keeping.renewing.abort();
        // What is lost is not ours to give back.
        if self.lost.borrow().is_some() {
            return None;
        }
        let (weir, guard, slot) = (
            keeping.weir.clone(),
            keeping.guard.clone(),
            keeping.slot.clone(),
        );
        Some(async move {
            // It is gone at the end of its lease in any case.
            let _told = weir.release(&guard, &slot).await;
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // Where the runtime has ended, the slot lapses.
        if let (Some(giving), Ok(runtime)) = (self.giving(), Handle::try_current()) {
            runtime.spawn(giving);
        }
    }
}

/// How long a slot is held unless it is renewed.
struct Lease {
    every: std::time::Duration,
    ends: Instant,
}

impl Lease {
    fn of(expires_at: Option<u64>, date_ms: Option<u64>) -> Self {
        let now_ms = epoch_ms();
        let every = renewal(lease_ms(expires_at.unwrap_or(now_ms), date_ms, now_ms));
        Self {
            every,
            ends: Instant::now() + 3 * every,
        }
    }

    fn left(&self) -> std::time::Duration {
        self.ends.saturating_duration_since(Instant::now())
    }
}

struct Renewal {
    weir: Weir,
    guard: String,
    slot: String,
    lost: watch::Sender<Option<SlotLost>>,
}

impl Renewal {
    async fn run(self, mut lease: Lease) {
        let mut wait = lease.every;
        let lost = loop {
            sleep(wait).await;
            let may_take_ms = whole_ms(lease.left()).max(1);
            match self.weir.renew(&self.guard, &self.slot, may_take_ms).await {
                Ok(answered) if answered.value.held => {
                    lease = Lease::of(answered.value.expires_at, answered.date_ms());
                    wait = lease.every;
                }
                Ok(_) => break lost("The slot had lapsed.", None),
                Err(error) if !error.unreachable() => {
                    break lost("The slot was not renewed.", Some(error));
                }
                Err(error) if lease.left().is_zero() => {
                    break lost("The lease passed without an answer.", Some(error));
                }
                Err(_) => wait = lease.every.min(lease.left()),
            }
        };
        self.lost.send_replace(Some(lost));
    }
}

fn lost(why: &'static str, cause: Option<WeirError>) -> SlotLost {
    SlotLost { why, cause }
}

/// A slot that several hold: it is given back by the last.
pub(crate) type Shared = Arc<Slot>;
