//! What a holder tells its parent: for each tenant what it asks for, what it has and what it gives back.

use weir_core::limits::{AHEAD_CONTACTS, AHEAD_REQUESTS_MIN, COST_MAX, EXCHANGE_ENTRIES_MAX};
use weir_core::units::{EpochMs, Sequence};
use weir_fairness::ask::Party;
use weir_fairness::share::Rule;
use weir_wire::exchange::{ExchangeBody, RankBody, Return, Terms, VERSION, Want};

use super::super::tenant_balance::TenantBalance;
use super::super::waiting::{Need, Needs};
use super::{Holder, Lease};

impl Holder {
    /// The next message. What it returns is the parent's again as soon as it is sent.
    pub(super) fn compose(&mut self, terms: Terms, now: EpochMs) -> ExchangeBody {
        self.waiting.expire(now);
        self.fixed = terms.cycle.is_none();
        self.spoken = Some((terms.revision, terms.sharing.is_some()));
        self.keep_kind(terms.sharing.is_some());
        let was_pooled = self.pooled;
        self.pooled = terms
            .sharing
            .as_ref()
            .is_some_and(|sharing| Rule::from(sharing.rule).pools_idle());
        if self.pooled && !was_pooled {
            self.flow = crate::pace::Pace::new(now);
        }
        let needs = self.waiting.by_tenant();
        self.pool_idle(&needs, now);
        let ahead = self.ahead_want(now);
        self.idle_missed = false;
        let goal = self.idle_goal(now);
        let mut spare = self.unassigned_spare(&needs, goal, now);
        let idle = if self.open_lease(now).is_some() {
            goal.saturating_sub(self.unassigned)
        } else {
            0
        };
        let mut wants = Vec::new();
        for tenant in self.mentioned(&needs, terms.sharing.is_some(), now) {
            let need = needs.of(tenant.as_deref());
            let (want, given) = self.want(tenant.as_deref(), need, now);
            spare = spare.saturating_add(given);
            wants.extend(want);
        }
        self.sequence = Sequence(self.sequence.0 + 1);
        let mut returns = self.give_back(spare, now);
        returns.extend(self.take_surplus());
        ExchangeBody {
            v: VERSION,
            budget: self.pool.clone(),
            terms,
            holder: self.id,
            incarnation: self.incarnation,
            sequence: self.sequence,
            seen: self.seen,
            window: self.lease.map(|lease| lease.label),
            denied: wants.iter().map(|want| want.denied).sum(),
            wants,
            returns,
            ahead,
            idle,
        }
    }

    /// The balances of tenants where the pool is shared, else the one of all: the policy may have changed that. Units in
    /// the others are unassigned.
    fn keep_kind(&mut self, shared: bool) {
        let unassigned = &mut self.unassigned;
        self.tenant_balances.retain(|tenant_balance| {
            let kept = tenant_balance.party.tenant().is_some() == shared;
            if !kept {
                *unassigned = unassigned.saturating_add(tenant_balance.balance());
            }
            kept
        });
    }

    /// Whom the message is about: those for whom requests wait first, then whoever has something to tell; of both,
    /// starting with the first that there was no room for. Who waits and is never mentioned would wait in vain.
    fn mentioned(&mut self, needs: &Needs, shared: bool, now: EpochMs) -> Vec<Option<String>> {
        if !shared {
            let _made = self.tenant_balance(&Party::Everyone, now);
            return vec![None];
        }
        let waits = |one: &TenantBalance| {
            let need = needs.of(one.party.name());
            need.is_some_and(|need| need.units > 0)
        };
        let tenant_balances = self.tenant_balances.iter_from(self.told_next.as_deref());
        let (waiting, others): (Vec<&TenantBalance>, Vec<_>) =
            tenant_balances.partition(|one| waits(one));
        let telling = others.into_iter().filter(|tenant_balance| {
            let needed = needs.of(tenant_balance.party.name()).is_some();
            if self.pooled && !tenant_balance.is_short() {
                return needed
                    || tenant_balance.is_untold()
                    || self.lacks_allowance(tenant_balance, now);
            }
            let expected = self.expected(tenant_balance, now);
            let moves = expected != tenant_balance.balance()
                && (expected > 0 || tenant_balance.balance() > 0);
            let news = !self.confirmed && tenant_balance.held > 0;
            needed
                || moves
                || news
                || tenant_balance.denied > 0
                || (self.pooled && tenant_balance.is_untold())
        });
        let mut tenants: Vec<_> = waiting
            .into_iter()
            .chain(telling)
            .map(|one| one.party.name().map(str::to_owned))
            .collect();
        self.told_next = tenants.get(EXCHANGE_ENTRIES_MAX).cloned().flatten();
        tenants.truncate(EXCHANGE_ENTRIES_MAX);
        tenants
    }

    /// What is asked for of one tenant, and what of its balance is given back: what it is not expected to use, unless
    /// requests wait for more.
    fn want(
        &mut self,
        tenant: Option<&str>,
        need: Option<Need>,
        now: EpochMs,
    ) -> (Option<Want>, u64) {
        let Some(tenant_balance) = self.tenant_balances.get(tenant) else {
            return (None, 0);
        };
        let waits = need.map_or(0, |need| need.units);
        // What requests wait for is lent with the units.
        let kept = self
            .kept_allowance(tenant_balance, now)
            .map(|units| units.saturating_sub(waits));
        let expected = if self.pooled {
            self.wanted(tenant_balance, now)
        } else {
            self.expected(tenant_balance, now)
        };
        let first = self.first_max(need.map_or(1, |need| need.smallest));
        // What lies idle for all serves none of those that wait, or they would not: it counts where the parent alone could not
        // serve them.
        let unassigned = if self.pooled && !self.lacks_above(need) {
            0
        } else {
            tenant_balance.unassigned_of(self.unassigned_for(&tenant_balance.party), first)
        };
        // What is too little for any request of a tenant counts against it at a parent that shares: it goes back, and
        // the whole is waited for.
        let useless = need.is_some_and(|need| {
            let little = tenant.is_some()
                && tenant_balance.balance().saturating_add(unassigned) < need.smallest;
            little || self.useless(tenant_balance, need)
        });
        let (open, returns) = (self.open_lease(now).is_some(), self.confirmed);
        let Some(tenant_balance) = self.tenant_balances.get_mut(tenant) else {
            return (None, 0);
        };
        let need = need.unwrap_or(Need {
            units: 0,
            smallest: 0,
        });
        let balance = if open { tenant_balance.balance() } else { 0 };
        let spare = match (need.units == 0, useless) {
            (true, _) => balance.saturating_sub(expected),
            (false, true) => balance,
            (false, false) => 0,
        };
        let given = if returns && open {
            spare.min(COST_MAX)
        } else {
            0
        };
        let balance = balance - given;
        tenant_balance.give_back(given);
        let waiting = need
            .units
            .saturating_sub(balance.saturating_add(unassigned));
        let smallest = need.smallest.saturating_sub(balance).max(1).min(waiting);
        let denied = std::mem::take(&mut tenant_balance.denied);
        let missed = std::mem::take(&mut tenant_balance.missed).saturating_sub(waiting);
        let want = Want {
            tenant: tenant.map(str::to_owned),
            waiting,
            smallest,
            expected: expected
                .saturating_sub(balance.saturating_add(kept.unwrap_or(0)))
                .max(missed),
            // Also where the lease seems over here: a reply that came late was counted from when it was asked for.
            held: if tenant.is_some() {
                tenant_balance.held.saturating_add(kept.unwrap_or(0))
            } else {
                0
            },
            denied,
            rank: tenant_balance.party.tenant().map(RankBody::from),
        };
        if let Some(kept) = kept {
            tenant_balance.unassigned_max = kept;
        }
        tenant_balance.stated = tenant_balance.held.saturating_add(kept.unwrap_or(0));
        (Some(want), given)
    }

    /// Whether the parent has less than what serves any of those that wait.
    fn lacks_above(&self, need: Option<Need>) -> bool {
        let left = self.lease.map_or(0, |lease| lease.left);
        need.is_some_and(|need| left < need.smallest)
    }

    /// Whether what a tenant could use here serves none of its requests, and the parent could not add what is missing:
    /// several holders that each keep a part of what one request needs would keep it from all.
    fn useless(&self, tenant_balance: &TenantBalance, need: Need) -> bool {
        let unserved = tenant_balance.told.is_some_and(|told| told.unserved);
        let first = self.first_max(need.smallest);
        unserved
            && tenant_balance.available(self.unassigned_for(&tenant_balance.party), first)
                < need.smallest
    }

    /// Units in no balance that are given back: all, once the parent has spoken in this window and nobody waits whom they
    /// could serve.
    fn unassigned_spare(&mut self, needs: &Needs, goal: u64, now: EpochMs) -> u64 {
        let useless = needs.iter().all(|(tenant, need)| {
            let tenant_balance = self.tenant_balances.get(tenant);
            tenant_balance.is_some_and(|tenant_balance| {
                let first = self.first_max(need.smallest);
                let unassigned =
                    tenant_balance.unassigned_of(self.unassigned_for(&tenant_balance.party), first);
                unassigned == 0 || self.useless(tenant_balance, need)
            })
        });
        if !self.confirmed || !useless || self.open_lease(now).is_none() {
            return 0;
        }
        let spare = self.unassigned.saturating_sub(goal).min(COST_MAX);
        self.unassigned -= spare;
        spare
    }

    fn give_back(&mut self, spare: u64, now: EpochMs) -> Vec<Return> {
        let lease = self.lease.as_mut().filter(|lease| lease.open(now));
        let Some(lease) = lease else {
            return Vec::new();
        };
        let units = spare.min(lease.balance()).min(COST_MAX);
        if units == 0 {
            return Vec::new();
        }
        lease.held -= units;
        vec![Return {
            window: lease.label,
            units,
        }]
    }

    /// Units of the next window that are asked for: what all tenants are expected to use in its first moments, when
    /// the present one nears its end; of a whole window where slices are held. Nothing of a pool that few requests would
    /// use up: its parts would serve none of them.
    fn ahead_want(&self, now: EpochMs) -> u64 {
        let Some(lease) = self.open_lease(now).filter(|_| !self.closing) else {
            return 0;
        };
        if lease.limit / AHEAD_REQUESTS_MIN < self.cost_max {
            return 0;
        }
        let horizon_ms = if self.standing > 0 {
            lease.span_ms
        } else if self.nears_end(lease, now) {
            self.ahead_ms()
        } else {
            return 0;
        };
        self.demanded(horizon_ms, now)
    }

    fn demanded(&self, horizon_ms: u64, now: EpochMs) -> u64 {
        let tenant_balances = self.tenant_balances.iter();
        let demanded =
            tenant_balances.map(|tenant_balance| tenant_balance.demanded(horizon_ms, now));
        let demanded = demanded.fold(0, u64::saturating_add);
        let flow = if self.pooled {
            self.flow.expected(horizon_ms, now)
        } else {
            0
        };
        demanded.max(flow).min(COST_MAX)
    }

    fn nears_end(&self, lease: &Lease, now: EpochMs) -> bool {
        self.fixed && lease.ends_at.since(now) <= self.ahead_ms()
    }

    /// How long before a window opens it is asked for.
    fn ahead_ms(&self) -> u64 {
        AHEAD_CONTACTS * self.contact_ms
    }

    /// Whether less than half of what is wanted of the windows to come is held.
    fn lacks_ahead(&self, now: EpochMs) -> bool {
        if self.standing > 0 {
            return (self.ahead.len() as u64) < self.standing;
        }
        let held = self
            .ahead
            .first()
            .map_or(0, |ahead| ahead.units - ahead.lent.min(ahead.units));
        held < self.demanded(self.ahead_ms(), now).div_ceil(2)
    }

    /// Whether the next window should be asked for.
    pub(super) fn ahead_due(&self, lease: &Lease, now: EpochMs) -> bool {
        let wanted = self.standing > 0 || self.nears_end(lease, now);
        let fine = lease.limit / AHEAD_REQUESTS_MIN >= self.cost_max;
        !self.closing
            && self.fixed
            && wanted
            && fine
            && now >= self.contact_at
            && self.lacks_ahead(now)
    }
}
