//! Who is asking, and whether they may: decided once for every request, before anything of it is read or done.

pub mod bearer;
pub mod bootstrap;
pub mod caller;
pub mod client_address;
pub mod doors;
pub mod login;
pub mod origin;
pub mod provider;
pub mod record;
pub mod secrets;
pub mod session;
pub mod visitor;

mod certs;
mod signature;

use std::rc::Rc;

use weir_shared::access::endpoint::{Access, Endpoint, Matched};
use weir_shared::access::grant::Principal;
use worker::Request;

use crate::http::failure::Failure;
use crate::isolate::request::RequestHandles;
use bearer::{Tokens, token_of};
use caller::Caller;
use visitor::Visitor;

/// Lets a request in, or not: by the table of all routes, and by nothing else.
///
/// # Errors
/// 401 for a caller without a valid credential, 403 for one who may not, 400 for a name in the path that is none, 503 while it
/// cannot be known.
pub async fn admit(
    request: &Request,
    handles: &RequestHandles,
    matched: &Matched<'_>,
) -> Result<Caller, Failure> {
    let route = matched.route;
    let visitor = Visitor {
        request,
        handles,
        route,
    };
    let known = visitor.identify().await?;
    permit(handles, matched, &known.principal)?;
    if route.endpoint == Endpoint::Live {
        origin::check(request, known.ambient)?;
    }
    Ok(Caller {
        principal: known.principal,
        name: matched.name()?,
        session: known.session,
        opened: known.opened,
        sealed_by: known.sealed_by,
    })
}

/// Lets in whom a token proves to be, on a route whose path has no name in it.
///
/// # Errors
/// As [`admit`].
pub async fn admit_bearer(
    authorization: &str,
    tokens: &Tokens<'_>,
    matched: &Matched<'_>,
) -> Result<Caller, Failure> {
    let token = token_of(authorization).ok_or(Failure::Unauthorized)?;
    let bearer = tokens.bearer(token).await?;
    permit(tokens.handles, matched, &bearer.principal)?;
    Ok(Caller {
        principal: Rc::clone(&bearer.principal),
        name: String::new(),
        session: None,
        opened: None,
        sealed_by: 0,
    })
}

fn permit(
    handles: &RequestHandles,
    matched: &Matched<'_>,
    principal: &Principal,
) -> Result<(), Failure> {
    let route = matched.route;
    if matches!(route.access, Access::Roles(_)) && route.access.admits(principal.role) {
        return Ok(());
    }
    let target = matched.name().unwrap_or_default();
    record::denied(handles, principal, route.endpoint, &target);
    Err(Failure::Forbidden {
        detail: "The role of the token does not permit this.",
        field: None,
    })
}
