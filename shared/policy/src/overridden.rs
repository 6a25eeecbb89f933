//! Whether what tiers, tenants and overrides change is served: at every instant, each number within its range.

use serde::Serialize;
use weir_core::invalid::{Fault, Invalid};
use weir_core::json;
use weir_core::json::pointer::step;
use weir_core::ordered::OrderedSet;
use weir_core::units::EpochMs;
use weir_wire::policy::Scope;

use super::Policy;
use super::changes::{By, Changes, Word};
use super::effective::limit_by;
use super::limit::{Limit, Rule};
use super::wire_name;

/// In how many parts of a unit a limit is counted.
pub(super) fn scale_of(limit: &Limit) -> u64 {
    match &limit.rule {
        Rule::Single(single) => single.machine.scale(),
        Rule::Composite(_) | Rule::Shaper(_) => 1,
    }
}

/// Refuses changes of what the policy does not have, and numbers that are out of range alone or together with those that
/// they leave in force.
pub(super) fn check(policy: &Policy) -> Result<(), Invalid> {
    let tiers = policy.tiers.tiers();
    for word in tiers.filter_map(|tier| policy.tiers.tier_word(tier)) {
        names(policy, &word, "")?;
        numbers(policy, &[word], "")?;
    }
    for (tenant, named) in policy.tiers.iter() {
        let own = Word {
            changes: &named.changes,
            by: By::Tenant,
        };
        let overrides = named.overrides.iter().map(Word::of_override);
        for word in std::iter::once(own).chain(overrides) {
            names(policy, &word, tenant)?;
        }
        let turns = named.overrides.turns();
        let always = (!named.changes.is_empty()).then_some(EpochMs(0));
        let spans: OrderedSet<EpochMs> = turns.chain(always).collect();
        for now in spans {
            let words: Vec<Word<'_>> = policy.tiers.words(tenant, now).collect();
            numbers(policy, &words, tenant)?;
        }
    }
    Ok(())
}

/// Refuses the first name that the policy does not have, or that has nothing of a tenant's own.
fn names(policy: &Policy, word: &Word<'_>, tenant: &str) -> Result<(), Invalid> {
    let Changes {
        meters,
        guards,
        limits,
        budgets,
    } = word.changes;
    let at = |refused: Invalid| refused.under(&word.by.place(tenant));
    let meter = |name: &str| policy.meters.contains_key(name);
    let guard = |name: &str| policy.guards.contains_key(name);
    let limit = |name: &str| policy.limits.contains_key(name);
    let budget = |name: &str| policy.budgets.contains_key(name);
    known("/meters", meters.keys(), "meter of this policy", meter).map_err(at)?;
    known("/guards", guards.keys(), "guard of this policy", guard).map_err(at)?;
    known("/limits", limits.keys(), "limit of this policy", limit).map_err(at)?;
    known("/budgets", budgets.keys(), "budget of this policy", budget).map_err(at)?;
    for name in limits.keys() {
        let limit = policy.limits.get(name);
        if let Some((got, served)) = limit.and_then(|limit| unserved(limit, word.by)) {
            let fault = Fault::Unserved { got, served };
            return Err(at(Invalid::new(format!("/limits{}", step(name)), fault)));
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

/// Why no tenant can have other numbers of a limit, and of which it can. Windows of a limit at scope global are lent by the
/// rules of a revision: nothing may change them in between.
fn unserved(limit: &Limit, by: By<'_>) -> Option<(String, &'static str)> {
    let timed = matches!(by, By::Override { .. });
    let served = if timed {
        "limits with an algorithm and per_tenant, at scope isolate or region"
    } else {
        "limits with an algorithm and per_tenant"
    };
    let scope = match &limit.rule {
        Rule::Composite(_) => return Some(("a limit that is made of others".to_owned(), served)),
        Rule::Single(single) => single.scope,
        Rule::Shaper(shaper) => shaper.scope,
    };
    if !limit.per_tenant {
        return Some(("a limit whose keys are no tenant's own".to_owned(), served));
    }
    let got = || format!("a limit at scope {}", wire_name(&scope));
    (timed && scope == Scope::Global).then(|| (got(), served))
}

/// Refuses numbers that cannot be together, as these words have them, first the one that counts before all others.
fn numbers(policy: &Policy, words: &[Word<'_>], tenant: &str) -> Result<(), Invalid> {
    let mut seen = OrderedSet::new();
    let all = || words.iter().copied();
    for word in words {
        let at = word.by.place(tenant);
        for (name, body) in &word.changes.meters {
            if seen.insert(("meters", name.as_str())) {
                let numbers = policy.meter_by(name, all());
                let checked = numbers.map(|numbers| numbers.checked()).transpose();
                checked.map_err(|refused| blame(refused, body, &at, "meters", name))?;
            }
        }
        for (name, body) in &word.changes.guards {
            if seen.insert(("guards", name.as_str())) {
                let numbers = policy.guard_by(name, all());
                let checked = numbers.map(|numbers| numbers.checked()).transpose();
                checked.map_err(|refused| blame(refused, body, &at, "guards", name))?;
            }
        }
        for (name, body) in &word.changes.limits {
            if let Some(limit) = policy.limits.get(name)
                && seen.insert(("limits", name.as_str()))
            {
                let checked = Limit::read(&limit_by(name, limit, all()), scale_of(limit));
                checked.map_err(|refused| blame(refused, body, &at, "limits", name))?;
            }
        }
    }
    Ok(())
}

/// The refusal at the field of the word that counts, or where that field is another's, at what it says of that name.
fn blame(refused: Invalid, body: &impl Serialize, at: &str, kind: &str, name: &str) -> Invalid {
    let at = format!("{at}/{kind}{}", step(name));
    let given = json::to_value(body).unwrap_or_default();
    if given.pointer(&refused.field).is_some() {
        return refused.under(&at);
    }
    Invalid::new(at, refused.fault)
}
