//! The list of tenants: those that the policy names, and those that were seen.

use std::cmp::Ordering;

use weir_accounting::guarantee::Guarantees;
use weir_audit::tag::tenant_tag;
use weir_core::name::tenant_name;
use weir_core::ordered::OrderedSet;
use weir_core::units::{EpochMs, Revision};
use weir_wire::decimal::Decimal;
use weir_wire::operator::tenants::{TenantBudget, TenantReply, TenantRow, TenantsReply};
use weir_wire::policy::PolicyDocument;

use super::fairness::{Source, guaranteed};
use super::regions::everything;
use crate::paging::{Paging, SortKey};

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
    /// Units guaranteed of the budget that the list tells of.
    Guarantee,
    /// Units admitted.
    AdmittedUnits,
    /// Units admitted beyond guarantees.
    BorrowedUnits,
    /// Calls denied.
    DeniedCalls,
    /// Units denied.
    DeniedUnits,
}

impl SortKey for By {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("tenant", Self::Tenant),
        ("tier", Self::Tier),
        ("weight", Self::Weight),
        ("overrides", Self::Overrides),
        ("guarantee", Self::Guarantee),
        ("admitted_units", Self::AdmittedUnits),
        ("borrowed_units", Self::BorrowedUnits),
        ("denied_calls", Self::DeniedCalls),
        ("denied_units", Self::DeniedUnits),
    ];
    const SERVED: &'static str = "tenant, tier, weight, overrides, guarantee, admitted_units, \
                                  borrowed_units, denied_calls, denied_units";
}

/// Which tenants are listed, and of which budget the list tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Those that the policy names, or those that it does not.
    pub named: Option<bool>,
    /// Those of a tier.
    pub tier: Option<String>,
    /// The budget that rows tell of and that counts are sorted by; without one the rows tell of the first of the policy,
    /// and what is sorted by is counted over everything.
    pub budget: Option<String>,
}

/// One page of the list.
#[must_use]
pub fn list(
    source: &Source<'_>,
    document: &PolicyDocument,
    paging: &Paging<By>,
    wanted: &Wanted,
) -> TenantsReply {
    let known = document.tenants.keys();
    let seen = source.totals.counters.keys();
    let all: OrderedSet<&str> = known.chain(seen).map(String::as_str).collect();
    let budget = wanted.budget.as_ref();
    let budget = budget.or_else(|| source.policy.budgets.keys().next());
    let told = budget.map(|name| (name.as_str(), guaranteed(source, name)));
    let listed = |name: &str| {
        let is_named = document.tenants.contains_key(name);
        tenant_name(name).is_ok() && wanted.named.is_none_or(|named| named == is_named)
    };
    let of_tier = |row: &TenantRow| {
        let tier = wanted.tier.as_ref();
        tier.is_none_or(|tier| row.tier.as_ref() == Some(tier))
    };
    let rows = all
        .into_iter()
        .filter(|name| listed(name) && paging.matches(name))
        .map(|name| row(source, document, told.as_ref(), name))
        .filter(of_tier);
    let by_budget = wanted.budget.is_some();
    let (tenants, page) = paging.cut(
        rows.collect(),
        |row| row.tenant.as_str(),
        |by, one, other| compare(by, by_budget, one, other),
    );
    TenantsReply {
        at: source.at,
        policy_revision: source.revision,
        page,
        unreachable: source.totals.unreachable(),
        budget: budget.cloned(),
        tenants,
    }
}

fn row(
    source: &Source<'_>,
    document: &PolicyDocument,
    told: Option<&(&str, Guarantees)>,
    name: &str,
) -> TenantRow {
    let body = document.tenants.get(name);
    let resolved = source.policy.resolve(name, source.at);
    let counters = source.totals.counters.get(name);
    let of_budget = told.and_then(|(budget, guarantees)| {
        let tally = counters?.budgets.get(budget)?;
        let got = TenantBudget {
            guarantee: guarantees.units(name),
            used: tally.admitted_units,
            borrowed: tally.borrowed_units,
            denied: tally.denied_calls,
            denied_units: tally.denied_units,
        };
        Some(((*budget).to_owned(), got))
    });
    TenantRow {
        tenant: name.to_owned(),
        named: body.is_some(),
        tier: resolved.map(|resolved| resolved.tier.to_owned()),
        weight: Decimal(resolved.map_or(0.0, |resolved| resolved.weight.as_f64())),
        parent: body.and_then(|body| body.parent.clone()),
        overrides: body.map_or(0, |body| body.overrides.len() as u64),
        total: counters.map(everything).unwrap_or_default(),
        budgets: of_budget.into_iter().collect(),
    }
}

/// What a row is sorted by: what it tells of the budget that was asked for, else of everything.
fn compare(by: By, by_budget: bool, one: &TenantRow, other: &TenantRow) -> Ordering {
    fn of(row: &TenantRow) -> TenantBudget {
        row.budgets.values().next().copied().unwrap_or_default()
    }
    match by {
        By::AdmittedUnits if by_budget => of(one).used.cmp(&of(other).used),
        By::BorrowedUnits if by_budget => of(one).borrowed.cmp(&of(other).borrowed),
        By::DeniedCalls if by_budget => of(one).denied.cmp(&of(other).denied),
        By::DeniedUnits if by_budget => of(one).denied_units.cmp(&of(other).denied_units),
        By::Guarantee => of(one).guarantee.cmp(&of(other).guarantee),
        By::Tenant => one.tenant.cmp(&other.tenant),
        By::Tier => one.tier.cmp(&other.tier),
        By::Weight => one.weight.0.total_cmp(&other.weight.0),
        By::Overrides => one.overrides.cmp(&other.overrides),
        By::AdmittedUnits => one.total.admitted_units.cmp(&other.total.admitted_units),
        By::BorrowedUnits => one.total.borrowed_units.cmp(&other.total.borrowed_units),
        By::DeniedCalls => one.total.denied_calls.cmp(&other.total.denied_calls),
        By::DeniedUnits => one.total.denied_units.cmp(&other.total.denied_units),
    }
}

/// One tenant, with the tag of what the policy says of it.
#[must_use]
pub fn one(
    document: &PolicyDocument,
    policy: &weir_policy::Policy,
    revision: Revision,
    (tenant, at): (&str, EpochMs),
) -> (TenantReply, String) {
    let body = document.tenants.get(tenant);
    let reply = TenantReply {
        tenant: tenant.to_owned(),
        policy_revision: revision,
        named: body.is_some(),
        unknown_weight_max: body.is_none().then_some(document.unknown_weight_max),
        body: body.cloned().unwrap_or_default(),
        effective: policy.effective(tenant, at),
    };
    (reply, tenant_tag(document, tenant))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_accounting::counters::{Charged, Decided, count};
    use weir_core::query::Query;
    use weir_decision::Reason;
    use weir_policy::Policy;
    use weir_wire::accounting::Counters;

    use super::*;
    use crate::paging::Sizes;
    use crate::report::regions::Totals;

    fn document() -> PolicyDocument {
        serde_json::from_value(json!({
            "regions": ["weur"], "default_tier": "free",
            "tiers": { "free": { "weight": 1 }, "pro": { "weight": 3 } },
            "tenants": { "a": { "tier": "pro" }, "idle": { "tier": "pro" } },
            "budgets": {
                "bytes": { "limit": 90, "window_ms": 60000, "sharing": "weighted_fair_escrow", "scope": "region" },
                "tokens": { "limit": 400, "window_ms": 60000, "sharing": "weighted_fair_escrow", "scope": "region" }
            }
        }))
        .unwrap()
    }

    fn charge(counters: &mut Counters, (tenant, budget): (&str, &str), reason: Reason, units: u64) {
        let decided = Decided {
            tenant,
            known: false,
            charged: Charged::Budget(budget),
            reason,
            units,
        };
        count(counters, &decided, 10);
    }

    /// `a` used much of `tokens` and little of `bytes`, `b` the other way round.
    fn listed(query: &[(&str, &str)], wanted: &Wanted) -> TenantsReply {
        let mut counters = Counters::new();
        charge(&mut counters, ("a", "tokens"), Reason::Admitted, 100);
        charge(&mut counters, ("a", "bytes"), Reason::Admitted, 1);
        charge(&mut counters, ("b", "tokens"), Reason::Admitted, 5);
        charge(&mut counters, ("b", "tokens"), Reason::OverShare, 7);
        charge(&mut counters, ("b", "bytes"), Reason::Admitted, 500);
        let totals = Totals {
            counters,
            ..Totals::default()
        };
        let document = document();
        let policy = Policy::try_from(&document).unwrap();
        let source = Source {
            policy: &policy,
            revision: Revision(1),
            totals: &totals,
            at: EpochMs(0),
        };
        let mut query = Query::new(query.iter().copied()).unwrap();
        let paging = Paging::read(&mut query, Sizes::default()).unwrap();
        list(&source, &document, &paging, wanted)
    }

    fn names(reply: &TenantsReply) -> Vec<&str> {
        let rows = reply.tenants.iter();
        rows.map(|row| row.tenant.as_str()).collect()
    }

    fn of(budget: &str) -> Wanted {
        Wanted {
            budget: Some(budget.to_owned()),
            ..Wanted::default()
        }
    }

    #[test]
    fn rows_tell_of_the_budget_that_is_asked_for_and_else_of_the_first() {
        let reply = listed(&[], &of("tokens"));
        assert_eq!(reply.budget.as_deref(), Some("tokens"));
        let b = &reply.tenants[1].budgets["tokens"];
        assert_eq!((b.guarantee, b.used.0), (100, 5));
        assert_eq!((b.denied.0, b.denied_units.0), (1, 7));
        assert_eq!(reply.tenants[0].budgets["tokens"].guarantee, 300);
        assert_eq!(reply.tenants[0].budgets.len(), 1);
        let first = listed(&[], &Wanted::default());
        assert_eq!(first.budget.as_deref(), Some("bytes"));
        assert_eq!(first.tenants[1].budgets["bytes"].used.0, 500);
    }

    #[test]
    fn a_tenant_that_the_policy_does_not_name_is_told_with_the_bound_of_such_tenants() {
        let document = document();
        let policy = Policy::try_from(&document).unwrap();
        let bound = |tenant| {
            let (reply, _) = one(&document, &policy, Revision(1), (tenant, EpochMs(0)));
            (reply.named, reply.unknown_weight_max)
        };
        assert_eq!(bound("stranger"), (false, Some(Decimal(8.0))));
        assert_eq!(bound("idle"), (true, None));
    }

    #[test]
    fn who_never_asked_for_the_budget_has_no_figures_of_it() {
        let reply = listed(&[("search", "idle")], &of("tokens"));
        assert_eq!(names(&reply), ["idle"]);
        assert!(reply.tenants[0].budgets.is_empty());
    }

    #[test]
    fn counts_are_sorted_by_the_budget_that_is_asked_for_and_else_over_everything() {
        let most = |sort, wanted: &Wanted| names(&listed(&[("sort", sort)], wanted))[0].to_owned();
        assert_eq!(most("-admitted_units", &of("tokens")), "a");
        assert_eq!(most("-admitted_units", &of("bytes")), "b");
        assert_eq!(most("-admitted_units", &Wanted::default()), "b");
        assert_eq!(most("-guarantee", &of("tokens")), "a");
        assert_eq!(most("guarantee", &of("tokens")), "idle");
        assert_eq!(most("-denied_calls", &of("tokens")), "b");
        assert_eq!(
            most("-denied_units", &of("bytes")),
            "a",
            "none was: by name"
        );
    }

    #[test]
    fn a_tier_keeps_its_tenants_and_an_unknown_one_keeps_none() {
        let in_tier = |tier: &str| {
            let wanted = Wanted {
                tier: Some(tier.to_owned()),
                ..Wanted::default()
            };
            let reply = listed(&[], &wanted);
            assert_eq!(reply.page.total, reply.tenants.len() as u64);
            names(&reply).join(" ")
        };
        assert_eq!(in_tier("pro"), "a idle");
        assert_eq!(in_tier("free"), "b");
        assert_eq!(in_tier("gold"), "");
    }
}
