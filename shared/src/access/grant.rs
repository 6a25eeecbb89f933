//! What a token permits, and who its holder is.

use crate::access::role::Role;
use crate::invalid::{Fault, Invalid};
use crate::policy::name::{label, tenant_name};
use crate::wire::access::{TokenRequest, TokenRow};

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
}

impl Principal {
    /// Whether it may decide in the name of a tenant, or, with `None`, of nobody in particular.
    ///
    /// ```
    /// use weir_shared::access::grant::Principal;
    /// use weir_shared::access::role::Role;
    /// let prefix = Some("eu:".to_owned());
    /// let actor = "gateway".to_owned();
    /// let bound = Principal { token: None, actor, role: Role::Service, tenant: None, prefix };
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
            Role::Viewer | Role::Editor => false,
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
}

impl TryFrom<TokenRequest> for NewToken {
    type Error = Invalid;

    fn try_from(request: TokenRequest) -> Result<Self, Invalid> {
        let TokenRequest {
            name,
            role,
            tenant,
            prefix,
        } = request;
        label(&name).map_err(|fault| Invalid::new("/name", fault))?;
        if name == crate::wire::access::BOOTSTRAP {
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
        })
    }
}
