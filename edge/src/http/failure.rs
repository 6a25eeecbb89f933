//! Every error answer, as `application/problem+json` (RFC 9457). Internal error text goes to the log, never out.

use weir_shared::decision::id;
use weir_shared::invalid::Invalid;
use weir_shared::limiting::idempotency;
use weir_shared::wire::problem::{MEDIA_TYPE, Problem};
use worker::{Response, console_error};

use super::reply::Reply;

/// Why a request was not answered as asked.
#[derive(Debug)]
pub enum Failure {
    /// Malformed or out of range.
    Invalid(Invalid),
    /// The body is not as long as declared, or the request declares two lengths.
    Framing,
    /// No token, or one that is not valid.
    Unauthorized,
    /// The caller is authenticated, but may not do this.
    Forbidden {
        /// What they may not.
        detail: &'static str,
        /// Pointer to the name at fault, if it came in a body.
        field: Option<String>,
    },
    /// Authenticated by what a browser sends by itself, without the header that a page of another site cannot send.
    CrossSite {
        /// What is missing.
        detail: &'static str,
    },
    /// Nothing by that name.
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// Pointer to the name, if it came in a body.
        field: Option<String>,
    },
    /// The route exists, the method does not.
    Method {
        /// The methods that do.
        allow: String,
    },
    /// The body is larger than allowed.
    TooLarge {
        /// The bound.
        bytes_max: usize,
    },
    /// The body demands more work than one request may cause.
    TooMuch(Invalid),
    /// The body is not JSON by its content type.
    MediaType,
    /// `If-Match` is needed.
    PreconditionRequired,
    /// The document is not the one that the caller saw.
    PreconditionFailed {
        /// The tag of what is in force.
        current: String,
    },
    /// The route serves only WebSockets.
    Upgrade,
    /// There is no room until something else is removed.
    Conflict {
        /// For what.
        detail: String,
    },
    /// The key belongs to another request.
    KeyReused,
    /// A request with the same key is still being answered.
    UnderWay {
        /// Milliseconds until it is over at the latest.
        after_ms: u64,
    },
    /// The reservation's time is over: it stays charged in full.
    Expired,
    /// Too many requests of this kind.
    TooMany {
        /// What.
        detail: &'static str,
        /// Milliseconds until another may pass.
        after_ms: u64,
    },
    /// The deployment is not set up for this.
    Setting {
        /// The variable to set.
        variable: &'static str,
        /// Why.
        why: &'static str,
    },
    /// Another failure, by the decision of a rule.
    Denied {
        /// Which.
        failure: Box<Failure>,
        /// The id of the decision.
        decision: String,
    },
    /// A part of Weir did not answer in time.
    Unavailable {
        /// Which, for the log.
        what: String,
    },
    /// A defect; the text is for the log.
    Internal(String),
}

impl From<Invalid> for Failure {
    fn from(refused: Invalid) -> Self {
        Self::Invalid(refused)
    }
}

impl From<worker::Error> for Failure {
    fn from(error: worker::Error) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Internal(error.to_string())
    }
}

/// Seconds after which a caller may try again when a part of Weir did not answer.
const RETRY_AFTER_S: &str = "1";

impl Failure {
    /// The policy has no `what` (a budget, a limit) by the name that the check gives in the fields at `at`.
    pub fn unknown(what: &'static str, at: &str) -> Self {
        Self::NotFound {
            what,
            field: Some(format!("{at}/{what}")),
        }
    }

    /// The answer. What is only for the log is written there.
    #[must_use]
    pub fn reply(self) -> Reply {
        let problem = self.problem();
        let (failure, decision) = match &self {
            Self::Denied { failure, decision } => (failure.as_ref(), Some(decision.clone())),
            other => (other, None),
        };
        let header = match failure {
            Self::Unauthorized => Some(("www-authenticate", "Bearer".to_owned())),
            Self::Method { allow } => Some(("allow", allow.clone())),
            Self::Upgrade => Some(("upgrade", "websocket".to_owned())),
            Self::TooMany { after_ms, .. } => {
                let after_s = after_ms.div_ceil(1_000).max(1);
                Some(("retry-after", after_s.to_string()))
            }
            Self::UnderWay { .. } => Some(("retry-after", RETRY_AFTER_S.to_owned())),
            Self::Unavailable { what } => {
                console_error!("unavailable: {what}");
                Some(("retry-after", RETRY_AFTER_S.to_owned()))
            }
            Self::Internal(text) => {
                console_error!("internal: {text}");
                None
            }
            _ => None,
        };
        Reply {
            status: problem.status,
            media_type: MEDIA_TYPE,
            headers: decision
                .map(|decision| (id::HEADER, decision))
                .into_iter()
                .chain(header)
                .collect(),
            // A problem is text and numbers, which JSON always expresses.
            body: serde_json::to_string(&problem).unwrap_or_default(),
        }
    }

    /// The platform's answer.
    ///
    /// # Errors
    /// When the platform refuses to build a response.
    pub fn respond(self) -> worker::Result<Response> {
        self.reply().respond()
    }

    /// What the answer says.
    #[must_use]
    pub fn problem(&self) -> Problem {
        if let Self::Denied { failure, decision } = self {
            return Problem {
                decision: Some(decision.clone()),
                ..failure.problem()
            };
        }
        let (status, kind, title) = self.kind();
        let (detail, field) = self.detail();
        Problem {
            kind: format!("/problems/{kind}"),
            title: title.to_owned(),
            status,
            detail,
            field,
            retry_after_ms: match self {
                Self::TooMany { after_ms, .. } | Self::UnderWay { after_ms } => Some(*after_ms),
                _ => None,
            },
            decision: None,
        }
    }

    fn kind(&self) -> (u16, &'static str, &'static str) {
        match self {
            Self::Denied { failure, .. } => failure.kind(),
            Self::Invalid(_) => (400, "invalid", "The request is not valid"),
            Self::Framing => (400, "framing", "The length of the body is in doubt"),
            Self::Unauthorized => (401, "unauthorized", "A valid token is required"),
            Self::Forbidden { .. } => (403, "forbidden", "The token does not permit this"),
            Self::CrossSite { .. } => (403, "cross-site", "The request may come from another site"),
            Self::NotFound { .. } => (404, "not-found", "There is nothing by that name"),
            Self::Method { .. } => (405, "method", "The method is not served here"),
            Self::Expired => (409, "expired", "The reservation has expired"),
            Self::UnderWay { .. } => (409, "under-way", "The same request is being answered"),
            Self::Conflict { .. } => (409, "conflict", "There is no room for this"),
            Self::PreconditionFailed { .. } => (412, "moved", "The document has changed"),
            Self::TooLarge { .. } => (413, "too-large", "The body is too large"),
            Self::TooMuch(_) => (413, "too-much", "The document is too much work"),
            Self::MediaType => (415, "media-type", "The body must be JSON"),
            Self::KeyReused => (422, "key-reused", "The key stands for another request"),
            Self::Upgrade => (426, "upgrade", "A WebSocket is required"),
            Self::PreconditionRequired => (428, "if-match", "If-Match is required"),
            Self::TooMany { .. } => (429, "too-many", "Too many requests"),
            Self::Internal(_) => (500, "internal", "Something went wrong"),
            Self::Setting { .. } => (503, "setting", "The deployment is not set up for this"),
            Self::Unavailable { .. } => (503, "unavailable", "Weir is not available right now"),
        }
    }

    fn detail(&self) -> (String, Option<String>) {
        match self {
            Self::Denied { failure, .. } => failure.detail(),
            Self::Invalid(refused) | Self::TooMuch(refused) => {
                (refused.to_string(), Some(refused.field.clone()))
            }
            Self::Framing => (
                "Send `Content-Length` or `Transfer-Encoding`, and as many bytes as you say."
                    .to_owned(),
                None,
            ),
            Self::Unauthorized => ("The token is missing or not valid.".to_owned(), None),
            Self::Forbidden { detail, field } => ((*detail).to_owned(), field.clone()),
            Self::CrossSite { detail } => ((*detail).to_owned(), None),
            Self::TooMany { detail, .. } => ((*detail).to_owned(), None),
            Self::NotFound { what, field } => (format!("No such {what}."), field.clone()),
            Self::Method { allow } => (format!("Allowed: {allow}."), None),
            Self::TooLarge { bytes_max } => (format!("At most {bytes_max} bytes are read."), None),
            Self::KeyReused => (
                "It was sent with another body; give each request a key of its own.".to_owned(),
                Some(format!("/headers/{}", idempotency::HEADER)),
            ),
            Self::UnderWay { .. } => ("Ask again for its answer.".to_owned(), None),
            Self::MediaType => ("Send `Content-Type: application/json`.".to_owned(), None),
            Self::PreconditionRequired => (
                "Send the `ETag` of the document that you changed as `If-Match`.".to_owned(),
                None,
            ),
            Self::Expired => (
                "It was not settled in time and stays charged in full.".to_owned(),
                Some("/reservation".to_owned()),
            ),
            Self::PreconditionFailed { current } => (
                format!("What is in force has the tag {current}; nothing was changed."),
                None,
            ),
            Self::Upgrade => ("Send `Upgrade: websocket`.".to_owned(), None),
            Self::Setting { variable, why } => (format!("`{variable}` is to be set. {why}"), None),
            Self::Conflict { detail } => (detail.clone(), None),
            Self::Unavailable { .. } => ("Try again in a moment.".to_owned(), None),
            Self::Internal(_) => ("The log of the Worker says more.".to_owned(), None),
        }
    }
}
