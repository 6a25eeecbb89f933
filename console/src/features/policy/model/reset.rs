//! State that is put back to its start: what is asked for, whether it can be, and what it does and does not do.

use weir_shared::check::reset::{Refused, Reset};
use weir_shared::policy::Policy;
use weir_shared::wire::operator::reset::{ResetReply, ResetRequest};

use crate::format;
use crate::visible::visible;

/// What is put back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum What {
    /// One key of a limit.
    #[default]
    Key,
    /// A meter of a tenant.
    Meter,
    /// A guard of a tenant.
    Guard,
    /// All of a tenant.
    Tenant,
}

impl What {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Key, Self::Meter, Self::Guard, Self::Tenant];

    /// Its name in an address and in a form.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Key => "limit",
            Self::Meter => "meter",
            Self::Guard => "guard",
            Self::Tenant => "tenant",
        }
    }

    /// What it is called.
    pub fn label(self) -> &'static str {
        match self {
            Self::Key => "a key of a limit",
            Self::Meter => "a meter of a tenant",
            Self::Guard => "a guard of a tenant",
            Self::Tenant => "everything of a tenant",
        }
    }

    /// The one of that name; the first for none.
    pub fn parse(slug: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|what| what.slug() == slug).unwrap_or_default()
    }

    /// What it does, and what it does not.
    pub fn warning(self) -> &'static str {
        match self {
            Self::Key => {
                "The key starts anew in every region: what it was denied for is forgotten, and its whole limit is open \
                 at once. Units that were reserved before give nothing back afterwards."
            }
            Self::Meter => {
                "The meter's bucket of this tenant is full again, and its debt is gone. What was counted and billed \
                 stays counted and billed."
            }
            Self::Guard => {
                "The guard's slots of this tenant are all free, and its minute starts anew. Calls that are running go \
                 on, so for a while more may run than the guard allows."
            }
            Self::Tenant => {
                "Every meter, guard and per-tenant key of this tenant starts anew, in every region. Calls that are \
                 running go on."
            }
        }
    }
}

/// What holds for every reset.
pub const NEVER: &str = "A reset cannot be undone. It never refunds a window of a budget: units of a budget may have been \
                         lent on, and come back with the next window.";

/// A reset as its form has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResetForm {
    /// What is put back.
    pub what: What,
    /// The limit, meter or guard.
    pub name: String,
    /// The tenant.
    pub tenant: String,
    /// The key.
    pub key: String,
}

impl ResetForm {
    /// Names from which the form chooses.
    pub fn names(&self, policy: &Policy) -> Vec<String> {
        match self.what {
            What::Key => policy.limits.keys().cloned().collect(),
            What::Meter => policy.meters.keys().cloned().collect(),
            What::Guard => policy.guards.keys().cloned().collect(),
            What::Tenant => Vec::new(),
        }
    }

    /// Whether a tenant is asked for: always but for a limit whose keys all tenants share.
    pub fn has_tenant(&self, policy: &Policy) -> bool {
        let limit = policy.limits.get(&self.name);
        self.what != What::Key || limit.is_some_and(|limit| limit.per_tenant)
    }

    /// The request.
    pub fn request(&self, policy: &Policy, why: Option<&str>) -> ResetRequest {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let name = |what| (self.what == what).then(|| given(&self.name)).flatten();
        ResetRequest {
            limit: name(What::Key),
            key: (self.what == What::Key).then(|| given(&self.key)).flatten(),
            meter: name(What::Meter),
            guard: name(What::Guard),
            tenant: self
                .has_tenant(policy)
                .then(|| given(&self.tenant))
                .flatten(),
            why: why.and_then(given),
        }
    }

    /// The request, if the policy has what it names, as the edge checks it.
    ///
    /// # Errors
    /// The form's field at fault (`name`, `tenant`, `key`), and what is wrong with it.
    pub fn check(&self, policy: &Policy) -> Result<Reset, (&'static str, String)> {
        if self.what != What::Tenant && self.name.is_empty() {
            return Err(("name", format!("choose a {}", self.what.slug())));
        }
        Reset::of(&self.request(policy, None), policy).map_err(|refused| match refused {
            Refused::Unknown(what) => ("name", format!("the policy has no {what} of that name")),
            Refused::Invalid(invalid) => {
                let field = match invalid.field.as_str() {
                    "/tenant" => "tenant",
                    "/key" => "key",
                    _ => "name",
                };
                (field, visible(&invalid.fault.to_string()))
            }
        })
    }

    /// What was done.
    pub fn done(&self, reply: &ResetReply) -> String {
        let keys = match reply.keys {
            0 => "It was already in its initial state".to_owned(),
            keys => format!(
                "{} put back",
                format::counted(usize::try_from(keys).unwrap_or(usize::MAX), "key")
            ),
        };
        format!(
            "{keys}; record {} in the audit log.",
            format::count(reply.audit.into())
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_shared::units::EpochMs;

    use super::*;
    use crate::features::policy::model::validate::check;

    fn policy() -> Policy {
        let document = json!({
            "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
            "limits": {
                "ip": { "algorithm": "gcra", "limit": 10, "period_ms": 1000, "scope": "region" },
                "own": { "algorithm": "gcra", "limit": 10, "period_ms": 1000, "scope": "region", "per_tenant": true },
                "wide": { "algorithm": "fixed_window", "limit": 10, "window_ms": 1000, "scope": "global" }
            },
            "meters": { "bytes": { "per_sec": 5 } },
            "guards": { "queries": { "concurrency": 2 } }
        });
        check(&document).unwrap().policy
    }

    fn form(what: What, name: &str, tenant: &str, key: &str) -> ResetForm {
        ResetForm {
            what,
            name: name.to_owned(),
            tenant: tenant.to_owned(),
            key: key.to_owned(),
        }
    }

    #[test]
    fn what_can_be_put_back_is_asked_for_as_the_edge_reads_it() {
        for (form, request) in [
            (
                form(What::Key, "ip", "left over", "203.0.113.9"),
                json!({ "limit": "ip", "key": "203.0.113.9" }),
            ),
            (
                form(What::Key, "own", "acme", "k"),
                json!({ "limit": "own", "key": "k", "tenant": "acme" }),
            ),
            (
                form(What::Meter, "bytes", "acme", "left over"),
                json!({ "meter": "bytes", "tenant": "acme" }),
            ),
            (
                form(What::Guard, "queries", "acme", ""),
                json!({ "guard": "queries", "tenant": "acme" }),
            ),
            (
                form(What::Tenant, "left over", "acme", ""),
                json!({ "tenant": "acme" }),
            ),
        ] {
            assert_eq!(json!(form.request(&policy(), None)), request);
            assert!(form.check(&policy()).is_ok(), "{form:?}");
        }
        let why = form(What::Tenant, "", "acme", "").request(&policy(), Some("a test"));
        assert_eq!(why.why.as_deref(), Some("a test"));
    }

    #[test]
    fn what_cannot_be_put_back_is_found_at_its_field() {
        for (form, field) in [
            (form(What::Key, "", "", "k"), "name"),
            (form(What::Key, "gone", "", "k"), "name"),
            (form(What::Key, "ip", "", ""), "key"),
            (form(What::Key, "own", "", "k"), "tenant"),
            (form(What::Key, "wide", "", "k"), "name"),
            (form(What::Meter, "bytes", "", ""), "tenant"),
            (form(What::Tenant, "", "", ""), "tenant"),
            (form(What::Tenant, "", "a\nb", ""), "tenant"),
        ] {
            let (found, message) = form.check(&policy()).unwrap_err();
            assert_eq!(found, field, "{form:?}: {message}");
        }
    }

    #[test]
    fn what_was_done_names_its_record() {
        let reply = |keys| ResetReply {
            at: EpochMs(0),
            audit: 1_207,
            keys,
        };
        let form = ResetForm::default();
        for (keys, text) in [
            (
                0,
                "It was already in its initial state; record 1,207 in the audit log.",
            ),
            (1, "1 key put back; record 1,207 in the audit log."),
            (12, "12 keys put back; record 1,207 in the audit log."),
        ] {
            assert_eq!(form.done(&reply(keys)), text);
        }
    }

    #[test]
    fn every_kind_is_found_by_its_name() {
        for what in What::ALL {
            assert_eq!(What::parse(what.slug()), what);
        }
        assert_eq!(What::parse("window"), What::Key);
    }
}
