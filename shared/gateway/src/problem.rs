//! What the gateway answers instead of an origin: problems (RFC 9457), those of a denial with the types of
//! draft-ietf-httpapi-ratelimit-headers, section 5.

use serde::Serialize;
use weir_core::invalid::Invalid;
use weir_core::limits::{REQUEST_HEAD_BYTES_MAX, WAITING_FULL_RETRY_MS};
use weir_decision::Reason;
use weir_wire::check::DecisionBody;
use weir_wire::problem::Problem;

/// A kind of problem.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// A URI reference that names it.
    pub uri: &'static str,
    /// The same in a few words.
    pub title: &'static str,
}

/// The client exceeds a quota.
pub static QUOTA_EXCEEDED: Kind = Kind {
    uri: "https://iana.org/assignments/http-problem-types#quota-exceeded",
    title: "Request cannot be satisfied as assigned quota has been exceeded",
};

/// The server has less capacity than usual.
pub static REDUCED_CAPACITY: Kind = Kind {
    uri: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
    title: "Request cannot be satisfied due to temporary server capacity constraints",
};

/// The pattern of the requests is not one that anybody means.
pub static ABNORMAL_USAGE: Kind = Kind {
    uri: "https://iana.org/assignments/http-problem-types#abnormal-usage-detected",
    title: "Request not satisfied due to detection of abnormal request pattern",
};

static UNKNOWN_ROUTE: Kind = own("/problems/not-found", "There is nothing by that name");
/// The model that a request is for is none of the routes'.
pub(super) static UNKNOWN_MODEL: Kind =
    own("/problems/model-not-found", "No route is for the model");
static AMBIGUOUS_PATH: Kind = own("/problems/ambiguous-path", "The path is ambiguous");
static UNAUTHENTICATED: Kind = own("/problems/no-tenant", "A tenant is required");
static UNKNOWN_TENANT: Kind = own("/problems/unknown-tenant", "The tenant is unknown");
static MALFORMED: Kind = own("/problems/invalid", "The request is not valid");
static UNREACHABLE: Kind = own(
    "/problems/origin-unreachable",
    "The origin cannot be reached",
);
static TIMED_OUT: Kind = own(
    "/problems/origin-timeout",
    "The origin did not answer in time",
);

static QUEUE_FULL: Kind = own("/problems/queue-full", "The queue is full");

static LATE: Kind = own(
    "/problems/request-timeout",
    "The request did not come in time",
);

const fn own(uri: &'static str, title: &'static str) -> Kind {
    Kind { uri, title }
}

/// An answer that refuses a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// What kind of problem it is.
    pub kind: &'static Kind,
    /// What was wrong this time.
    pub detail: String,
    /// Where in the request, if one thing is at fault.
    pub field: Option<String>,
    /// What of the policy was exceeded.
    pub violated: Option<String>,
    /// Milliseconds until the same request could pass.
    pub retry_after_ms: Option<u64>,
    /// What leads to the explanation, where a rule of the policy denied.
    pub decision: Option<Box<str>>,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    problem: Problem,
    #[serde(rename = "violated-policies", skip_serializing_if = "Option::is_none")]
    violated: Option<[&'a str; 1]>,
}

impl Refusal {
    /// The answer to a request that was denied: 503 where the resource or a holder of the state has no capacity, else
    /// 429. `title` and `type` are those of the draft.
    ///
    /// ```
    /// use weir_decision::Reason;
    /// use weir_gateway::problem::Refusal;
    /// use weir_wire::check::DecisionBody;
    /// let denied = DecisionBody {
    ///     allowed: false, limit: 10, remaining: 0, reset_at: 0, retry_after_ms: Some(1_200),
    ///     binding: "per_ip".to_owned(), reason: Reason::LimitExceeded, region: "weur".to_owned(), window: None,
    ///     policy_revision: 1, decision: None, reservation: None, slot: None, expires_at: None,
    /// };
    /// let refusal = Refusal::denied(&denied);
    /// assert_eq!((refusal.status, refusal.retry_after_s()), (429, Some(2)));
    /// assert!(refusal.body().contains(r#""violated-policies":["per_ip"]"#));
    /// ```
    #[must_use]
    pub fn denied(decision: &DecisionBody) -> Self {
        let reduced = matches!(decision.reason, Reason::Overloaded | Reason::Unavailable);
        let (status, kind) = match reduced {
            true => (503, &REDUCED_CAPACITY),
            false => (429, &QUOTA_EXCEEDED),
        };
        let binding = &decision.binding;
        let detail = match decision.reason {
            Reason::OverShare => format!("The tenant has used its share of {binding}."),
            Reason::CapReached => format!("{binding} is used up until its window ends."),
            Reason::Concurrency => format!("As many calls of {binding} are running as may."),
            Reason::Overloaded => {
                format!("{binding} has no capacity left for the tenant now.")
            }
            Reason::Unavailable => format!("{binding} cannot be decided now."),
            Reason::Never => format!("The request costs more than {binding} ever admits."),
            Reason::LimitExceeded | Reason::Admitted => format!("{binding} is exceeded."),
        };
        Self {
            violated: Some(binding.clone()),
            retry_after_ms: decision.retry_after_ms,
            decision: decision.decision.as_deref().map(Box::from),
            ..Self::new(status, kind, detail)
        }
    }

    /// A shaper has no place: the request would wait for longer than its queue is. `decision` is its denial.
    ///
    /// ```
    /// use weir_decision::Reason;
    /// use weir_gateway::problem::Refusal;
    /// use weir_wire::check::DecisionBody;
    /// let denied = DecisionBody {
    ///     allowed: false, limit: 3, remaining: 0, reset_at: 0, retry_after_ms: Some(50),
    ///     binding: "shape".to_owned(), reason: Reason::LimitExceeded, region: "weur".to_owned(), window: None,
    ///     policy_revision: 1, decision: None, reservation: None, slot: None, expires_at: None,
    /// };
    /// let refusal = Refusal::queue_full(&denied);
    /// assert_eq!((refusal.status, refusal.retry_after_s()), (429, Some(1)));
    /// assert!(refusal.body().contains("/problems/queue-full"));
    /// ```
    #[must_use]
    pub fn queue_full(decision: &DecisionBody) -> Self {
        let binding = &decision.binding;
        let detail = format!("As many wait in the queue of {binding} as it has room for.");
        Self {
            violated: Some(binding.clone()),
            retry_after_ms: decision.retry_after_ms,
            decision: decision.decision.as_deref().map(Box::from),
            ..Self::new(429, &QUEUE_FULL, detail)
        }
    }

    /// As many requests wait for their turn as an isolate has room for: nothing was decided.
    #[must_use]
    pub fn no_room_to_wait() -> Self {
        let detail = "As many requests wait for their turn here as there is room for.";
        Self {
            retry_after_ms: Some(WAITING_FULL_RETRY_MS),
            ..Self::new(503, &REDUCED_CAPACITY, detail)
        }
    }

    /// The client has gone: nobody reads this.
    #[must_use]
    pub fn client_gone() -> Self {
        Self::new(408, &LATE, "The client went away before its turn came.")
    }

    /// The head of the body has not come in time.
    #[must_use]
    pub fn body_timed_out(timeout_ms: u64) -> Self {
        let detail = format!("The body's beginning was not there after {timeout_ms} ms.");
        Self::new(408, &LATE, detail)
    }

    /// No route takes the request.
    #[must_use]
    pub fn no_route() -> Self {
        let detail = "No such route.";
        Self::new(404, &UNKNOWN_ROUTE, detail)
    }

    /// No route takes a request for this model, though one takes requests for others; `None` for one that names none.
    ///
    /// ```
    /// use weir_gateway::problem::Refusal;
    /// let refusal = Refusal::no_model(Some("gpt-5"));
    /// assert_eq!((refusal.status, refusal.field.as_deref()), (404, Some("/model")));
    /// ```
    #[must_use]
    pub fn no_model(model: Option<&str>) -> Self {
        let detail = match model {
            Some(model) => format!("The model {model} is not served here."),
            None => format!(
                "The request names no model that can be read: its body has to be JSON, not compressed, of less than \
                 {REQUEST_HEAD_BYTES_MAX} bytes, with one model."
            ),
        };
        Self {
            field: Some("/model".to_owned()),
            ..Self::new(404, &UNKNOWN_MODEL, detail)
        }
    }

    /// The path cannot be read, or could be meant for different routes.
    #[must_use]
    pub fn path(detail: &str) -> Self {
        Self::new(400, &AMBIGUOUS_PATH, detail)
    }

    /// The request says nothing of its tenant, and the route asks for one.
    #[must_use]
    pub fn no_tenant() -> Self {
        let detail = "The request does not say for which tenant it is made.";
        Self::new(401, &UNAUTHENTICATED, detail)
    }

    /// The tenant that the request names is none of the policy's.
    #[must_use]
    pub fn unknown_tenant() -> Self {
        let detail = "The policy puts this tenant in no tier.";
        Self::new(403, &UNKNOWN_TENANT, detail)
    }

    /// A value of the request is at fault. `field` is where: `/headers/x-cost`.
    #[must_use]
    pub fn invalid(invalid: &Invalid) -> Self {
        Self {
            field: Some(invalid.field.clone()),
            ..Self::new(400, &MALFORMED, invalid.to_string())
        }
    }

    /// The origin cannot be reached, or answers what is no answer.
    #[must_use]
    pub fn origin_unreachable() -> Self {
        let detail = "It refused the connection, or broke it off.";
        Self::new(502, &UNREACHABLE, detail)
    }

    /// The origin did not begin its answer in time.
    #[must_use]
    pub fn origin_timed_out(timeout_ms: u64) -> Self {
        let detail = format!("It did not begin its answer within {timeout_ms} ms.");
        Self::new(504, &TIMED_OUT, detail)
    }

    /// The request has passed through Weir too often: it goes in a circle.
    #[must_use]
    pub fn loops() -> Self {
        Self::new(508, &ABNORMAL_USAGE, "The request goes in a circle.")
    }

    fn new(status: u16, kind: &'static Kind, detail: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            detail: detail.into(),
            field: None,
            violated: None,
            retry_after_ms: None,
            decision: None,
        }
    }

    /// The body, as JSON.
    #[must_use]
    pub fn body(&self) -> String {
        let body = Body {
            problem: Problem {
                kind: self.kind.uri.to_owned(),
                title: self.kind.title.to_owned(),
                status: self.status,
                detail: self.detail.clone(),
                field: self.field.clone(),
                retry_after_ms: self.retry_after_ms,
                decision: self.decision.as_deref().map(str::to_owned),
            },
            violated: self.violated.as_deref().map(|name| [name]),
        };
        // Text and numbers are always written.
        serde_json::to_string(&body).unwrap_or_default()
    }

    /// The header `WWW-Authenticate`, which an answer of 401 has (RFC 9110, section 15.5.2).
    #[must_use]
    pub fn challenge(&self) -> Option<&'static str> {
        (self.status == 401).then_some("Bearer")
    }

    /// The header `Retry-After`: whole seconds, rounded up, at least 1; `None` where waiting does not help.
    #[must_use]
    pub fn retry_after_s(&self) -> Option<u64> {
        Some(self.retry_after_ms?.div_ceil(1_000).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_no_room_to_wait_is_asked_to_come_back_soon() {
        assert_eq!(
            Refusal::no_room_to_wait().retry_after_ms,
            Some(WAITING_FULL_RETRY_MS)
        );
    }

    #[test]
    fn whoever_a_rule_denied_is_told_which_for_how_long_and_what_leads_to_the_explanation() {
        let denied = DecisionBody {
            allowed: false,
            limit: 3,
            remaining: 0,
            reset_at: 0,
            retry_after_ms: Some(50),
            binding: "shape".to_owned(),
            reason: Reason::LimitExceeded,
            region: "weur".to_owned(),
            window: None,
            policy_revision: 1,
            decision: Some("d1".to_owned()),
            reservation: None,
            slot: None,
            expires_at: None,
        };
        for refusal in [Refusal::denied(&denied), Refusal::queue_full(&denied)] {
            assert_eq!(refusal.violated.as_deref(), Some("shape"));
            assert_eq!(refusal.retry_after_ms, Some(50));
            assert_eq!(refusal.decision.as_deref(), Some("d1"));
        }
    }
}
