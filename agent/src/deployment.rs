//! The deployment, as an agent reaches it: one route over HTTP.

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, InvalidHeaderValue};
use hyper::http::uri::InvalidUri;
use hyper::{Method, Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;
use weir_shared::json;
use weir_shared::limits::{AGENT_CALL_MS_MAX, POLICY_BODY_BYTES_MAX};
use weir_shared::wire::agent::AgentContactReply;
use weir_shared::wire::problem::Problem;

use crate::state::ContactFault;

const PATH: &str = "/v1/agent/contact";

/// Bytes of an answer: a policy, written out with every default, and the answers to the messages.
const ANSWER_BYTES_MAX: usize = 8 * POLICY_BODY_BYTES_MAX;

/// Connections that are kept, and for how long: a contact follows within seconds.
const IDLE: Duration = Duration::from_secs(30);

/// Why a deployment cannot be asked at all.
#[derive(Debug)]
pub enum Unusable {
    /// The address is none.
    Url(InvalidUri),
    /// It does not say how it is reached.
    Scheme(String),
    /// The token has characters that no header has.
    Token(InvalidHeaderValue),
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Url(error) => write!(f, "--url: {error}"),
            Self::Scheme(url) => write!(f, "--url: {url} begins with neither https:// nor http://"),
            Self::Token(_) => f.write_str("the token has a character that no token has"),
        }
    }
}

/// A deployment.
pub struct Deployment {
    uri: Uri,
    authorization: HeaderValue,
    http: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Deployment {
    /// The one at `url`, opened by `token`.
    ///
    /// # Errors
    /// When either is none.
    pub fn new(url: &str, token: &str) -> Result<Self, Unusable> {
        let url = url.trim_end_matches('/');
        let uri: Uri = format!("{url}{PATH}").parse().map_err(Unusable::Url)?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.authority().is_none() {
            return Err(Unusable::Scheme(url.to_owned()));
        }
        let mut authorization =
            HeaderValue::from_str(&format!("Bearer {token}")).map_err(Unusable::Token)?;
        authorization.set_sensitive(true);
        let connector = HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .build();
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE);
        Ok(Self {
            uri,
            authorization,
            http: builder.build(connector),
        })
    }

    /// One contact, which is over within [`AGENT_CALL_MS_MAX`].
    ///
    /// # Errors
    /// Why it brought nothing.
    pub async fn contact(&self, body: String) -> Result<AgentContactReply, ContactFault> {
        let deadline = Duration::from_millis(AGENT_CALL_MS_MAX);
        match timeout(deadline, self.call(body)).await {
            Ok(answer) => answer,
            Err(_late) => Err(ContactFault::Lost),
        }
    }

    async fn call(&self, body: String) -> Result<AgentContactReply, ContactFault> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.uri.clone())
            .header(AUTHORIZATION, self.authorization.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(body));
        let request = request.map_err(|_| ContactFault::Lost)?;
        let response = self.http.request(request).await;
        let response = response.map_err(|_| ContactFault::Lost)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
        let bytes = body.collect().await.map_err(|_| ContactFault::Lost)?;
        let bytes = bytes.to_bytes();
        match status {
            StatusCode::OK => json::from_slice(&bytes).map_err(|_| ContactFault::Lost),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(ContactFault::Refused),
            StatusCode::BAD_REQUEST => {
                let problem = json::from_slice::<Problem>(&bytes).ok();
                let field = problem.and_then(|problem| problem.field);
                Err(match field.as_deref() {
                    Some("/region") => ContactFault::Region,
                    _ => ContactFault::Lost,
                })
            }
            _ => Err(ContactFault::Lost),
        }
    }
}
