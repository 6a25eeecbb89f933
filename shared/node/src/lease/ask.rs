//! One request's check of a pool, and what a holder says of it without asking anyone.

use weir_core::units::{EpochMs, WindowLabel};
use weir_decision::{Decision, Reason, Retry};
use weir_fairness::ask::Party;
use weir_federation::holder::{Holder, Lease, Outlook};
use weir_federation::waiting::{Need, Ticket};
use weir_wire::exchange::Terms;

/// What one request asks of a pool.
#[derive(Debug, Clone, Copy)]
pub struct PoolAsk<'a> {
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
pub struct WaitingAsk {
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
pub enum HolderDecision {
    /// It decides.
    Decided(Decided),
    /// The parent has to be asked.
    Short,
    /// Who could tell is out of reach.
    Unknown,
}

impl WaitingAsk {
    /// What is asked.
    #[must_use]
    pub fn ask(&self) -> PoolAsk<'_> {
        PoolAsk {
            party: &self.party,
            cost: self.cost,
            limit: self.terms.limit,
            denial: self.denial,
            again: self.again,
        }
    }
}

impl PoolAsk<'_> {
    /// Counts a denial as demand, the first one of a request.
    pub(super) fn count_denied(&self, holder: &mut Holder, now: EpochMs) {
        if !self.again {
            holder.deny(self.party, self.cost, now);
        }
    }

    /// What the holder decides by itself: what is admitted is spent, what is denied counts as demand. With a ticket, only
    /// an answer to the message that carried it tells that a window is used up.
    #[must_use]
    pub fn decide(
        &self,
        holder: &mut Holder,
        ticket: Option<Ticket>,
        now: EpochMs,
    ) -> HolderDecision {
        holder.advance(now);
        let told = match holder.outlook(self.party, self.need(), ticket, now) {
            Outlook::Short => None,
            Outlook::Unknown => return HolderDecision::Unknown,
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
        told.map_or(HolderDecision::Short, HolderDecision::Decided)
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
        let told = holder.told(self.party.name());
        let (reason, retry) = if admitted {
            (Reason::Admitted, Retry::Now)
        } else {
            let after_ms = holder.retry_ms(self.party.name(), now);
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
        match holder.told(self.party.name()) {
            Some(told) if self.shared() => {
                let own = holder.balance(self.party.name(), now);
                let used = told.used.saturating_sub(own);
                left.min(told.ceiling.saturating_sub(used))
            }
            _ => left,
        }
    }

    fn shared(&self) -> bool {
        self.party.tenant().is_some()
    }

    /// Units that the tenant could still have, as far as is known here.
    fn left(&self, holder: &Holder, now: EpochMs) -> u64 {
        let above = match holder.told(self.party.name()) {
            Some(told) => told.left,
            None => holder.lease().map_or(0, |lease| lease.left),
        };
        let held = if self.shared() {
            holder.balance(self.party.name(), now)
        } else {
            // All of it, and of a rolling window that is over, what was held as it was.
            holder.lease().map_or(0, Lease::balance)
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

#[cfg(test)]
mod tests {
    use weir_core::units::{HolderId, Incarnation, Revision};
    use weir_fairness::ask::Claimant;
    use weir_wire::exchange::{
        FloorsBody, Grant, ReplyBody, RuleBody, Seen, SharingBody, VERSION, WindowBody,
    };

    use super::*;

    const NOW: EpochMs = EpochMs(10_000);
    const LIMIT: u64 = 100;

    fn party(name: &str) -> Party {
        Claimant::plain(name).into()
    }

    fn terms(shared: bool) -> Terms {
        let sharing = SharingBody {
            rule: RuleBody::Paced,
            tenants_max: 10,
            unknown_weight_max: 1_000_000,
            floors: FloorsBody::default(),
        };
        Terms {
            limit: LIMIT,
            window_ms: 60_000,
            revision: Revision(1),
            cycle: None,
            sharing: shared.then_some(sharing),
            lease: None,
            standing: 0,
        }
    }

    /// A holder that was lent 10 units. Of `ceiling` the tenant's holders have 25; 3 are left for it, and `left` for all.
    fn holder(party: &Party, ceiling: u64, left: u64) -> Holder {
        let mut holder = Holder::new("tokens".to_owned(), HolderId(1), Incarnation(1), None);
        let shared = party.tenant().is_some();
        let ticket = holder.wait_on(party, None, Need::one(10), NOW).unwrap();
        let body = holder.begin(terms(shared), NOW).unwrap();
        let grant = Grant {
            tenant: party.name().map(str::to_owned),
            units: 10,
            ceiling,
            used: 25,
            left: 3,
            allowance: 0,
            contended: false,
            retry_ms: None,
        };
        let reply = ReplyBody {
            v: VERSION,
            to: Seen {
                incarnation: body.incarnation,
                sequence: body.sequence,
            },
            window: WindowBody {
                label: WindowLabel(7),
                remaining_ms: 60_000,
                limit: LIMIT,
            },
            grants: vec![grant],
            ahead: Vec::new(),
            left,
            outage: false,
            next_contact_ms: 1_000,
            retry_ms: None,
        };
        assert!(holder.finish(&reply, NOW));
        holder.unwait(ticket);
        holder
    }

    fn decided(party: &Party, cost: u64, holder: &mut Holder) -> Decision {
        let ask = PoolAsk {
            party,
            cost,
            limit: LIMIT,
            denial: Reason::CapReached,
            again: false,
        };
        match ask.decide(holder, None, NOW) {
            HolderDecision::Decided((decision, label)) => {
                assert_eq!(label, Some(WindowLabel(7)));
                decision
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_tenant_is_told_its_ceiling_and_what_is_left_of_it() {
        let one = party("a");
        // 6 of 10 are left here, and 3 above; 25 - 6 are used, so that up to a ceiling of 27 there are 8.
        for (ceiling, remaining) in [(40, 9), (28, 9), (27, 8), (19, 0)] {
            let told = decided(&one, 4, &mut holder(&one, ceiling, 50));
            assert_eq!((told.reason, told.retry), (Reason::Admitted, Retry::Now));
            assert_eq!((told.limit, told.remaining), (ceiling, remaining));
        }
    }

    #[test]
    fn where_all_draw_from_one_pool_the_limit_is_told_and_what_is_left_of_it() {
        let everyone = Party::Everyone;
        for (left, remaining) in [(50, 56), (99, LIMIT)] {
            let told = decided(&everyone, 4, &mut holder(&everyone, LIMIT, left));
            assert_eq!((told.limit, told.remaining), (LIMIT, remaining));
        }
    }

    #[test]
    fn a_tenant_is_over_its_share_where_others_could_still_have_what_it_asks_for() {
        let one = party("a");
        for (left, reason) in [(20, Reason::OverShare), (19, Reason::CapReached)] {
            let told = decided(&one, 20, &mut holder(&one, 40, left));
            assert_eq!((told.reason, told.remaining), (reason, 13));
            assert_eq!(told.retry, Retry::AfterMs(60_000));
        }
        let everyone = Party::Everyone;
        let told = decided(&everyone, 20, &mut holder(&everyone, LIMIT, 9));
        assert_eq!((told.reason, told.remaining), (Reason::CapReached, 19));
    }

    #[test]
    fn who_only_looks_is_denied_when_nothing_is_left() {
        let one = party("a");
        let mut holder = holder(&one, 40, 50);
        let told = decided(&one, 0, &mut holder);
        assert_eq!((told.reason, told.remaining), (Reason::Admitted, 13));
    }

    #[test]
    fn a_denial_is_demand_the_first_time_alone() {
        let one = party("a");
        for (again, denied) in [(false, 20), (true, 0)] {
            let mut holder = holder(&one, 40, 50);
            let ask = PoolAsk {
                party: &one,
                cost: 20,
                limit: LIMIT,
                denial: Reason::CapReached,
                again,
            };
            ask.count_denied(&mut holder, NOW);
            let body = holder.begin(terms(true), NOW).unwrap();
            assert_eq!(body.denied, denied);
        }
    }
}
