//! What a token permits, and who its holder is.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::JSON_INTEGER_MAX;
use weir_core::name::{label, tenant_name};
use weir_core::units::EpochMs;
use weir_wire::access::{TokenRequest, TokenRow};
use weir_wire::audit::Author;
use weir_wire::role::Role;

/// Who asks, and for whom it may speak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The id of its token; `None` for whom an identity provider names.
    pub token: Option<String>,
    /// What the audit log calls it.
    pub actor: String,
    /// What it is to Weir.
    pub role: Role,
    /// The one tenant that it may name, with [`Role::Tenant`].
    pub tenant: Option<String>,
    /// How the names begin that it may name, with [`Role::Service`].
    pub prefix: Option<String>,
    /// From when on its token opens nothing; `None` for one that is valid until it is revoked.
    pub expires_at: Option<EpochMs>,
}

impl Principal {
    /// Whether its token has expired.
    ///
    /// ```
    /// use weir_access::grant::Principal;
    /// use weir_wire::role::Role;
    /// use weir_core::units::EpochMs;
    /// let expires_at = Some(EpochMs(60_000));
    /// let guest = Principal { expires_at, ..Principal::new("guest", Role::Viewer) };
    /// assert!(!guest.has_expired(EpochMs(59_999)) && guest.has_expired(EpochMs(60_000)));
    /// ```
    #[must_use]
    pub fn has_expired(&self, now: EpochMs) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// One that has no token, may name no tenant in particular, and does not expire.
    #[must_use]
    pub fn new(actor: &str, role: Role) -> Self {
        Self {
            token: None,
            actor: actor.to_owned(),
            role,
            tenant: None,
            prefix: None,
            expires_at: None,
        }
    }

    /// Whether it may decide in the name of a tenant, or, with `None`, of nobody in particular.
    ///
    /// ```
    /// use weir_access::grant::Principal;
    /// use weir_wire::role::Role;
    /// let prefix = Some("eu:".to_owned());
    /// let bound = Principal { prefix, ..Principal::new("gateway", Role::Service) };
    /// assert!(bound.may_name(Some("eu:acme")));
    /// assert!(!bound.may_name(Some("us:acme")) && !bound.may_name(None));
    /// ```
    #[must_use]
    pub fn may_name(&self, tenant: Option<&str>) -> bool {
        match self.role {
            Role::Admin => true,
            Role::Service => match (&self.prefix, tenant) {
                (None, _) => true,
                (Some(prefix), Some(tenant)) => tenant.starts_with(prefix.as_str()),
                (Some(_), None) => false,
            },
            Role::Tenant => tenant.is_some() && self.tenant.as_deref() == tenant,
            Role::Agent | Role::Viewer | Role::Editor => false,
        }
    }
}

impl From<&Principal> for Author {
    fn from(by: &Principal) -> Self {
        Self {
            actor: by.actor.clone(),
            token: by.token.clone(),
            role: Some(by.role),
            why: None,
        }
    }
}

impl From<&TokenRow> for Principal {
    fn from(row: &TokenRow) -> Self {
        Self {
            token: Some(row.id.clone()),
            actor: row.name.clone(),
            role: row.role,
            tenant: row.tenant.clone(),
            prefix: row.prefix.clone(),
            expires_at: row.expires_at,
        }
    }
}

/// A token that may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// What it is called.
    pub name: String,
    /// What it permits.
    pub role: Role,
    /// The one tenant that it may name: with [`Role::Tenant`] only, and always.
    pub tenant: Option<String>,
    /// How the names begin that it may name: with [`Role::Service`] only.
    pub prefix: Option<String>,
    /// From when on it opens nothing.
    pub expires_at: Option<EpochMs>,
}

impl NewToken {
    /// The same, if it does not expire before it is made.
    ///
    /// # Errors
    /// `/expires_at`, when that is not behind `now`.
    pub fn made_at(self, now: EpochMs) -> Result<Self, Invalid> {
        match self.expires_at {
            Some(end) if end <= now => Err(out_of_range(end, now.plus(1))),
            _ => Ok(self),
        }
    }
}

fn out_of_range(got: EpochMs, min: EpochMs) -> Invalid {
    let fault = Fault::OutOfRange {
        got: got.to_string(),
        min: min.to_string(),
        max: JSON_INTEGER_MAX.to_string(),
    };
    Invalid::new("/expires_at", fault)
}

impl TryFrom<TokenRequest> for NewToken {
    type Error = Invalid;

    fn try_from(request: TokenRequest) -> Result<Self, Invalid> {
        let TokenRequest {
            name,
            role,
            tenant,
            prefix,
            expires_at,
        } = request;
        if let Some(end) = expires_at.filter(|end| end.0 > JSON_INTEGER_MAX) {
            return Err(out_of_range(end, EpochMs(0)));
        }
        label(&name).map_err(|fault| Invalid::new("/name", fault))?;
        if name == weir_wire::access::BOOTSTRAP {
            let fault = Fault::Duplicate { got: name };
            return Err(Invalid::new("/name", fault));
        }
        let bound = [
            ("/tenant", &tenant, Role::Tenant),
            ("/prefix", &prefix, Role::Service),
        ];
        for (field, value, only) in bound {
            match value {
                Some(_) if role != only => {
                    let to = format!("the role {}", role.name());
                    return Err(Invalid::new(field, Fault::Foreign { to }));
                }
                Some(value) => tenant_name(value).map_err(|fault| Invalid::new(field, fault))?,
                None if role == Role::Tenant && only == Role::Tenant => {
                    return Err(Invalid::new(field, Fault::Missing));
                }
                None => {}
            }
        }
        Ok(Self {
            name,
            role,
            tenant,
            prefix,
            expires_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_expires_at_a_time_that_stays_exact_in_json() {
        for (end, taken) in [
            (0, true),
            (JSON_INTEGER_MAX, true),
            (JSON_INTEGER_MAX + 1, false),
        ] {
            let made = NewToken::try_from(TokenRequest {
                name: "guest".to_owned(),
                role: Role::Viewer,
                tenant: None,
                prefix: None,
                expires_at: Some(EpochMs(end)),
            });
            assert_eq!(made.is_ok(), taken, "{end}");
            let expires_at = made.map_err(|refused| refused.field);
            assert_eq!(
                expires_at.map(|made| made.expires_at),
                if taken {
                    Ok(Some(EpochMs(end)))
                } else {
                    Err("/expires_at".to_owned())
                }
            );
        }
    }

    #[test]
    fn the_audit_log_names_who_acts_by_its_token_and_in_which_role() {
        let principal = Principal {
            token: Some("k1".to_owned()),
            ..Principal::new("ada", Role::Editor)
        };
        let author = Author {
            actor: "ada".to_owned(),
            token: Some("k1".to_owned()),
            role: Some(Role::Editor),
            why: None,
        };
        assert_eq!(Author::from(&principal), author);
    }
}
