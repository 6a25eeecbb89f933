//! Allowances: what each tenant may use of the units that lie idle at a holder.
//!
//! Two ledgers. *Units* belong to the holder, whoever they are for: what the cap rests on, and hard. An *allowance* is a
//! tenant's: how many of them it may use before the parent speaks of it again. Where a tenant wants no more than it can
//! have, it is all that the parent would lend it: several holders may be told the same one, they may come to more than
//! there are units, and the parent corrects that at the next contact. Where it wants more, the parent charges the allowance
//! to the tenant's account, as if it were lent, and divides it; the holder says how much of it it keeps. An error in either
//! lends nothing. A tenant with a bound of its own has no allowance: it is lent units by name.

use weir_core::limits::{
    ADVANCE_PART, ADVANCE_REQUESTS, ALLOWED_REQUESTS_MIN, FIRST_REQUESTS, LEASE_CONTACTS,
    MEANWHILE_CONTACTS, OUTASKED_TIMES,
};
use weir_core::units::EpochMs;
use weir_fairness::ask::Party;

use super::Holder;
use crate::parent_status::ParentStatus;
use crate::tenant_balance::TenantBalance;
use crate::waiting::{Need, Needs};

impl Holder {
    /// Units that a tenant of which the parent has not spoken in this window may use of idle ones, for requests of `cost`.
    pub(super) fn first_max(&self, cost: u64) -> u64 {
        if self.pooled && !self.alone {
            cost.saturating_mul(FIRST_REQUESTS)
        } else {
            0
        }
    }

    /// Units that the tenant may use without asking, for requests of `cost`.
    pub(super) fn usable(&self, party: &Party, cost: u64, now: EpochMs) -> u64 {
        let Some(lease) = self.open_lease(now) else {
            return 0;
        };
        let (unassigned, first) = (self.unassigned_for(party), self.first_max(cost));
        let own = match self.tenant_balances.get(party.name()) {
            Some(tenant_balance) => tenant_balance.available(unassigned, first),
            None if !self.pooled || !self.confirmed => unassigned,
            None if party.takes_idle() => unassigned.min(first),
            None => 0,
        };
        own.min(lease.balance())
    }

    /// Has nobody use idle units without an allowance any more: the parent has spoken in this window.
    pub(super) fn end_unlimited(&mut self) {
        if !self.pooled {
            return;
        }
        for tenant_balance in self.tenant_balances.iter_mut() {
            if tenant_balance.unassigned_max == u64::MAX {
                tenant_balance.unassigned_max = 0;
            }
        }
    }

    /// Whether a need is denied while the parent is asked again: it said lately that there is nothing for anybody, or for
    /// this tenant by its present claim, or so little that this tenant will [have it anyway](Holder::outasks).
    pub(super) fn denies_meanwhile(&self, party: &Party, need: Need, now: EpochMs) -> bool {
        if !self.pooled || self.alone || party.tenant().is_none() || need.units == 0 {
            return false;
        }
        let meanwhile_ms = MEANWHILE_CONTACTS * self.contact_ms;
        let lease = self.open_lease(now).filter(|_| self.confirmed);
        let used_up = lease.is_some_and(|lease| lease.left == 0 && lease.balance() == 0);
        if used_up && now < self.contact_at.plus(meanwhile_ms) {
            return true;
        }
        let tenant_balance = self.tenant_balances.get(party.name());
        let tenant_balance =
            tenant_balance.filter(|one| one.party.claim_version() >= party.claim_version());
        let Some((tenant_balance, told)) =
            tenant_balance.and_then(|tenant_balance| Some((tenant_balance, tenant_balance.told?)))
        else {
            return false;
        };
        let lately = now < told.until.plus(meanwhile_ms);
        // What is lent to it by name goes back as it asks for more, and what lies idle here is asked for no second time.
        let here = tenant_balance.available(self.unassigned_for(party), 0);
        let left = self.left_for(tenant_balance, &told).saturating_add(here);
        let short = left < need.smallest || self.outasks(tenant_balance, now);
        !told.outage && lately && short
    }

    /// Units that the parent may lend to a tenant: what it said is left, and what it charged to the tenant already, so far as it
    /// has as many.
    pub(super) fn left_for(&self, tenant_balance: &TenantBalance, told: &ParentStatus) -> u64 {
        let charged = self.pooled && told.contended && tenant_balance.unassigned_max < u64::MAX;
        let above = self.lease.map_or(0, |lease| lease.left);
        let charged = if charged {
            tenant_balance.unassigned_max.min(above)
        } else {
            0
        };
        told.left.saturating_add(charged)
    }

    /// Whether a tenant that wants more than it can have will have had all that is left, whichever of its requests are denied
    /// now: until the window ends it asks at this holder alone for twice that.
    fn outasks(&self, tenant_balance: &TenantBalance, now: EpochMs) -> bool {
        let (Some(lease), Some(told)) = (self.open_lease(now), tenant_balance.told) else {
            return false;
        };
        let asked = tenant_balance.lasting(lease.ends_at.since(now), now);
        let left = tenant_balance.left_here(&told).max(1);
        told.contended && asked >= left.saturating_mul(OUTASKED_TIMES)
    }

    /// What a tenant that wants more than it can have may take beyond its allowance before the parent speaks of it again: a
    /// part of what is left for it here, if it asks for no more than that. Nobody need wait to be told so.
    pub(super) fn advance_of(&self, tenant: Option<&str>, now: EpochMs) -> u64 {
        let Some(tenant_balance) = self.tenant_balances.get(tenant) else {
            return 0;
        };
        let Some(told) = tenant_balance.told.filter(|told| told.contended) else {
            return 0;
        };
        if tenant_balance.party.is_bounded() || self.outasks(tenant_balance, now) {
            return 0;
        }
        let left = tenant_balance.left_here(&told);
        let few = tenant_balance.cost.max(1).saturating_mul(ADVANCE_REQUESTS);
        let part = if left < told.left {
            left / ADVANCE_PART
        } else {
            0
        };
        part.max(few.min(left))
    }

    /// What the parent said of a tenant that is denied until it may use more, as it asks for more than it can have.
    pub(super) fn rationed(&self, tenant: Option<&str>, now: EpochMs) -> Option<&ParentStatus> {
        let tenant_balance = self.tenant_balances.get(tenant).filter(|_| self.pooled)?;
        let told = tenant_balance.told.as_ref().filter(|told| told.left > 0)?;
        (tenant_balance.available(self.unassigned, 0) == 0 && self.outasks(tenant_balance, now))
            .then_some(told)
    }

    /// Whether what the parent said of a tenant that can have nothing should be heard anew; of one that is rationed when a
    /// quarter of the time to the next contact has passed, and of all where the window is over soon.
    pub(super) fn outworn(&self, tenant: Option<&str>, now: EpochMs) -> bool {
        if !self.pooled || self.unanswered.is_some() || self.open_lease(now).is_none() {
            return false;
        }
        let is_late = |told: &ParentStatus| told.until.since(now) <= told.span_ms / 4 * 3;
        self.told(tenant).is_some_and(|told| match told.left {
            0 if self.ends_soon(now) => is_late(told),
            0 => !told.recent(now),
            _ => is_late(told) && self.rationed(tenant, now).is_some(),
        })
    }

    /// Whether the window is over at the contact after the next.
    fn ends_soon(&self, now: EpochMs) -> bool {
        self.fixed
            && self
                .open_lease(now)
                .is_some_and(|lease| lease.ends_at.since(now) <= 2 * self.contact_ms)
    }

    /// What a holder below is told that a tenant may use there of what lies idle, and whether that is charged. `asked`: the
    /// smallest cost, and what is expected.
    pub(super) fn allowance(
        &self,
        party: &Party,
        asked: (u64, u64),
        holders: usize,
    ) -> (u64, bool) {
        if !self.pooled || party.is_bounded() {
            return (0, false);
        }
        let (cost, expected) = asked;
        let first = if party.takes_idle() {
            self.first_max(cost)
        } else {
            0
        };
        match self.tenant_balances.get(party.name()) {
            Some(tenant_balance) if tenant_balance.is_short() => {
                let each = tenant_balance.unassigned_max / (2 * holders.max(1) as u64);
                // Who asks seldom would be allowed less than a request at each holder, and wait for each.
                let seldom = expected <= cost.saturating_mul(FIRST_REQUESTS);
                let least = if seldom {
                    cost.min(tenant_balance.unassigned_max)
                } else {
                    0
                };
                (expected.min(each.max(least)), true)
            }
            Some(tenant_balance) if tenant_balance.told.is_some() => {
                (tenant_balance.unassigned_max, false)
            }
            Some(tenant_balance) if tenant_balance.unassigned_max < u64::MAX => {
                let opening = tenant_balance.opening.saturating_sub(tenant_balance.used);
                (tenant_balance.unassigned_max.max(first).max(opening), false)
            }
            Some(tenant_balance) => (first.max(tenant_balance.opening), false),
            None => (first, false),
        }
    }

    /// Notes that a holder below may use so many units of a tenant's allowance.
    pub(super) fn permit(&mut self, tenant: Option<&str>, units: u64, now: EpochMs) {
        if units > 0
            && let Some(tenant_balance) = self.tenant_balances.get_mut(tenant)
        {
            tenant_balance.learn(tenant_balance.used.saturating_add(units), now);
        }
    }

    /// What is asked for of one tenant by name, until the next contact, and at least a few requests of one that asks at all:
    /// nothing where its allowance is not charged.
    pub(super) fn wanted(&self, tenant_balance: &TenantBalance, now: EpochMs) -> u64 {
        if self.closing {
            return 0;
        }
        if tenant_balance.party.is_bounded() {
            return self.expected(tenant_balance, now);
        }
        if !tenant_balance.is_short() {
            return 0;
        }
        let asks = tenant_balance.demanded(self.horizon_ms(u64::MAX, now), now) > 0;
        let least = tenant_balance
            .cost
            .max(1)
            .saturating_mul(ALLOWED_REQUESTS_MIN);
        let demanded = tenant_balance.demanded(self.horizon_ms(1, now), now);
        demanded.max(if asks { least } else { 0 })
    }

    /// Of a tenant that is short, what of its allowance it keeps until the next contact: it counts as had by it.
    pub(super) fn kept_allowance(
        &self,
        tenant_balance: &TenantBalance,
        now: EpochMs,
    ) -> Option<u64> {
        let bounded = tenant_balance.party.is_bounded();
        let charged = self.pooled
            && tenant_balance.is_short()
            && !bounded
            && tenant_balance.unassigned_max < u64::MAX;
        charged.then(|| {
            tenant_balance
                .unassigned_max
                .min(self.wanted(tenant_balance, now))
        })
    }

    /// Whether a tenant is to be spoken of again, as it has used most of its allowance and may have more.
    pub(super) fn lacks_allowance(&self, tenant_balance: &TenantBalance, now: EpochMs) -> bool {
        let more = tenant_balance.told.is_some_and(|told| told.left > 0);
        more && tenant_balance.unassigned_max < tenant_balance.expected(self.contact_ms, now).max(1)
    }

    /// Has what tenants hold and do not use lie idle for all of them, and counts it in their allowances; but for those that
    /// are lent by name or wait.
    pub(super) fn pool_idle(&mut self, needs: &Needs, now: EpochMs) {
        let Some(lease) = self.open_lease(now).copied().filter(|_| self.pooled) else {
            return;
        };
        let mut by_name: u64 = 0;
        for tenant_balance in self.tenant_balances.iter_mut() {
            if tenant_balance.party.is_bounded() || needs.of(tenant_balance.party.name()).is_some()
            {
                let left = lease.balance().saturating_sub(by_name);
                tenant_balance.held = tenant_balance
                    .used
                    .saturating_add(tenant_balance.balance().min(left));
                by_name = by_name.saturating_add(tenant_balance.balance());
            } else {
                tenant_balance.unassigned_max = tenant_balance
                    .unassigned_max
                    .saturating_add(tenant_balance.balance());
                tenant_balance.held = tenant_balance.used;
            }
        }
        self.unassigned = lease.balance().saturating_sub(by_name);
    }

    /// Units that should lie idle here: what all tenants are expected to use, without those that are lent by name.
    pub(super) fn idle_goal(&self, now: EpochMs) -> u64 {
        if !self.pooled || self.closing {
            return 0;
        }
        let horizon_ms = self.horizon_ms(LEASE_CONTACTS, now);
        let short = self
            .tenant_balances
            .iter()
            .filter(|tenant_balance| tenant_balance.party.is_bounded());
        let by_name = short.map(|tenant_balance| tenant_balance.expected(horizon_ms, now));
        let by_name = by_name.fold(0, u64::saturating_add);
        let kept = self
            .tenant_balances
            .iter()
            .filter_map(|tenant_balance| self.kept_allowance(tenant_balance, now));
        let kept = kept.fold(0, u64::saturating_add);
        self.flow
            .expected(horizon_ms, now)
            .saturating_sub(by_name)
            .max(kept)
    }

    /// Whether all that is here runs low at the pace of all tenants.
    pub(super) fn all_low(&self, now: EpochMs) -> bool {
        let Some(lease) = self.open_lease(now).filter(|lease| lease.left > 0) else {
            return false;
        };
        let just_asked = self.contact_at.since(now) > self.contact_ms / 10 * 9;
        let expected = self.flow.expected(self.horizon_ms(1, now), now);
        let low = lease.balance() < expected / 4 * 3;
        !just_asked && (low || self.idle_missed)
    }

    /// The time of so many contacts, until the window ends at most, and at least half of one contact.
    fn horizon_ms(&self, contacts: u64, now: EpochMs) -> u64 {
        let lease = self.open_lease(now);
        let left_ms = lease.map_or(0, |lease| lease.ends_at.since(now));
        // In the last moments of a window a little more than expected may come.
        let least_ms = if self.fixed { self.contact_ms / 2 } else { 0 };
        contacts
            .saturating_mul(self.contact_ms)
            .min(left_ms.max(least_ms))
    }
}
