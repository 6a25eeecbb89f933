//! The list of tenants: those that the policy names, and those that were seen.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::fairness::Source;
use super::regions::everything;
use crate::audit::tag::tenant_tag;
use crate::paging::{Paging, SortKey};
use crate::policy::name::tenant_name;
use crate::units::{EpochMs, Revision};
use crate::wire::decimal::Decimal;
use crate::wire::operator::tenants::{TenantReply, TenantRow, TenantsReply};
use crate::wire::policy::PolicyDocument;

/// By what tenants can be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Their names.
    Tenant,
    /// Their tiers.
    Tier,
    /// Their weights.
    Weight,
    /// How many overrides they have.
    Overrides,
    /// Units admitted.
    AdmittedUnits,
    /// Units denied.
    DeniedUnits,
}

impl SortKey for By {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("tenant", Self::Tenant),
        ("tier", Self::Tier),
        ("weight", Self::Weight),
        ("overrides", Self::Overrides),
        ("admitted_units", Self::AdmittedUnits),
        ("denied_units", Self::DeniedUnits),
    ];
    const SERVED: &'static str = "tenant, tier, weight, overrides, admitted_units, denied_units";
}

/// One page of the list. `named` keeps those that the policy names, or those that it does not.
#[must_use]
pub fn list(
    source: &Source<'_>,
    document: &PolicyDocument,
    paging: &Paging<By>,
    named: Option<bool>,
) -> TenantsReply {
    let known = document.tenants.keys();
    let seen = source.totals.counters.keys();
    let all: BTreeSet<&str> = known.chain(seen).map(String::as_str).collect();
    let wanted = |name: &str| {
        let is_named = document.tenants.contains_key(name);
        tenant_name(name).is_ok() && named.is_none_or(|named| named == is_named)
    };
    let rows = all
        .into_iter()
        .filter(|name| wanted(name) && paging.matches(name))
        .map(|name| row(source, document, name));
    let (tenants, page) = paging.cut(rows.collect(), |row| row.tenant.as_str(), compare);
    TenantsReply {
        at: source.at,
        policy_revision: source.revision,
        page,
        unreachable: source.totals.unreachable(),
        tenants,
    }
}

fn row(source: &Source<'_>, document: &PolicyDocument, name: &str) -> TenantRow {
    let body = document.tenants.get(name);
    let resolved = source.policy.resolve(name, source.at);
    let counters = source.totals.counters.get(name);
    TenantRow {
        tenant: name.to_owned(),
        named: body.is_some(),
        tier: resolved.map(|resolved| resolved.tier.to_owned()),
        weight: Decimal(resolved.map_or(0.0, |resolved| resolved.weight.as_f64())),
        parent: body.and_then(|body| body.parent.clone()),
        overrides: body.map_or(0, |body| body.overrides.len() as u64),
        total: counters.map(everything).unwrap_or_default(),
    }
}

fn compare(by: By, one: &TenantRow, other: &TenantRow) -> Ordering {
    match by {
        By::Tenant => one.tenant.cmp(&other.tenant),
        By::Tier => one.tier.cmp(&other.tier),
        By::Weight => one.weight.0.total_cmp(&other.weight.0),
        By::Overrides => one.overrides.cmp(&other.overrides),
        By::AdmittedUnits => one.total.admitted_units.cmp(&other.total.admitted_units),
        By::DeniedUnits => one.total.denied_units.cmp(&other.total.denied_units),
    }
}

/// One tenant, with the tag of what the policy says of it.
#[must_use]
pub fn one(
    document: &PolicyDocument,
    policy: &crate::policy::Policy,
    revision: Revision,
    (tenant, at): (&str, EpochMs),
) -> (TenantReply, String) {
    let body = document.tenants.get(tenant);
    let reply = TenantReply {
        tenant: tenant.to_owned(),
        policy_revision: revision,
        named: body.is_some(),
        body: body.cloned().unwrap_or_default(),
        effective: policy.effective(tenant, at),
    };
    (reply, tenant_tag(document, tenant))
}
