//! What is put back to its start: which states, under which key, and where they are kept.

use weir_core::invalid::{Fault, Invalid};
use weir_core::name::tenant_name;
use weir_core::name::{full_key, guard_name, meter_name};
use weir_policy::Policy;
use weir_policy::limit::Rule;
use weir_wire::operator::reset::ResetRequest;
use weir_wire::policy::Scope;

/// States that are put back. All of a tenant's lie in the shards of one number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// What the audit log calls it.
    pub target: String,
    /// The key, the tenant included.
    pub key: String,
    /// Whether the keys of the tenant by that name are meant, too.
    pub tenant: bool,
    /// Names of states that each region keeps.
    pub regional: Vec<String>,
    /// Names of states that are kept for the whole deployment.
    pub global: Vec<String>,
}

/// Why nothing is put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The request is not valid.
    Invalid(Invalid),
    /// The policy has none by that name.
    Unknown(&'static str),
}

impl From<Invalid> for Refused {
    fn from(refused: Invalid) -> Self {
        Self::Invalid(refused)
    }
}

impl Reset {
    /// What a request means under a policy.
    ///
    /// # Errors
    /// A name that the policy does not have, a field that is missing or too many, and what cannot be put back: units of a
    /// window that are lent, and what each isolate keeps for itself.
    ///
    /// ```
    /// use weir_check::reset::Reset;
    /// use weir_core::invalid::read_json;
    /// use weir_policy::Policy;
    /// use weir_wire::operator::reset::ResetRequest;
    /// let policy = Policy::try_from(&read_json(br#"{
    ///   "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
    ///   "meters": { "bytes": { "per_sec": 100 } }
    /// }"#).unwrap()).unwrap();
    /// let request = ResetRequest {
    ///     meter: Some("bytes".to_owned()), tenant: Some("acme".to_owned()), ..ResetRequest::default()
    /// };
    /// let reset = Reset::of(&request, &policy).unwrap();
    /// assert_eq!((reset.key.as_str(), reset.global.len(), reset.regional.len()), ("acme", 1, 0));
    /// ```
    pub fn of(request: &ResetRequest, policy: &Policy) -> Result<Self, Refused> {
        for (field, name) in [("/tenant", &request.tenant), ("/key", &request.key)] {
            if let Some(name) = name {
                tenant_name(name).map_err(|fault| Invalid::new(field, fault))?;
            }
        }
        match (&request.limit, &request.meter, &request.guard) {
            (Some(limit), None, None) => of_limit(request, limit, policy),
            (None, Some(meter), None) => {
                let found = policy.meters.get(meter);
                let scope = found.ok_or(Refused::Unknown("meter"))?.scope;
                of_tenant(request, ("meter", meter), meter_name(meter), scope)
            }
            (None, None, Some(guard)) => {
                let found = policy.guards.get(guard);
                let scope = found.ok_or(Refused::Unknown("guard"))?.scope;
                of_tenant(request, ("guard", guard), guard_name(guard), scope)
            }
            (None, None, None) => whole_tenant(request, policy),
            (Some(_), Some(_), _) => Err(excluded("/meter", "limit")),
            (Some(_), None, Some(_)) => Err(excluded("/guard", "limit")),
            (None, Some(_), Some(_)) => Err(excluded("/guard", "meter")),
        }
    }
}

fn excluded(field: &str, by: &'static str) -> Refused {
    Invalid::new(field, Fault::Excluded { by }).into()
}

fn needed<'a>(field: &str, value: Option<&'a String>) -> Result<&'a str, Refused> {
    let value = value.ok_or_else(|| Invalid::new(field, Fault::Missing))?;
    Ok(value)
}

fn unserved(got: &str, served: &'static str) -> Refused {
    let got = got.to_owned();
    Invalid::new("/limit", Fault::Unserved { got, served }).into()
}

fn of_limit(request: &ResetRequest, name: &str, policy: &Policy) -> Result<Reset, Refused> {
    let limit = policy.limits.get(name).ok_or(Refused::Unknown("limit"))?;
    let scope = match &limit.rule {
        Rule::Single(single) => single.scope,
        Rule::Shaper(shaper) => shaper.scope,
        Rule::Composite(_) => {
            return Err(unserved(
                "a limit made of others",
                "the limits that it is made of",
            ));
        }
    };
    match scope {
        Scope::Region => {}
        Scope::Isolate => {
            let served = "limits at the scope region";
            return Err(unserved(
                "a limit that each isolate keeps for itself",
                served,
            ));
        }
        Scope::Global => {
            let served = "limits at the scope region, meters and guards";
            return Err(unserved("a limit whose windows are lent", served));
        }
    }
    let key = match (limit.per_tenant, &request.tenant) {
        (true, tenant) => {
            let tenant = needed("/tenant", tenant.as_ref())?;
            full_key(Some(tenant), request.key.as_deref().unwrap_or_default())
        }
        (false, Some(_)) => {
            let to = format!("the limit {name:?}, which is not per tenant");
            return Err(Invalid::new("/tenant", Fault::Foreign { to }).into());
        }
        (false, None) => full_key(None, needed("/key", request.key.as_ref())?),
    };
    Ok(Reset {
        target: format!("limit {name}"),
        key,
        tenant: false,
        regional: vec![name.to_owned()],
        global: Vec::new(),
    })
}

fn of_tenant(
    request: &ResetRequest,
    (kind, name): (&str, &str),
    state: String,
    scope: Scope,
) -> Result<Reset, Refused> {
    if request.key.is_some() {
        let to = format!("a {kind}");
        return Err(Invalid::new("/key", Fault::Foreign { to }).into());
    }
    let tenant = needed("/tenant", request.tenant.as_ref())?;
    let (mut regional, mut global) = (Vec::new(), Vec::new());
    if scope == Scope::Global {
        global.push(state);
    } else {
        regional.push(state);
    }
    Ok(Reset {
        target: format!("{kind} {name} of {tenant}"),
        key: full_key(Some(tenant), ""),
        tenant: false,
        regional,
        global,
    })
}

fn whole_tenant(request: &ResetRequest, policy: &Policy) -> Result<Reset, Refused> {
    let tenant = needed("/tenant", request.tenant.as_ref())?;
    if request.key.is_some() {
        let to = "a tenant as a whole".to_owned();
        return Err(Invalid::new("/key", Fault::Foreign { to }).into());
    }
    let meters = policy.meters.iter();
    let meters = meters.map(|(name, meter)| (meter_name(name), meter.scope));
    let guards = policy.guards.iter();
    let guards = guards.map(|(name, guard)| (guard_name(name), guard.scope));
    let limits = policy.limits.iter().filter(|(_, limit)| limit.per_tenant);
    let limits = limits.filter_map(|(name, limit)| match &limit.rule {
        Rule::Single(single) => Some((name.clone(), single.scope)),
        Rule::Shaper(shaper) => Some((name.clone(), shaper.scope)),
        Rule::Composite(_) => None,
    });
    // Of limits, only those of the scope region are kept by shards.
    let limits = limits.filter(|(_, scope)| *scope == Scope::Region);
    let all = meters.chain(guards).chain(limits);
    let (global, regional): (Vec<_>, Vec<_>) = all.partition(|(_, scope)| *scope == Scope::Global);
    let names = |states: Vec<(String, Scope)>| states.into_iter().map(|(name, _)| name).collect();
    Ok(Reset {
        target: format!("tenant {tenant}"),
        key: full_key(Some(tenant), ""),
        tenant: true,
        regional: names(regional),
        global: names(global),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use weir_wire::policy::PolicyDocument;

    use super::*;

    fn policy() -> Policy {
        let document: PolicyDocument = serde_json::from_value(json!({
            "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
            "limits": {
                "ip": { "algorithm": "gcra", "limit": 10, "period_ms": 1000, "scope": "region" },
                "own": { "algorithm": "fixed_window", "limit": 10, "window_ms": 1000, "scope": "region",
                         "per_tenant": true },
                "wide": { "algorithm": "fixed_window", "limit": 10, "window_ms": 1000, "scope": "global" },
                "near": { "algorithm": "gcra", "limit": 10, "period_ms": 1000, "scope": "isolate" },
                "both": { "all": ["ip", "near"] }
            },
            "meters": { "bytes": { "per_sec": 5 }, "rows": { "per_sec": 5, "scope": "region" } },
            "guards": { "queries": { "concurrency": 2, "per_minute": 5 } }
        }))
        .unwrap();
        Policy::try_from(&document).unwrap()
    }

    fn of(request: Value) -> Result<Reset, Refused> {
        let request: ResetRequest = serde_json::from_value(request).unwrap();
        Reset::of(&request, &policy())
    }

    #[test]
    fn a_key_a_meter_a_guard_and_a_tenant_can_be_put_back() {
        let ip = of(json!({ "limit": "ip", "key": "203.0.113.9" })).unwrap();
        assert_eq!(
            (ip.key.as_str(), ip.regional),
            ("203.0.113.9", vec!["ip".to_owned()])
        );
        let own = of(json!({ "limit": "own", "tenant": "acme", "key": "k" })).unwrap();
        assert_eq!(own.key, "acme\u{1}k");
        let rows = of(json!({ "meter": "rows", "tenant": "acme" })).unwrap();
        assert_eq!(
            (rows.regional, rows.global.len()),
            (vec![meter_name("rows")], 0)
        );
        let queries = of(json!({ "guard": "queries", "tenant": "acme" })).unwrap();
        assert_eq!(queries.global, [guard_name("queries")]);
        let acme = of(json!({ "tenant": "acme" })).unwrap();
        assert!(acme.tenant);
        assert_eq!(acme.regional, [meter_name("rows"), "own".to_owned()]);
        assert_eq!(acme.global, [meter_name("bytes"), guard_name("queries")]);
    }

    #[test]
    fn what_cannot_be_put_back_is_refused_where_it_stands() {
        for (request, field) in [
            (json!({}), "/tenant"),
            (json!({ "limit": "ip" }), "/key"),
            (
                json!({ "limit": "ip", "key": "k", "tenant": "a" }),
                "/tenant",
            ),
            (json!({ "limit": "own", "key": "k" }), "/tenant"),
            (json!({ "limit": "wide", "key": "k" }), "/limit"),
            (json!({ "limit": "near", "key": "k" }), "/limit"),
            (json!({ "limit": "both", "key": "k" }), "/limit"),
            (json!({ "meter": "bytes" }), "/tenant"),
            (
                json!({ "meter": "bytes", "tenant": "a", "key": "k" }),
                "/key",
            ),
            (json!({ "tenant": "a", "key": "k" }), "/key"),
            (
                json!({ "limit": "ip", "meter": "bytes", "tenant": "a" }),
                "/meter",
            ),
            (
                json!({ "meter": "bytes", "guard": "queries", "tenant": "a" }),
                "/guard",
            ),
            (json!({ "tenant": "a\nb" }), "/tenant"),
            (json!({ "tenant": "" }), "/tenant"),
        ] {
            match of(request.clone()) {
                Err(Refused::Invalid(refused)) => assert_eq!(refused.field, field, "{request}"),
                other => panic!("{request}: {other:?}"),
            }
        }
        for (request, what) in [
            (json!({ "limit": "nope", "key": "k" }), "limit"),
            (json!({ "meter": "nope", "tenant": "a" }), "meter"),
            (json!({ "guard": "nope", "tenant": "a" }), "guard"),
        ] {
            assert_eq!(of(request), Err(Refused::Unknown(what)));
        }
    }
}
