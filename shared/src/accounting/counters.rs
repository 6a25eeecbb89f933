//! Adding decisions to counters, with a bound on the tenants that are told apart.

use std::collections::BTreeMap;

use crate::limits::TENANT_NAMES_MAX;
use crate::wire::accounting::{Counters, OTHERS, Tally, TenantCounters};

/// What was charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charged<'a> {
    /// A budget, by name.
    Budget(&'a str),
    /// A limit, by name.
    Limit(&'a str),
}

/// Adds one decision of `units` for `tenant`, of which at most `tenants_max` are kept by name.
///
/// ```
/// use weir_shared::accounting::counters::{count, Charged};
/// use weir_shared::wire::accounting::Counters;
/// let mut counters = Counters::new();
/// count(&mut counters, "acme", Charged::Budget("tokens"), true, 3, 10);
/// count(&mut counters, "acme", Charged::Budget("tokens"), false, 5, 10);
/// let tally = counters["acme"].budgets["tokens"];
/// assert_eq!((tally.admitted_units.0, tally.denied_units.0, tally.denied_calls.0), (3, 5, 1));
/// ```
pub fn count(
    counters: &mut Counters,
    tenant: &str,
    charged: Charged<'_>,
    admitted: bool,
    units: u64,
    tenants_max: usize,
) {
    let mut one = Tally::default();
    if admitted {
        one.admitted_calls += 1;
        one.admitted_units += units;
    } else {
        one.denied_calls += 1;
        one.denied_units += units;
    }
    let entry = entry(counters, tenant, tenants_max);
    let (map, name) = match charged {
        Charged::Budget(name) => (&mut entry.budgets, name),
        Charged::Limit(name) => (&mut entry.limits, name),
    };
    tally(map, name).add(&one);
}

/// Adds `more` to `counters`, of which at most `tenants_max` tenants are kept by name.
pub fn merge(counters: &mut Counters, more: &Counters, tenants_max: usize) {
    for (tenant, added) in more {
        entry(counters, tenant, tenants_max).add(added);
    }
}

fn entry<'a>(
    counters: &'a mut Counters,
    tenant: &str,
    tenants_max: usize,
) -> &'a mut TenantCounters {
    let known = counters.contains_key(tenant) || counters.len() < tenants_max;
    let name = if known { tenant } else { OTHERS };
    counters.entry(name.to_owned()).or_default()
}

fn tally<'a>(tallies: &'a mut BTreeMap<String, Tally>, name: &str) -> &'a mut Tally {
    let known = tallies.contains_key(name) || tallies.len() < TENANT_NAMES_MAX;
    let name = if known { name } else { OTHERS };
    tallies.entry(name.to_owned()).or_default()
}

impl Tally {
    /// Adds another tally to this one.
    pub fn add(&mut self, other: &Self) {
        self.admitted_calls += other.admitted_calls;
        self.admitted_units += other.admitted_units;
        self.denied_calls += other.denied_calls;
        self.denied_units += other.denied_units;
    }
}

impl TenantCounters {
    /// Adds another tenant's counters to this one's.
    pub fn add(&mut self, other: &Self) {
        for (name, added) in &other.budgets {
            tally(&mut self.budgets, name).add(added);
        }
        for (name, added) in &other.limits {
            tally(&mut self.limits, name).add(added);
        }
    }

    /// The sum over budgets and limits.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for tally in self.budgets.values().chain(self.limits.values()) {
            total.add(tally);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_beyond_the_bound_are_counted_together_and_none_is_lost() {
        let mut counters = Counters::new();
        for number in 0..50 {
            let tenant = format!("tenant-{number}");
            count(
                &mut counters,
                &tenant,
                Charged::Limit("ip"),
                number % 2 == 0,
                2,
                10,
            );
        }
        assert_eq!(counters.len(), 11);
        let mut total = Tally::default();
        for tenant in counters.values() {
            total.add(&tenant.total());
        }
        assert_eq!((total.admitted_units.0, total.denied_units.0), (50, 50));
        assert_eq!(counters[OTHERS].total().admitted_calls.0, 20);
    }
}
