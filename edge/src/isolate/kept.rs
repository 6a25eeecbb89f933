//! The states that shards keep, by their names: which shard keeps one, and by which rules. Whoever gives units back or
//! settles them finds the shard again by no more than that.

use std::borrow::Cow;

use weir_shared::algorithms::composite::StateKey;
use weir_shared::algorithms::scale::Scaled;
use weir_shared::limiting::key::shard;
use weir_shared::name::SEPARATOR;
use weir_shared::name::{guard_name, meter_name};
use weir_shared::policy::Policy;
use weir_shared::policy::limit::{Limit, Rule};
use weir_shared::units::EpochMs;
use weir_shared::wire::limit_terms::LimitTerms;
use weir_shared::wire::policy::Scope;

use super::loaded::Loaded;
use crate::objects::binding::KeyShard;

/// What a name of states is that of.
enum Named<'a> {
    Limit(&'a str),
    Meter(&'a str),
    Guard(&'a str),
}

impl<'a> Named<'a> {
    fn of(name: &'a str) -> Option<Self> {
        match name.split_once(SEPARATOR) {
            None => Some(Self::Limit(name)),
            Some((_, meter)) if meter_name(meter) == name => Some(Self::Meter(meter)),
            Some((_, guard)) if guard_name(guard) == name => Some(Self::Guard(guard)),
            Some(_) => None,
        }
    }
}

/// The shard that keeps a key of the scope `region` or `global`, in `region`.
pub fn shard_of(loaded: &Loaded, region: &str, scope: Scope, key: &str) -> KeyShard {
    let number = shard(key, loaded.placement);
    match scope {
        Scope::Global => KeyShard::of_deployment(&loaded.policy.home, number),
        Scope::Isolate | Scope::Region => KeyShard::of_region(region, number),
    }
}

/// The scope of the shards that keep the states of that name; `None` for what no shard keeps under this policy.
pub fn scope_of(policy: &Policy, name: &str) -> Option<Scope> {
    match Named::of(name)? {
        // The keys of global limits are leased.
        Named::Limit(name) => match &policy.limits.get(name)?.rule {
            Rule::Single(single) => Some(single.scope),
            Rule::Shaper(shaper) => Some(shaper.scope),
            Rule::Composite(_) => None,
        }
        .filter(|scope| *scope == Scope::Region),
        Named::Meter(name) => Some(policy.meters.get(name)?.scope),
        Named::Guard(name) => Some(policy.guards.get(name)?.scope),
    }
}

/// The rules of a state at `now`, counted in `1 / scale` units; `None` for what no shard keeps under this policy.
pub fn terms_of(loaded: &Loaded, state: &StateKey, scale: u64, now: EpochMs) -> Option<LimitTerms> {
    scope_of(&loaded.policy, &state.limit)?;
    let (policy, revision) = (&loaded.policy, loaded.revision);
    let tenant = state.key.split(SEPARATOR).next().unwrap_or_default();
    match Named::of(&state.limit)? {
        Named::Limit(name) => {
            let tenant = policy.limits.get(name)?.per_tenant.then_some(tenant);
            policy.limit_terms(name, tenant, &state.key, scale, revision, now)
        }
        Named::Meter(name) => policy.meter_terms(name, tenant, revision, now),
        Named::Guard(name) => policy.guard_terms(name, tenant, revision, now),
    }
}

/// The machine of a limit of its own, and where its states are kept.
pub fn machine(limit: Cow<'_, Limit>) -> Option<(Cow<'_, Scaled>, Scope)> {
    match limit {
        Cow::Borrowed(Limit {
            rule: Rule::Single(single),
            ..
        }) => Some((Cow::Borrowed(&single.machine), single.scope)),
        Cow::Owned(Limit {
            rule: Rule::Single(single),
            ..
        }) => Some((Cow::Owned(single.machine), single.scope)),
        Cow::Borrowed(Limit {
            rule: Rule::Shaper(shaper),
            ..
        }) => Some((Cow::Borrowed(&shaper.machine), shaper.scope)),
        Cow::Owned(Limit {
            rule: Rule::Shaper(shaper),
            ..
        }) => Some((Cow::Owned(shaper.machine), shaper.scope)),
        _ => None,
    }
}
