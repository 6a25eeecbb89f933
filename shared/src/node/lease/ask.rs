//! One request's check of a pool, and what a holder says of it without asking anyone.

use crate::decision::{Decision, Reason, Retry};
use crate::fairness::ask::Party;
use crate::federation::holder::{Holder, Lease, Outlook};
use crate::federation::waiting::{Need, Ticket};
use crate::units::{EpochMs, WindowLabel};
use crate::wire::exchange::Terms;

/// What one request asks of a pool.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// For whom.
    pub party: &'a Party,
    /// Units to charge, in the terms' scale; 0 looks.
    pub cost: u64,
    /// The pool's limit.
    pub limit: u64,
    /// Why it is denied when the window is used up.
    pub denial: Reason,
    /// Whether it was denied before and has waited: it counts as demand once.
    pub again: bool,
}

/// The same, as it waits.
#[derive(Debug, Clone)]
pub struct Asked {
    /// For whom.
    pub party: Party,
    /// Units to charge; 0 looks.
    pub cost: u64,
    /// The pool's terms.
    pub terms: Terms,
    /// Why it is denied when the window is used up.
    pub denial: Reason,
    /// Whether it was denied before and has waited: it counts as demand once.
    pub again: bool,
}

/// A decision, and the window it was charged to.
pub type Decided = (Decision, Option<WindowLabel>);

/// What a holder can say by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// It decides.
    Decided(Decided),
    /// The parent has to be asked.
    Short,
    /// Who could tell is out of reach.
    Unknown,
}

impl Asked {
    /// What is asked.
    #[must_use]
    pub fn ask(&self) -> Ask<'_> {
        Ask {
            party: &self.party,
            cost: self.cost,
            limit: self.terms.limit,
            denial: self.denial,
            again: self.again,
        }
    }
}

impl Ask<'_> {
    /// Counts a denial as demand, the first one of a request.
    pub(super) fn count_denied(&self, holder: &mut Holder, now: EpochMs) {
        if !self.again {
            holder.deny(self.party, self.cost, now);
        }
    }

    /// What the holder decides by itself: what is admitted is spent, what is denied counts as demand. With a ticket, only
    /// an answer to the message that carried it tells that a window is used up.
    #[must_use]
    pub fn decide(&self, holder: &mut Holder, ticket: Option<Ticket>, now: EpochMs) -> Held {
        holder.advance(now);
        let told = match holder.outlook(self.party, self.need(), ticket, now) {
            Outlook::Short => None,
            Outlook::Unknown => return Held::Unknown,
            Outlook::Covered => {
                let open = holder.open_lease(now).is_some();
                let empty = self.cost == 0 && self.left(holder, now) == 0;
                let spent = open && (empty || holder.spend(self.party, self.cost, now));
                spent.then(|| self.told(holder, !empty, now)).flatten()
            }
            Outlook::Exhausted => {
                self.count_denied(holder, now);
                // Of a rolling window that may be known when the lease is over.
                self.told(holder, false, now)
            }
        };
        told.map_or(Held::Short, Held::Decided)
    }

    /// A cost above the limit: refused before anything is leased.
    #[must_use]
    pub fn never(&self, holder: &Holder, now: EpochMs) -> Decided {
        let lease = holder.open_lease(now);
        let remaining = lease.map_or(0, |lease| lease.balance().saturating_add(lease.left));
        let reset_at = lease.map_or(now, |lease| lease.ends_at);
        let decision = Decision::never(self.limit, remaining, reset_at);
        (decision, lease.map(|lease| lease.label))
    }

    /// What waits for it: a cost of 0 needs an open window, and no unit of it.
    pub(super) fn need(&self) -> Need {
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
                _ => self.limit,
            },
            remaining: self.remaining(holder, now),
            reset_at: lease.ends_at,
            retry,
        };
        Some((decision, Some(lease.label)))
    }

    /// What is left of the tenant's ceiling, else of the limit.
    fn remaining(&self, holder: &Holder, now: EpochMs) -> u64 {
        let left = self.left(holder, now).min(self.limit);
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
}
