//! What a scrape says of decisions: the ledgers' totals, by tenant and by what decided.

use weir_core::ordered::OrderedMap;
use weir_wire::accounting::{ANONYMOUS, GuardTally, MeterTally, OTHERS, Tally, TenantCounters};
use weir_wire::policy::Scope;
use weir_wire::series::TotalsReply;

use super::families::{self, Family};
use super::page::Page;
use super::{ANONYMOUS_LABEL, OTHERS_LABEL, Scrape};

/// Slots of guards that one place counts for all regions, by tenant and guard.
type Slots = OrderedMap<(String, String), GuardTally>;

impl Scrape<'_> {
    /// All of it.
    pub(super) fn counted(&self, page: &mut Page) {
        let whole = self.totals.iter().all(|(_, totals)| totals.is_some());
        let mut slots = Slots::new();
        for (region, totals) in self.totals {
            for (name, tenant) in totals.iter().flat_map(|totals| &totals.counters) {
                let label = label(name, tenant);
                page.regional(region, label, tenant);
                if whole {
                    self.summed(page, label, tenant);
                    self.slots(page, (name, label), tenant, &mut slots);
                }
            }
        }
        for ((name, guard), tally) in &slots {
            let listed = |totals: &TotalsReply| {
                let tenant = totals.counters.get(name);
                tenant.is_some_and(|tenant| tenant.listed)
            };
            let mut answered = self.totals.iter().filter_map(|(_, totals)| totals.as_ref());
            let label = if answered.any(listed) {
                name
            } else {
                OTHERS_LABEL
            };
            let taken = tally.in_flight.slots_at(self.at);
            let labels = [("guard", guard.as_str()), ("tenant_id", label)];
            page.add(&families::GUARD_IN_FLIGHT, &labels, taken.into());
        }
    }

    /// Meters and guards, over all regions.
    fn summed(&self, page: &mut Page, tenant: &str, counters: &TenantCounters) {
        for (name, tally) in &counters.meters {
            let labels = [("meter", name.as_str()), ("tenant_id", tenant)];
            page.meter(&labels, tally);
            if self.policy.bills(name) {
                page.add(&families::METER_BILLABLE, &labels, tally.admitted_units.0);
            }
        }
        for (name, tally) in &counters.guards {
            page.guard([("guard", name.as_str()), ("tenant_id", tenant)], tally);
        }
    }

    /// Slots that are taken: those of a region's own guard add up, of all others the newest word is the whole.
    fn slots(
        &self,
        page: &mut Page,
        (name, label): (&str, &str),
        counters: &TenantCounters,
        slots: &mut Slots,
    ) {
        for (guard, tally) in &counters.guards {
            let body = self.policy.guards.get(guard);
            if body.is_some_and(|guard| guard.scope == Scope::Region) {
                let taken = tally.in_flight.slots_at(self.at);
                let labels = [("guard", guard.as_str()), ("tenant_id", label)];
                page.add(&families::GUARD_IN_FLIGHT, &labels, taken.into());
            } else {
                let known = slots.entry((name.to_owned(), guard.clone())).or_default();
                known.in_flight.merge_newer(tally.in_flight);
            }
        }
    }
}

fn label<'a>(name: &'a str, tenant: &TenantCounters) -> &'a str {
    match name {
        ANONYMOUS => ANONYMOUS_LABEL,
        OTHERS => OTHERS_LABEL,
        _ if tenant.listed => name,
        _ => OTHERS_LABEL,
    }
}

impl Page {
    /// Budgets, limits and overload resources, by region.
    fn regional(&mut self, region: &str, tenant: &str, counters: &TenantCounters) {
        let of = |kind, name| [(kind, name), ("region", region), ("tenant_id", tenant)];
        for (name, tally) in &counters.budgets {
            let labels = of("budget", name.as_str());
            self.tally(&labels, tally, &BUDGETS);
            self.add(&families::BUDGET_RESERVED, &labels, tally.reserved_units.0);
            self.add(&families::BUDGET_BORROWED, &labels, tally.borrowed_units.0);
        }
        for (name, tally) in &counters.limits {
            let labels = of("limit", name.as_str());
            self.tally(&labels, tally, &LIMITS);
            self.add(&families::LIMIT_RESERVED, &labels, tally.reserved_units.0);
        }
        for (name, tally) in &counters.overload {
            self.tally(&of("resource", name.as_str()), tally, &OVERLOAD);
        }
    }

    fn tally(&mut self, labels: &[(&str, &str)], tally: &Tally, families: &[&'static Family; 6]) {
        let values = [
            tally.admitted_units,
            tally.admitted_calls,
            tally.denied_units,
            tally.denied_calls,
            tally.would_deny_units,
            tally.would_deny_calls,
        ];
        for (family, value) in families.iter().zip(values) {
            self.add(family, labels, value.0);
        }
    }

    fn meter(&mut self, labels: &[(&str, &str)], tally: &MeterTally) {
        let values = [
            (&families::METER_ADMITTED_UNITS, tally.admitted_units),
            (&families::METER_SHED_UNITS, tally.shed_units),
            (&families::METER_ADMITTED_CALLS, tally.admitted_calls),
            (&families::METER_SHED_CALLS, tally.shed_calls),
            (&families::METER_RESERVED, tally.reserved_units),
            (&families::METER_WOULD_DENY_UNITS, tally.would_deny_units),
            (&families::METER_WOULD_DENY_CALLS, tally.would_deny_calls),
        ];
        for (family, value) in values {
            self.add(family, labels, value.0);
        }
    }

    fn guard(&mut self, labels: [(&str, &str); 2], tally: &GuardTally) {
        let [guard, tenant] = labels;
        self.add(&families::GUARD_ALLOWED, &labels, tally.allowed.0);
        self.add(&families::GUARD_WOULD_DENY, &labels, tally.would_deny.0);
        let reasons = [
            ("concurrency", tally.rejected_concurrency),
            ("budget", tally.rejected_budget),
            ("other", tally.rejected_other),
        ];
        for (reason, count) in reasons {
            let labels = [guard, ("reason", reason), tenant];
            self.add(&families::GUARD_REJECTED, &labels, count.0);
        }
    }
}

const BUDGETS: [&Family; 6] = [
    &families::BUDGET_ADMITTED_UNITS,
    &families::BUDGET_ADMITTED_CALLS,
    &families::BUDGET_DENIED_UNITS,
    &families::BUDGET_DENIED_CALLS,
    &families::BUDGET_WOULD_DENY_UNITS,
    &families::BUDGET_WOULD_DENY_CALLS,
];

const LIMITS: [&Family; 6] = [
    &families::LIMIT_ADMITTED_UNITS,
    &families::LIMIT_ADMITTED_CALLS,
    &families::LIMIT_DENIED_UNITS,
    &families::LIMIT_DENIED_CALLS,
    &families::LIMIT_WOULD_DENY_UNITS,
    &families::LIMIT_WOULD_DENY_CALLS,
];

const OVERLOAD: [&Family; 6] = [
    &families::OVERLOAD_ADMITTED_UNITS,
    &families::OVERLOAD_ADMITTED_CALLS,
    &families::OVERLOAD_DENIED_UNITS,
    &families::OVERLOAD_DENIED_CALLS,
    &families::OVERLOAD_WOULD_DENY_UNITS,
    &families::OVERLOAD_WOULD_DENY_CALLS,
];
