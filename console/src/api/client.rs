//! The calls. The browser adds the session's cookie; what changes state carries the header that a foreign page cannot set.

mod changes;
mod reports;
mod session;

use std::cell::Cell;

use gloo::net::http::{Method, RequestBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use web_sys::AbortSignal;

use super::error::{ApiError, read};
use super::tagged::{Tagged, header_text, put_together_at};
use crate::clock;

/// How long an answer is waited for.
pub const DEADLINE_MS: u32 = 5_000;

/// How long an answer is waited for that the server has to read or write much for.
pub const SLOW_DEADLINE_MS: u32 = 30_000;

const ROOT: &str = "/operator/v1";

thread_local! {
    static REFUSALS: Cell<u64> = const { Cell::new(0) };
}

/// How many calls were refused for want of a role: each may mean that the role is no longer what it was.
pub fn refusals() -> u64 {
    REFUSALS.get()
}

/// The operator API of the server that the page came from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Client;

/// One request.
struct Call {
    method: Method,
    path: String,
    body: Option<String>,
    if_match: Option<String>,
    why: Option<String>,
    deadline_ms: u32,
}

/// One answer.
struct Answer {
    status: u16,
    content_type: Option<String>,
    etag: String,
    body: String,
}

impl Call {
    fn new(method: Method, path: impl AsRef<str>) -> Self {
        Self {
            method,
            path: format!("{ROOT}{}", path.as_ref()),
            body: None,
            if_match: None,
            why: None,
            deadline_ms: DEADLINE_MS,
        }
    }

    fn get(path: impl AsRef<str>) -> Self {
        Self::new(Method::GET, path)
    }

    fn json(mut self, body: &impl Serialize) -> Result<Self, ApiError> {
        let text = serde_json::to_string(body).map_err(|error| ApiError::Malformed {
            reason: error.to_string(),
        })?;
        self.body = Some(text);
        Ok(self)
    }

    fn if_match(mut self, etag: &str) -> Self {
        self.if_match = Some(header_text(etag));
        self
    }

    fn because(mut self, why: Option<&str>) -> Self {
        self.why = why.map(header_text).filter(|why| !why.is_empty());
        self
    }

    fn slow(mut self) -> Self {
        self.deadline_ms = SLOW_DEADLINE_MS;
        self
    }

    fn request(&self) -> RequestBuilder {
        let deadline = AbortSignal::timeout_with_u32(self.deadline_ms);
        let mut request = RequestBuilder::new(&self.path)
            .method(self.method.clone())
            .abort_signal(Some(&deadline));
        if self.method != Method::GET {
            request = request.header("weir-csrf", "1");
        }
        if let Some(etag) = &self.if_match {
            request = request.header("if-match", etag);
        }
        if let Some(why) = &self.why {
            request = request.header("weir-reason", why);
        }
        request
    }

    /// The deadline covers the body too.
    async fn exchange(self) -> Result<Answer, ApiError> {
        let failed = |error: gloo::net::Error| unreachable(&error, self.deadline_ms);
        let request = match &self.body {
            None => self.request().build(),
            Some(body) => self
                .request()
                .header("content-type", "application/json")
                .body(body.as_str()),
        };
        let response = request.map_err(failed)?.send().await.map_err(failed)?;
        if response.status() == 403 {
            REFUSALS.set(REFUSALS.get() + 1);
        }
        let content_type = response.headers().get("content-type");
        let etag = response.headers().get("etag").unwrap_or_default();
        let date = response.headers().get("date");
        let body = response.text().await.map_err(failed)?;
        if let Some(server_ms) = put_together_at(&body).or_else(|| clock::parsed(&date?)) {
            clock::heard(server_ms);
        }
        Ok(Answer {
            status: response.status(),
            content_type,
            etag,
            body,
        })
    }

    async fn read<T: DeserializeOwned>(self) -> Result<T, ApiError> {
        let answer = self.exchange().await?;
        read(answer.status, answer.content_type.as_deref(), &answer.body)
    }

    async fn tagged<T: DeserializeOwned>(self) -> Result<Tagged<T>, ApiError> {
        let answer = self.exchange().await?;
        let body = read(answer.status, answer.content_type.as_deref(), &answer.body)?;
        Ok(Tagged {
            body,
            etag: answer.etag,
        })
    }

    /// For an answer without a body.
    async fn done(self) -> Result<(), ApiError> {
        let answer = self.exchange().await?;
        match answer.status {
            200..300 => Ok(()),
            status => Err(ApiError::from_answer(
                status,
                answer.content_type.as_deref(),
                &answer.body,
            )),
        }
    }
}

fn unreachable(error: &gloo::net::Error, deadline_ms: u32) -> ApiError {
    match error {
        gloo::net::Error::JsError(error) if error.name == "TimeoutError" => ApiError::Timeout {
            after_ms: deadline_ms.into(),
        },
        error => ApiError::Unreachable {
            reason: error.to_string(),
        },
    }
}
