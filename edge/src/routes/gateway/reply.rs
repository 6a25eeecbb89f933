//! What a client of the gateway gets: the origin's answer, or a problem.

use web_sys::ReadableStream;
use weir_shared::gateway::error_form;
use weir_shared::gateway::forwarding::keep_response_header;
use weir_shared::gateway::problem::Refusal;
use weir_shared::policy::Policy;
use weir_shared::wire::route::ErrorForm;
use worker::{EncodeBody, Headers, Response, ResponseBuilder};

use crate::http::answered::Answered;
use crate::http::failure::Failure;
use crate::http::ratelimit;
use crate::http::reply::Reply;
use crate::isolate::now;

/// Statuses whose answers have no body (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5).
const BODILESS: [u16; 3] = [204, 205, 304];

/// The head of an origin's answer, without what concerns only the connection to it. `None` for a status that the
/// platform does not answer.
///
/// # Errors
/// When the platform refuses to build it.
pub fn head(response: &web_sys::Response) -> Result<Option<ResponseBuilder>, Failure> {
    let status = response.status();
    if !(200..=599).contains(&status) {
        return Ok(None);
    }
    let builder = ResponseBuilder::new()
        .with_status(status)
        .with_headers(kept(response)?);
    Ok(Some(builder.with_encode_body(EncodeBody::Manual)))
}

/// The header fields of an origin's answer that are the client's.
///
/// # Errors
/// When the platform refuses to take one.
pub fn kept(response: &web_sys::Response) -> Result<Headers, Failure> {
    let (all, kept) = (Headers(response.headers()), Headers::new());
    let connection = all.get("connection")?;
    for (name, value) in all.entries() {
        if keep_response_header(&name, &value, connection.as_deref()) {
            kept.append(&name, &value)?;
        }
    }
    Ok(kept)
}

/// Whether answers of a status have no body.
pub fn bodiless(status: u16) -> bool {
    BODILESS.contains(&status)
}

/// The answer of a head and a body.
pub fn with_body(head: ResponseBuilder, body: Option<ReadableStream>) -> Response {
    match body {
        Some(body) => head.stream(body),
        None => head.empty(),
    }
}

/// An answer of Weir's own, with what the decision says where there was one.
pub fn own(body: String, answered: Option<&Answered>, policy: &Policy) -> Reply {
    let headers = answered.map(|answered| ratelimit::headers(policy.headers, answered, now()));
    Reply {
        headers: headers.unwrap_or_default(),
        ..Reply::text(200, body)
    }
}

/// A refusal in the form that the route says, with what the decision says where there was one.
pub fn problem(refusal: &Refusal, form: ErrorForm, decided: Option<(&Answered, &Policy)>) -> Reply {
    let mut headers = decided.map_or_else(Vec::new, |(answered, policy)| {
        ratelimit::headers(policy.headers, answered, now())
    });
    if let Some(after_s) = refusal.retry_after_s() {
        headers.push(("retry-after", after_s.to_string()));
    }
    if let Some(challenge) = refusal.challenge() {
        headers.push(("www-authenticate", challenge.to_owned()));
    }
    headers.extend(error_form::fields(refusal, form));
    Reply {
        status: refusal.status,
        media_type: error_form::media_type(form),
        headers,
        body: error_form::body(refusal, form),
    }
}
