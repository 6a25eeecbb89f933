//! A holder that lends on what it holds: a region. What goes to whom was decided above; here it only has to be there.

use weir_core::limits::COST_MAX;
use weir_core::units::EpochMs;
use weir_fairness::ask::{Party, Room};
use weir_wire::exchange::LeaseBody;

use super::Holder;
use crate::divide::{Claim, Divide, Idle, asked};
use crate::lease_size::{LeaseDemand, lease_units};
use crate::tenant_balance::TenantBalance;

/// Divides what a holder holds.
#[derive(Debug)]
pub struct Relay<'a> {
    /// The holder.
    pub holder: &'a mut Holder,
    /// Bounds of what is lent ahead of demand.
    pub lease: Option<LeaseBody>,
    /// Whether nothing is lent: what is asked was meant for another kind of pool.
    pub closed: bool,
}

impl Divide for Relay<'_> {
    fn room(&mut self, claim: &Claim<'_>) -> Room {
        let tenant = claim.party.name();
        if self.closed {
            return Room::default();
        }
        self.holder.unlent(claim.unlent);
        self.holder.lent_to(claim.party, claim.lent, claim.now);
        let asked = asked(claim.want, self.lease);
        let expects = asked.expected;
        let asked = if self.holder.pooled && !claim.party.is_bounded() {
            LeaseDemand {
                expected: 0,
                ..asked
            }
        } else {
            asked
        };
        let most = asked.waiting.saturating_add(asked.expected);
        let balance = self
            .holder
            .usable(claim.party, most, claim.now)
            .min(claim.unlent);
        // What is here was lent for those who ask here: half of it need not stay.
        let units = lease_units(asked, balance, claim.holders.div_ceil(2));
        let waiting = units.min(asked.waiting);
        let all = asked.waiting.saturating_add(asked.expected);
        self.holder.missed(tenant, all - units.min(all));
        let lease = self.holder.lease();
        let above = lease.map_or(0, |lease| lease.left);
        let limit = lease.map_or(0, |lease| lease.limit);
        let (allowance, contended) =
            self.holder
                .allowance(claim.party, (asked.smallest.max(1), expects), claim.holders);
        if contended {
            // It is asked for above before somebody waits for it.
            self.holder
                .missed(tenant, expects.saturating_sub(allowance));
        }
        let told = tenant.and_then(|_| self.holder.told(tenant));
        Room {
            waiting,
            ahead: units - waiting,
            ceiling: told.map_or(limit, |told| told.ceiling),
            used: 0,
            left: (balance - units).saturating_add(told.map_or(above, |told| told.left)),
            allowance,
            contended,
            retry_ms: told
                .and_then(|told| told.again)
                .map(|again| again.at.since(claim.now)),
        }
    }

    fn lent(&mut self, party: &Party, units: u64, charged: u64, now: EpochMs) {
        self.holder.lend(party, units, now);
        self.holder.permit(party.name(), charged, now);
    }

    fn idle(&mut self, units: u64, lent: &Idle) -> u64 {
        if self.closed || !self.holder.pooled {
            return 0;
        }
        let limit = self.holder.lease.map_or(0, |lease| lease.limit);
        // As of a tenant's units: half of what is here need not stay.
        let here = Idle {
            unlent: self.holder.unassigned.min(lent.unlent),
            holders: lent.holders.div_ceil(2),
            ..*lent
        };
        let lent_units = here.lends(units, limit);
        self.holder.unassigned -= lent_units;
        self.holder.flow.note(lent_units, 0, lent.now);
        if lent_units < units {
            self.holder.idle_missed = true;
        }
        lent_units
    }

    fn used(&self, party: &Party, lent: u64) -> u64 {
        let tenant_balance = self.holder.tenant_balances.get(party.name());
        let tenant_balance = tenant_balance.filter(|_| party.tenant().is_some());
        let told = tenant_balance.and_then(|tenant_balance| {
            Some(
                tenant_balance
                    .told?
                    .used
                    .saturating_sub(tenant_balance.balance()),
            )
        });
        told.map_or(0, |used| used.max(lent))
    }
}

impl Holder {
    /// Notes what is not lent on: what a message gives back is there for what it asks for.
    fn unlent(&mut self, units: u64) {
        if let Some(lease) = self.lease.as_mut() {
            lease.used = lease.held.saturating_sub(units);
        }
    }

    /// Notes what is lent on of a tenant in all. What this holder did not know of was lent from a window to come, or by
    /// an earlier life: it is not taken from what the tenant was lent since.
    fn lent_to(&mut self, party: &Party, units: u64, now: EpochMs) {
        if let Some(tenant_balance) = self.tenant_balance(party, now) {
            tenant_balance.learn(units, now);
        }
    }

    /// Notes that a holder was lent so much less than it asked for. Not of a part of a rolling window: what is lent and
    /// not used of one counts for many to come.
    fn missed(&mut self, tenant: Option<&str>, units: u64) {
        if let Some(tenant_balance) = self.tenant_balances.get_mut(tenant).filter(|_| self.fixed) {
            tenant_balance.missed = tenant_balance.missed.saturating_add(units).min(COST_MAX);
        }
    }

    /// Lends `units` on.
    fn lend(&mut self, party: &Party, units: u64, now: EpochMs) {
        if self.bind(party, units, now)
            && let Some(tenant_balance) = self.tenant_balances.get_mut(party.name())
        {
            tenant_balance.use_units(units, now);
            if self.pooled {
                self.flow.note(units, 0, now);
            }
        }
    }

    /// Records that `units` are lent on in all, to whichever tenants.
    pub fn lent_on(&mut self, units: u64) {
        if let Some(lease) = self.lease.as_mut() {
            lease.used = units;
        }
    }

    /// Finds the unassigned units again: what is held, less what is in balances and what is lent on to nobody knows whom. What
    /// comes back from below of the latter was in no balance.
    pub fn reconcile(&mut self, unattributed: u64) {
        let Some(lease) = self.lease.as_ref() else {
            return;
        };
        if self.tenant_balances.contains(None) {
            return;
        }
        if self.pooled {
            let balances = self.tenant_balances.iter().map(TenantBalance::balance);
            let by_name = balances.fold(0, u64::saturating_add);
            self.unassigned = lease.balance().saturating_sub(by_name);
            return;
        }
        let tenant_balances = self
            .tenant_balances
            .iter()
            .map(|tenant_balance| tenant_balance.held);
        let taken = tenant_balances.fold(unattributed, u64::saturating_add);
        self.unassigned = lease.held.saturating_sub(taken);
    }

    /// Takes note that units of a tenant came back from below.
    pub fn came_back(&mut self, tenant: Option<&str>, units: u64) {
        if let Some(tenant_balance) = self.tenant_balances.get_mut(tenant) {
            tenant_balance.unuse(units);
        }
    }

    /// Records that `units` of the next window are lent on in all.
    pub fn lent_ahead(&mut self, units: u64) {
        if let Some(ahead) = self.ahead.first_mut() {
            ahead.lent = units.min(ahead.units);
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::units::{HolderId, Incarnation, WindowLabel};
    use weir_fairness::ask::Claimant;
    use weir_wire::exchange::Want;

    use super::super::Lease;
    use super::*;
    use crate::attribution::Attribution;

    const NOW: EpochMs = EpochMs(10_000);

    /// A region that holds 50 units of 100, all unassigned.
    fn region(pooled: bool) -> Holder {
        let lease = Lease {
            label: WindowLabel(7),
            ends_at: EpochMs(70_000),
            over_at: EpochMs(70_000),
            span_ms: 60_000,
            limit: 100,
            held: 50,
            used: 0,
            left: 30,
            outage: false,
        };
        let holder = Holder::new("tokens".to_owned(), HolderId(1), Incarnation(1), None);
        Holder {
            pooled,
            fixed: true,
            ..holder.with_lease(lease, Vec::new())
        }
    }

    fn named(ceiling: Option<u64>) -> Party {
        let mut claimant = Claimant::plain("a");
        claimant.claim.ceiling = ceiling;
        claimant.into()
    }

    /// What an isolate is lent of which 4 units wait and 20 are expected.
    fn room(holder: &mut Holder, party: &Party, closed: bool) -> Room {
        let want = Want {
            tenant: party.name().map(str::to_owned),
            waiting: 4,
            smallest: 4,
            expected: 20,
            held: 0,
            denied: 0,
            rank: None,
        };
        let mut relay = Relay {
            holder,
            lease: None,
            closed,
        };
        relay.room(&Claim {
            party,
            want: &want,
            holders: 1,
            unlent: 50,
            lent: 0,
            presumed: 0,
            idle: 0,
            attribution: &Attribution::default(),
            now: NOW,
        })
    }

    #[test]
    fn where_units_lie_idle_for_all_a_tenant_is_lent_by_name_what_waits_and_no_more() {
        let lent = |pooled| {
            let room = room(&mut region(pooled), &named(None), false);
            (room.waiting, room.ahead)
        };
        assert_eq!(lent(true), (4, 0));
        assert_eq!(lent(false), (4, 20));
        let mut bounded = region(true);
        bounded.bounded.open(50, 100);
        // 40 of its ceiling of 80.
        let room = room(&mut bounded, &named(Some(80)), false);
        assert_eq!((room.waiting, room.ahead), (4, 18));
    }

    #[test]
    fn what_was_asked_for_and_not_lent_is_missed() {
        let mut short = region(false);
        short.unassigned = 6;
        let room = room(&mut short, &named(None), false);
        // Of 2 that are left half may go ahead.
        assert_eq!((room.waiting, room.ahead), (4, 1));
        assert_eq!(short.tenant_balances.get(Some("a")).unwrap().missed, 19);
    }

    #[test]
    fn what_is_meant_for_another_kind_of_pool_is_lent_nothing() {
        assert_eq!(room(&mut region(true), &named(None), true), Room::default());
    }

    #[test]
    fn of_idle_units_as_many_are_lent_as_are_asked_for_or_half_for_each_of_half_the_holders() {
        let lend_backing = |(pooled, closed), (units, unbacked), unlent, holders| {
            let mut holder = region(pooled);
            let mut relay = Relay {
                holder: &mut holder,
                lease: None,
                closed,
            };
            let idle = Idle {
                unbacked,
                unlent,
                holders,
                now: NOW,
            };
            let lent = relay.idle(units, &idle);
            assert_eq!(holder.unassigned, 50 - lent);
            (lent, holder.idle_missed)
        };
        let lend = |pooled, closed, units, unlent, holders| {
            lend_backing((pooled, closed), (units, 0), unlent, holders)
        };
        assert_eq!(lend(true, false, 10, 50, 1), (10, false));
        assert_eq!(lend(true, false, 25, 50, 1), (25, false));
        assert_eq!(lend(true, false, 26, 50, 1), (25, true));
        assert_eq!(lend(true, false, 40, 20, 4), (5, true));
        assert_eq!(lend(false, false, 10, 50, 1), (0, false));
        assert_eq!(lend(true, true, 10, 50, 1), (0, false));
        // And what is charged to tenants there, if that is more.
        let back =
            |units, unbacked, unlent| lend_backing((true, false), (units, unbacked), unlent, 4).0;
        assert_eq!(back(40, 30, 50), 30);
        assert_eq!(back(20, 30, 50), 20);
        assert_eq!(back(40, 30, 28), 28);
        assert_eq!(back(40, 3, 50), 12);
    }

    #[test]
    fn what_a_tenant_used_in_the_whole_deployment_is_as_the_parent_said_and_what_was_lent_since() {
        use weir_wire::exchange::Seen;

        use crate::parent_status::ParentStatus;
        let mut holder = region(false);
        let balance = holder.tenant_balance(&named(None), NOW).unwrap();
        balance.held = 6;
        balance.told = Some(ParentStatus {
            by: Seen::default(),
            until: NOW,
            span_ms: 0,
            ceiling: 100,
            used: 30,
            left: 0,
            unserved: false,
            contended: false,
            outage: false,
            again: None,
        });
        let relay = Relay {
            holder: &mut holder,
            lease: None,
            closed: false,
        };
        // Of 30 had here or elsewhere, 6 lie here.
        assert_eq!(
            [10, 24, 25].map(|lent| relay.used(&named(None), lent)),
            [24, 24, 25]
        );
        assert_eq!(relay.used(&Party::Everyone, 10), 0);
    }
}
