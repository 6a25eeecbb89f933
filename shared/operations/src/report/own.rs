//! A tenant's own view.

use weir_core::ordered::OrderedMap;
use weir_wire::operator::fairness::GuardReport;
use weir_wire::operator::own::{OwnReply, OwnView};

use super::fairness::{Source, budgets, guarantees, guards};

/// What applies to a tenant and what it got; `None` for a tenant that the policy refuses.
#[must_use]
pub fn own(source: &Source<'_>, tenant: &str) -> Option<OwnReply> {
    if !source.policy.enforcing {
        return Some(OwnReply {
            enforcing: false,
            view: None,
        });
    }
    let policy = source.policy.effective(tenant, source.at)?;
    let counters = source.totals.counters.get(tenant).cloned();
    let counters = counters.unwrap_or_default();
    let guards = guards(&counters, source.at);
    let mut queries = GuardReport::default();
    guards.values().for_each(|guard| queries.add(guard));
    let guarantees = guarantees(source);
    Some(OwnReply {
        enforcing: true,
        view: Some(OwnView {
            tenant: tenant.to_owned(),
            at: source.at.0,
            policy_revision: source.revision.0,
            policy,
            budgets: budgets(source, &guarantees, (tenant, &counters)),
            queries,
            guards,
            ingest: OrderedMap::from_iter(counters.meters),
            limits: OrderedMap::from_iter(counters.limits),
            overload: OrderedMap::from_iter(counters.overload),
            unreachable: source.totals.unreachable(),
        }),
    })
}
