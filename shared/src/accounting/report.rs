//! Who got what: the counters of all regions, put beside the policy.

use super::counters::merge;
use crate::policy::Policy;
use crate::policy::name::tenant_name;
use crate::units::{EpochMs, Revision};
use crate::wire::accounting::{Counters, Tally, TenantCounters};
use crate::wire::count::Count;
use crate::wire::decimal::Decimal;
use crate::wire::operator::{BudgetReport, FairnessReply, RegionReport, TenantReport};

/// The report over `regions`; a region without counters did not answer.
#[must_use]
pub fn report(
    policy: &Policy,
    revision: Revision,
    regions: Vec<(String, Option<Counters>)>,
    at: EpochMs,
) -> FairnessReply {
    let mut all = Counters::new();
    let mut region_reports = Vec::new();
    for (region, counters) in regions {
        let mut total = Tally::default();
        for tenant in counters.iter().flat_map(Counters::values) {
            total.add(&tenant.total());
        }
        region_reports.push(RegionReport {
            region,
            reachable: counters.is_some(),
            total,
        });
        merge(&mut all, &counters.unwrap_or_default(), usize::MAX);
    }
    let tenants = all
        .iter()
        .map(|(name, counters)| tenant(policy, name, counters));
    FairnessReply {
        at: at.0,
        policy_revision: revision.0,
        enforcing: policy.enforcing,
        regions: region_reports,
        tenants: tenants.collect(),
    }
}

fn tenant(policy: &Policy, name: &str, counters: &TenantCounters) -> TenantReport {
    // What is counted together, or without a tenant, has no tier; no tenant's name contains a control character.
    let resolved = policy
        .tiers
        .resolve(name)
        .filter(|_| tenant_name(name).is_ok());
    let weight = Decimal(resolved.map_or(0.0, |resolved| resolved.weight.as_f64()));
    let budgets = counters.budgets.iter().map(|(name, total)| {
        let report = BudgetReport {
            weight,
            guarantee: 0,
            used: total.admitted_units,
            borrowed: Count::default(),
            denied: total.denied_calls,
            total: *total,
        };
        (name.clone(), report)
    });
    TenantReport {
        tenant: name.to_owned(),
        tier: resolved.map(|resolved| resolved.tier.to_owned()),
        weight,
        total: counters.total(),
        budgets: budgets.collect(),
        limits: counters.limits.clone(),
    }
}
