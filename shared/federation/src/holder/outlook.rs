//! What a holder knows of a need without asking its parent.

use weir_core::limits::RELEASE_MS_MIN;
use weir_core::units::EpochMs;
use weir_fairness::ask::Party;

use super::Holder;
use crate::parent_status::ParentStatus;
use crate::waiting::{Need, Ticket};

/// What a holder can say of a need without asking its parent. Of several needs the greatest counts.
///
/// ```
/// use weir_federation::holder::Outlook;
/// // Where one need is short, the parent is asked, whatever is known of others.
/// assert_eq!([Outlook::Short, Outlook::Unknown, Outlook::Covered].into_iter().max(), Some(Outlook::Short));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outlook {
    /// The balance covers it.
    Covered,
    /// The window has no such units left for this tenant, as far as the parent knew at its last word. Of a rolling
    /// window that may be so when the lease is over: no sooner than [`Holder::retry_ms`] says will there be any.
    Exhausted,
    /// Whether there are any is not known: the parent's own parent was out of reach, or the message was refused.
    Unknown,
    /// The parent has to be asked.
    Short,
}

impl Holder {
    /// What the parent said last of a tenant in the open window.
    #[must_use]
    pub fn told(&self, tenant: Option<&str>) -> Option<&ParentStatus> {
        self.tenant_balances.get(tenant)?.told.as_ref()
    }

    /// Units that the tenant may use without asking, unassigned ones included.
    #[must_use]
    pub fn balance(&self, tenant: Option<&str>, now: EpochMs) -> u64 {
        let Some(lease) = self.open_lease(now) else {
            return 0;
        };
        let tenant_balance = self.tenant_balances.get(tenant);
        let own = tenant_balance.map_or(self.unassigned, |tenant_balance| {
            tenant_balance.available(
                self.unassigned_for(&tenant_balance.party),
                self.first_max(1),
            )
        });
        own.min(lease.balance())
    }

    /// What is known of a tenant's `need` without asking the parent. A ticket is what [`Holder::wait_on`] gave to a
    /// request; with one, only a reply to a message that carried its want tells anything.
    #[must_use]
    pub fn outlook(
        &self,
        party: &Party,
        need: Need,
        ticket: Option<Ticket>,
        now: EpochMs,
    ) -> Outlook {
        if ticket.is_some_and(|ticket| self.refused >= Some(ticket.message())) {
            return Outlook::Unknown;
        }
        let told = self.told(party.name()).filter(|told| match ticket {
            Some(ticket) => told.by >= ticket.message(),
            None => told.recent(now),
        });
        // What was said of an earlier claim says nothing of this one.
        let tenant_balance = self.tenant_balances.get(party.name());
        let heard =
            tenant_balance.is_some_and(|one| one.party.claim_version() >= party.claim_version());
        let told = told.filter(|_| heard);
        if self.open_lease(now).is_none() {
            return match told {
                Some(told) if held_off(told, need, now) => Outlook::Exhausted,
                _ => Outlook::Short,
            };
        }
        let balance = self.usable(party, need.units, now);
        if balance >= need.units {
            return Outlook::Covered;
        }
        if ticket.is_none() && self.denies_meanwhile(party, need, now) {
            return Outlook::Exhausted;
        }
        let Some(told) = told else {
            return Outlook::Short;
        };
        let shared = party.tenant().is_some();
        let left = tenant_balance.map_or(told.left, |one| self.left_for(one, told));
        if told.outage {
            Outlook::Unknown
        } else if left == 0
            || left.saturating_add(balance) < need.smallest
            || (shared && told.unserved && ticket.is_some())
        {
            Outlook::Exhausted
        } else {
            Outlook::Short
        }
    }

    /// After how many milliseconds, at least 1, a request of the tenant that was denied may ask again: when the parent
    /// expects to lend more, else at the end of the window.
    #[must_use]
    pub fn retry_ms(&self, tenant: Option<&str>, now: EpochMs) -> u64 {
        let again = self.told(tenant).and_then(|told| told.again);
        let asked_at = again.map(|again| again.asked_at).filter(|at| now < *at);
        if asked_at.is_none() && self.outworn(tenant, now) {
            // The parent is asked meanwhile.
            return RELEASE_MS_MIN;
        }
        if let Some(told) = self.rationed(tenant, now) {
            return told.until.since(now).max(RELEASE_MS_MIN);
        }
        let ends_at = self.lease.as_ref().map(|lease| lease.ends_at);
        asked_at.or(ends_at).map_or(1, |at| at.since(now).max(1))
    }
}

/// Whether the parent said that no units like `need` can be lent before a time that is still to come.
fn held_off(told: &ParentStatus, need: Need, now: EpochMs) -> bool {
    told.again
        .is_some_and(|again| now < again.at && need.units > 0 && need.smallest >= again.units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_needs_one_that_is_short_counts_first_then_one_that_nobody_knows() {
        let rising = [
            Outlook::Covered,
            Outlook::Exhausted,
            Outlook::Unknown,
            Outlook::Short,
        ];
        assert!(rising.is_sorted());
    }
}
