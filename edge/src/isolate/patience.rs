//! A request that waits in place of a denial: who waits in which order until when is the word of
//! [`Waiters`](weir_shared::gateway::waiters); here it sleeps, and its client may go.

use weir_shared::check::{Check, Item, Target};
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::fairness::weight::Weight;
use weir_shared::gateway::waiters::{Arriving, Look, Ticket, Waiters};
use weir_shared::limits::WAITER_ASKS_MS_MIN;
use weir_shared::name::SEPARATOR;
use weir_shared::node::question::answers::At;
use weir_shared::units::EpochMs;

use super::answer::Asker;
use super::client::Client;
use super::memory::{now, with};
use super::plan::{Place, Step};
use super::question::QuestionOutcome;
use super::request::Running;
use crate::http::failure::Failure;

/// For how long a request waits, and for whom.
pub struct Patience<'a> {
    /// Its client.
    pub client: &'a Client,
    /// For how long each of its checks is waited for, by their places.
    pub wait_ms: &'a [Option<u64>],
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It is to be decided, again.
    Ask,
    /// What was decided is its answer.
    Answer,
    /// Its client has gone.
    Gone,
}

/// One request, as long as it may wait.
pub struct Wait<'a> {
    asker: &'a Asker<'a>,
    check: &'a Check,
    patience: &'a Patience<'a>,
    came_at: EpochMs,
    /// Its place in a line, and whose that is.
    ticket: Option<(Ticket, String)>,
    was_denied: bool,
    running: Option<Running>,
}

impl<'a> Wait<'a> {
    /// A request that has just come.
    pub fn new(asker: &'a Asker<'a>, check: &'a Check, patience: &'a Patience<'a>) -> Self {
        Self {
            asker,
            check,
            patience,
            came_at: now(),
            ticket: None,
            was_denied: false,
            running: None,
        }
    }

    /// Whether it was denied before.
    pub fn was_denied(&self) -> bool {
        self.was_denied
    }

    /// Has a request that comes stand in line, where others wait that come before it.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub async fn stand(&mut self) -> Result<Next, Failure> {
        for (index, item) in self.check.items.iter().enumerate() {
            let (Some(until), Some(line)) = (self.until(index), line_of(item)) else {
                continue;
            };
            let tenant = self.tenant().to_owned();
            let at = now();
            let due = self.waiters(|waiters| waiters.queued_until(&line, &tenant, at))?;
            let Some(due) = due else {
                continue;
            };
            // Who would not be asked before its time is over is denied, with the time that is true.
            return match self.enter(line, item, (due, until))? {
                true => self.turn().await,
                false => Ok(Next::Ask),
            };
        }
        Ok(Next::Ask)
    }

    /// What becomes of it after a decision.
    ///
    /// # Errors
    /// As [`Wait::stand`].
    pub async fn after(
        &mut self,
        steps: &[Step<'_>],
        outcome: &QuestionOutcome,
    ) -> Result<Next, Failure> {
        if outcome.verdict.admitted {
            return self.admitted(steps, outcome);
        }
        let denial = outcome.verdict.binding.and_then(|at| {
            let decision = outcome.answers.get(at)?.decision;
            Some((at, decision, self.retry_ms(at, &decision)?))
        });
        let Some((at, decision, retry_ms)) = denial else {
            self.leave();
            return Ok(Next::Answer);
        };
        self.was_denied = true;
        let item = &self.check.items[at.0];
        let (Some(until), Some(line)) = (self.until(at.0), line_of(item)) else {
            self.leave();
            return Ok(Next::Answer);
        };
        let due = self.due(&steps[at.0].dimensions[at.1].place, retry_ms)?;
        let same = self.ticket.as_ref().filter(|(_, of)| *of == line);
        let stays = match same.map(|(ticket, _)| ticket.clone()) {
            Some(ticket) => self.waiters(|waiters| waiters.denied(&ticket, due))?,
            None => {
                self.leave();
                self.enter(line.clone(), item, (due, until))?
            }
        };
        if !stays {
            self.leave();
            return Ok(Next::Answer);
        }
        self.tell(&line, (steps, outcome), (at, &decision))?;
        self.turn().await
    }

    /// After how long a denial may be no more; `None` of one that is not waited for.
    fn retry_ms(&self, at: At, decision: &Decision) -> Option<u64> {
        let waits = matches!(
            decision.reason,
            Reason::OverShare | Reason::CapReached | Reason::Overloaded
        );
        match decision.retry {
            Retry::AfterMs(ms) if waits && self.until(at.0).is_some() => Some(ms),
            _ => None,
        }
    }

    /// When it may be asked again: as soon as a slot is free, where that is what it waits for.
    fn due(&self, place: &Place<'_>, retry_ms: u64) -> Result<EpochMs, Failure> {
        let at = now();
        if let Place::Overload(check) = place
            && let Some(slots) = check.slots()
        {
            let left = with(self.asker.region, |view| {
                view.overload.slots(check.name).left(slots, at)
            })?;
            if left == 0 {
                return Ok(at);
            }
        }
        Ok(at.plus(retry_ms.max(WAITER_ASKS_MS_MIN)))
    }

    fn admitted(&mut self, steps: &[Step<'_>], outcome: &QuestionOutcome) -> Result<Next, Failure> {
        if let Some((ticket, line)) = self.ticket.take() {
            let mut items = self.check.items.iter();
            let index = items.position(|item| line_of(item).as_ref() == Some(&line));
            let answer = index.and_then(|index| {
                let inner = steps.get(index)?.dimensions.len().checked_sub(1)?;
                outcome.answers.get((index, inner))
            });
            let window = answer.and_then(|answer| answer.window);
            self.waiters(|waiters| waiters.admitted(&ticket, window))?;
        }
        Ok(Next::Answer)
    }

    /// Says what a denial tells of what the tenant has used. Where nobody has a part of its own it tells what all have.
    fn tell(
        &self,
        line: &str,
        (steps, outcome): (&[Step<'_>], &QuestionOutcome),
        (at, decision): (At, &Decision),
    ) -> Result<(), Failure> {
        let party = match &steps[at.0].dimensions[at.1].place {
            Place::Pool { party, .. } | Place::Budget { party, .. } => party,
            _ => return Ok(()),
        };
        let window = outcome.answers.get(at).and_then(|answer| answer.window);
        let Some(window) = window.filter(|_| party.tenant().is_some()) else {
            return Ok(());
        };
        let used = decision.limit.saturating_sub(decision.remaining);
        let tenant = self.tenant();
        self.waiters(|waiters| waiters.told(line, tenant, used, window))
    }

    fn enter(
        &mut self,
        line: String,
        item: &Item,
        (due, until): (EpochMs, EpochMs),
    ) -> Result<bool, Failure> {
        let at = now();
        let tenant = self.tenant().to_owned();
        let resolved = self.asker.loaded.policy.resolve(&tenant, at);
        let who = Arriving {
            weight: resolved.map_or(Weight::WHOLE, |resolved| resolved.weight),
            tenant,
            cost: item.cost,
            until,
            due,
        };
        let ticket = self.waiters(|waiters| waiters.enter(&line, who, at))?;
        self.ticket = ticket.map(|ticket| (ticket, line));
        Ok(self.ticket.is_some())
    }

    /// Sleeps until its turn.
    async fn turn(&mut self) -> Result<Next, Failure> {
        let Some((ticket, line)) = self.ticket.clone() else {
            return Ok(Next::Answer);
        };
        loop {
            let at = now();
            match self.look(&ticket, &line, at)? {
                Look::Ask => return Ok(Next::Ask),
                Look::Over => {
                    self.leave();
                    // One that stood in line without a denial is decided.
                    return Ok(match self.was_denied {
                        true => Next::Answer,
                        false => Next::Ask,
                    });
                }
                Look::SleepMs(ms) => {
                    let handles = self.asker.handles;
                    self.running.get_or_insert_with(|| handles.keep_running());
                    if !self.patience.client.stays_for(ms).await {
                        self.leave();
                        return Ok(Next::Gone);
                    }
                }
            }
        }
    }

    /// Whether it is its turn.
    fn look(&self, ticket: &Ticket, line: &str, at: EpochMs) -> Result<Look, Failure> {
        let policy = &self.asker.loaded.policy;
        let resource = line.strip_prefix(SEPARATOR);
        let slots = resource
            .filter(|_| self.asker.forwards && policy.enforcing)
            .and_then(|name| Some((name, policy.overload.get(name)?.slots?)));
        with(self.asker.region, |view| {
            let Some((name, slots)) = slots else {
                return view.waiters.look(ticket, at);
            };
            let taken = view.overload.slots(name);
            let free = taken.left(slots, at);
            let stock = (free, taken.changes());
            let running = |tenant: &str| taken.running(tenant);
            view.waiters.look_for_slot(ticket, stock, running, at)
        })
    }

    /// Until when a check is waited for.
    fn until(&self, index: usize) -> Option<EpochMs> {
        let wait_ms = self.patience.wait_ms.get(index).copied().flatten();
        wait_ms.map(|ms| self.came_at.plus(ms))
    }

    fn tenant(&self) -> &'a str {
        self.check.tenant.as_deref().unwrap_or_default()
    }

    fn leave(&mut self) {
        if let Some((ticket, _)) = self.ticket.take() {
            // A view that cannot be reached has no waiters either.
            let _left = self.waiters(|waiters| waiters.leave(&ticket));
        }
    }

    fn waiters<R>(&self, step: impl FnOnce(&mut Waiters) -> R) -> Result<R, Failure> {
        with(self.asker.region, |view| step(&mut view.waiters))
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The line in which those stand that wait for what an item names.
fn line_of(item: &Item) -> Option<String> {
    match &item.target {
        Target::Budget(name) => Some(name.clone()),
        Target::Overload(name) => Some(format!("{SEPARATOR}{name}")),
        _ => None,
    }
}
