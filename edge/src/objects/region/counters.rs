//! Counters on their way through the region, and the rounds in which a region that was busy hands everything on.

use std::rc::Rc;

use weir_shared::limits::{CALL_MS_MAX, CONTACT_MS_MIN};
use weir_shared::wire::accounting::{FrameBody, FrameReply};
use worker::console_error;

use super::Core;
use crate::objects::binding::{Address, call};
use crate::objects::calls::TakeFrame;
use crate::objects::deadline::sleep;
use crate::objects::server::Refused;

/// Rounds of one task: what runs on after a reply ends after 30 seconds, and the next event starts another.
const ROUNDS_MAX: u32 = 40;

/// A task that was not heard of for this long is taken for dead.
const TASK_MS_MAX: u64 = 5_000;

impl Core {
    /// An isolate's counters.
    pub(super) fn receive(&self, frame: &FrameBody) -> Result<FrameReply, Refused> {
        self.with(|machine, _| {
            let (add, reply) = machine.inbox.take(frame);
            if add {
                machine.outbox.merge(&frame.counters);
            }
            reply
        })
    }

    /// Makes sure that a task hands on what there is: counters to the ledger, unneeded units to coordinators.
    pub(super) fn tend(self: &Rc<Self>) -> Result<(), Refused> {
        let start = self.with(|machine, now| {
            let start = now >= machine.tended_until;
            if start {
                machine.tended_until = now.plus(TASK_MS_MAX);
            }
            start
        })?;
        if start {
            let core = Rc::clone(self);
            self.state.wait_until(async move {
                if let Err(refused) = core.rounds().await {
                    console_error!("rounds: {}", refused.0);
                }
            });
        }
        Ok(())
    }

    async fn rounds(self: &Rc<Self>) -> Result<(), Refused> {
        for _ in 0..ROUNDS_MAX {
            sleep(CONTACT_MS_MIN).await;
            self.flush().await?;
            self.return_unneeded()?;
            let done = self.with(|machine, now| {
                let name = machine.name.as_str();
                let served = |pool: &String| {
                    let loaded = machine.policy.as_ref();
                    loaded.is_some_and(|loaded| {
                        let revision = loaded.saved.revision;
                        loaded.policy.terms(pool, name, revision).is_some()
                    })
                };
                let mut escrows = machine.escrows.iter();
                let restless = escrows.any(|(name, escrow)| served(name) && escrow.restless(now));
                let done = machine.outbox.is_empty() && !restless;
                machine.tended_until = if done { now } else { now.plus(TASK_MS_MAX) };
                done
            })?;
            if done {
                return Ok(());
            }
        }
        self.with(|machine, now| machine.tended_until = now)
    }

    async fn flush(self: &Rc<Self>) -> Result<(), Refused> {
        let (frame, name) =
            self.with(|machine, now| (machine.outbox.begin(now), machine.name.clone()))?;
        let Some(frame) = frame else {
            return Ok(());
        };
        let sequence = frame.sequence;
        let take = TakeFrame { frame };
        match call(&self.env, Address::ledger(&name), &take, CALL_MS_MAX).await {
            Ok(reply) => {
                let counted = self.with(|machine, _| machine.outbox.finish(&reply))?;
                if counted == Some(false) {
                    console_error!("the ledger of {name} gave a frame up");
                }
            }
            Err(error) => {
                console_error!("ledger of {name}: {error}");
                self.with(|machine, _| machine.outbox.fail(sequence))?;
            }
        }
        Ok(())
    }

    /// Asks or returns where a coordinator should hear of it. Nobody waits for the answer.
    fn return_unneeded(self: &Rc<Self>) -> Result<(), Refused> {
        let due = self.with(|machine, now| {
            let Some(loaded) = machine.policy.clone() else {
                return Vec::new();
            };
            let revision = loaded.saved.revision;
            let region = machine.name.as_str();
            let wanting = machine.escrows.iter_mut().filter_map(|(name, escrow)| {
                escrow.advance(now);
                escrow.wants_contact(now).then_some(name)
            });
            let known = wanting.filter_map(|name| {
                let terms = loaded.policy.terms(name, region, revision)?;
                Some((name.clone(), terms, loaded.policy.home.clone()))
            });
            known.collect::<Vec<_>>()
        })?;
        for (pool, terms, home) in due {
            let _landing = self.borrow_more(&pool, &terms, &home)?;
        }
        Ok(())
    }
}
