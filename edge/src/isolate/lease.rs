//! A check of a pool, a budget or a key of a global limit: from the balance without waiting, else by one exchange with
//! the region.

use std::borrow::Cow;

use futures_channel::oneshot;
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::fairness::ask::Party;
use weir_shared::federation::holder::{Holder, Lease, Outlook};
use weir_shared::federation::waiting::{Need, Ticket};
use weir_shared::limiting::owner::Account;
use weir_shared::limits::{DECIDE_WAIT_MS_MAX, EARLY_MS_MAX};
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::exchange::Terms;

use super::contact::start;
use super::look::Looks;
use super::region::RegionView;
use super::request::RequestHandles;
use super::{now, with};
use crate::http::failure::Failure;
use crate::objects::deadline::{sleep, within};

/// One check of one pool.
pub struct LeaseCheck<'a> {
    /// The region that decides.
    pub region: &'a str,
    /// The pool's name.
    pub pool: &'a str,
    /// Its terms.
    pub terms: &'a Terms,
    /// For whom.
    pub party: Cow<'a, Party>,
    /// On whose account it is kept, where it is a key's.
    pub account: &'a Account,
    /// Units to charge, in the terms' scale; 0 looks.
    pub cost: u64,
    /// Why it is denied when the window is used up.
    pub denial: Reason,
}

/// A decision, and the window it was charged to.
pub type Decided = (Decision, Option<WindowLabel>);

/// What a holder can say by itself.
pub enum Held {
    /// It decides.
    Decided(Decided),
    /// The region has to be asked.
    Short,
    /// Who could tell is out of reach.
    Unknown,
}

impl LeaseCheck<'_> {
    /// Decides, and asks for more in the background where units run low. `None` when a newer policy has no such pool
    /// any more.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub async fn decide(&self, handles: &RequestHandles) -> Result<Option<Decided>, Failure> {
        let at = now();
        if !with(self.region, |view| {
            view.has_room(self.pool, self.account, at)
        })? {
            let after_ms = with(self.region, |view| view.contact_ms)?;
            let decision = Decision::unavailable(self.terms.limit, at, after_ms);
            return Ok(Some((decision, None)));
        }
        if self.cost > self.terms.limit {
            return with(self.region, |view| self.never(view, at)).map(Some);
        }
        let decided = self.settle(handles).await?;
        if decided.is_some() {
            self.refill(handles)?;
        }
        Ok(decided)
    }

    /// Gives back what a decision charged, as the request is denied elsewhere.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub fn undo(&self, label: WindowLabel) -> Result<(), Failure> {
        // Units of a window that is over are nobody's any more.
        let _back = with(self.region, |view| {
            let holder = view.holder(self.pool);
            holder.unspend(label, &self.party.name, self.cost)
        })?;
        Ok(())
    }

    /// Looks until the balance covers the cost, or the region has said that nothing can.
    async fn settle(&self, handles: &RequestHandles) -> Result<Option<Decided>, Failure> {
        let mut wait = Wait {
            check: self,
            ticket: None,
        };
        let started = now();
        let mut looks = Looks::default();
        loop {
            let now = now();
            let ticket = wait.ticket;
            let decided = with(self.region, |view| self.look(view, ticket, now))?;
            if let Some(decided) = decided {
                return Ok(Some(decided));
            }
            let left_ms = DECIDE_WAIT_MS_MAX.saturating_sub(now.since(started));
            if left_ms == 0 || !wait.register(now)? {
                return with(self.region, |view| self.unavailable(view, now)).map(Some);
            }
            let opens_in_ms = with(self.region, |view| view.holder(self.pool).opens_in_ms(now))?;
            if let Some(opens_in_ms) = opens_in_ms.filter(|ms| *ms <= EARLY_MS_MAX) {
                // The next window is held already: nobody has to be asked.
                sleep(opens_in_ms.min(left_ms)).await;
            } else if let Some(landing) = self.ask(handles, now)? {
                let _late = within(left_ms, landing).await;
                if !self.still_known()? {
                    return Ok(None);
                }
            } else {
                looks.again_within(left_ms).await;
            }
        }
    }

    /// What can be decided without asking.
    fn look(&self, view: &mut RegionView, ticket: Option<Ticket>, now: EpochMs) -> Option<Decided> {
        match self.held(view.holder(self.pool), ticket, now) {
            Held::Short => None,
            Held::Unknown => Some(self.unavailable(view, now)),
            Held::Decided(decided) => Some(decided),
        }
    }

    /// What a holder decides by itself.
    pub fn held(&self, holder: &mut Holder, ticket: Option<Ticket>, now: EpochMs) -> Held {
        holder.advance(now);
        let told = match holder.outlook(&self.party, self.need(), ticket, now) {
            Outlook::Short => None,
            Outlook::Unknown => return Held::Unknown,
            Outlook::Covered => {
                let open = holder.open_lease(now).is_some();
                let empty = self.cost == 0 && self.left(holder, now) == 0;
                let spent = open && (empty || holder.spend(&self.party, self.cost, now));
                spent.then(|| self.told(holder, !empty, now)).flatten()
            }
            Outlook::Exhausted => {
                holder.deny(&self.party, self.cost, now);
                // Of a rolling window that may be known when the lease is over.
                self.told(holder, false, now)
            }
        };
        told.map_or(Held::Short, Held::Decided)
    }

    /// A cost of 0 only looks: it needs an open window, and no unit of it.
    fn need(&self) -> Need {
        match self.cost {
            0 => Need::look(),
            cost => Need::one(cost),
        }
    }

    fn told(&self, holder: &Holder, admitted: bool, now: EpochMs) -> Option<Decided> {
        let lease = holder.lease()?;
        let told = holder.told(&self.party.name);
        let (reason, retry) = if admitted {
            (Reason::Admitted, Retry::Now)
        } else {
            let after_ms = holder.retry_ms(&self.party.name, now);
            (self.reason(holder), Retry::AfterMs(after_ms))
        };
        let decision = Decision {
            reason,
            limit: match told {
                Some(told) if self.shared() => told.ceiling,
                _ => self.terms.limit,
            },
            remaining: self.remaining(holder, now),
            reset_at: lease.ends_at,
            retry,
        };
        Some((decision, Some(lease.label)))
    }

    /// What is left of the tenant's ceiling, else of the limit.
    fn remaining(&self, holder: &Holder, now: EpochMs) -> u64 {
        let left = self.left(holder, now).min(self.terms.limit);
        match holder.told(&self.party.name) {
            Some(told) if self.shared() => {
                let own = holder.balance(&self.party.name, now);
                let used = told.used.saturating_sub(own);
                left.min(told.ceiling.saturating_sub(used))
            }
            _ => left,
        }
    }

    fn shared(&self) -> bool {
        !self.party.name.is_empty()
    }

    /// Units that the tenant could still have, as far as is known here.
    fn left(&self, holder: &Holder, now: EpochMs) -> u64 {
        let above = match holder.told(&self.party.name) {
            Some(told) => told.left,
            None => holder.lease().map_or(0, |lease| lease.left),
        };
        let balance = holder.lease().map_or(0, Lease::balance);
        let own = holder.balance(&self.party.name, now);
        // Of a rolling window that is over, what was held is told as it was.
        let held = if self.shared() || own > 0 {
            own
        } else {
            balance
        };
        held.saturating_add(above)
    }

    /// Whether the window is used up, or this tenant's part of it.
    fn reason(&self, holder: &Holder) -> Reason {
        let left = holder.lease().map_or(0, |lease| lease.left);
        if self.shared() && left >= self.cost.max(1) {
            Reason::OverShare
        } else {
            self.denial
        }
    }

    /// Who could tell is out of reach.
    fn unavailable(&self, view: &mut RegionView, now: EpochMs) -> Decided {
        let after_ms = view.contact_ms;
        view.holder(self.pool).deny(&self.party, self.cost, now);
        let decision = Decision::unavailable(self.terms.limit, now, after_ms);
        (decision, None)
    }

    /// A policy that arrived meanwhile may not have the pool any more.
    fn still_known(&self) -> Result<bool, Failure> {
        with(self.region, |view| {
            let loaded = view.loaded.as_ref();
            loaded.is_none_or(|loaded| {
                let terms = loaded.policy.terms(self.pool, self.region, loaded.revision);
                terms.is_some()
            })
        })
    }

    /// A cost above the limit: refused before anything is leased.
    fn never(&self, view: &mut RegionView, now: EpochMs) -> Decided {
        let lease = view.holder(self.pool).open_lease(now).copied();
        let remaining = lease.map_or(0, |lease| lease.balance().saturating_add(lease.left));
        let reset_at = lease.map_or(now, |lease| lease.ends_at);
        let decision = Decision::never(self.terms.limit, remaining, reset_at);
        (decision, lease.map(|lease| lease.label))
    }

    /// Sends the next message unless one is in flight.
    fn ask(
        &self,
        handles: &RequestHandles,
        now: EpochMs,
    ) -> Result<Option<oneshot::Receiver<()>>, Failure> {
        let body = with(self.region, |view| {
            view.holder(self.pool).begin(self.terms.clone(), now)
        })?;
        match body {
            Some(body) => Ok(Some(start(handles, self.region, vec![body])?)),
            None => Ok(None),
        }
    }

    /// Asks for more in the background while units run low, so that steady traffic does not wait.
    fn refill(&self, handles: &RequestHandles) -> Result<(), Failure> {
        let now = now();
        let wanted = with(self.region, |view| {
            view.holder(self.pool).runs_low(&self.party.name, now)
        })?;
        if wanted {
            let _landing = self.ask(handles, now)?;
        }
        Ok(())
    }
}

/// A request that waits; taken off again when this goes out of scope, whatever ends the wait.
struct Wait<'a> {
    check: &'a LeaseCheck<'a>,
    ticket: Option<Ticket>,
}

impl Wait<'_> {
    /// Takes a ticket for the next message, unless the one in hand has not been answered yet. False when too many
    /// requests wait.
    fn register(&mut self, now: EpochMs) -> Result<bool, Failure> {
        let (need, ticket) = (self.check.need(), self.ticket);
        self.ticket = with(self.check.region, |view| {
            let holder = view.holder(self.check.pool);
            holder.wait_on(&self.check.party, ticket, need, now)
        })?;
        Ok(self.ticket.is_some())
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            // A view that cannot be reached has no waiters either.
            let _gone = with(self.check.region, |view| {
                view.holder(self.check.pool).unwait(ticket);
            });
        }
    }
}
