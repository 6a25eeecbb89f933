//! What goes wrong.

use std::error::Error;
use std::fmt;

use serde::Deserialize;

use crate::clock::date_ms;

/// Answers that say nothing of the request, only of the moment.
const LATER: [u16; 3] = [408, 425, 429];

/// A 409 of this kind says that the first try of the same call is under way.
const UNDER_WAY: &str = "/problems/under-way";

/// The kind of an answer that is not Weir's.
const BLANK: &str = "about:blank";

/// Characters of an answer that is not Weir's in an error.
const TEXT_MAX: usize = 200;

/// Weir refused a request, or did not answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WeirError {
    /// The HTTP status; 0 when there was no answer.
    pub status: u16,
    /// The `type` of the problem, such as `/problems/invalid`; `about:blank` when the answer was not Weir's.
    pub kind: String,
    /// The kind in a few words.
    pub title: String,
    /// What was wrong this time.
    pub detail: String,
    /// JSON pointer to the value at fault in the question, such as `/checks/1/cost`.
    pub field: Option<String>,
    /// Milliseconds after which to try again, where the answer said so.
    pub retry_after_ms: Option<u64>,
    /// What leads to the explanation of a denial, where a rule denied.
    pub decision: Option<String>,
}

impl fmt::Display for WeirError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.title, self.detail)?;
        match &self.field {
            Some(field) => write!(f, " ({field})"),
            None => Ok(()),
        }
    }
}

impl Error for WeirError {}

/// The fields of a problem (RFC 9457), each of which may be missing.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Problem {
    #[serde(rename = "type")]
    kind: Option<String>,
    title: Option<String>,
    detail: Option<String>,
    field: Option<String>,
    retry_after_ms: Option<u64>,
    decision: Option<String>,
}

impl WeirError {
    fn new(status: u16, kind: &str, title: &str, detail: String) -> Self {
        Self {
            status,
            kind: kind.to_owned(),
            title: title.to_owned(),
            detail,
            field: None,
            retry_after_ms: None,
            decision: None,
        }
    }

    /// Whether Weir is out of reach: no answer, or one that says to try later. Otherwise the request itself is at fault.
    #[must_use]
    pub fn unreachable(&self) -> bool {
        let Self { status, kind, .. } = self;
        let later = LATER.contains(status) || (*status == 409 && kind == UNDER_WAY);
        *status < 300 || *status >= 500 || later
    }

    /// The same with another field.
    pub(crate) fn at(mut self, field: Option<String>) -> Self {
        self.field = field;
        self
    }

    /// No answer came.
    pub(crate) fn no_answer(why: impl fmt::Display) -> Self {
        Self::new(0, BLANK, "Weir did not answer", why.to_string())
    }

    /// An answer with a status of success that is not one of Weir's.
    pub(crate) fn not_weir(status: u16, text: &str) -> Self {
        Self::new(status, BLANK, "The answer is not Weir's", beginning(text))
    }

    /// The answer to a request that was refused; `retry_after` is its header field.
    pub(crate) fn refused(status: u16, retry_after: Option<&str>, text: &str, now_ms: u64) -> Self {
        let told: Problem = serde_json::from_str(text).unwrap_or_default();
        Self {
            status,
            kind: told.kind.unwrap_or_else(|| BLANK.to_owned()),
            title: told.title.unwrap_or_else(|| format!("HTTP {status}")),
            detail: told.detail.unwrap_or_else(|| beginning(text)),
            field: told.field,
            retry_after_ms: retry_after_ms(told.retry_after_ms, retry_after, now_ms),
            decision: told.decision,
        }
    }
}

/// Milliseconds to wait: those of the problem, else `Retry-After` in seconds or as a date.
fn retry_after_ms(told: Option<u64>, header: Option<&str>, now_ms: u64) -> Option<u64> {
    let header = header.unwrap_or_default();
    let of_header = || match header.parse::<u32>() {
        Ok(seconds) if header.starts_with(|first: char| first.is_ascii_digit()) => {
            Some(u64::from(seconds) * 1_000)
        }
        _ => date_ms(header).map(|at| at.saturating_sub(now_ms)),
    };
    told.or_else(of_header)
}

fn beginning(text: &str) -> String {
    text.chars().take(TEXT_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_errors_are_of_the_moment() {
        let table = [
            (0, BLANK, true),
            (200, BLANK, true),
            (307, BLANK, false),
            (400, "/problems/invalid", false),
            (401, "/problems/unauthorized", false),
            (404, "/problems/not-found", false),
            (408, BLANK, true),
            (409, UNDER_WAY, true),
            (409, "/problems/conflict", false),
            (413, BLANK, false),
            (425, BLANK, true),
            (429, BLANK, true),
            (500, BLANK, true),
            (503, BLANK, true),
        ];
        for (status, kind, unreachable) in table {
            let error = WeirError::new(status, kind, "T", String::new());
            assert_eq!(error.unreachable(), unreachable, "{status} {kind}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_the_problem_s_milliseconds_count_more() {
        let now_ms = date_ms("Thu, 01 Jan 2026 00:00:00 GMT").unwrap();
        let table = [
            (None, Some("3"), Some(3_000)),
            (Some(250), Some("3"), Some(250)),
            (None, Some("Thu, 01 Jan 2026 00:00:02 GMT"), Some(2_000)),
            (None, Some("Wed, 31 Dec 2025 00:00:00 GMT"), Some(0)),
            (None, Some("soon"), None),
            (None, Some("+3"), None),
            (None, Some("99999999999999999999"), None),
            (None, None, None),
        ];
        for (told, header, expected) in table {
            assert_eq!(
                retry_after_ms(told, header, now_ms),
                expected,
                "{told:?} {header:?}"
            );
        }
    }

    #[test]
    fn a_refusal_says_what_the_problem_says_and_else_how_the_answer_begins() {
        let text =
            r#"{"type":"/problems/invalid","title":"T","status":400,"detail":"D","field":"/cost"}"#;
        let error = WeirError::refused(400, None, text, 0);
        assert_eq!(error.to_string(), "T: D (/cost)");
        assert_eq!(error.decision, None);
        let text = r#"{"type":"t","title":"T","status":429,"detail":"D","decision":"5.x"}"#;
        let error = WeirError::refused(429, None, text, 0);
        assert_eq!(error.at(None).decision.as_deref(), Some("5.x"));
        let error = WeirError::refused(404, Some("1"), &"x".repeat(300), 0);
        assert_eq!(
            (error.kind.as_str(), error.title.as_str()),
            (BLANK, "HTTP 404")
        );
        assert_eq!(
            (error.detail.len(), error.retry_after_ms),
            (200, Some(1_000))
        );
    }
}
