//! A typed client of the public interface. Every request has a deadline.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reqwest::header::{COOKIE, ETAG, IF_MATCH, SET_COOKIE};
use reqwest::{Method, RequestBuilder};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_shared::wire::access::{TokenReply, TokenRequest};
use weir_shared::wire::check::{CheckItem, CheckRequest, DecisionBody, Reason};
use weir_shared::wire::operator::{FairnessReply, SessionReply, SessionRequest};

use crate::again::try_answered;
use crate::clock;
use crate::reply::Reply;

/// The deadline of a request.
pub const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

/// A connection that nothing is on is closed by workerd after 5 s, also in the moment in which it is used again: the
/// client gives it up before.
pub const IDLE_DEADLINE: Duration = Duration::from_secs(3);

/// A longer body has a connection of its own. Of one that is refused for its length workerd reads no more than 64 KiB, and
/// then closes the connection; and what takes it seconds to answer may leave it so busy that it closes one that is in use.
const KEPT_BYTES_MAX: usize = 8 * 1024;

/// By when the holders of a budget find each other, on a machine that may be slow.
const THERE_DEADLINE: Duration = Duration::from_secs(60);

/// By when an isolate has heard of what others charged or gave back, on a machine that may be slow.
const HEARD_DEADLINE: Duration = Duration::from_secs(20);

/// The tenant of checks that only look.
pub const PROBE_TENANT: &str = "free:probe";

/// The header that marks a request as made by a script of the same site.
pub const CSRF_HEADER: &str = "weir-csrf";

/// The header that names the region of a request where the deployment allows it.
pub const REGION_HEADER: &str = "weir-region";

/// How a client proves who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// Not at all.
    None,
    /// `Authorization: Bearer`.
    Bearer(String),
    /// The cookie of a session, with or without the header that a cross-site form cannot send.
    Session {
        /// `name=value` of the cookie.
        cookie: String,
        /// Whether to send the header.
        csrf: bool,
    },
}

/// A decision with the answer that carried it.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The decision.
    pub decision: DecisionBody,
    /// The whole answer.
    pub reply: Reply,
}

/// A policy document with its revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The document.
    pub document: Value,
    /// The `ETag`, quotes included.
    pub etag: String,
}

impl Policy {
    /// The revision that the `ETag` names.
    pub fn revision(&self) -> Result<u64> {
        self.etag
            .trim_matches('"')
            .parse()
            .with_context(|| format!("the ETag {} is not a revision", self.etag))
    }

    /// The name of some budget.
    pub fn any_budget(&self) -> Result<&str> {
        let budgets = self.document["budgets"]
            .as_object()
            .context("the policy has no budgets")?;
        budgets
            .keys()
            .next()
            .map(String::as_str)
            .context("the policy names no budget")
    }
}

/// A client of one address. Cheap to clone; clones share connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    /// Gives each request a connection of its own.
    http_once: reqwest::Client,
    origin: String,
    credential: Credential,
    region: Option<String>,
}

impl Client {
    /// A client of `origin` (such as `http://127.0.0.1:8787`) without a credential. It follows no redirects.
    pub fn new(origin: impl Into<String>) -> Result<Self> {
        let http = || {
            reqwest::Client::builder()
                .timeout(REQUEST_DEADLINE)
                .redirect(reqwest::redirect::Policy::none())
        };
        let kept = http().pool_idle_timeout(IDLE_DEADLINE);
        let once = http().pool_max_idle_per_host(0);
        Ok(Self {
            http: kept.build().context("build an HTTP client")?,
            http_once: once.build().context("build an HTTP client")?,
            origin: origin.into(),
            credential: Credential::None,
            region: None,
        })
    }

    /// The same client with another credential.
    pub fn with(&self, credential: Credential) -> Self {
        Self {
            credential,
            ..self.clone()
        }
    }

    /// The same client with a bearer token.
    pub fn with_token(&self, token: &str) -> Self {
        self.with(Credential::Bearer(token.to_owned()))
    }

    /// The same client without a credential.
    pub fn anonymous(&self) -> Self {
        self.with(Credential::None)
    }

    /// The same client in a region that it names by header.
    pub fn in_region(&self, region: &str) -> Self {
        Self {
            region: Some(region.to_owned()),
            ..self.clone()
        }
    }

    /// How it proves who it is.
    pub fn credential(&self) -> &Credential {
        &self.credential
    }

    /// The address.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// A request with the client's credential and region, to be completed and given to [`Client::send`].
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.origin));
        match &self.credential {
            Credential::None => {}
            Credential::Bearer(token) => request = request.bearer_auth(token),
            Credential::Session { cookie, csrf } => {
                request = request.header(COOKIE, cookie);
                if *csrf {
                    request = request.header(CSRF_HEADER, "1");
                }
            }
        }
        if let Some(region) = &self.region {
            request = request.header(REGION_HEADER, region);
        }
        request
    }

    /// Sends a request and reads the whole answer.
    pub async fn send(&self, request: RequestBuilder) -> Result<Reply> {
        let request = request.build().context("build a request")?;
        let body = request.body().and_then(reqwest::Body::as_bytes);
        let http = match body.is_some_and(|body| body.len() > KEPT_BYTES_MAX) {
            true => &self.http_once,
            false => &self.http,
        };
        let response = http.execute(request).await.context("send a request")?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.context("read an answer")?.to_vec();
        Ok(Reply {
            status,
            headers,
            body,
        })
    }

    /// Sends bytes as they are on a connection of their own; the head of the answer, and what of its body came with it.
    pub async fn send_raw(&self, request: &[u8]) -> Result<String> {
        let address = self.origin.trim_start_matches("http://");
        let exchange = async {
            let mut stream = TcpStream::connect(address).await.context("connect")?;
            // Who answers early may also stop reading early.
            let _rest_unread = stream.write_all(request).await;
            let mut answer = Vec::new();
            while !answer.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
                let read = stream
                    .read_buf(&mut answer)
                    .await
                    .context("read an answer")?;
                ensure!(
                    read > 0,
                    "the answer ends early: {:?}",
                    String::from_utf8_lossy(&answer)
                );
            }
            Ok(String::from_utf8_lossy(&answer).into_owned())
        };
        tokio::time::timeout(REQUEST_DEADLINE, exchange)
            .await
            .context("no answer")?
    }

    /// `GET path`.
    pub async fn get(&self, path: &str) -> Result<Reply> {
        self.send(self.request(Method::GET, path)).await
    }

    /// `POST path` with a JSON body.
    pub async fn post<T: Serialize + ?Sized>(&self, path: &str, body: &T) -> Result<Reply> {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    /// `POST path` with bytes that are said to be JSON.
    pub async fn post_bytes(&self, path: &str, body: impl Into<Vec<u8>>) -> Result<Reply> {
        self.send(
            self.request(Method::POST, path)
                .header("content-type", "application/json")
                .body(body.into()),
        )
        .await
    }

    /// `POST /v1/check`; an error unless the answer is a decision.
    pub async fn check(&self, request: &CheckRequest) -> Result<Checked> {
        let reply = self.post("/v1/check", request).await?;
        Ok(Checked {
            decision: reply.ok()?,
            reply,
        })
    }

    /// Charges a budget.
    pub async fn check_budget(&self, tenant: &str, budget: &str, cost: u64) -> Result<Checked> {
        self.check(&budget_check(tenant, budget, cost)).await
    }

    /// Charges a limit.
    pub async fn check_limit(&self, limit: &str, key: &str, cost: u64) -> Result<Checked> {
        self.check(&limit_check(limit, key, cost)).await
    }

    /// Charges one entry in the long form.
    pub async fn check_long(&self, tenant: Option<&str>, item: CheckItem) -> Result<Checked> {
        self.check(&CheckRequest {
            tenant: tenant.map(str::to_owned),
            checks: Some(vec![item]),
            ..CheckRequest::default()
        })
        .await
    }

    /// `GET /operator/v1/policy`, as soon as the deployment can say what it is.
    pub async fn policy(&self) -> Result<Policy> {
        let reply = try_answered(|| self.get("/operator/v1/policy")).await?;
        Ok(Policy {
            document: reply.ok()?,
            etag: etag(&reply)?,
        })
    }

    /// `PUT /operator/v1/policy`, with whatever `If-Match` is given.
    pub async fn put_policy<T: Serialize + ?Sized>(
        &self,
        document: &T,
        if_match: Option<&str>,
    ) -> Result<Reply> {
        let body = serde_json::to_vec(document).context("write a policy")?;
        self.put_policy_bytes(body, if_match).await
    }

    /// `PUT /operator/v1/policy` with bytes that are said to be JSON.
    pub async fn put_policy_bytes(
        &self,
        body: impl Into<Vec<u8>>,
        if_match: Option<&str>,
    ) -> Result<Reply> {
        let mut request = self
            .request(Method::PUT, "/operator/v1/policy")
            .header("content-type", "application/json")
            .body(body.into());
        if let Some(etag) = if_match {
            request = request.header(IF_MATCH, etag);
        }
        self.send(request).await
    }

    /// Replaces the policy whatever it is; returns the saved one.
    pub async fn save_policy(&self, document: &Value) -> Result<Policy> {
        let read_and_put = async || -> Result<Reply> {
            let read = self.get("/operator/v1/policy").await?;
            match read.status {
                503 => Ok(read),
                _ => self.put_policy(document, Some(&etag(&read)?)).await,
            }
        };
        let reply = try_answered(read_and_put).await?;
        Ok(Policy {
            document: reply.ok()?,
            etag: etag(&reply)?,
        })
    }

    /// Waits until this address decides by a revision or a later one, and its holders answer. Looks at some budget of the policy at
    /// no cost.
    pub async fn await_revision(&self, revision: u64, deadline: Duration) -> Result<()> {
        let start = clock::now();
        let policy = self.policy().await?;
        let budget = policy.any_budget()?;
        loop {
            let decided = self
                .check_budget(PROBE_TENANT, budget, 0)
                .await
                .map(|checked| (checked.decision.policy_revision, checked.decision.reason));
            let is_new = |(seen, reason): &(u64, Reason)| {
                *seen >= revision && *reason != Reason::Unavailable
            };
            if decided.as_ref().is_ok_and(is_new) {
                return Ok(());
            }
            ensure!(
                start.elapsed() < deadline,
                "revision {revision} is not in force after {deadline:?}: {decided:?}"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Charges a budget, as soon as its holders find each other.
    ///
    /// # Panics
    /// When they have not within a minute.
    pub async fn check_budget_once_there(&self, tenant: &str, budget: &str, cost: u64) -> Checked {
        self.check_once_there(&budget_check(tenant, budget, cost))
            .await
    }

    /// Charges a limit, as soon as its holders find each other.
    ///
    /// # Panics
    /// When they have not within a minute.
    pub async fn check_limit_once_there(&self, limit: &str, key: &str, cost: u64) -> Checked {
        self.check_once_there(&limit_check(limit, key, cost)).await
    }

    /// Waits until so much is left of a budget, as an isolate knows it: it hears of a settlement with its next contact.
    ///
    /// # Panics
    /// When it has not heard in time.
    pub async fn await_left(&self, tenant: &str, budget: &str, expected: u64) {
        let start = clock::now();
        loop {
            let checked = self.check_budget_once_there(tenant, budget, 0).await;
            let left = checked.decision.remaining;
            if left == expected {
                return;
            }
            let late = start.elapsed() >= HEARD_DEADLINE;
            assert!(!late, "{left} are left of {budget}, not {expected}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Decides, as soon as the holders find each other.
    ///
    /// # Panics
    /// When they have not within a minute.
    pub async fn check_once_there(&self, request: &CheckRequest) -> Checked {
        let start = clock::now();
        loop {
            match self.check(request).await {
                Ok(checked) if checked.decision.reason != Reason::Unavailable => return checked,
                other => assert!(start.elapsed() < THERE_DEADLINE, "{other:?}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// `GET /operator/v1/fairness`, as soon as the deployment can say it.
    pub async fn fairness(&self) -> Result<FairnessReply> {
        try_answered(|| self.get("/operator/v1/fairness"))
            .await?
            .ok()
    }

    /// `POST /operator/v1/session`, with whatever token is given.
    pub async fn post_session(&self, token: &str) -> Result<Reply> {
        self.post(
            "/operator/v1/session",
            &SessionRequest {
                token: token.to_owned(),
            },
        )
        .await
    }

    /// Logs in, as soon as the deployment can say who that is; a client that carries the session's cookie and the header
    /// against cross-site forms.
    pub async fn log_in(&self, token: &str) -> Result<(Self, SessionReply)> {
        let reply = try_answered(|| self.post_session(token)).await?;
        let session = reply.ok()?;
        let cookie = session_cookie(&reply)?;
        Ok((
            self.with(Credential::Session { cookie, csrf: true }),
            session,
        ))
    }

    /// Makes a token, as soon as the deployment can; an error unless it is made.
    pub async fn make_token(&self, token: &TokenRequest) -> Result<TokenReply> {
        let reply = try_answered(|| self.post("/operator/v1/tokens", token)).await?;
        ensure!(reply.status == 201, "{}: {}", reply.status, reply.text());
        reply.json()
    }

    /// `DELETE /operator/v1/session`.
    pub async fn log_out(&self) -> Result<Reply> {
        self.send(self.request(Method::DELETE, "/operator/v1/session"))
            .await
    }
}

/// A short check of a budget.
pub fn budget_check(tenant: &str, budget: &str, cost: u64) -> CheckRequest {
    CheckRequest {
        tenant: Some(tenant.to_owned()),
        budget: Some(budget.to_owned()),
        cost: Some(cost),
        ..CheckRequest::default()
    }
}

/// A short check of a limit.
pub fn limit_check(limit: &str, key: &str, cost: u64) -> CheckRequest {
    CheckRequest {
        limit: Some(limit.to_owned()),
        key: Some(key.to_owned()),
        cost: Some(cost),
        ..CheckRequest::default()
    }
}

/// `name=value` of the cookie that an answer sets.
pub fn session_cookie(reply: &Reply) -> Result<String> {
    let header = reply
        .headers
        .get(SET_COOKIE)
        .context("the answer sets no cookie")?;
    let text = header.to_str().context("the cookie is not text")?;
    Ok(text.split(';').next().unwrap_or_default().trim().to_owned())
}

fn etag(reply: &Reply) -> Result<String> {
    let text = reply
        .header(ETAG.as_str())
        .context("the answer has no ETag")?;
    ensure!(
        text.len() > 2 && text.starts_with('"') && text.ends_with('"'),
        "the ETag {text} is not a strong one"
    );
    Ok(text.to_owned())
}
