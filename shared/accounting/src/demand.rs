//! What every tenant was counted for by interval, as finely as there is room for.

use std::cmp::Reverse;

use weir_core::limits::{DEMAND_CELLS_MAX, HOUR_MS, MINUTE_MS};
use weir_core::ordered::{OrderedMap, OrderedSet};
use weir_core::units::EpochMs;
use weir_wire::accounting::{Counters, TenantCounters};
use weir_wire::series::DemandReply;

use super::interval::{add_point, start};

/// Lengths of intervals. Each is made of whole ones of the one before it.
const STEPS_MS: [u64; 4] = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS];

/// Counters of every tenant by interval: at first by minute. While there are more than [`DEMAND_CELLS_MAX`] intervals of
/// tenants, the intervals become longer; an hour long, those of the tenants with the fewest calls are left out.
///
/// ```
/// use weir_accounting::demand::Demand;
/// use weir_core::limits::DEMAND_CELLS_MAX;
/// use weir_core::units::EpochMs;
/// use weir_wire::accounting::{Counters, TenantCounters};
/// let mut demand = Demand::default();
/// let tenants = (0..DEMAND_CELLS_MAX / 4).map(|number| (format!("t{number}"), TenantCounters::default()));
/// let counters: Counters = tenants.collect();
/// for minute in 0..10 {
///     demand.add(EpochMs(minute * 60_000), &counters);
/// }
/// // Ten minutes of each are more than there is room for, and two times five minutes are not.
/// let reply = demand.reply();
/// assert_eq!((reply.step_ms, reply.tenants["t0"].len(), reply.left_out), (300_000, 2, 0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    step_ms: u64,
    cells: usize,
    tenants: ByTenant,
    left_out: OrderedSet<String>,
    /// How many another ledger left out, of which the names are not known; the most of several.
    untold: u64,
}

type ByTenant = OrderedMap<String, OrderedMap<EpochMs, TenantCounters>>;

impl Default for Demand {
    fn default() -> Self {
        Self {
            step_ms: MINUTE_MS,
            cells: 0,
            tenants: OrderedMap::new(),
            left_out: OrderedSet::new(),
            untold: 0,
        }
    }
}

impl Demand {
    /// Adds what was counted in the minute of `at`.
    pub fn add(&mut self, at: EpochMs, counters: &Counters) {
        for (tenant, counted) in counters {
            if self.left_out.contains(tenant) {
                continue;
            }
            let of_tenant = self.tenants.entry(tenant.clone()).or_default();
            let before = of_tenant.len();
            of_tenant
                .entry(start(at, self.step_ms))
                .or_default()
                .add(counted);
            self.cells += of_tenant.len() - before;
        }
        self.shrink();
    }

    /// Adds what another ledger, or the same, answered.
    pub fn merge(&mut self, reply: DemandReply) {
        self.coarsen(reply.step_ms);
        self.untold = self.untold.max(reply.left_out);
        for (tenant, points) in reply.tenants {
            for (at, counted) in points {
                self.add(at, &Counters::from([(tenant.clone(), counted)]));
            }
        }
    }

    /// All of it.
    #[must_use]
    pub fn reply(self) -> DemandReply {
        DemandReply {
            step_ms: self.step_ms,
            tenants: self.tenants,
            left_out: self.untold.max(self.left_out.len() as u64),
        }
    }

    fn shrink(&mut self) {
        while self.cells > DEMAND_CELLS_MAX {
            match STEPS_MS.into_iter().find(|step_ms| *step_ms > self.step_ms) {
                Some(step_ms) => self.coarsen(step_ms),
                None => return self.leave_out(),
            }
        }
    }

    /// Makes the intervals as long as `step_ms` at least.
    fn coarsen(&mut self, step_ms: u64) {
        if step_ms <= self.step_ms {
            return;
        }
        self.step_ms = step_ms;
        self.cells = 0;
        for points in self.tenants.values_mut() {
            let mut longer = OrderedMap::new();
            for (at, counted) in std::mem::take(points) {
                add_point(&mut longer, at, step_ms, &counted);
            }
            self.cells += longer.len();
            *points = longer;
        }
    }

    /// Leaves out an eighth of the tenants, so that it is not done again for each one more.
    fn leave_out(&mut self) {
        let mut ranked: Vec<_> = self
            .tenants
            .iter()
            .map(|(tenant, points)| {
                let calls: u128 = points.values().map(|counted| counted.calls()).sum();
                (Reverse(calls), tenant.clone())
            })
            .collect();
        ranked.sort_unstable();
        let kept = ranked.len() - ranked.len().div_ceil(8);
        for (_, tenant) in ranked.drain(kept..) {
            self.cells -= self
                .tenants
                .remove(&tenant)
                .map_or(0, |points| points.len());
            self.left_out.insert(tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::accounting::Tally;
    use weir_wire::count::Count;

    use super::*;

    fn counted(calls: u128) -> TenantCounters {
        let mut counters = TenantCounters::default();
        let tally = Tally {
            admitted_calls: Count(calls),
            ..Tally::default()
        };
        counters.limits.insert("login".to_owned(), tally);
        counters
    }

    fn calls(reply: &DemandReply, tenant: &str) -> u128 {
        reply.tenants[tenant]
            .values()
            .map(TenantCounters::calls)
            .sum()
    }

    #[test]
    fn few_tenants_are_told_by_minute() {
        let mut demand = Demand::default();
        for minute in 0..60 {
            let counters = Counters::from([("acme".to_owned(), counted(minute.into()))]);
            demand.add(EpochMs(minute * MINUTE_MS + 7), &counters);
        }
        let reply = demand.reply();
        assert_eq!(
            (reply.step_ms, reply.tenants["acme"].len()),
            (MINUTE_MS, 60)
        );
        assert_eq!(calls(&reply, "acme"), (0..60).sum());
    }

    #[test]
    fn beyond_the_room_those_with_the_fewest_calls_are_left_out_and_nothing_else_is_lost() {
        let mut demand = Demand::default();
        let tenants = DEMAND_CELLS_MAX + 10;
        let name = |number: usize| format!("t{number:06}");
        for half in 0..2 {
            let of = |number: usize| (name(number), counted(1 + number as u128));
            demand.add(EpochMs(half * MINUTE_MS), &(0..tenants).map(of).collect());
        }
        let reply = demand.reply();
        assert_eq!(reply.step_ms, HOUR_MS);
        assert!(reply.tenants.len() <= DEMAND_CELLS_MAX);
        assert_eq!(reply.tenants.len() as u64 + reply.left_out, tenants as u64);
        assert_eq!(
            reply.left_out,
            tenants.div_ceil(8) as u64,
            "an eighth, once"
        );
        assert!(!reply.tenants.contains_key(&name(0)));
        assert_eq!(calls(&reply, &name(tenants - 1)), 2 * tenants as u128);
    }

    #[test]
    fn ledgers_of_different_fineness_come_to_the_coarser_one() {
        let reply = |step_ms, at| DemandReply {
            step_ms,
            tenants: OrderedMap::from([(
                "acme".to_owned(),
                OrderedMap::from([(EpochMs(at), counted(3))]),
            )]),
            left_out: step_ms / MINUTE_MS,
        };
        let (fine, coarse) = (
            reply(MINUTE_MS, 7 * MINUTE_MS),
            reply(5 * MINUTE_MS, 5 * MINUTE_MS),
        );
        for order in [[fine.clone(), coarse.clone()], [coarse, fine]] {
            let mut demand = Demand::default();
            order.into_iter().for_each(|reply| demand.merge(reply));
            let told = demand.reply();
            assert_eq!(
                (told.step_ms, told.tenants["acme"].len()),
                (5 * MINUTE_MS, 1)
            );
            assert_eq!((calls(&told, "acme"), told.left_out), (6, 5));
        }
    }
}
