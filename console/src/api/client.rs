//! The calls. The browser adds the session's cookie; what changes state carries the header that a foreign page cannot set.

use gloo::net::http::{Method, Request, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use web_sys::AbortSignal;
use weir_shared::wire::operator::{FairnessReply, SessionReply, SessionRequest};

use super::error::{ApiError, read};

/// How long an answer is waited for.
pub const DEADLINE_MS: u32 = 5_000;

const SESSION: &str = "/operator/v1/session";
/// Without what the policy comes to for each tenant, which the page does not show.
const FAIRNESS: &str = "/operator/v1/fairness?effective=false";
const CSRF: (&str, &str) = ("weir-csrf", "1");

/// The operator API of the server that the page came from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Client;

impl Client {
    /// `POST /operator/v1/session`: logs in.
    pub async fn log_in(self, token: &str) -> Result<SessionReply, ApiError> {
        let body = serde_json::to_string(&SessionRequest {
            token: token.to_owned(),
        })
        .map_err(|error| ApiError::Malformed {
            reason: error.to_string(),
        })?;
        let request = call(Method::POST, SESSION)
            .header("content-type", "application/json")
            .body(body);
        answer(request.map_err(|error| unreachable(&error))?).await
    }

    /// `GET /operator/v1/session`: who is logged in.
    pub async fn session(self) -> Result<SessionReply, ApiError> {
        answer(built(call(Method::GET, SESSION))?).await
    }

    /// `DELETE /operator/v1/session`: logs out.
    pub async fn log_out(self) -> Result<(), ApiError> {
        let (status, content_type, body) = exchange(built(call(Method::DELETE, SESSION))?).await?;
        match status {
            200..300 => Ok(()),
            _ => Err(ApiError::from_answer(
                status,
                content_type.as_deref(),
                &body,
            )),
        }
    }

    /// `GET /operator/v1/fairness`: every tenant seen.
    pub async fn fairness(self) -> Result<FairnessReply, ApiError> {
        answer(built(call(Method::GET, FAIRNESS))?).await
    }
}

fn call(method: Method, path: &str) -> RequestBuilder {
    let deadline = AbortSignal::timeout_with_u32(DEADLINE_MS);
    let request = RequestBuilder::new(path)
        .method(method.clone())
        .abort_signal(Some(&deadline));
    if method == Method::GET {
        request
    } else {
        request.header(CSRF.0, CSRF.1)
    }
}

fn built(request: RequestBuilder) -> Result<Request, ApiError> {
    request.build().map_err(|error| unreachable(&error))
}

async fn answer<T: DeserializeOwned>(request: Request) -> Result<T, ApiError> {
    let (status, content_type, body) = exchange(request).await?;
    read(status, content_type.as_deref(), &body)
}

/// Status, content type and body. The deadline covers the body too.
async fn exchange(request: Request) -> Result<(u16, Option<String>, String), ApiError> {
    let response: Response = request.send().await.map_err(|error| unreachable(&error))?;
    let content_type = response.headers().get("content-type");
    let body = response.text().await.map_err(|error| unreachable(&error))?;
    Ok((response.status(), content_type, body))
}

fn unreachable(error: &gloo::net::Error) -> ApiError {
    match error {
        gloo::net::Error::JsError(error) if error.name == "TimeoutError" => ApiError::Timeout {
            after_ms: DEADLINE_MS.into(),
        },
        error => ApiError::Unreachable {
            reason: error.to_string(),
        },
    }
}
