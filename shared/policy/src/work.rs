//! What it takes to look a document through, counted before anything is done with it.

use weir_core::invalid::Invalid;
use weir_core::limits::POLICY_CHECKS_MAX;
use weir_core::ordered::OrderedMap;
use weir_wire::numbers::BudgetOverrideBody;
use weir_wire::overrides::OverrideBody;
use weir_wire::policy::{PolicyDocument, TenantBody};

use super::count;

/// How often a number that is changed for a tenant is checked, at most: once in each span of time that the overrides of its
/// tenant make, and once for its own entry, each with what its tier changes.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_policy::work::checks;
/// let document = read_json(br#"{ "regions": ["weur"], "tenants": { "acme": { "overrides": [
///   { "starts_at": 1, "expires_at": 2, "limits": { "a": { "limit": 1 }, "b": { "limit": 1 } } },
///   { "starts_at": 3, "meters": { "m": { "per_sec": 1 } } }
/// ] } } }"#).unwrap();
/// assert_eq!(checks(&document), 3 * 3);
/// ```
#[must_use]
pub fn checks(document: &PolicyDocument) -> usize {
    let tiers = document.tiers.values();
    let of_tier = tiers.map(|tier| {
        tier.meters.len() + tier.guards.len() + tier.limits.len() + bounded_claims(&tier.budgets)
    });
    let of_tier = of_tier.max().unwrap_or_default();
    let of_tenant = |tenant: &TenantBody| {
        let turns = |one: &OverrideBody| 1 + usize::from(one.expires_at.is_some());
        let numbers = |one: &OverrideBody| {
            one.meters.len() + one.guards.len() + one.limits.len() + bounded_claims(&one.budgets)
        };
        let own = tenant.meters.len() + tenant.guards.len() + tenant.limits.len();
        let own = own + bounded_claims(&tenant.budgets);
        let all_own = own + of_tier;
        let turns: usize = tenant.overrides.iter().map(turns).sum();
        let numbers: usize = tenant.overrides.iter().map(numbers).sum();
        (turns + usize::from(own > 0)).saturating_mul(numbers + all_own)
    };
    let checks = document.tenants.values().map(of_tenant);
    checks.fold(0, usize::saturating_add)
}

/// Claims that are looked through: those with a ceiling or a floor.
fn bounded_claims(budgets: &OrderedMap<String, BudgetOverrideBody>) -> usize {
    let bounded = |one: &&BudgetOverrideBody| one.ceiling.is_some() || one.floor.is_some();
    budgets.values().filter(bounded).count()
}

/// Refuses a document that is more work than one request may cause. What is in force already is not asked.
///
/// # Errors
/// `/tenants`, with the count and the bound.
pub fn bounded(document: &PolicyDocument) -> Result<(), Invalid> {
    let what = "checks of overrides (of each tenant its starts and ends times its numbers)";
    count("/tenants", what, checks(document), POLICY_CHECKS_MAX)
}
