//! A check of a budget: from the balance without waiting, else by one exchange with the region.

use futures_channel::oneshot;
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::federation::holder::{Lease, Outlook};
use weir_shared::federation::waiting::{Need, Ticket};
use weir_shared::limits::DECIDE_WAIT_MS_MAX;
use weir_shared::policy::budget::Budget;
use weir_shared::units::{EpochMs, WindowLabel};

use super::contact::start;
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
    /// Units to charge; 0 looks.
    pub cost: u64,
    /// Pointer to the fields of the check.
    pub at: &'a str,
}

/// A decision, and the window it was charged to.
pub type Decided = (Decision, Option<WindowLabel>);

impl BudgetCheck<'_> {
    /// Decides, and asks for more in the background where units run low.
    ///
    /// # Errors
    /// [`Failure::NotFound`] when a newer policy has no such budget any more.
    pub async fn decide(&self, handles: &RequestHandles) -> Result<Decided, Failure> {
        let decided = if self.cost > self.budget.limit {
            let now = now();
            with(self.region, |view| self.never(view, now))?
        } else {
            self.settle(handles).await?
        };
        self.refill(handles)?;
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
            if left_ms == 0 || !wait.register(now)? {
                return with(self.region, |view| self.unavailable(view, now));
            }
            if let Some(landing) = self.ask(handles, now)? {
                let _late = within(left_ms, landing).await;
                self.still_known()?;
            } else {
                sleep(look_ms.min(left_ms)).await;
                look_ms = (look_ms * 2).min(LOOK_MS_MAX);
            }
        }
    }

    /// What can be decided without asking.
    fn look(&self, view: &mut RegionView, ticket: Option<Ticket>, now: EpochMs) -> Option<Decided> {
        let holder = view.holder(self.name);
        match holder.outlook(self.need(), ticket, now) {
            Outlook::Short => None,
            Outlook::Unknown => Some(self.unavailable(view, now)),
            Outlook::Covered => {
                let lease = *holder.open_lease(now)?;
                let empty = self.cost == 0 && lease.balance().saturating_add(lease.left) == 0;
                if !empty && !holder.spend(self.cost, now) {
                    return None;
                }
                Some(self.told(holder.open_lease(now)?, !empty, now))
            }
            Outlook::Exhausted => {
                holder.deny(self.cost);
                Some(self.told(holder.open_lease(now)?, false, now))
            }
        }
    }

    /// A cost of 0 only looks: it needs an open window, and no unit of it.
    fn need(&self) -> Need {
        match self.cost {
            0 => Need::look(),
            cost => Need::one(cost),
        }
    }

    fn told(&self, lease: &Lease, admitted: bool, now: EpochMs) -> Decided {
        let left = lease.balance().saturating_add(lease.left);
        let (reason, retry) = if admitted {
            (Reason::Admitted, Retry::Now)
        } else {
            let ends_in_ms = lease.ends_at.since(now).max(1);
            (Reason::CapReached, Retry::AfterMs(ends_in_ms))
        };
        let decision = Decision {
            reason,
            limit: self.budget.limit,
            remaining: left.min(self.budget.limit),
            reset_at: lease.ends_at,
            retry,
        };
        (decision, Some(lease.label))
    }

    /// Who could tell is out of reach.
    fn unavailable(&self, view: &mut RegionView, now: EpochMs) -> Decided {
        let after_ms = view.contact_ms;
        view.holder(self.name).deny(self.cost);
        let decision = Decision::unavailable(self.budget.limit, now, after_ms);
        (decision, None)
    }

    /// A policy that arrived meanwhile may not have the budget any more.
    fn still_known(&self) -> Result<(), Failure> {
        let known = with(self.region, |view| {
            let loaded = view.loaded.as_ref();
            loaded.is_none_or(|loaded| loaded.policy.budgets.contains_key(self.name))
        })?;
        if known {
            return Ok(());
        }
        Err(Failure::unknown("budget", self.at))
    }

    /// A cost above the limit: refused before anything is leased.
    fn never(&self, view: &mut RegionView, now: EpochMs) -> Decided {
        let lease = view.holder(self.name).open_lease(now).copied();
        let remaining = lease.map_or(0, |lease| lease.balance().saturating_add(lease.left));
        let reset_at = lease.map_or(now, |lease| lease.ends_at);
        let decision = Decision::never(self.budget.limit, remaining, reset_at);
        (decision, lease.map(|lease| lease.label))
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
    fn register(&mut self, now: EpochMs) -> Result<bool, Failure> {
        let (need, ticket) = (self.check.need(), self.ticket);
        self.ticket = with(self.check.region, |view| {
            view.holder(self.check.name).wait_on(ticket, need, now)
        })?;
        Ok(self.ticket.is_some())
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            // A view that cannot be reached has no waiters either.
            let _gone = with(self.check.region, |view| {
                view.holder(self.check.name).unwait(ticket);
            });
        }
    }
}
