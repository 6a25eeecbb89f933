//! `/operator/v1/session`: a console's login.

use weir_shared::limits::OPERATOR_BODY_BYTES_MAX;
use weir_shared::wire::operator::SessionRequest;
use worker::{Request, Response, ResponseBuilder};

use crate::auth::bootstrap::BootstrapToken;
use crate::auth::{self, session};
use crate::http::failure::Failure;
use crate::http::{body, reply};
use crate::isolate::now;
use crate::isolate::request::RequestHandles;

/// Opens a session for a token.
///
/// # Errors
/// 400, 401, 413, 415.
pub async fn open(request: &mut Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let login: SessionRequest = body::json(request, OPERATOR_BODY_BYTES_MAX).await?;
    let token = BootstrapToken::from_env(&handles.env).ok_or(Failure::Unauthorized)?;
    if !token.is(&login.token) {
        return Err(Failure::Unauthorized);
    }
    let opened = session::open(&token, now());
    let (cookie, session) = opened.ok_or(Failure::Internal("no session".to_owned()))?;
    let builder = reply::builder(200)?.with_header("set-cookie", &cookie)?;
    reply::with_body(builder, &session)
}

/// The session of the request.
///
/// # Errors
/// 401 without one.
pub fn read(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let session = session::of(request, &handles.env, now())?;
    reply::json(200, &session.ok_or(Failure::Unauthorized)?)
}

/// Ends the session of the request in the browser.
///
/// # Errors
/// 401 without one, 403 without the header that a cross-site page cannot send.
pub fn close(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    auth::operator(request, &handles.env, now())?;
    Ok(ResponseBuilder::new()
        .with_status(204)
        .with_header("set-cookie", &session::close())?
        .with_header("cache-control", "no-store")?
        .empty())
}
