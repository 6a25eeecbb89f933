//! One call over HTTP: its tries, within its deadline.

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, DATE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, Method, Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};

use crate::clock::{date_ms, epoch_ms};
use crate::error::WeirError;
use crate::hooks::{RequestEvent, ResponseEvent};
use crate::options::{CallOptions, Settings};
use crate::schedule::{pause, share};

/// What is tried again whatever the options say, because nothing else would happen in its place.
const SURE_RETRIES: u64 = 2;

/// The longest answer; that to a batch of 1,000 is a tenth of it.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

#[cfg(feature = "tls")]
type Connector = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "tls"))]
type Connector = HttpConnector;

/// Why a call may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// A key makes Weir charge it once.
    Key,
    /// The second time changes nothing.
    Nature,
    /// It may not.
    Never,
}

/// What is sent.
pub(crate) struct Call {
    /// Such as `/v1/check`.
    pub(crate) path: String,
    /// JSON.
    pub(crate) body: String,
    pub(crate) again: Again,
}

/// An answer, and what stood beside it.
pub(crate) struct Answered<T> {
    pub(crate) value: T,
    pub(crate) headers: HeaderMap,
}

impl<T> Answered<T> {
    /// Weir's clock when the answer was given.
    pub(crate) fn date_ms(&self) -> Option<u64> {
        date_ms(text(&self.headers, &DATE)?)
    }
}

/// What a call goes over.
pub(crate) struct Connection {
    pub(crate) settings: Settings,
    http: Client<Connector, Full<Bytes>>,
}

/// One try.
struct Try<'a> {
    key: Option<&'a HeaderValue>,
    may_take: Duration,
    number: u32,
}

/// What was read of an answer.
struct Read {
    status: StatusCode,
    headers: HeaderMap,
    text: Bytes,
}

impl Connection {
    /// A connection that nothing has been sent over.
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            http: Client::builder(TokioExecutor::new()).build(connector()),
        }
    }

    /// Sends a call until it is answered.
    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        call: &Call,
        options: &CallOptions,
    ) -> Result<Answered<T>, WeirError> {
        let may_take_ms = options.timeout_ms.unwrap_or(self.settings.timeout_ms);
        let deadline = Instant::now() + Duration::from_millis(may_take_ms);
        let more = self.retries(call, options);
        let key = key(call, options, more);
        let mut failed = 0;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let one = Try {
                key: key.as_ref(),
                may_take: share(left, more.saturating_sub(u64::from(failed))),
                number: failed + 1,
            };
            let error = match self.attempt(call, &one).await {
                Ok(answered) => return Ok(answered),
                Err(error) => error,
            };
            failed += 1;
            let pause = pause(failed, error.retry_after_ms, random());
            let in_time = pause < deadline.saturating_duration_since(Instant::now());
            if !error.unreachable() || u64::from(failed) > more || !in_time {
                return Err(error);
            }
            sleep(pause).await;
        }
    }

    fn retries(&self, call: &Call, options: &CallOptions) -> u64 {
        let wanted = options.retries.unwrap_or(self.settings.retries);
        match call.again {
            Again::Key => wanted,
            Again::Nature => wanted.max(SURE_RETRIES),
            Again::Never => 0,
        }
    }

    async fn attempt<T: DeserializeOwned>(
        &self,
        call: &Call,
        one: &Try<'_>,
    ) -> Result<Answered<T>, WeirError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = one.key {
            headers.insert(IDEMPOTENCY_KEY, key.clone());
        }
        let mut request = RequestEvent {
            path: call.path.clone(),
            attempt: one.number,
            headers,
            body: call.body.clone(),
        };
        self.settings.hooks.request(&mut request);
        let start = Instant::now();
        let exchanged = match timeout(one.may_take, self.exchange(&request)).await {
            Ok(exchanged) => exchanged,
            Err(_) => Err(WeirError::no_answer("The deadline passed.")),
        };
        let status = exchanged.as_ref().map_or(0, |read| read.status.as_u16());
        let outcome = exchanged.and_then(Read::answer);
        self.settings.hooks.response(&ResponseEvent {
            request: &request,
            status,
            duration: start.elapsed(),
            error: outcome.as_ref().err(),
        });
        outcome
    }

    async fn exchange(&self, request: &RequestEvent) -> Result<Read, WeirError> {
        let body = Full::new(Bytes::from(request.body.clone()));
        let mut sent = Request::new(body);
        *sent.method_mut() = Method::POST;
        let uri = format!("{}{}", self.settings.base, request.path).parse();
        *sent.uri_mut() = uri.map_err(WeirError::no_answer)?;
        *sent.headers_mut() = request.headers.clone();
        let authorization = self.settings.authorization.clone();
        sent.headers_mut().insert(AUTHORIZATION, authorization);
        // It goes to this address and to no other: hyper follows no redirection.
        let response = self.http.request(sent).await.map_err(|error| {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            WeirError::no_answer(why.unwrap_or_else(|| error.to_string()))
        })?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        Ok(Read {
            status: head.status,
            headers: head.headers,
            text: body.map_err(WeirError::no_answer)?.to_bytes(),
        })
    }
}

impl Read {
    fn answer<T: DeserializeOwned>(self) -> Result<Answered<T>, WeirError> {
        let status = self.status.as_u16();
        let told = || String::from_utf8_lossy(&self.text);
        if !self.status.is_success() {
            let retry_after = text(&self.headers, &RETRY_AFTER);
            return Err(WeirError::refused(status, retry_after, &told(), epoch_ms()));
        }
        match serde_json::from_slice(&self.text) {
            Ok(value) => Ok(Answered {
                value,
                headers: self.headers,
            }),
            Err(_) => Err(WeirError::not_weir(status, &told())),
        }
    }
}

#[cfg(feature = "tls")]
fn connector() -> Connector {
    hyper_rustls::HttpsConnectorBuilder::new()
        .with_webpki_roots()
        .https_or_http()
        .enable_http1()
        .build()
}

#[cfg(not(feature = "tls"))]
fn connector() -> Connector {
    HttpConnector::new()
}

fn key(call: &Call, options: &CallOptions, more: u64) -> Option<HeaderValue> {
    if call.again != Again::Key {
        return None;
    }
    let own = options.idempotency_key.clone();
    let key = own.or_else(|| (more > 0).then(random_key))?;
    HeaderValue::try_from(key).ok()
}

/// 128 random bits.
fn random_key() -> String {
    (0..4).map(|_| format!("{:08x}", random())).collect()
}

/// A system without a source of random bits has none for TLS, either: there is nobody to ask then.
fn random() -> u32 {
    getrandom::u32().unwrap_or_default()
}

/// A header field that is a text.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
