//! Who was let in.

use std::rc::Rc;

use weir_shared::access::grant::Principal;
use weir_shared::access::session::Session;
use weir_shared::limiting::reservation::Reservation;
use weir_shared::units::EpochMs;
use weir_shared::wire::operator::SessionReply;
use weir_shared::wire::operator::live_holder::{LiveHolder, LiveSession};
use weir_shared::wire::role::Role;

use crate::http::failure::Failure;

/// Who makes a request that was let in.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who it is.
    pub principal: Rc<Principal>,
    /// The name in the path, decoded and checked; empty where the route has none.
    pub name: String,
    /// Until when a browser stays logged in; `None` for a bearer token, which ends when it is revoked.
    pub session: Option<SessionReply>,
    /// The session, where Weir opened it: an identity provider's ends there.
    pub opened: Option<Session>,
    /// The version of the key that sealed the session; 0 without one.
    pub sealed_by: u64,
}

impl Caller {
    /// What a live socket keeps of it.
    #[must_use]
    pub fn live_holder(&self) -> LiveHolder {
        let principal = &self.principal;
        let session = self.opened.as_ref().map(|opened| LiveSession {
            id: opened.id.clone(),
            seal: self.sealed_by,
        });
        LiveHolder {
            provided: principal.token.is_none(),
            name: principal.token.as_ref().unwrap_or(&principal.actor).clone(),
            role: principal.role,
            session,
            expires_at: match &self.session {
                Some(reply) => Some(EpochMs(reply.expires_at)),
                None => principal.expires_at,
            },
        }
    }

    /// The tenant that a request is about, whose fields stand at the pointer `at` of the body: the one that it names, if
    /// the caller may, or a tenant's own where it names none.
    ///
    /// # Errors
    /// 403 for a tenant that the caller may not name.
    pub fn tenant(&self, named: Option<String>, at: &str) -> Result<Option<String>, Failure> {
        let tenant = match (named, self.principal.role) {
            (None, Role::Tenant) => self.principal.tenant.clone(),
            (named, _) => named,
        };
        self.may_name(tenant.as_deref(), at)?;
        Ok(tenant)
    }

    /// Whether the caller may settle a reservation: whoever may decide for its tenant.
    ///
    /// # Errors
    /// 403 when it may not.
    pub fn may_settle(&self, reservation: &Reservation) -> Result<(), Failure> {
        if self.principal.may_name(reservation.tenant.as_deref()) {
            return Ok(());
        }
        Err(Failure::Forbidden {
            detail: "The reservation is of another tenant.",
            field: Some("/reservation".to_owned()),
        })
    }

    /// Whether the caller may decide for a tenant, or, with `None`, for nobody in particular.
    ///
    /// # Errors
    /// 403 when it may not.
    pub fn may_name(&self, tenant: Option<&str>, at: &str) -> Result<(), Failure> {
        if self.principal.may_name(tenant) {
            return Ok(());
        }
        let detail = match (self.principal.role, tenant) {
            (Role::Service, None) => {
                "The token is for tenants by a prefix; the request has to name one."
            }
            (Role::Service, Some(_)) => "The token is for tenants by another prefix.",
            _ => "The token is for another tenant.",
        };
        Err(Failure::Forbidden {
            detail,
            field: Some(format!("{at}/tenant")),
        })
    }
}
