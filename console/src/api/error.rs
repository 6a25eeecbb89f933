//! Why a call gave no answer that can be shown.

use serde::de::DeserializeOwned;
use weir_shared::wire::problem::{MEDIA_TYPE, Problem};

use crate::format;
use crate::visible::visible;

/// What went wrong with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiError {
    /// The server said what was wrong.
    Problem(Box<Problem>),
    /// The server answered with an error that says nothing more.
    Status {
        /// The HTTP status.
        status: u16,
    },
    /// The answer is not what this version of the console reads.
    Malformed {
        /// Where it stopped making sense.
        reason: String,
    },
    /// There is no way to the server.
    Unreachable {
        /// What the browser said.
        reason: String,
    },
    /// The server did not answer in time.
    Timeout {
        /// How long it was waited for.
        after_ms: u64,
    },
}

impl ApiError {
    /// The error that an answer other than success stands for.
    pub fn from_answer(status: u16, content_type: Option<&str>, body: &str) -> Self {
        let is_problem = content_type
            .is_some_and(|content_type| media_type(content_type).eq_ignore_ascii_case(MEDIA_TYPE));
        match weir_shared::json::from_str::<Problem>(body) {
            Ok(problem) if is_problem => Self::Problem(Box::new(Problem { status, ..problem })),
            _ => Self::Status { status },
        }
    }

    /// The HTTP status, if there was an answer.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Problem(problem) => Some(problem.status),
            Self::Status { status } => Some(*status),
            Self::Malformed { .. } | Self::Unreachable { .. } | Self::Timeout { .. } => None,
        }
    }

    /// Whether the caller is not, or no longer, logged in.
    pub fn is_unauthenticated(&self) -> bool {
        self.status() == Some(401)
    }

    /// Whether the caller's role does not permit it.
    pub fn is_forbidden(&self) -> bool {
        self.status() == Some(403)
    }

    /// Whether what was to be changed is no longer as it was read, or stands against something else.
    pub fn is_conflict(&self) -> bool {
        matches!(self.status(), Some(409 | 412))
    }

    /// Whether there is no such thing.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// Where the value at fault stands in what was sent, as a JSON pointer.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Problem(problem) => problem.field.as_deref(),
            _ => None,
        }
    }

    /// What can be done about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "Reload the page: Weir may have been updated.",
            Self::Unreachable { .. } => "Check the network; the console keeps trying.",
            Self::Timeout { .. } => "Try again: Weir may be busy.",
            Self::Problem(_) | Self::Status { .. } => match self.status() {
                Some(401) => "Log in again.",
                Some(403) => "Ask an admin for a token with more rights.",
                Some(404) => "It may have been removed from the policy.",
                Some(409 | 412) => "Somebody changed it meanwhile: look at what is there now.",
                Some(429) => "Wait a moment, then try again.",
                Some(500..600) => "Try again; what Weir counts is not lost.",
                _ => "Check what was asked for.",
            },
        }
    }

    /// The kind of error in a few words.
    pub fn title(&self) -> String {
        match self {
            Self::Problem(problem) => visible(&problem.title),
            Self::Status { status } => format!("Status {status}"),
            Self::Malformed { .. } => "An answer that cannot be read".to_owned(),
            Self::Unreachable { .. } => "Weir is out of reach".to_owned(),
            Self::Timeout { .. } => "No answer".to_owned(),
        }
    }

    /// What was wrong this time.
    pub fn detail(&self) -> String {
        match self {
            Self::Problem(problem) => match &problem.field {
                Some(field) => visible(&format!("{} (at {field})", problem.detail)),
                None => visible(&problem.detail),
            },
            Self::Status { status } => {
                format!("The server answered with status {status} and gave no reason.")
            }
            Self::Malformed { reason } => {
                format!("Reload the page if Weir was just updated. {reason}")
            }
            Self::Unreachable { .. } => {
                "The request did not get through: the network is down, or the server is gone."
                    .to_owned()
            }
            Self::Timeout { after_ms } => format!(
                "There was no answer within {}.",
                format::duration(*after_ms)
            ),
        }
    }
}

/// Reads an answer.
pub fn read<T: DeserializeOwned>(
    status: u16,
    content_type: Option<&str>,
    body: &str,
) -> Result<T, ApiError> {
    if !(200..300).contains(&status) {
        return Err(ApiError::from_answer(status, content_type, body));
    }
    weir_shared::json::from_str(body).map_err(|error| ApiError::Malformed {
        reason: error.to_string(),
    })
}

fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::operator::SessionReply;

    use super::*;

    const PROBLEM: &str = r#"{"type":"/problems/out-of-range","title":"Out of range","status":400,"detail":"cost is -1","field":"/cost"}"#;

    #[test]
    fn answers_are_read() {
        /// Status, content type, body; the expiry that is read, or the title and a part of the detail.
        type Case = (
            u16,
            Option<&'static str>,
            &'static str,
            Result<u64, (&'static str, &'static str)>,
        );
        let cases: [Case; 8] = [
            (
                200,
                Some("application/json"),
                r#"{"role":"admin","expires_at":5}"#,
                Ok(5),
            ),
            (
                200,
                Some("application/json"),
                r#"{"role":"king","expires_at":5}"#,
                Err(("An answer that cannot be read", "king")),
            ),
            (
                200,
                Some("text/html"),
                "<!doctype html>",
                Err(("An answer that cannot be read", "Reload the page")),
            ),
            (
                400,
                Some("application/problem+json"),
                PROBLEM,
                Err(("Out of range", "cost is -1 (at /cost)")),
            ),
            (
                400,
                Some("Application/Problem+JSON; charset=utf-8"),
                PROBLEM,
                Err(("Out of range", "cost is -1")),
            ),
            // A problem is one only when it is sent as one.
            (
                400,
                Some("application/json"),
                PROBLEM,
                Err(("Status 400", "status 400")),
            ),
            (
                502,
                Some("application/problem+json"),
                "<html>",
                Err(("Status 502", "no reason")),
            ),
            (302, None, "", Err(("Status 302", "status 302"))),
        ];
        for (status, content_type, body, expected) in cases {
            match (read::<SessionReply>(status, content_type, body), expected) {
                (Ok(reply), Ok(expires_at)) => assert_eq!(reply.expires_at, expires_at),
                (Err(error), Err((title, detail))) => {
                    assert_eq!(error.title(), title);
                    assert!(error.detail().contains(detail), "{}", error.detail());
                }
                (got, expected) => panic!("{got:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn the_status_of_the_answer_counts_not_the_body_s() {
        let error = ApiError::from_answer(401, Some(MEDIA_TYPE), PROBLEM);
        assert_eq!(error.status(), Some(401));
        assert!(error.is_unauthenticated());
    }

    #[test]
    fn only_a_401_ends_a_session() {
        for (error, ended) in [
            (ApiError::Status { status: 401 }, true),
            (ApiError::Status { status: 403 }, false),
            (
                ApiError::Unreachable {
                    reason: "401".to_owned(),
                },
                false,
            ),
            (ApiError::Timeout { after_ms: 401 }, false),
        ] {
            assert_eq!(error.is_unauthenticated(), ended);
        }
    }
    #[test]
    fn callers_can_tell_what_stands_in_the_way() {
        let problem = ApiError::from_answer(400, Some(MEDIA_TYPE), PROBLEM);
        assert_eq!(problem.field(), Some("/cost"));
        for (status, forbidden, conflict, not_found) in [
            (403, true, false, false),
            (404, false, false, true),
            (409, false, true, false),
            (412, false, true, false),
            (428, false, false, false),
            (500, false, false, false),
        ] {
            let error = ApiError::Status { status };
            let told = (
                error.is_forbidden(),
                error.is_conflict(),
                error.is_not_found(),
            );
            assert_eq!(told, (forbidden, conflict, not_found), "{status}");
            assert_eq!(error.field(), None);
        }
    }

    #[test]
    fn every_error_says_what_to_do() {
        let reason = String::new;
        for error in [
            ApiError::Malformed { reason: reason() },
            ApiError::Unreachable { reason: reason() },
            ApiError::Timeout { after_ms: 5 },
        ] {
            assert!(error.advice().ends_with('.'), "{error:?}");
        }
        let advice = |status| ApiError::Status { status }.advice();
        assert_ne!(advice(403), advice(404));
        assert_ne!(advice(412), advice(503));
        assert_eq!(advice(500), advice(503));
    }
}
