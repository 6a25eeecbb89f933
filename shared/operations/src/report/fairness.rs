//! Who got what: every tenant that was seen, with what the policy says of it.

use weir_accounting::guarantee::Guarantees;
use weir_core::name::tenant_name;
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, Revision};
use weir_policy::Policy;
use weir_wire::accounting::{Counters, TenantCounters};
use weir_wire::decimal::Decimal;
use weir_wire::operator::fairness::GuardReport;
use weir_wire::operator::page::PageReport;
use weir_wire::operator::{BudgetReport, FairnessReply, TenantReport};
use weir_wire::policy::PolicyDocument;

use super::guarantee;
use super::regions::Totals;
use crate::paging::{Paging, SortKey};

/// By what tenants can be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Their names.
    Tenant,
    /// Their weights.
    Weight,
    /// Units admitted by budgets and limits.
    AdmittedUnits,
    /// Units denied by budgets and limits.
    DeniedUnits,
    /// Calls of all kinds.
    Calls,
}

impl SortKey for By {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("tenant", Self::Tenant),
        ("weight", Self::Weight),
        ("admitted_units", Self::AdmittedUnits),
        ("denied_units", Self::DeniedUnits),
        ("calls", Self::Calls),
    ];
    const SERVED: &'static str = "tenant, weight, admitted_units, denied_units, calls";
}

/// What a report is made of.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The policy in force.
    pub policy: &'a Policy,
    /// Its revision.
    pub revision: Revision,
    /// What the ledgers said.
    pub totals: &'a Totals,
    /// Now.
    pub at: EpochMs,
}

/// The guarantees of every budget that was asked for, among all tenants that were seen to ask.
#[must_use]
pub fn guarantees(source: &Source<'_>) -> OrderedMap<String, Guarantees> {
    let budgets = source.policy.budgets.keys();
    OrderedMap::from_iter(budgets.map(|name| (name.clone(), guaranteed(source, name))))
}

/// The guarantees of one budget, among all tenants that were seen to ask.
#[must_use]
pub fn guaranteed(source: &Source<'_>, budget: &str) -> Guarantees {
    let counters = source.totals.counters.iter();
    let asked = counters.filter(|(_, tenant)| tenant.budgets.contains_key(budget));
    let names = asked.map(|(name, _)| name.as_str());
    guarantee::among(source.policy, budget, names, source.at)
}

/// The names of the tenants that were seen, of one page.
#[must_use]
pub fn seen<'a>(source: &Source<'a>, paging: &Paging<By>) -> (Vec<&'a str>, PageReport) {
    let counters: &Counters = &source.totals.counters;
    let seen: Vec<_> = counters
        .iter()
        .filter(|(name, _)| paging.matches(name))
        .collect();
    let weight = |name: &str| weight(source, name);
    let (seen, page) = paging.cut(
        seen,
        |(name, _)| name.as_str(),
        |by, (one, counted), (other, beside)| match by {
            By::Tenant => one.cmp(other),
            By::Weight => weight(one).total_cmp(&weight(other)),
            By::AdmittedUnits => {
                let units = |of: &TenantCounters| of.total().admitted_units;
                units(counted).cmp(&units(beside))
            }
            By::DeniedUnits => {
                let units = |of: &TenantCounters| of.total().denied_units;
                units(counted).cmp(&units(beside))
            }
            By::Calls => counted.calls().cmp(&beside.calls()),
        },
    );
    let names = seen.into_iter().map(|(name, _)| name.as_str());
    (names.collect(), page)
}

/// The report. Without `effective` it leaves out what the policy comes to for each tenant, which is most of its length.
#[must_use]
pub fn report(
    source: &Source<'_>,
    document: &PolicyDocument,
    paging: &Paging<By>,
    effective: bool,
) -> FairnessReply {
    let (seen, page) = seen(source, paging);
    let guarantees = guarantees(source);
    let tenants = seen
        .into_iter()
        .filter_map(|name| tenant(source, document, &guarantees, name, effective));
    FairnessReply {
        at: source.at.0,
        policy_revision: source.revision.0,
        enforcing: source.policy.enforcing,
        regions: source.totals.regions.clone(),
        tenants: tenants.collect(),
        page: Some(page),
    }
}

/// What is counted together, or without a tenant, has no weight; no tenant's name contains a control character.
fn weight(source: &Source<'_>, name: &str) -> f64 {
    let resolved = source.policy.resolve(name, source.at);
    let resolved = resolved.filter(|_| tenant_name(name).is_ok());
    resolved.map_or(0.0, |resolved| resolved.weight.as_f64())
}

/// What one tenant got; `None` for one that was not seen.
#[must_use]
pub fn tenant(
    source: &Source<'_>,
    document: &PolicyDocument,
    guarantees: &OrderedMap<String, Guarantees>,
    name: &str,
    effective: bool,
) -> Option<TenantReport> {
    let Source { policy, at, .. } = *source;
    let counters = source.totals.counters.get(name)?;
    let body = document.tenants.get(name);
    let one = tenant_name(name).is_ok();
    let resolved = policy.resolve(name, at).filter(|_| one);
    Some(TenantReport {
        tenant: name.to_owned(),
        tier: resolved.map(|resolved| resolved.tier.to_owned()),
        weight: Decimal(weight(source, name)),
        total: counters.total(),
        budgets: budgets(source, guarantees, (name, counters)),
        limits: OrderedMap::from_iter(counters.limits.clone()),
        meters: OrderedMap::from_iter(counters.meters.clone()),
        billable_units: counters.billable_units(|meter| policy.bills(meter)),
        guards: guards(counters, at),
        overload: OrderedMap::from_iter(counters.overload.clone()),
        effective: (one && effective)
            .then(|| policy.effective(name, at))
            .flatten()
            .map(Box::new),
        overrides: body.map_or_else(Vec::new, |body| body.overrides.clone()),
    })
}

/// What a tenant got of each budget.
#[must_use]
pub fn budgets(
    source: &Source<'_>,
    guarantees: &OrderedMap<String, Guarantees>,
    (tenant, counters): (&str, &TenantCounters),
) -> OrderedMap<String, BudgetReport> {
    let reports = counters.budgets.iter().map(|(name, total)| {
        let party = source
            .policy
            .claimant(tenant, Some(name), source.revision, source.at)
            .filter(|_| tenant_name(tenant).is_ok());
        let weight = party.map_or(0.0, |party| party.claim.weight.as_f64());
        let all = guarantees.get(name);
        let guarantee = all.map_or(0, |all| all.units(tenant));
        let report = BudgetReport {
            weight: Decimal(weight),
            counts_as: all.and_then(|all| guarantee::counts_as(all, tenant)),
            guarantee,
            used: total.admitted_units,
            borrowed: total.borrowed_units,
            denied: total.denied_calls,
            reserved: total.reserved_units,
            would_deny: total.would_deny_calls,
            total: *total,
        };
        (name.clone(), report)
    });
    OrderedMap::from_iter(reports)
}

/// What the guards did for a tenant, at an instant.
#[must_use]
pub fn guards(counters: &TenantCounters, at: EpochMs) -> OrderedMap<String, GuardReport> {
    let guards = counters.guards.iter();
    OrderedMap::from_iter(guards.map(|(name, tally)| (name.clone(), GuardReport::of(tally, at))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_accounting::counters::{Charged, Decided, count, in_flight};
    use weir_core::query::Query;
    use weir_decision::Reason;
    use weir_wire::accounting::{InFlight, OTHERS};
    use weir_wire::series::TotalsReply;

    use super::*;
    use crate::paging::Sizes;

    struct World {
        document: PolicyDocument,
        policy: Policy,
        totals: Totals,
    }

    impl World {
        fn new(counters: Counters) -> Self {
            let document: PolicyDocument = serde_json::from_value(json!({
                "regions": ["weur"],
                "tiers": { "free": { "weight": 1 }, "pro": { "weight": 2 } }, "default_tier": "free",
                "tenants": {
                    "acme": { "tier": "pro", "overrides": [
                        { "starts_at": 1000, "expires_at": 2000, "weight": 6 }
                    ] },
                    "idle": { "weight": 5 }
                },
                "budgets": { "tokens": {
                    "limit": 700, "window_ms": 60000, "sharing": "weighted_fair_escrow", "scope": "global"
                } },
                "meters": { "bytes": { "per_sec": 100 } },
                "guards": { "queries": { "concurrency": 4, "per_minute": 120 } }
            }))
            .unwrap();
            let reply = TotalsReply {
                counters,
                ..TotalsReply::default()
            };
            Self {
                policy: Policy::try_from(&document).unwrap(),
                document,
                totals: Totals::of([("weur", Some(&reply)), ("oc", None)]),
            }
        }

        fn report(&self, pairs: &[(&str, &str)], at: u64) -> FairnessReply {
            let mut query = Query::new(pairs.iter().copied()).unwrap();
            let paging = Paging::read(&mut query, Sizes::default()).unwrap();
            let source = Source {
                policy: &self.policy,
                revision: Revision(7),
                totals: &self.totals,
                at: EpochMs(at),
            };
            report(&source, &self.document, &paging, true)
        }
    }

    fn seen() -> Counters {
        let mut counters = Counters::new();
        let mut decide = |tenant, charged, reason, units| {
            let decided = Decided {
                tenant,
                known: tenant == "acme",
                charged,
                reason,
                units,
            };
            count(&mut counters, &decided, 100);
        };
        decide("acme", Charged::Budget("tokens"), Reason::Admitted, 20);
        decide("acme", Charged::Budget("tokens"), Reason::OverShare, 9);
        decide("acme", Charged::Meter("bytes"), Reason::Admitted, 40);
        decide("acme", Charged::Guard("queries"), Reason::Concurrency, 1);
        decide("small", Charged::Budget("tokens"), Reason::Admitted, 30);
        decide(OTHERS, Charged::Budget("tokens"), Reason::Admitted, 1);
        let word = InFlight {
            slots: 3,
            at: EpochMs(900),
            until: EpochMs(1_500),
        };
        in_flight(&mut counters, ("acme", true), "queries", word, 100);
        counters
    }

    #[test]
    fn a_tenant_that_was_seen_is_there_with_what_it_got_and_what_applies_to_it() {
        let world = World::new(seen());
        let reply = world.report(&[], 1_000);
        let acme = reply
            .tenants
            .iter()
            .find(|one| one.tenant == "acme")
            .unwrap();
        assert_eq!((acme.tier.as_deref(), acme.weight.0), (Some("pro"), 6.0));
        let tokens = &acme.budgets["tokens"];
        assert_eq!(
            (tokens.weight.0, tokens.guarantee),
            (6.0, 600),
            "6 of 6 + 1"
        );
        assert_eq!((tokens.used.0, tokens.denied.0), (20, 1));
        assert_eq!(acme.meters["bytes"].admitted_units.0, 40);
        let queries = acme.guards["queries"];
        assert_eq!((queries.rejected_concurrency.0, queries.in_flight), (1, 3));
        assert!(acme.effective.is_some());
        assert_eq!(acme.overrides.len(), 1);
        assert!(!reply.tenants.iter().any(|one| one.tenant == "idle"));
        assert_eq!(reply.regions[1].region, "oc");
        assert!(!reply.regions[1].reachable);
    }

    #[test]
    fn when_an_override_is_over_the_report_says_what_is_beneath() {
        let reply = World::new(seen()).report(&[("search", "ACME")], 2_000);
        let [acme] = &reply.tenants[..] else {
            panic!("{reply:?}");
        };
        assert_eq!(acme.weight.0, 2.0);
        assert_eq!(acme.budgets["tokens"].guarantee, 466, "2 of 2 + 1");
        assert_eq!(
            acme.guards["queries"].in_flight, 0,
            "their leases have lapsed"
        );
    }

    #[test]
    fn those_that_are_counted_together_have_no_tier_no_guarantee_and_no_policy() {
        let reply = World::new(seen()).report(&[], 0);
        let others = reply
            .tenants
            .iter()
            .find(|one| one.tenant == OTHERS)
            .unwrap();
        assert_eq!((&others.tier, others.weight.0), (&None, 0.0));
        assert_eq!(others.budgets["tokens"].guarantee, 0);
        assert!(others.effective.is_none());
    }

    #[test]
    fn tenants_are_sorted_by_what_was_asked_for_and_an_empty_list_is_a_list() {
        let world = World::new(seen());
        let names = |sort| {
            let reply = world.report(&[("sort", sort)], 0);
            let names = reply.tenants.into_iter().map(|one| one.tenant);
            names.collect::<Vec<_>>()
        };
        assert_eq!(names("tenant"), [OTHERS, "acme", "small"]);
        assert_eq!(names("-tenant"), ["small", "acme", OTHERS]);
        assert_eq!(names("-admitted_units"), ["small", "acme", OTHERS]);
        assert_eq!(names("-weight"), ["acme", "small", OTHERS]);
        let empty = World::new(Counters::new()).report(&[], 0);
        let text = serde_json::to_value(&empty).unwrap();
        assert_eq!(text["tenants"], json!([]));
    }
}
