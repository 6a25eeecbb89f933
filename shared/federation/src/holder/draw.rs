//! A request that the balance covers, decided in one step: what happens to nearly every request.

use weir_core::units::{EpochMs, WindowLabel};
use weir_decision::{Decision, Reason, Retry};
use weir_fairness::ask::Party;

use super::Holder;

/// A request that was admitted from the balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// What is told.
    pub decision: Decision,
    /// The window that it was charged to.
    pub label: WindowLabel,
    /// Whether a message should ask for more now; see [`Holder::runs_low`].
    pub runs_low: bool,
}

impl Holder {
    /// Spends `cost` units, at least 1, of the tenant's balance, where the open window has as many; `limit` is that of
    /// the pool, in whole. `None`, and nothing is changed but that a window may have [opened](Holder::advance), where
    /// there is more to look at, as with the tenant's first request: then [`Holder::outlook`] says what.
    ///
    /// It comes to the same as [`Holder::outlook`] and [`Holder::spend`], but finds the tenant once and allocates
    /// nothing.
    ///
    /// ```
    /// use weir_fairness::ask::Party;
    /// use weir_federation::holder::{Holder, Lease};
    /// use weir_core::units::{EpochMs, HolderId, Incarnation, WindowLabel};
    /// let lease = Lease {
    ///     label: WindowLabel(7), ends_at: EpochMs(2_000), over_at: EpochMs(2_000), span_ms: 1_000,
    ///     limit: 100, held: 10, used: 0, left: 50, outage: false,
    /// };
    /// let holder = Holder::new("tokens".to_owned(), HolderId(1), Incarnation(1), None);
    /// let mut holder = holder.with_lease(lease, Vec::new());
    /// let everyone = Party::Everyone;
    /// assert!(holder.draw(&everyone, 1, 100, EpochMs(1_000)).is_none() && holder.spend(&everyone, 1, EpochMs(1_000)));
    /// let drawn = holder.draw(&everyone, 3, 100, EpochMs(1_000)).unwrap();
    /// assert_eq!((drawn.decision.remaining, drawn.label), (56, WindowLabel(7))); // 6 here, 50 with the parent
    /// assert_eq!(holder.draw(&everyone, 7, 100, EpochMs(1_000)), None);
    /// assert_eq!(holder.draw(&everyone, 1, 100, EpochMs(2_000)), None); // the window is over
    /// ```
    pub fn draw(&mut self, party: &Party, cost: u64, limit: u64, now: EpochMs) -> Option<Drawn> {
        self.advance(now);
        let unconfirmed = !self.confirmed && self.unanswered.is_none();
        let refills = self.unanswered.is_none() && self.refills(now);
        let (timing, first) = (self.timing(now), self.first_max(cost));
        let unassigned = self.unassigned_for(party);
        let lease = self.lease.as_mut().filter(|lease| lease.open(now))?;
        let tenant_balance = self.tenant_balances.get_mut(party.name())?;
        let missing = cost.saturating_sub(tenant_balance.balance());
        if cost == 0
            || cost > lease.balance()
            || missing > tenant_balance.unassigned_of(unassigned, first)
        {
            return None;
        }
        tenant_balance.restate(party);
        if missing > 0 {
            tenant_balance.take_unassigned(missing);
            self.bounded.take(party, missing);
        }
        tenant_balance.cost = cost;
        tenant_balance.use_units(cost, now);
        if self.pooled {
            self.flow.note(cost, 0, now);
        }
        self.unassigned -= missing;
        lease.used = lease.used.saturating_add(cost);
        let unassigned = (unassigned - missing).min(self.unassigned);
        let own = tenant_balance
            .available(unassigned, first)
            .min(lease.balance());
        let shared = party.tenant().is_some();
        let (left, ceiling, used) = match &tenant_balance.told {
            Some(told) if shared => (told.left, told.ceiling, told.used),
            Some(told) => (told.left, limit, 0),
            None => (lease.left, limit, 0),
        };
        let held = if shared || own > 0 {
            own
        } else {
            lease.balance()
        };
        let remaining = held.saturating_add(left).min(limit);
        let label = lease.label;
        let low = !self.pooled && refills && timing.low(lease, tenant_balance, unassigned, now);
        Some(Drawn {
            decision: Decision {
                reason: Reason::Admitted,
                limit: ceiling,
                remaining: match (shared, &tenant_balance.told) {
                    (true, Some(_)) => {
                        remaining.min(ceiling.saturating_sub(used.saturating_sub(own)))
                    }
                    _ => remaining,
                },
                reset_at: lease.ends_at,
                retry: Retry::Now,
            },
            label,
            runs_low: unconfirmed || low || (self.pooled && refills && self.all_low(now)),
        })
    }
}
