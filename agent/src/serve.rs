//! What an agent answers: Envoy's rate limit service, checks, its metrics and its health.

use std::convert::Infallible;
use std::rc::Rc;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::service::{Service, service_fn};
use hyper::{Method, Request, Response, StatusCode};
use serde::Serialize;
use tonic::Status;
use tonic::body::Body;
use weir_shared::limits::CHECK_BODY_BYTES_MAX;
use weir_shared::wire::problem::{MEDIA_TYPE, Problem};

use crate::agent::Agent;
use crate::check::{check, problem};
use crate::envoy;
use crate::report::{health, metrics};

const JSON: &str = "application/json";

/// What Prometheus reads.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What answers the requests of one connection.
pub fn service(
    agent: Rc<Agent>,
) -> impl Service<
    Request<Incoming>,
    Response = Response<Body>,
    Error = Infallible,
    Future = impl Future<Output = Result<Response<Body>, Infallible>> + 'static,
> {
    service_fn(move |request| {
        let agent = Rc::clone(&agent);
        // What serves a connection moves the future about, and a pointer is smaller.
        Box::pin(async move { Ok(answer(agent, request).await) })
    })
}

async fn answer(agent: Rc<Agent>, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path();
    let method = request.method();
    if path == envoy::PATH {
        return envoy::serve(agent, request).await;
    }
    if has_type(&request, "application/grpc") {
        return Status::unimplemented("only ShouldRateLimit is served").into_http();
    }
    match path {
        "/v1/check" if method == Method::POST => checked(&agent, request).await,
        "/v1/check" => not_allowed("POST"),
        "/metrics" | "/healthz" if method != Method::GET && method != Method::HEAD => {
            not_allowed("GET, HEAD")
        }
        "/metrics" => text(StatusCode::OK, EXPOSITION, metrics(&agent)),
        "/healthz" => {
            let (status, told) = health(&agent);
            json(status, JSON, &told)
        }
        _ => refuse(problem(
            404,
            "not-found",
            "There is nothing by that name",
            ("No such route.".to_owned(), None),
        )),
    }
}

/// A check. A page of a browser cannot send one without asking first, as it has to say that its body is JSON.
async fn checked(agent: &Agent, request: Request<Incoming>) -> Response<Body> {
    if !has_type(&request, JSON) {
        let detail = "Send `Content-Type: application/json`.".to_owned();
        return refuse(problem(
            415,
            "media-type",
            "The body must be JSON",
            (detail, None),
        ));
    }
    let too_large = || {
        let detail = format!("At most {CHECK_BODY_BYTES_MAX} bytes are read.");
        refuse(problem(
            413,
            "too-large",
            "The body is too large",
            (detail, None),
        ))
    };
    if request.body().size_hint().lower() > CHECK_BODY_BYTES_MAX as u64 {
        return too_large();
    }
    let body = Limited::new(request.into_body(), CHECK_BODY_BYTES_MAX);
    let Ok(body) = body.collect().await else {
        return too_large();
    };
    match check(agent, &body.to_bytes()).await {
        Ok(decision) => json(StatusCode::OK, JSON, &decision),
        Err(refused) => refuse(refused.problem()),
    }
}

fn has_type(request: &Request<Incoming>, due: &str) -> bool {
    let value = request.headers().get(CONTENT_TYPE);
    let value = value.and_then(|value| value.to_str().ok()).unwrap_or("");
    let essence = value.split([';', '+']).next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(due)
}

fn not_allowed(allow: &'static str) -> Response<Body> {
    let detail = format!("Allowed: {allow}.");
    let mut response = refuse(problem(
        405,
        "method",
        "The method is not served here",
        (detail, None),
    ));
    let allow = HeaderValue::from_static(allow);
    response.headers_mut().insert(ALLOW, allow);
    response
}

fn refuse((status, problem): (StatusCode, Problem)) -> Response<Body> {
    json(status, MEDIA_TYPE, &problem)
}

fn json(status: StatusCode, media_type: &'static str, body: &impl Serialize) -> Response<Body> {
    // Text and numbers, which JSON always expresses.
    let body = serde_json::to_string(body).unwrap_or_default();
    text(status, media_type, body)
}

fn text(status: StatusCode, media_type: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(Body::new(Full::new(Bytes::from(body))));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static(media_type);
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}
