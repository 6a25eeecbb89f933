//! What of a tenant can be put back to its start, and what that does and does not do.

use weir_shared::policy::limit::algorithm_of;
use weir_shared::wire::operator::reset::ResetRequest;

use weir_shared::wire::policy::{PolicyDocument, Scope};

use crate::what::{Kind, What, choices};

use crate::visible::visible;

/// What is put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reset {
    /// All of the tenant's meters, guards and keys.
    Tenant,
    /// One meter.
    Meter(String),
    /// One guard.
    Guard(String),
    /// One key of a limit.
    Key {
        /// The limit.
        limit: String,
        /// The key.
        key: String,
    },
}

impl Reset {
    /// What is chosen; `None` for a budget or an overload resource, which nobody puts back.
    pub fn of(what: &What, key: &str) -> Option<Self> {
        match what.kind {
            Kind::Meter => Some(Self::Meter(what.name.clone())),
            Kind::Guard => Some(Self::Guard(what.name.clone())),
            Kind::Limit => Some(Self::Key {
                limit: what.name.clone(),
                key: key.to_owned(),
            }),
            Kind::Budget | Kind::Overload => None,
        }
    }

    /// The request. `per_tenant` says whether each tenant has its own keys of the limit.
    pub fn request(&self, tenant: &str, per_tenant: bool, why: &str) -> ResetRequest {
        let why = why.trim();
        let mut request = ResetRequest {
            tenant: Some(tenant.to_owned()),
            why: (!why.is_empty()).then(|| why.to_owned()),
            ..ResetRequest::default()
        };
        match self {
            Self::Tenant => {}
            Self::Meter(name) => request.meter = Some(name.clone()),
            Self::Guard(name) => request.guard = Some(name.clone()),
            Self::Key { limit, key } => {
                request.limit = Some(limit.clone());
                request.key = Some(key.clone());
                if !per_tenant {
                    request.tenant = None;
                }
            }
        }
        request
    }

    /// Its heading.
    pub fn title(&self, tenant: &str) -> String {
        let tenant = visible(tenant);
        match self {
            Self::Tenant => format!("Reset {tenant}"),
            Self::Meter(name) => format!("Reset meter {name} of {tenant}"),
            Self::Guard(name) => format!("Reset guard {name} of {tenant}"),
            Self::Key { limit, key } => {
                format!("Reset key {} of limit {limit}", visible(key))
            }
        }
    }

    /// What it does, and what it does not do.
    pub fn warning(&self) -> &'static str {
        match self {
            Self::Tenant => {
                "Every meter of the tenant is full again, every guard free and with its whole minute, and every key of its \
                 own starts anew, in all regions, at once. Calls that still run no longer count. Windows of budgets are not \
                 refunded, counters and the policy stay as they are. It cannot be undone."
            }
            Self::Meter(_) => {
                "The bucket of this meter is full again and what it owed is forgotten: a whole burst can come at once. What \
                 was counted stays counted. It cannot be undone."
            }
            Self::Guard(_) => {
                "All slots are free and the minute starts anew. Calls that still run no longer count, so for a while more \
                 may run than the guard permits. It cannot be undone."
            }
            Self::Key { .. } => {
                "This key starts anew in every region: its whole limit can be used again at once. What was counted stays \
                 counted. It cannot be undone."
            }
        }
    }
}

/// What of a tenant can be put back under a policy: meters, guards, and limits that regions keep by key. Units of
/// windows that are lent, and what each isolate keeps for itself, cannot.
pub fn resettable(document: &PolicyDocument) -> Vec<What> {
    let possible = |what: &What| match what.kind {
        Kind::Meter | Kind::Guard => true,
        Kind::Limit => document.limits.get(&what.name).is_some_and(|limit| {
            algorithm_of(limit).is_some() && limit.scope == Some(Scope::Region)
        }),
        Kind::Budget | Kind::Overload => false,
    };
    let mut all = choices(document);
    all.retain(possible);
    all
}

/// Whether each tenant has its own keys of a limit: then an empty key is one, too.
pub fn per_tenant(document: &PolicyDocument, limit: &str) -> bool {
    let limit = document.limits.get(limit);
    limit.is_some_and(|limit| limit.per_tenant == Some(true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_shared::check::reset::Reset as Carried;
    use weir_shared::policy::Policy;

    use super::*;

    fn policy() -> Policy {
        Policy::try_from(&document()).unwrap()
    }

    fn document() -> PolicyDocument {
        serde_json::from_value(json!({
            "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
            "meters": { "bytes": { "per_sec": 100 } }, "guards": { "queries": { "concurrency": 4 } },
            "limits": {
                "own": { "algorithm": "gcra", "limit": 1, "period_ms": 1000, "scope": "region", "per_tenant": true },
                "hourly": { "algorithm": "fixed_window", "limit": 1, "window_ms": 1000, "scope": "global" },
                "local": { "algorithm": "gcra", "limit": 1, "period_ms": 1000, "scope": "isolate" },
                "both": { "all": ["own", "per_ip"] },
                "per_ip": { "algorithm": "gcra", "limit": 1, "period_ms": 1000, "scope": "region", "per_tenant": false },
            },
        }))
        .unwrap()
    }

    #[test]
    fn what_is_asked_for_is_what_the_server_carries_out() {
        let key = |limit: &str| Reset::Key {
            limit: limit.to_owned(),
            key: "k".to_owned(),
        };
        for (reset, per_tenant) in [
            (Reset::Tenant, true),
            (Reset::Meter("bytes".to_owned()), true),
            (Reset::Guard("queries".to_owned()), true),
            (key("own"), true),
            (key("per_ip"), false),
        ] {
            let request = reset.request("acme", per_tenant, " incident 7 ");
            assert_eq!(request.why.as_deref(), Some("incident 7"));
            assert!(Carried::of(&request, &policy()).is_ok(), "{reset:?}");
            assert!(reset.warning().contains("cannot be undone"));
        }
        assert_eq!(Reset::Tenant.request("acme", true, "  ").why, None);
    }

    #[test]
    fn a_budget_is_never_put_back() {
        for kind in Kind::ALL {
            let possible = Reset::of(&What::new(kind, "x"), "k").is_some();
            let expected = !matches!(kind, Kind::Budget | Kind::Overload);
            assert_eq!(possible, expected, "{kind:?}");
        }
    }

    #[test]
    fn only_what_the_server_would_put_back_is_offered() {
        let (document, policy) = (document(), policy());
        let offered = resettable(&document);
        for what in choices(&document) {
            let carried = Reset::of(&what, "k").is_some_and(|reset| {
                let request = reset.request("acme", per_tenant(&document, &what.name), "");
                Carried::of(&request, &policy).is_ok()
            });
            assert_eq!(offered.contains(&what), carried, "{what}");
        }
        assert_eq!(offered.len(), 4);
    }
}
