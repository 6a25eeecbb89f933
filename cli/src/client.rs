//! A deployment's operator API, asked. Every request has a deadline, and none is sent on to another address.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::{HeaderValue, Method, Request, Response};
use ureq::{Agent, Body};
use weir_shared::invalid::read_json;
use weir_shared::json;
use weir_shared::units::Revision;
use weir_shared::wire::access::{TokenReply, TokenRequest};
use weir_shared::wire::operator::FairnessReply;
use weir_shared::wire::operator::regions::RegionsReply;
use weir_shared::wire::operator::tokens::TokensReply;
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::preview::PreviewBody;
use weir_shared::wire::problem::Problem;
use weir_shared::wire::replay::{ReplayBody, ReplayRequest};

use crate::credentials::Login;
use crate::failure::Failure;

/// How long an answer is waited for.
const DEADLINE: Duration = Duration::from_secs(30);

/// The longest answer: the accounts of a hundred thousand tenants are shorter.
const ANSWER_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// The header that says why something is changed.
const REASON_HEADER: &str = "weir-reason";

/// The policy in force.
#[derive(Debug, Clone, PartialEq)]
pub struct InForce {
    /// Its revision.
    pub revision: Revision,
    /// As it was saved.
    pub document: Value,
}

/// Asks one deployment.
pub struct Client {
    agent: Agent,
    login: Login,
}

/// One question.
struct Call<'a> {
    method: Method,
    path: &'a str,
    headers: Vec<(&'static str, HeaderValue)>,
    body: Option<Vec<u8>>,
}

impl<'a> Call<'a> {
    fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            headers: Vec::new(),
            body: None,
        }
    }

    fn with(method: Method, path: &'a str, body: &impl Serialize) -> Result<Self, Failure> {
        let body = serde_json::to_vec(body).map_err(|why| Failure::unintelligible(path, why))?;
        Ok(Self {
            method,
            path,
            headers: vec![("content-type", HeaderValue::from_static("application/json"))],
            body: Some(body),
        })
    }

    fn header(mut self, name: &'static str, value: &str) -> Result<Self, Failure> {
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| Failure::Option {
            option: name,
            why: "this has a character that no header takes.".to_owned(),
        })?;
        self.headers.push((name, value));
        Ok(self)
    }
}

/// An answer that is none of a refusal.
struct Answer {
    etag: Option<String>,
    body: Vec<u8>,
}

impl Client {
    /// A client of a deployment.
    #[must_use]
    pub fn new(login: Login) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(DEADLINE))
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")))
            .build();
        Self {
            agent: config.into(),
            login,
        }
    }

    /// Whom it asks.
    #[must_use]
    pub fn login(&self) -> &Login {
        &self.login
    }

    /// The policy in force.
    ///
    /// # Errors
    /// As every question.
    pub fn policy(&self) -> Result<InForce, Failure> {
        let path = "/operator/v1/policy";
        let answer = self.ask(Call::get(path))?;
        Ok(InForce {
            revision: revision(path, answer.etag.as_deref())?,
            document: serde_json::from_slice(&answer.body)
                .map_err(|why| Failure::unintelligible(path, why))?,
        })
    }

    /// What a candidate would change.
    ///
    /// # Errors
    /// As every question; a candidate that the deployment refuses.
    pub fn preview(&self, candidate: &PolicyDocument) -> Result<PreviewBody, Failure> {
        let path = "/operator/v1/policy/preview";
        self.read(path, Call::with(Method::POST, path, candidate)?)
    }

    /// What a candidate would have admitted.
    ///
    /// # Errors
    /// As every question; a request that the deployment refuses.
    pub fn replay(&self, asked: &ReplayRequest) -> Result<ReplayBody, Failure> {
        let path = "/operator/v1/replay";
        self.read(path, Call::with(Method::POST, path, asked)?)
    }

    /// Puts a policy in the place of the one that was planned against, and answers its revision.
    ///
    /// # Errors
    /// As every question; [`Failure::Moved`] when the policy is another one by now.
    pub fn save(
        &self,
        candidate: &PolicyDocument,
        planned: Revision,
        why: Option<&str>,
    ) -> Result<Revision, Failure> {
        let path = "/operator/v1/policy";
        let mut ask = Call::with(Method::PUT, path, candidate)?
            .header("if-match", &format!("\"{planned}\""))?;
        if let Some(why) = why {
            ask = ask.header(REASON_HEADER, &why.replace(char::is_control, " "))?;
        }
        match self.ask(ask) {
            Ok(answer) => revision(path, answer.etag.as_deref()),
            Err(Failure::Answered {
                status: 412,
                problem,
            }) => Err(Failure::Moved {
                planned,
                detail: problem.map(|problem| problem.detail).unwrap_or_default(),
            }),
            Err(failure) => Err(failure),
        }
    }

    /// The regions and what they apply.
    ///
    /// # Errors
    /// As every question.
    pub fn regions(&self) -> Result<RegionsReply, Failure> {
        self.get("/operator/v1/regions")
    }

    /// What tenants got, by the words of a query.
    ///
    /// # Errors
    /// As every question.
    pub fn fairness(&self, query: &str) -> Result<FairnessReply, Failure> {
        self.get(&format!("/operator/v1/fairness?effective=false{query}"))
    }

    /// One page of the tokens.
    ///
    /// # Errors
    /// As every question.
    pub fn tokens(&self, page: u64) -> Result<TokensReply, Failure> {
        self.get(&format!("/operator/v1/tokens?page={page}&page_size=100"))
    }

    /// Makes a token.
    ///
    /// # Errors
    /// As every question.
    pub fn make_token(&self, token: &TokenRequest) -> Result<TokenReply, Failure> {
        let path = "/operator/v1/tokens";
        self.read(path, Call::with(Method::POST, path, token)?)
    }

    /// Revokes a token by its id.
    ///
    /// # Errors
    /// As every question, and for what cannot be an id.
    pub fn revoke_token(&self, id: &str) -> Result<(), Failure> {
        let of_ids = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if id.is_empty() || !id.chars().all(of_ids) {
            return Err(Failure::Option {
                option: "ID",
                why: format!("{id:?} is not the id of a token; `weir token list` shows the ids."),
            });
        }
        let path = format!("/operator/v1/tokens/{id}");
        let ask = Call {
            method: Method::DELETE,
            ..Call::get(&path)
        };
        self.ask(ask).map(|_| ())
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.read(path, Call::get(path))
    }

    fn read<T: DeserializeOwned>(&self, path: &str, ask: Call<'_>) -> Result<T, Failure> {
        let answer = self.ask(ask)?;
        json::from_slice(&answer.body).map_err(|why| Failure::unintelligible(path, why))
    }

    fn ask(&self, ask: Call<'_>) -> Result<Answer, Failure> {
        let ask = ask.header("authorization", &format!("Bearer {}", self.login.token))?;
        let mut request = Request::builder()
            .method(ask.method)
            .uri(format!("{}{}", self.login.url, ask.path));
        for (name, value) in ask.headers {
            request = request.header(name, value);
        }
        let unsent = |why: ureq::http::Error| Failure::Option {
            option: "the request",
            why: format!("{why}."),
        };
        // A request without a body says no length of one.
        let sent = match ask.body {
            Some(body) => self.agent.run(request.body(body).map_err(unsent)?),
            None => self.agent.run(request.body(()).map_err(unsent)?),
        };
        let unreached = |why: ureq::Error| Failure::OutOfReach {
            url: self.login.url.clone(),
            why: why.to_string(),
        };
        let mut response = sent.map_err(unreached)?;
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let body = body.read_to_vec().map_err(unreached)?;
        answered(&response, body)
    }
}

fn answered(response: &Response<Body>, body: Vec<u8>) -> Result<Answer, Failure> {
    if !response.status().is_success() {
        return Err(Failure::Answered {
            status: response.status().as_u16(),
            problem: read_json::<Problem>(&body).ok().map(Box::new),
        });
    }
    let etag = response.headers().get("etag");
    Ok(Answer {
        etag: etag.and_then(|tag| tag.to_str().ok()).map(str::to_owned),
        body,
    })
}

/// The revision that an `ETag` names. What stands between may have made it a weak one.
fn revision(path: &str, etag: Option<&str>) -> Result<Revision, Failure> {
    let tag = etag.unwrap_or_default().trim_start_matches("W/");
    let number = tag.trim_matches('"').parse().map(Revision);
    number.map_err(|_| Failure::unintelligible(path, format!("the ETag {tag:?} is no revision")))
}

/// A document of the deployment as this command knows it.
///
/// # Errors
/// When the deployment is newer than this command.
pub fn known(document: &Value) -> Result<PolicyDocument, Failure> {
    json::from_value(document).map_err(|why| {
        let at = why.pointer();
        Failure::unintelligible(
            "/operator/v1/policy",
            format!("{at}: {why}; this command may be older than the deployment"),
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_revision_is_what_the_tag_names() {
        for tag in ["\"7\"", "W/\"7\"", "7"] {
            assert_eq!(revision("/p", Some(tag)).unwrap(), Revision(7));
        }
        for tag in [None, Some(""), Some("\"x\"")] {
            assert!(revision("/p", tag).is_err(), "{tag:?}");
        }
    }

    #[test]
    fn a_newer_deployment_is_told_from_a_broken_one() {
        let failure = known(&json!({ "regions": ["weur"], "colours": {} })).unwrap_err();
        let text = failure.to_string();
        assert!(
            text.contains("/colours") && text.contains("older than the deployment"),
            "{text}"
        );
    }
}
