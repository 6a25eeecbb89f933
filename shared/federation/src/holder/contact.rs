//! When a holder has something to tell its parent, and when it knows more by itself.

use weir_core::limits::{CALL_MS_MAX, LEASE_CONTACTS, LEASE_CONTACTS_SHARED};
use weir_core::units::EpochMs;
use weir_fairness::ask::Party;

use super::super::ahead::Ahead;
use super::super::tenant_balance::TenantBalance;
use super::{Holder, Lease};

impl Holder {
    /// Whether a window opened with what was lent ahead, and the parent does not know yet what is used of it.
    #[must_use]
    pub fn unconfirmed(&self, now: EpochMs) -> bool {
        !self.confirmed && self.unanswered.is_none() && self.open_lease(now).is_some()
    }

    /// Whether a tenant's units run low at its present pace, or the parent does not know yet what is used of the open
    /// window, and a message is not under way.
    #[must_use]
    pub fn runs_low(&self, tenant: Option<&str>, now: EpochMs) -> bool {
        let (Some(lease), Some(tenant_balance)) =
            (self.open_lease(now), self.tenant_balances.get(tenant))
        else {
            return false;
        };
        let refills = self.unanswered.is_none() && self.refills(now);
        if self.pooled && !tenant_balance.is_short() {
            return self.unconfirmed(now) || (refills && self.all_low(now));
        }
        self.unconfirmed(now)
            || (refills && self.low(lease, tenant_balance, now))
            || self.outworn(tenant, now)
    }

    /// Whether a message that asks ahead of demand may bring something: the last one did, or it is some time ago.
    pub(super) fn refills(&self, now: EpochMs) -> bool {
        now >= self.refill_at || self.refill_at.since(now) > self.contact_ms
    }

    /// Whether a message should be sent without waiting for a shortage: units are running low at the present pace,
    /// or the time of next contact has come and there is something to tell, or the window nears its end.
    #[must_use]
    pub fn wants_contact(&self, now: EpochMs) -> bool {
        if let Some(sent) = &self.unanswered {
            return !sent.in_flight && now >= self.contact_at;
        }
        let Some(lease) = self.open_lease(now) else {
            return false;
        };
        let due = self.closing || now >= self.contact_at;
        let telling = |tenant_balance: &TenantBalance| {
            if self.pooled && !tenant_balance.is_short() {
                return due && tenant_balance.is_untold();
            }
            let spare = tenant_balance.balance() > self.expected(tenant_balance, now)
                || tenant_balance.denied > 0;
            (due && spare) || (self.refills(now) && self.low(lease, tenant_balance, now))
        };
        self.unconfirmed(now)
            || !self.surplus.is_empty()
            || self.closes_slices()
            || (due && self.unassigned > self.idle_goal(now))
            || (self.pooled && self.refills(now) && self.all_low(now))
            || self.ahead_due(lease, now)
            || self.tenant_balances.iter().any(telling)
    }

    /// Whether there is anything left to tell: units to return, of a window to come too when that has opened, demand, or
    /// a message that was not answered. Slices that are held whatever the demand wait for whoever asks.
    #[must_use]
    pub fn has_unsent(&self, now: EpochMs) -> bool {
        let untold = self
            .open_lease(now)
            .is_some_and(|lease| lease.balance() > 0);
        let denied = || {
            self.tenant_balances
                .iter()
                .any(|tenant_balance| tenant_balance.denied > 0)
        };
        let unspent = |ahead: &Ahead| now < ahead.ends_at && ahead.lent < ahead.units;
        let coming = || self.standing == 0 && self.ahead.iter().any(unspent);
        self.unanswered.is_some()
            || untold
            || (self.open_lease(now).is_some() && denied())
            || coming()
    }

    /// In how many milliseconds a window opens of which units are held already, where the one before is over.
    #[must_use]
    pub fn opens_in_ms(&self, now: EpochMs) -> Option<u64> {
        let over = self
            .lease
            .is_none_or(|lease| !lease.open(now) && now >= lease.ends_at);
        let next = self.ahead.iter().find(|ahead| now < ahead.ends_at);
        let starts_at = next.filter(|_| over)?.starts_at;
        (now < starts_at).then(|| starts_at.since(now))
    }

    /// When the next window opens of which units are held: not before the present one is over.
    #[must_use]
    pub fn opens_at(&self, now: EpochMs) -> Option<EpochMs> {
        let next = self.ahead.iter().find(|ahead| now < ahead.ends_at)?;
        let over_at = self
            .lease
            .as_ref()
            .map_or(EpochMs(0), |lease| lease.ends_at);
        Some(next.starts_at.max(over_at))
    }

    /// When the message that is under way may be repeated.
    #[must_use]
    pub fn repeats_at(&self) -> Option<EpochMs> {
        let sent = self.unanswered.as_ref().filter(|sent| sent.in_flight)?;
        Some(sent.sent_at.plus(CALL_MS_MAX))
    }

    /// Whether the parent, or its own, did not answer when it was last asked.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Whether the holder may be dropped without changing any promise: every message was answered or refused, no
    /// request waits, and the window is over, for the parent too. To drop it before wastes what it holds and nothing
    /// else.
    #[must_use]
    pub fn idle(&self, now: EpochMs) -> bool {
        let over = self.lease.as_ref().is_none_or(|lease| lease.over(now));
        let ahead = self.ahead.iter().any(|ahead| now < ahead.ends_at);
        over && !ahead && self.unanswered.is_none() && !self.waiting.any(now)
    }

    pub(super) fn low(&self, lease: &Lease, tenant_balance: &TenantBalance, now: EpochMs) -> bool {
        let unassigned = self.unassigned_for(&tenant_balance.party);
        self.timing(now).low(lease, tenant_balance, unassigned, now)
    }

    pub(super) fn timing(&self, now: EpochMs) -> Timing {
        Timing {
            contact_ms: self.contact_ms,
            // A parent that has little left is not asked for each unit of it.
            lately: self.contact_at.since(now) > self.contact_ms / 4 * 3,
            fixed: self.fixed,
        }
    }

    /// Units that a tenant is expected to use in the next few contacts or until the end of the window.
    pub(super) fn expected(&self, tenant_balance: &TenantBalance, now: EpochMs) -> u64 {
        if self.closing {
            return 0;
        }
        let contacts = match (self.fixed, &tenant_balance.party) {
            (true, Party::Everyone) => LEASE_CONTACTS,
            (true, Party::Tenant(_)) => LEASE_CONTACTS_SHARED,
            // What is not used of a part of a rolling window counts for many parts to come.
            (false, _) => 1,
        };
        let horizon_ms = contacts * self.contact_ms;
        let lease = self.open_lease(now);
        let horizon_ms = self.timing(now).horizon_in(lease, horizon_ms, now);
        tenant_balance.expected(horizon_ms, now)
    }
}

/// What says when to ask for more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    contact_ms: u64,
    lately: bool,
    fixed: bool,
}

impl Timing {
    /// Whether a tenant's units run low at its present pace, in a lease that is open, beside so many unassigned ones.
    pub(super) fn low(
        self,
        lease: &Lease,
        tenant_balance: &TenantBalance,
        unassigned: u64,
        now: EpochMs,
    ) -> bool {
        let left = match (&tenant_balance.told, &tenant_balance.party) {
            (Some(told), Party::Tenant(_)) => told.left,
            _ => lease.left,
        };
        if left == 0 || self.lately {
            return false;
        }
        if tenant_balance.missed > 0 {
            return true;
        }
        // Less than half of what is expected.
        let available = tenant_balance.available(unassigned, 0);
        let horizon_ms = self.horizon_in(Some(lease), self.contact_ms, now);
        let twice_more = available
            .checked_add(1)
            .and_then(|more| more.checked_mul(2));
        twice_more.is_some_and(|units| tenant_balance.expects(units, horizon_ms, now))
    }

    /// The part of `horizon_ms` that demand is expected for.
    fn horizon_in(self, lease: Option<&Lease>, horizon_ms: u64, now: EpochMs) -> u64 {
        let left_ms = lease.map_or(horizon_ms, |lease| lease.ends_at.since(now));
        // In the last moments of a window a lease is no smaller than for one contact: a little more than expected may
        // come.
        let least_ms = if self.fixed { self.contact_ms } else { 0 };
        horizon_ms.min(left_ms.max(least_ms))
    }
}
