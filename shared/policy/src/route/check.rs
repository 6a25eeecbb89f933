//! What a route charges a request to.

use weir_core::invalid::{Fault, Invalid};
use weir_core::json::pointer::step;
use weir_core::limits::{CHECKS_MAX, COMPOSITE_DIMENSIONS_MAX, WAIT_MS_MAX};
use weir_core::name::tenant_name;
use weir_core::ordered::{OrderedMap, OrderedSet};
use weir_wire::policy::Scope;
use weir_wire::route::{KeyBody, KeySourceBody, RouteCheckBody};

use super::cost::Cost;
use super::header::HeaderName;
use super::{one_of, required};
use crate::limit::{Composite, Limit, Rule};
use crate::{Policy, between, count};

/// One thing that a request is charged to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteCheck {
    /// What.
    pub target: RouteTarget,
    /// How much.
    pub cost: Cost,
    /// For how long a request may wait where it would be denied; of a budget or an overload resource.
    pub wait_ms: Option<u64>,
}

/// What a request is charged to. Each name is one of the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteTarget {
    /// A budget.
    Budget(String),
    /// A limit.
    Limit {
        /// Its name.
        name: String,
        /// Where its keys are found.
        keys: KeySources,
    },
    /// A meter of the tenant.
    Meter(String),
    /// A slot of a guard of the tenant.
    Guard(String),
    /// An overload resource.
    Overload(String),
}

/// Where the keys of a limit are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySources {
    /// It has one key a tenant.
    None,
    /// One, for every dimension.
    One(KeySource),
    /// One a dimension.
    Named(OrderedMap<String, KeySource>),
}

/// Where a key is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// The tenant's name.
    Tenant,
    /// The address that the request comes from.
    ClientAddress,
    /// The value of a request header.
    Header(HeaderName),
    /// One key for all.
    Fixed(String),
}

impl RouteTarget {
    /// Whether it cannot be charged without a tenant.
    pub(super) fn needs_tenant(&self, policy: &Policy) -> bool {
        let Self::Limit { name, keys } = self else {
            return true;
        };
        let own = |limit: &Limit| limit.per_tenant;
        let limit = policy.limits.get(name);
        let per_tenant =
            limit.is_some_and(|limit| parts(limit, policy).iter().any(|(_, one)| own(one)));
        let tenant = match keys {
            KeySources::None => false,
            KeySources::One(source) => *source == KeySource::Tenant,
            KeySources::Named(sources) => sources.values().any(|one| *one == KeySource::Tenant),
        };
        per_tenant || tenant
    }

    /// Whether it is the queue of a shaper, in which requests wait for their turn.
    #[must_use]
    pub fn delays(&self, policy: &Policy) -> bool {
        let Self::Limit { name, .. } = self else {
            return false;
        };
        let limit = policy.limits.get(name);
        limit.is_some_and(|limit| matches!(limit.rule, Rule::Shaper(_)))
    }

    fn field(&self) -> &'static str {
        match self {
            Self::Budget(_) => "/budget",
            Self::Limit { .. } => "/limit",
            Self::Meter(_) => "/meter",
            Self::Guard(_) => "/guard",
            Self::Overload(_) => "/overload",
        }
    }

    /// What may be charged once in a request; a limit under several keys.
    fn once(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Limit { .. } => None,
            Self::Budget(name) | Self::Meter(name) | Self::Guard(name) | Self::Overload(name) => {
                Some((self.field(), name))
            }
        }
    }
}

/// The checks of a route.
pub(super) fn checks(
    bodies: &[RouteCheckBody],
    policy: &Policy,
) -> Result<Vec<RouteCheck>, Invalid> {
    count("/checks", "checks", bodies.len(), CHECKS_MAX)?;
    let mut checks: Vec<RouteCheck> = Vec::with_capacity(bodies.len());
    let mut charged = OrderedSet::new();
    for (index, body) in bodies.iter().enumerate() {
        let at = format!("/checks/{index}");
        let check = RouteCheck::read(body, policy).map_err(|refused| refused.under(&at))?;
        let guard = |check: &RouteCheck| matches!(check.target, RouteTarget::Guard(_));
        if guard(&check) && checks.iter().any(guard) {
            let by = "another guard";
            return Err(Invalid::new(format!("{at}/guard"), Fault::Excluded { by }));
        }
        let delays = |check: &RouteCheck| check.target.delays(policy);
        if delays(&check) && checks.iter().any(delays) {
            // A request leaves once, so it could keep to one queue's turns alone.
            let by = "another leaky_bucket";
            return Err(Invalid::new(format!("{at}/limit"), Fault::Excluded { by }));
        }
        if let Some((field, name)) = check.target.once()
            && !charged.insert((field, name.to_owned()))
        {
            let got = name.to_owned();
            return Err(Invalid::new(
                format!("{at}{field}"),
                Fault::Duplicate { got },
            ));
        }
        let told = check.cost.usage().map(|usage| &usage.format);
        let mut others = checks.iter().filter_map(|check| check.cost.usage());
        if told.is_some_and(|told| others.any(|usage| usage.format != *told)) {
            let at = format!("{at}/cost/usage/format");
            let by = "another format of the same answer";
            return Err(Invalid::new(at, Fault::Excluded { by }));
        }
        checks.push(check);
    }
    Ok(checks)
}

impl RouteCheck {
    fn read(body: &RouteCheckBody, policy: &Policy) -> Result<Self, Invalid> {
        let named = |name: &Option<String>| name.clone();
        let known = |name: &str, field: &str, has: bool, what| match has {
            true => Ok(()),
            false => {
                let name = name.to_owned();
                Err(Invalid::new(field, Fault::Unknown { name, what }))
            }
        };
        let budget = named(&body.budget).map(|name| {
            known(
                &name,
                "/budget",
                policy.budgets.contains_key(&name),
                "budget of this policy",
            )?;
            Ok(RouteTarget::Budget(name))
        });
        let limit = named(&body.limit).map(|name| limit(name, body, policy));
        let meter = named(&body.meter).map(|name| {
            known(
                &name,
                "/meter",
                policy.meters.contains_key(&name),
                "meter of this policy",
            )?;
            Ok(RouteTarget::Meter(name))
        });
        let guard = named(&body.guard).map(|name| {
            known(
                &name,
                "/guard",
                policy.guards.contains_key(&name),
                "guard of this policy",
            )?;
            Ok(RouteTarget::Guard(name))
        });
        let overload = named(&body.overload).map(|name| {
            let known_here = policy.overload.contains_key(&name);
            known(
                &name,
                "/overload",
                known_here,
                "overload resource of this policy",
            )?;
            Ok(RouteTarget::Overload(name))
        });
        let given = [
            ("budget", budget),
            ("limit", limit),
            ("meter", meter),
            ("guard", guard),
            ("overload", overload),
        ];
        let target = one_of(given, "/budget")?;
        if !matches!(target, RouteTarget::Limit { .. }) {
            let to = || format!("a {}", &target.field()[1..]);
            let keyed = [("/key", body.key.is_some()), ("/keys", body.keys.is_some())];
            if let Some((field, _)) = keyed.into_iter().find(|(_, given)| *given) {
                return Err(Invalid::new(field, Fault::Foreign { to: to() }));
            }
        }
        let cost = Cost::read(body.cost.as_ref())?;
        chargeable(&target, &cost, policy)?;
        let wait_ms = body.wait_ms.map(|ms| waitable(&target, ms, policy));
        Ok(Self {
            target,
            cost,
            wait_ms: wait_ms.transpose()?,
        })
    }
}

/// How long a check is waited for, where it can be.
fn waitable(target: &RouteTarget, ms: u64, policy: &Policy) -> Result<u64, Invalid> {
    let at = "/wait_ms";
    let foreign = |to: &str| {
        let to = to.to_owned();
        Err(Invalid::new(at, Fault::Foreign { to }))
    };
    match target {
        RouteTarget::Budget(name) => {
            if policy.budgets.get(name).is_some_and(|budget| budget.shadow) {
                return foreign("a budget in shadow, which denies nobody");
            }
            between(at, ms, 1, WAIT_MS_MAX)
        }
        RouteTarget::Limit { .. } if target.delays(policy) => {
            foreign("a leaky_bucket, whose own max_queue_ms says how long it is waited for")
        }
        RouteTarget::Limit { .. } => foreign("a limit: a leaky_bucket is one that is waited for"),
        RouteTarget::Meter(_) => foreign("a meter"),
        RouteTarget::Guard(_) => foreign("a guard"),
        RouteTarget::Overload(name) => {
            let resource = policy.overload.get(name);
            if resource.is_some_and(|resource| resource.shadow) {
                return foreign("an overload resource in shadow, which denies nobody");
            }
            between(at, ms, 1, WAIT_MS_MAX)
        }
    }
}

/// Refuses a cost that its target cannot take.
fn chargeable(target: &RouteTarget, cost: &Cost, policy: &Policy) -> Result<(), Invalid> {
    let foreign = |to: &str| {
        let to = to.to_owned();
        Err(Invalid::new("/cost", Fault::Foreign { to }))
    };
    match target {
        RouteTarget::Guard(_) => match cost {
            Cost::Units(1) => Ok(()),
            Cost::Units(units) => between("/cost", *units, 1, 1).map(|_| ()),
            _ => foreign("a guard, of which a request takes one slot"),
        },
        RouteTarget::Overload(_) if cost.settles() => {
            foreign("an overload resource, whose costs are not settled")
        }
        RouteTarget::Budget(name) if cost.settles() => {
            let scope = policy.budgets.get(name).map(|budget| budget.scope);
            match scope {
                Some(Scope::Isolate) => foreign("a budget of each isolate, which is not settled"),
                _ => Ok(()),
            }
        }
        RouteTarget::Limit { .. } if cost.settles() && target.delays(policy) => {
            foreign("a leaky_bucket, whose places are of their time and are not settled")
        }
        RouteTarget::Limit { name, .. } if cost.settles() => {
            let parts = policy.limits.get(name).map(|limit| parts(limit, policy));
            let local = |(_, limit): &(&str, &Limit)| scope(limit) == Some(Scope::Isolate);
            match parts.iter().flatten().any(local) {
                true => foreign("a limit of each isolate, which is not settled"),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn scope(limit: &Limit) -> Option<Scope> {
    match &limit.rule {
        Rule::Single(single) => Some(single.scope),
        Rule::Shaper(shaper) => Some(shaper.scope),
        Rule::Composite(_) => None,
    }
}

/// The limits that are charged, by the names of their dimensions: one, or those of which a composite limit is made.
fn parts<'a>(limit: &'a Limit, policy: &'a Policy) -> Vec<(&'a str, &'a Limit)> {
    let Rule::Composite(composite) = &limit.rule else {
        return vec![("", limit)];
    };
    let dimensions = composite.dimensions.iter();
    dimensions
        .filter_map(|part| Some((part.name.as_str(), policy.limits.get(&part.limit)?)))
        .collect()
}

fn limit(name: String, body: &RouteCheckBody, policy: &Policy) -> Result<RouteTarget, Invalid> {
    let Some(limit) = policy.limits.get(&name) else {
        let what = "limit of this policy";
        return Err(Invalid::new("/limit", Fault::Unknown { name, what }));
    };
    let composite = match &limit.rule {
        Rule::Composite(composite) => Some(composite),
        Rule::Single(_) | Rule::Shaper(_) => None,
    };
    let keys = keys(body, composite)?;
    for (dimension, part) in parts(limit, policy) {
        let given = match &keys {
            KeySources::None => false,
            KeySources::One(_) => true,
            KeySources::Named(sources) => sources.contains_key(dimension),
        };
        if !given && !part.per_tenant {
            let field = match &keys {
                KeySources::Named(_) => format!("/keys{}", step(dimension)),
                _ => "/key".to_owned(),
            };
            return Err(Invalid::new(field, Fault::Missing));
        }
    }
    Ok(RouteTarget::Limit { name, keys })
}

fn keys(body: &RouteCheckBody, composite: Option<&Composite>) -> Result<KeySources, Invalid> {
    let sources = match (&body.key, &body.keys) {
        (None, None) => return Ok(KeySources::None),
        (Some(key), None) => return KeySource::read(key, "/key").map(KeySources::One),
        (Some(_), Some(_)) => {
            let by = "key";
            return Err(Invalid::new("/keys", Fault::Excluded { by }));
        }
        (None, Some(sources)) => sources,
    };
    let Some(composite) = composite else {
        let to = "a limit that is not made of others".to_owned();
        return Err(Invalid::new("/keys", Fault::Foreign { to }));
    };
    if sources.is_empty() {
        return Err(Invalid::new("/keys", Fault::Missing));
    }
    count("/keys", "keys", sources.len(), COMPOSITE_DIMENSIONS_MAX)?;
    let mut named = OrderedMap::new();
    for (dimension, source) in sources {
        let at = format!("/keys{}", step(dimension));
        if !composite
            .dimensions
            .iter()
            .any(|part| part.name == *dimension)
        {
            let (name, what) = (dimension.clone(), "dimension of this limit");
            return Err(Invalid::new(at, Fault::Unknown { name, what }));
        }
        named.insert(dimension.clone(), KeySource::read(source, &at)?);
    }
    Ok(KeySources::Named(named))
}

impl KeySource {
    fn read(body: &KeyBody, at: &str) -> Result<Self, Invalid> {
        match body {
            KeyBody::Tenant => Ok(Self::Tenant),
            KeyBody::ClientAddress => Ok(Self::ClientAddress),
            KeyBody::Source(body) => Self::found(body).map_err(|refused| refused.under(at)),
        }
    }

    fn found(body: &KeySourceBody) -> Result<Self, Invalid> {
        let header = body.header.as_deref().map(|name| {
            let header = HeaderName::read(name).map(Self::Header);
            header.map_err(|fault| Invalid::new("/header", fault))
        });
        let fixed = body.fixed.as_ref().map(|key| {
            let key = required(Some(key), "/fixed")?;
            tenant_name(key).map_err(|fault| Invalid::new("/fixed", fault))?;
            Ok(Self::Fixed(key.clone()))
        });
        one_of([("header", header), ("fixed", fixed)], "/header")
    }
}
