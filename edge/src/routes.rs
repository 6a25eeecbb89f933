//! Finds the route of a request, lets the caller in or not, and hands the request to what serves it. Nothing more.

mod agent;
pub mod check;
mod console;
mod documents;
mod gateway;
mod guards;
mod health;
pub mod held;
mod idempotency;
mod metrics;
mod operator;
mod own;
mod report;
mod reserve;
mod session;
mod settle;
mod table;

use weir_shared::access::endpoint::{Access, Endpoint, Matched, Missed, find};
use weir_shared::limiting::idempotency::HEADER;
use weir_shared::policy::doors::{Doors, Way};
use weir_shared::trace::sampling::Begun;
use weir_shared::trace::span::{Said, Side, server_address};
use worker::{Context, Env, Request, Response, ResponseBuilder};

use crate::auth::admit;
use crate::auth::doors::doors;
use crate::http::body::framed;
use crate::http::failure::Failure;
use crate::http::location::Location;
use crate::http::reply;
use crate::isolate::request::RequestHandles;
use crate::objects::trace::{self, Open};

/// Methods that nobody serves: what they ask for is between a client and the next hop, or tells a page what it sends
/// along (RFC 9110, section 9.3.8).
const REFUSED: [&str; 3] = ["CONNECT", "TRACE", "TRACK"];

/// Methods that may be served.
const SERVED: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// Answers one request. Every failure is a problem answer; nothing escapes.
///
/// # Errors
/// When the platform refuses to build a response.
pub async fn serve(request: Request, env: Env, context: Context) -> worker::Result<Response> {
    let handles = RequestHandles::new(env, context);
    let begun = trace::begun(&handles.env, request.headers());
    let span = begun.map(|begun| span_of(&request, begun));
    let answered = trace::around(span.as_ref(), answered(request, &handles)).await;
    if let Some(span) = span {
        if let Ok(response) = &answered {
            span.answered(response.status_code());
        }
        drop(span);
        handles.detach(trace::send());
    }
    answered
}

async fn answered(mut request: Request, handles: &RequestHandles) -> worker::Result<Response> {
    match route(&mut request, handles).await {
        Ok(response) => Ok(response),
        Err(failure) => failure.respond(),
    }
}

/// The span of a request. A query stays out of it: it may hold what is nobody's business.
fn span_of(request: &Request, begun: Begun) -> Open {
    let method = request.inner().method();
    let span = Open::new(begun, method.clone(), Side::Server);
    let location = Location::of(request);
    let host = server_address(location.host()).to_owned();
    span.say([
        ("http.request.method", Said::Text(method)),
        ("url.path", Said::Text(request.path())),
        ("server.address", Said::Text(host)),
    ]);
    span
}

async fn route(request: &mut Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let path = request.path();
    let method = request.inner().method();
    if REFUSED.contains(&method.as_str()) {
        let allow = SERVED.to_owned();
        return Err(Failure::Method { allow });
    }
    framed(request)?;
    if let Some(answer) = by_host(request, handles, &path).await? {
        return Ok(answer);
    }
    let matched = match find(&method, &path) {
        Ok(matched) => matched,
        Err(Missed::Path) => return gateway::serve(request, handles).await,
        Err(Missed::Method { allow }) => return Err(Failure::Method { allow }),
    };
    trace::name(|| format!("{method} {}", matched.route.path));
    let answered = match matched.route.access {
        Access::Public => table::answer(request, handles, &matched, None).await,
        Access::Roles(_) => private(request, handles, &matched).await,
    };
    reply::unsniffed(answered?)
}

/// The answer to a request for which its host makes a difference: a file of the console, or the gateway's where the host
/// is not the operators'. `None` for what the table of all routes is asked for.
async fn by_host(
    request: &Request,
    handles: &RequestHandles,
    path: &str,
) -> Result<Option<Response>, Failure> {
    if !Doors::concern(path) {
        return Ok(None);
    }
    let location = Location::of(request);
    match doors(&handles.env).way(path, location.host()) {
        Way::Table => Ok(None),
        Way::Gateway => gateway::serve(request, handles).await.map(Some),
        Way::Console => match console::file(request, handles).await? {
            Some(file) => Ok(Some(file)),
            None => gateway::serve(request, handles).await.map(Some),
        },
    }
}

/// What is for those that the table lets in.
async fn private(
    request: &mut Request,
    handles: &RequestHandles,
    matched: &Matched<'_>,
) -> Result<Response, Failure> {
    if matched.route.endpoint == Endpoint::Authorize {
        return table::answer(request, handles, matched, None).await;
    }
    let caller = admit(request, handles, matched).await?;
    let key = request.headers().get(HEADER)?;
    match key.filter(|_| matched.route.takes_key()) {
        Some(key) => idempotency::once(request, handles, (matched, &caller), &key).await,
        None => table::answer(request, handles, matched, Some(&caller)).await,
    }
}

/// The way to the console.
fn front() -> Result<Response, Failure> {
    Ok(ResponseBuilder::new()
        .with_status(302)
        .with_header("location", "/console/")?
        .empty())
}

fn no_route() -> Failure {
    Failure::NotFound {
        what: "route",
        field: None,
    }
}
