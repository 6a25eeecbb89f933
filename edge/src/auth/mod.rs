//! Who is asking: a bearer token, or the session cookie that was given for one.

pub mod bootstrap;
pub mod reservation;
pub mod session;

use weir_shared::units::EpochMs;
use weir_shared::wire::operator::Role;
use worker::{Env, Method, Request};

use crate::http::failure::Failure;
use bootstrap::BootstrapToken;

/// The header that a page of another site cannot send along with the cookie.
const CSRF_HEADER: &str = "weir-csrf";

/// The role behind `Authorization: Bearer TOKEN`.
///
/// # Errors
/// [`Failure::Unauthorized`] without a valid token.
pub fn bearer(request: &Request, env: &Env) -> Result<Role, Failure> {
    let token = bearer_token(request)?.ok_or(Failure::Unauthorized)?;
    let bootstrap = BootstrapToken::from_env(env).ok_or(Failure::Unauthorized)?;
    if bootstrap.is(&token) {
        Ok(Role::Admin)
    } else {
        Err(Failure::Unauthorized)
    }
}

/// The role behind a bearer token or a session cookie. With a cookie, a request that changes something must carry
/// `weir-csrf: 1`.
///
/// # Errors
/// [`Failure::Unauthorized`] without either, [`Failure::CrossSite`] for a change by cookie without the header.
pub fn operator(request: &Request, env: &Env, now: EpochMs) -> Result<Role, Failure> {
    if bearer_token(request)?.is_some() {
        return bearer(request, env);
    }
    let session = session::of(request, env, now)?.ok_or(Failure::Unauthorized)?;
    let reads = matches!(request.method(), Method::Get | Method::Head);
    if !reads && request.headers().get(CSRF_HEADER)?.as_deref() != Some("1") {
        return Err(Failure::CrossSite);
    }
    Ok(session.role)
}

fn bearer_token(request: &Request) -> Result<Option<String>, Failure> {
    let Some(value) = request.headers().get("authorization")? else {
        return Ok(None);
    };
    let Some((scheme, token)) = value.split_once(' ') else {
        return Ok(None);
    };
    Ok(scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim().to_owned()))
}
