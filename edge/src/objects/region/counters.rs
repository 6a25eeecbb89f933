//! Counters on their way through the region, and the flush task that hands everything on while a region is busy.

use std::rc::Rc;

use weir_shared::accounting::frame::{FrameOutcome, Outbox};
use weir_shared::federation::pool_name::is_budget;
use weir_shared::limits::{CALL_MS_MAX, CONTACT_MS_MIN};
use weir_shared::node::escrow::Event;
use weir_shared::node::pool::Event as PoolEvent;
use weir_shared::units::{EpochMs, HolderId};
use weir_shared::wire::accounting::{FrameBody, FrameReply};
use weir_shared::wire::count::Count;
use weir_shared::wire::exchange::ReplyBody;
use weir_shared::wire::windows::{WindowPart, WindowParts};
use worker::console_error;

use super::{Core, Machine};
use crate::objects::binding::{Address, call};
use crate::objects::calls::TakeFrame;
use crate::objects::deadline::sleep;
use crate::objects::server::Refused;
use crate::objects::{telemetry, usage};

/// Rounds of one task: what runs on after a reply ends after 30 seconds, and the next event starts another.
const ROUNDS_MAX: u32 = 40;

/// The region's ledger is told once in so many rounds: each frame is two rows of it, one written and one dropped.
const FRAME_ROUNDS: u32 = 2;

/// Home is told what was used of overloaded resources once in so many rounds.
const SHARE_ROUNDS: u32 = 2;

/// The ledger at home is told of windows once in so many rounds: it hears every region.
const WINDOW_ROUNDS: u32 = 4;

/// A task that was not heard of for this long is taken for dead.
const TASK_MS_MAX: u64 = 5_000;

impl Core {
    /// An isolate's counters.
    pub(super) fn receive(&self, frame: &FrameBody) -> Result<FrameReply, Refused> {
        self.with(|machine, _| {
            let (add, reply) = machine.inbox.take(frame);
            if add {
                machine.accountable.told(frame.sender, &frame.windows);
                machine.forward(frame);
            }
            reply
        })
    }

    /// Makes sure that a task hands on what there is: counters to the ledger, unneeded units to coordinators.
    pub(super) fn schedule_flush(self: &Rc<Self>) -> Result<(), Refused> {
        let start = self.with(|machine, now| {
            let start = now >= machine.flushing_until;
            if start {
                machine.flushing_until = now.plus(TASK_MS_MAX);
            }
            start
        })?;
        if start {
            let core = Rc::clone(self);
            self.state.wait_until(async move {
                if let Err(refused) = core.flush_task().await {
                    console_error!("flush task: {}", refused.0);
                }
            });
        }
        Ok(())
    }

    async fn flush_task(self: &Rc<Self>) -> Result<(), Refused> {
        let mut telling = !self.hubs.is_empty();
        for round in 0..ROUNDS_MAX {
            sleep(CONTACT_MS_MIN).await;
            self.with(Machine::note_lapsed)?;
            if self.with(|machine, _| machine.is_branch())? {
                telling = self.tell_above().await?;
            } else {
                self.branch_out()?;
                telling = self.tell(round).await?.unwrap_or(telling);
            }
            self.return_unneeded()?;
            let done = self.with(|machine, now| {
                let name = machine.region.as_str();
                let served = |pool: &String| {
                    let loaded = machine.rules.policy();
                    loaded.is_some_and(|loaded| {
                        let revision = loaded.saved.revision;
                        loaded.policy.terms(pool, name, revision, now).is_some()
                    })
                };
                let mut escrows = machine.escrows.iter();
                let has_unsent = escrows.any(|(name, node)| {
                    let escrow = node.escrow();
                    served(name)
                        && (escrow.has_unsent(now) || is_budget(name) && escrow.lapsing(now))
                });
                let sent = machine.outbox.is_empty() && machine.windows.is_empty();
                let told = sent
                    && machine.settlements.settled().is_told()
                    && !machine.accountable.has_unsent(now);
                let done = told && !has_unsent && !telling;
                machine.flushing_until = if done { now } else { now.plus(TASK_MS_MAX) };
                done
            })?;
            if done {
                return self.rest();
            }
        }
        self.with(|machine, now| machine.flushing_until = now)
    }

    /// Tells the ledgers and the hub at home what it is time for in this round; of the hub, whether there was anything to
    /// tell.
    async fn tell(self: &Rc<Self>, round: u32) -> Result<Option<bool>, Refused> {
        let mut telling = None;
        if round % FRAME_ROUNDS == FRAME_ROUNDS - 1 {
            self.flush().await?;
            self.flush_settled().await?;
        }
        if round % SHARE_ROUNDS == SHARE_ROUNDS - 1 {
            telling = Some(self.flush_shares().await?);
        }
        if round % WINDOW_ROUNDS == WINDOW_ROUNDS - 1 {
            self.flush_windows().await?;
        }
        Ok(telling)
    }

    /// Writes exactly what is lent of budgets, as the object may fall asleep: the records of their windows shall be exact
    /// all the same.
    fn rest(self: &Rc<Self>) -> Result<(), Refused> {
        let (escrows, own) = self.with(|machine, _| {
            let budgets = machine.escrows.keys().filter(|pool| is_budget(pool));
            let budgets: Vec<String> = budgets.cloned().collect();
            (budgets, machine.own.keys().cloned().collect::<Vec<_>>())
        })?;
        for pool in escrows {
            self.run_escrow(&pool, Event::Rest)?;
        }
        for pool in own {
            self.run_own(&pool, PoolEvent::Rest)?;
        }
        Ok(())
    }

    async fn flush(self: &Rc<Self>) -> Result<(), Refused> {
        let (frame, name) = self.with(|machine, now| {
            if !machine.outbox.is_empty() {
                machine.outbox.pending().used(&usage::drain());
                machine.outbox.pending().observed(&telemetry::drain());
            }
            (machine.outbox.begin(now), machine.name.clone())
        })?;
        let Some(frame) = frame else {
            return Ok(());
        };
        self.send(Address::ledger(&name), frame, |machine| &mut machine.outbox)
            .await
    }

    async fn flush_windows(self: &Rc<Self>) -> Result<(), Refused> {
        let begun = self.with(|machine, now| {
            let home = machine.rules.policy()?.policy.home.clone();
            Some((machine.windows.begin(now)?, home))
        })?;
        let Some((frame, home)) = begun else {
            return Ok(());
        };
        self.send(Address::ledger(&home), frame, |machine| {
            &mut machine.windows
        })
        .await
    }

    async fn send(
        self: &Rc<Self>,
        ledger: Address<'_>,
        frame: FrameBody,
        outbox: fn(&mut Machine) -> &mut Outbox,
    ) -> Result<(), Refused> {
        let sequence = frame.sequence;
        let take = TakeFrame { frame };
        match call(&self.env, ledger, &take, CALL_MS_MAX).await {
            Ok(reply) => {
                let outcome = self.with(|machine, _| outbox(machine).finish(&reply))?;
                if outcome == Some(FrameOutcome::GivenUp) {
                    console_error!("a ledger gave a frame up");
                }
            }
            Err(error) => {
                console_error!("ledger: {error}");
                self.with(|machine, _| outbox(machine).fail(sequence))?;
            }
        }
        Ok(())
    }

    /// Asks or returns where a coordinator should hear of it. Nobody waits for the answer.
    fn return_unneeded(self: &Rc<Self>) -> Result<(), Refused> {
        let due = self.with(|machine, now| {
            let Some(loaded) = machine.rules.policy().cloned() else {
                return Vec::new();
            };
            let revision = loaded.saved.revision;
            let region = machine.region.as_str();
            let nodes = machine.escrows.iter_mut();
            let wanting = nodes.filter_map(|(name, node)| node.wants_contact(now).then_some(name));
            let known = wanting.filter_map(|name| {
                let terms = loaded.policy.terms(name, region, revision, now)?;
                Some((name.clone(), terms))
            });
            known.collect::<Vec<_>>()
        })?;
        for (pool, terms) in due {
            self.run_escrow(&pool, Event::Flush { terms })?;
        }
        Ok(())
    }
}

impl Machine {
    /// Passes a frame on: what it tells of windows of the whole deployment goes to the ledger at home, which so knows all of
    /// each; everything else to the region's own. A branch passes it on as it is.
    fn forward(&mut self, frame: &FrameBody) {
        if self.is_branch() {
            return self.outbox.forward(frame);
        }
        let mut frame = frame.clone();
        self.tell_windows(std::mem::take(&mut frame.windows));
        self.outbox.forward(&frame);
    }

    fn tell_windows(&mut self, parts: WindowParts) {
        if self.is_branch() {
            return self.outbox.pending().merge_windows(&parts);
        }
        let policy = self.rules.policy().map(|loaded| Rc::clone(&loaded.policy));
        for (budget, mut labels) in parts {
            let own = policy
                .as_ref()
                .is_some_and(|policy| policy.region_owns(&budget));
            if own {
                for part in labels.values_mut() {
                    part.region = Some(self.region.clone());
                }
            }
            let outbox = if own {
                &mut self.outbox
            } else {
                &mut self.windows
            };
            outbox
                .pending()
                .merge_windows(&WindowParts::from([(budget, labels)]));
        }
    }

    /// Takes note of what lapsed here unlent.
    fn note_lapsed(&mut self, now: EpochMs) {
        let mut parts = WindowParts::new();
        let budgets = self.escrows.iter_mut().filter(|(name, _)| is_budget(name));
        for (name, node) in budgets {
            for (label, units) in node.escrow_mut().take_lapsed(now) {
                let part = WindowPart {
                    lapsed: Count(units.into()),
                    ..WindowPart::default()
                };
                parts.entry(name.clone()).or_default().insert(label, part);
            }
        }
        for parts in [parts, self.accountable.lost(now)] {
            if !parts.is_empty() {
                self.tell_windows(parts);
            }
        }
    }

    /// Takes note of what an isolate has of a budget's windows, now that it was answered.
    pub(super) fn note_held(
        &mut self,
        pool: &str,
        isolate: HolderId,
        reply: &ReplyBody,
        now: EpochMs,
    ) {
        if !is_budget(pool) {
            return;
        }
        let ahead = reply.ahead.iter();
        let ahead = ahead.map(|ahead| (ahead.label, ahead.ends_ms));
        let open = (reply.window.label, reply.window.remaining_ms);
        for (label, ends_ms) in std::iter::once(open).chain(ahead) {
            let own = self
                .own
                .get(pool)
                .map(|node| node.pool().held_by(isolate, label));
            let escrow = self.escrows.get(pool);
            let escrow = escrow.map(|node| node.escrow().held_by(isolate, label));
            if let Some(held) = own.or(escrow) {
                let ends_at = now.plus(ends_ms);
                self.accountable
                    .holds((pool, label), ends_at, isolate, held);
            }
        }
    }
}
