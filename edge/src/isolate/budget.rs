//! A check of a budget: from the balance without waiting, else by one exchange with the region.

use futures_channel::oneshot;
use weir_shared::accounting::counters::Charged;
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::federation::holder::{Need, Outlook, Ticket};
use weir_shared::limits::DECIDE_WAIT_MS_MAX;
use weir_shared::policy::budget::Budget;
use weir_shared::units::{EpochMs, WindowLabel};

use super::contact::{start, tend};
use super::region::{Loaded, RegionView};
use super::request::RequestHandles;
use super::{now, with};
use crate::http::failure::Failure;
use crate::objects::deadline::{sleep, within};

/// How long a request sleeps before it looks at the balance again, while another request's exchange is under way.
const LOOK_MS_FIRST: u64 = 1;
const LOOK_MS_MAX: u64 = 16;

/// One check of one budget.
pub struct BudgetCheck<'a> {
    /// The region that decides.
    pub region: &'a str,
    /// The policy in force.
    pub loaded: &'a Loaded,
    /// The budget's name.
    pub name: &'a str,
    /// Its terms.
    pub budget: &'a Budget,
    /// Who asks.
    pub tenant: &'a str,
    /// Units to charge; 0 looks.
    pub cost: u64,
}

/// A decision, and the window it was charged to.
pub type Decided = (Decision, Option<WindowLabel>);

impl BudgetCheck<'_> {
    /// Decides, counts, and leaves behind what has to be told to the region.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub async fn decide(&self, handles: &RequestHandles) -> Result<Decided, Failure> {
        let decided = if self.cost > self.budget.limit {
            let now = now();
            with(self.region, |view| self.never(view, now))?
        } else {
            self.settle(handles).await?
        };
        if self.cost > 0 {
            with(self.region, |view| self.count(view, &decided.0))?;
        }
        self.refill(handles)?;
        tend(handles, self.region)?;
        Ok(decided)
    }

    /// Looks until the balance covers the cost, or the region has said that nothing can.
    async fn settle(&self, handles: &RequestHandles) -> Result<Decided, Failure> {
        let mut wait = Wait {
            check: self,
            ticket: None,
        };
        let started = now();
        let mut look_ms = LOOK_MS_FIRST;
        loop {
            let now = now();
            let ticket = wait.ticket;
            let decided = with(self.region, |view| self.look(view, ticket, now))?;
            if let Some(decided) = decided {
                return Ok(decided);
            }
            let left_ms = DECIDE_WAIT_MS_MAX.saturating_sub(now.since(started));
            if left_ms == 0 || !wait.register()? {
                let after_ms = with(self.region, |view| view.contact_ms)?;
                return Ok((
                    Decision::unavailable(self.budget.limit, now, after_ms),
                    None,
                ));
            }
            match self.ask(handles, now)? {
                Some(landing) => {
                    let _late = within(left_ms, landing).await;
                }
                None => {
                    sleep(look_ms.min(left_ms)).await;
                    look_ms = (look_ms * 2).min(LOOK_MS_MAX);
                }
            }
        }
    }

    /// What can be decided without asking.
    fn look(&self, view: &mut RegionView, ticket: Option<Ticket>, now: EpochMs) -> Option<Decided> {
        let contact_ms = view.contact_ms;
        let holder = view.holder(self.name);
        let reason = match holder.outlook(Need::one(self.cost.max(1)), ticket, now) {
            Outlook::Short => return None,
            Outlook::Covered if self.cost == 0 || holder.spend(self.cost, now) => Reason::Admitted,
            Outlook::Covered => return None,
            Outlook::Exhausted => Reason::CapReached,
            Outlook::Unknown => Reason::Unavailable,
        };
        let lease = holder.open_lease(now).copied()?;
        if reason != Reason::Admitted {
            holder.deny(self.cost);
        }
        let retry = match reason {
            Reason::Admitted => Retry::Now,
            Reason::CapReached => Retry::AfterMs(lease.ends_at.since(now).max(1)),
            _ => Retry::AfterMs(contact_ms.max(1)),
        };
        let decision = Decision {
            reason,
            limit: self.budget.limit,
            remaining: lease
                .balance()
                .saturating_add(lease.left)
                .min(self.budget.limit),
            reset_at: lease.ends_at,
            retry,
        };
        Some((decision, Some(lease.label)))
    }

    /// A cost above the limit: refused before anything is leased.
    fn never(&self, view: &mut RegionView, now: EpochMs) -> Decided {
        let lease = view.holder(self.name).open_lease(now).copied();
        let remaining = lease.map_or(0, |lease| lease.balance().saturating_add(lease.left));
        let reset_at = lease.map_or(now, |lease| lease.ends_at);
        let decision = Decision::never(self.budget.limit, remaining, reset_at);
        (decision, lease.map(|lease| lease.label))
    }

    fn count(&self, view: &mut RegionView, decision: &Decision) {
        let charged = Charged::Budget(self.name);
        view.outbox
            .count(self.tenant, charged, decision.admitted(), self.cost);
    }

    /// Sends the next message unless one is in flight.
    fn ask(
        &self,
        handles: &RequestHandles,
        now: EpochMs,
    ) -> Result<Option<oneshot::Receiver<()>>, Failure> {
        let terms = self.budget.terms(self.loaded.revision);
        let body = with(self.region, |view| view.holder(self.name).begin(terms, now))?;
        match body {
            Some(body) => Ok(Some(start(handles, self.region, vec![body])?)),
            None => Ok(None),
        }
    }

    /// Asks for more in the background while units run low, so that steady traffic does not wait.
    fn refill(&self, handles: &RequestHandles) -> Result<(), Failure> {
        let now = now();
        let wanted = with(self.region, |view| {
            view.holder(self.name).wants_contact(now)
        })?;
        if wanted {
            let _landing = self.ask(handles, now)?;
        }
        Ok(())
    }
}

/// A request that waits; taken off again when this goes out of scope, whatever ends the wait.
struct Wait<'a> {
    check: &'a BudgetCheck<'a>,
    ticket: Option<Ticket>,
}

impl Wait<'_> {
    /// Takes a ticket for the next message, unless the one in hand has not been answered yet. False when too many
    /// requests wait.
    fn register(&mut self) -> Result<bool, Failure> {
        let need = Need::one(self.check.cost.max(1));
        let ticket = self.ticket;
        self.ticket = with(self.check.region, |view| {
            let holder = view.holder(self.check.name);
            match ticket {
                Some(ticket) if !holder.answered(ticket) => Some(ticket),
                Some(_) => {
                    holder.unwait(need);
                    holder.wait(need)
                }
                None => holder.wait(need),
            }
        })?;
        Ok(self.ticket.is_some())
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            let need = Need::one(self.check.cost.max(1));
            // A view that cannot be reached has no waiters either.
            let _gone = with(self.check.region, |view| {
                view.holder(self.check.name).unwait(need);
            });
        }
    }
}
