//! `/operator/v1/session` and `/sessions/revoke`: a console's login, and its end.

use serde_json::{Value, json};
use weir_shared::access::endpoint::Route;
use weir_shared::audit::Action;
use weir_shared::limits::{OPERATOR_BODY_BYTES_MAX, REFRESH_MS_MAX};
use weir_shared::wire::access::BOOTSTRAP;
use weir_shared::wire::audit::AuditOutcome;
use weir_shared::wire::operator::{SessionReply, SessionRequest};
use worker::{Request, Response, ResponseBuilder, console_error};

use super::operator::change::Change;
use super::operator::registry;
use crate::auth::bootstrap::BootstrapToken;
use crate::auth::caller::Caller;
use crate::auth::client_address::address_of;
use crate::auth::login::attempt;
use crate::auth::record::{append, append_later, record};
use crate::auth::session;
use crate::auth::visitor::Visitor;
use crate::http::failure::Failure;
use crate::http::reply::Reply;
use crate::http::{body, reply};
use crate::isolate::bearer::Bearer;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;
use crate::isolate::{contact, now};
use crate::objects::calls::{Done, EndSession, EndSessions};
use crate::objects::deadline::within;

/// Opens a session for the token of somebody who operates the deployment. The audit log has every login, and what was
/// refused.
///
/// # Errors
/// 400, 401, 413, 415; 403 for a token that does not operate anything, 429 for one attempt too many, 503.
pub async fn open(
    request: &mut Request,
    handles: &RequestHandles,
    route: &'static Route,
) -> Result<Response, Failure> {
    let login: SessionRequest = body::json(request, OPERATOR_BODY_BYTES_MAX).await?;
    let visitor = Visitor {
        request,
        handles,
        route,
    };
    let region = visitor.region().await?;
    let claim = visitor.claim(&login.token).await?;
    let address = address_of(request, &handles.env);
    attempt(handles, &region, claim.attempt(address.as_deref())).await?;
    let known = visitor.prove(claim, &login.token).await;
    if let Err(Failure::Unauthorized) = known {
        refused(handles, "", address.as_deref());
    }
    let bearer = known?;
    if !bearer.principal.role.operates() {
        refused(handles, &bearer.id, address.as_deref());
        return Err(Failure::Forbidden {
            detail: "The role of the token operates nothing: only a viewer, an editor or an admin logs in.",
            field: None,
        });
    }
    // Nobody is recorded as logged in who cannot be.
    let table = visitor.table(&region).await?;
    recorded(handles, &bearer).await?;
    let bootstrap = BootstrapToken::from_env(&handles.env).filter(|_| bearer.id == BOOTSTRAP);
    let (cookie, session) =
        session::open(request, &table, &bearer.id, bootstrap.as_deref(), now())?;
    let session = SessionReply {
        role: bearer.principal.role,
        name: bearer.principal.actor.clone(),
        expires_at: session.expires_at.0,
    };
    let reply = Reply::json(200, &session)?;
    Ok(reply.with("set-cookie", cookie).respond()?)
}

/// The session of the request.
///
/// # Errors
/// 404 where there is no session: a bearer token is none.
pub fn read(caller: &Caller) -> Result<Response, Failure> {
    let session = caller.session.as_ref().ok_or(Failure::NotFound {
        what: "session",
        field: None,
    })?;
    reply::json(200, session)
}

/// Ends the session of the request: in the registry first, then in the browser. Who comes with a bearer token, or by an
/// identity provider, has none of Weir's to end.
///
/// # Errors
/// 503 while the registry does not answer: the session goes on, and so does its cookie.
pub async fn close(
    request: &Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    if let Some(opened) = &caller.opened {
        let change = Change::new(request, handles, caller, Action::SessionClose)?;
        let body = EndSession {
            token: opened.token.clone(),
            id: opened.id.clone(),
            expires_at: opened.expires_at,
            author: change.author(),
        };
        let Done {} = registry(handles, &body).await?;
        refresh_tokens(request, handles).await?;
    }
    closed(request)
}

/// Ends every session of the deployment, that of the request among them.
///
/// # Errors
/// 400, 503.
pub async fn revoke_all(
    request: &Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let change = Change::new(request, handles, caller, Action::SessionsRevoke)?;
    let author = change.author();
    let Done {} = registry(handles, &EndSessions { author }).await?;
    refresh_tokens(request, handles).await?;
    closed(request)
}

/// This isolate learns of it from the region before the request is answered.
async fn refresh_tokens(request: &Request, handles: &RequestHandles) -> Result<(), Failure> {
    let (region, _) = place(request, handles).await?;
    let landing = contact::ask(handles, &region, None)?;
    let _late = within(REFRESH_MS_MAX, landing).await;
    Ok(())
}

fn closed(request: &Request) -> Result<Response, Failure> {
    Ok(ResponseBuilder::new()
        .with_status(204)
        .with_header("set-cookie", &session::close(request))?
        .with_header("cache-control", "no-store")?
        .empty())
}

/// Records a login before it counts. That of the bootstrap token has to be in the log; anyone else gets in while the
/// registry is out of reach.
async fn recorded(handles: &RequestHandles, bearer: &Bearer) -> Result<(), Failure> {
    let by = Some(&*bearer.principal);
    let record = record(
        by,
        Action::SessionOpen,
        &bearer.id,
        Value::Null,
        AuditOutcome::Done,
    );
    match append(&handles.env, &record).await {
        Err(failure) if bearer.id == BOOTSTRAP => Err(failure),
        Err(failure) => {
            console_error!("a login was not recorded: {failure:?}");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Records a login that was refused. Who operates nothing is nobody to the log: there may be very many of them.
fn refused(handles: &RequestHandles, token: &str, address: Option<&str>) {
    let from = json!({ "from": address });
    let record = record(
        None,
        Action::SessionOpen,
        token,
        from,
        AuditOutcome::Refused,
    );
    append_later(handles, record);
}
