//! Which handler answers which path, and nothing more.

mod check;
mod fairness;
mod place;
mod policy;
mod reserve;
mod session;
mod settle;

use worker::{Context, Env, Method, Request, Response, ResponseBuilder};

use crate::http::failure::Failure;
use crate::http::reply;
use crate::isolate::request::RequestHandles;

/// Answers one request. Every failure is a problem answer; nothing escapes.
///
/// # Errors
/// When the platform refuses to build a response.
pub async fn serve(mut request: Request, env: Env, context: Context) -> worker::Result<Response> {
    let handles = RequestHandles::new(env, context);
    match route(&mut request, &handles).await {
        Ok(response) => Ok(response),
        Err(failure) => failure.respond(),
    }
}

async fn route(request: &mut Request, handles: &RequestHandles) -> Result<Response, Failure> {
    use Method::{Delete, Get, Head, Post, Put};
    let path = request.path();
    match (path.as_str(), request.method()) {
        ("/v1/check", Post) => check::check(request, handles).await,
        ("/v1/check/batch", Post) => check::batch(request, handles).await,
        ("/v1/reserve", Post) => reserve::reserve(request, handles).await,
        ("/v1/settle", Post) => settle::settle(request, handles).await,
        ("/v1/check" | "/v1/check/batch" | "/v1/reserve" | "/v1/settle", _) => {
            Err(Failure::Method { allow: "POST" })
        }
        ("/operator/v1/policy", Get) => policy::read(request, handles).await,
        ("/operator/v1/policy", Put) => policy::save(request, handles).await,
        ("/operator/v1/policy", _) => Err(Failure::Method { allow: "GET, PUT" }),
        ("/operator/v1/fairness", Get) => fairness::read(request, handles).await,
        ("/operator/v1/fairness", _) => Err(Failure::Method { allow: "GET" }),
        ("/operator/v1/session", Get) => session::read(request, handles),
        ("/operator/v1/session", Post) => session::open(request, handles).await,
        ("/operator/v1/session", Delete) => session::close(request, handles),
        ("/operator/v1/session", _) => Err(Failure::Method {
            allow: "GET, POST, DELETE",
        }),
        ("/healthz", Get | Head) => reply::json(200, &serde_json::json!({ "status": "ok" })),
        ("/healthz", _) => Err(Failure::Method { allow: "GET, HEAD" }),
        ("/" | "/console", Get | Head) => console(),
        _ => Err(Failure::NotFound {
            what: "route",
            field: None,
        }),
    }
}

/// The console is an asset; the Worker only shows the way.
fn console() -> Result<Response, Failure> {
    Ok(ResponseBuilder::new()
        .with_status(302)
        .with_header("location", "/console/")?
        .empty())
}
