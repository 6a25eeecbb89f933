//! What tenants whose claims change are guaranteed by either policy, among all that asked in recorded windows.

use std::cmp::Reverse;

use weir_accounting::guarantee::Guarantees;
use weir_core::limits::PREVIEW_ROWS_MAX;
use weir_core::ordered::{OrderedMap, OrderedSet, sort_by_key};
use weir_core::units::{EpochMs, Revision};
use weir_policy::Policy;
use weir_wire::decimal::Decimal;
use weir_wire::preview::{Claimed, PreviewClaim};

use super::RecordedWindow;
use crate::report::guarantee::{among, counts_as};

/// The claims that change, the most first. A tenant whose guarantee changes only as another one's claim does is not among them.
pub(super) fn claims(
    policies: [&Policy; 2],
    windows: &[RecordedWindow],
    now: EpochMs,
) -> Vec<PreviewClaim> {
    let mut asked: OrderedMap<&str, OrderedSet<&str>> = OrderedMap::new();
    for window in windows {
        let tenants = asked.entry(window.budget.as_str()).or_default();
        for one in &window.tenants {
            tenants.insert(one.tenant.as_str());
        }
    }
    let mut found = Vec::new();
    for (budget, tenants) in &asked {
        found.extend(of_budget(policies, budget, tenants, now));
    }
    sort_by_key(&mut found, |one| {
        Reverse(one.present.guarantee.abs_diff(one.candidate.guarantee))
    });
    found.truncate(PREVIEW_ROWS_MAX);
    found
}

fn of_budget(
    policies: [&Policy; 2],
    budget: &str,
    tenants: &OrderedSet<&str>,
    now: EpochMs,
) -> Vec<PreviewClaim> {
    let guarantees = policies.map(|policy| among(policy, budget, tenants.iter().copied(), now));
    if guarantees.iter().all(|all| all.weight_of_all() == 0) {
        return Vec::new();
    }
    let changed = |tenant: &&&str| {
        let [present, candidate] =
            policies.map(|policy| policy.claimant(tenant, Some(budget), Revision(0), now));
        present != candidate
    };
    let ([present, candidate], [before, after]) = (policies, &guarantees);
    let claim = |tenant: &&str| PreviewClaim {
        budget: budget.to_owned(),
        tenant: (*tenant).to_owned(),
        present: claimed(present, before, (budget, tenant), now),
        candidate: claimed(candidate, after, (budget, tenant), now),
    };
    tenants.iter().filter(changed).map(claim).collect()
}

fn claimed(
    policy: &Policy,
    guarantees: &Guarantees,
    (budget, tenant): (&str, &str),
    now: EpochMs,
) -> Claimed {
    let claimant = policy.claimant(tenant, Some(budget), Revision(0), now);
    let weight = claimant.map_or(0.0, |claimant| claimant.claim.weight.as_f64());
    Claimed {
        weight: Decimal(weight),
        counts_as: counts_as(guarantees, tenant),
        guarantee: guarantees.units(tenant),
    }
}
