//! Whether what overrides come to is served: at every instant, each number within its range.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Policy;
use super::limit::{Limit, Rule};
use super::overrides::{Override, Overrides};
use super::wire_name;
use crate::invalid::{Fault, Invalid};
use crate::json;
use crate::json::pointer::step;
use crate::units::EpochMs;
use crate::wire::overrides::LimitOverrideBody;
use crate::wire::policy::{LimitBody, Scope};

/// In how many parts of a unit a limit is counted.
pub(super) fn scale_of(limit: &Limit) -> u64 {
    match &limit.rule {
        Rule::Single(single) => single.machine.scale(),
        Rule::Composite(_) | Rule::Shaper(_) => 1,
    }
}

/// A limit's rules with the numbers of an override in the place of its own.
pub(super) fn merged(body: &LimitBody, changes: &LimitOverrideBody) -> LimitBody {
    let mut body = body.clone();
    let LimitOverrideBody {
        limit,
        period_ms,
        burst,
        capacity,
        refill_per_sec,
        window_ms,
        buckets,
        rate_per_sec,
        max_queue_ms,
    } = *changes;
    body.limit = limit.or(body.limit);
    body.period_ms = period_ms.or(body.period_ms);
    body.burst = burst.or(body.burst);
    body.capacity = capacity.or(body.capacity);
    body.refill_per_sec = refill_per_sec.or(body.refill_per_sec);
    body.window_ms = window_ms.or(body.window_ms);
    body.buckets = buckets.or(body.buckets);
    body.rate_per_sec = rate_per_sec.or(body.rate_per_sec);
    body.max_queue_ms = max_queue_ms.or(body.max_queue_ms);
    body
}

/// Refuses overrides of what the policy does not have, and numbers that are out of range alone or together with those
/// that they leave in force.
pub(super) fn check(policy: &Policy) -> Result<(), Invalid> {
    for (tenant, named) in policy.tiers.iter() {
        let at = |refused: Invalid| refused.under(&format!("/tenants{}", step(tenant)));
        for one in named.overrides.iter() {
            names(policy, one).map_err(|refused| at(refused.under(&place(one))))?;
        }
        let spans: BTreeSet<EpochMs> = named.overrides.turns().collect();
        for now in spans {
            span(policy, tenant, &named.overrides, now).map_err(at)?;
        }
    }
    Ok(())
}

/// Where an override stands.
fn place(one: &Override) -> String {
    format!("/overrides/{}", one.index)
}

/// Refuses the first name that the policy does not have, or that has nothing of a tenant's own.
fn names(policy: &Policy, one: &Override) -> Result<(), Invalid> {
    known(
        "/meters",
        one.meters.keys(),
        "meter of this policy",
        |name| policy.meters.contains_key(name),
    )?;
    known(
        "/guards",
        one.guards.keys(),
        "guard of this policy",
        |name| policy.guards.contains_key(name),
    )?;
    known(
        "/limits",
        one.limits.keys(),
        "limit of this policy",
        |name| policy.limits.contains_key(name),
    )?;
    known(
        "/budgets",
        one.budgets.keys(),
        "budget of this policy",
        |name| policy.budgets.contains_key(name),
    )?;
    for name in one.limits.keys() {
        if let Some(got) = policy.limits.get(name).and_then(unserved) {
            let served = "limits with an algorithm and per_tenant, at scope isolate or region";
            let fault = Fault::Unserved { got, served };
            return Err(Invalid::new(format!("/limits{}", step(name)), fault));
        }
    }
    Ok(())
}

fn known<'a>(
    field: &str,
    mut names: impl Iterator<Item = &'a String>,
    what: &'static str,
    is_known: impl Fn(&str) -> bool,
) -> Result<(), Invalid> {
    match names.find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            let at = format!("{field}{}", step(name));
            let name = name.clone();
            Err(Invalid::new(at, Fault::Unknown { name, what }))
        }
    }
}

/// Why no tenant can have other numbers of a limit.
fn unserved(limit: &Limit) -> Option<String> {
    let scope = match &limit.rule {
        Rule::Composite(_) => return Some("a limit that is made of others".to_owned()),
        Rule::Single(single) => single.scope,
        Rule::Shaper(shaper) => shaper.scope,
    };
    if !limit.per_tenant {
        return Some("a limit whose keys are no tenant's own".to_owned());
    }
    (scope == Scope::Global).then(|| format!("a limit at scope {}", wire_name(&scope)))
}

/// Refuses numbers that cannot be together, as they are from `now` on.
fn span(policy: &Policy, tenant: &str, overrides: &Overrides, now: EpochMs) -> Result<(), Invalid> {
    let mut seen = BTreeSet::new();
    for one in overrides.in_force(now) {
        let at = place(one);
        for (name, body) in &one.meters {
            if seen.insert(("meters", name.as_str())) {
                let numbers = policy.meter_numbers(name, tenant, now);
                let checked = numbers.map(|numbers| numbers.checked()).transpose();
                checked.map_err(|refused| blame(refused, body, &at, "meters", name))?;
            }
        }
        for (name, body) in &one.guards {
            if seen.insert(("guards", name.as_str())) {
                let numbers = policy.guard_numbers(name, tenant, now);
                let checked = numbers.map(|numbers| numbers.checked()).transpose();
                checked.map_err(|refused| blame(refused, body, &at, "guards", name))?;
            }
        }
        for (name, body) in &one.limits {
            if let Some(limit) = policy.limits.get(name)
                && seen.insert(("limits", name.as_str()))
            {
                let numbers = policy.limit_body(name, limit, Some(tenant), now);
                let checked = Limit::read(&numbers, scale_of(limit));
                checked.map_err(|refused| blame(refused, body, &at, "limits", name))?;
            }
        }
    }
    Ok(())
}

/// The refusal at the field of the override that counts, or where that field is another's, at what it says of that name.
fn blame(refused: Invalid, body: &impl Serialize, at: &str, kind: &str, name: &str) -> Invalid {
    let at = format!("{at}/{kind}{}", step(name));
    let given = json::to_value(body).unwrap_or_default();
    if given.pointer(&refused.field).is_some() {
        return refused.under(&at);
    }
    Invalid::new(at, refused.fault)
}
