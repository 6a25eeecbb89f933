//! Logging in and out: what is typed, why the login page is shown, and where it leads back to.

use form_urlencoded::{Serializer, parse};

use crate::address::Page;
use crate::api::error::ApiError;

/// The path that every page of the console is under.
pub const BASE: &str = "/console/";

/// The path of the login page.
pub const LOGIN: &str = "/console/login";

/// Why the login page is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginReason {
    /// Nobody was logged in.
    Fresh,
    /// The session ended by itself.
    Expired,
    /// The user logged out.
    LoggedOut,
}

impl LoginReason {
    fn slug(self) -> Option<&'static str> {
        match self {
            Self::Fresh => None,
            Self::Expired => Some("expired"),
            Self::LoggedOut => Some("logged_out"),
        }
    }

    /// What the login page says first.
    pub fn message(self) -> Option<&'static str> {
        match self {
            Self::Fresh => None,
            Self::Expired => {
                Some("Your session has ended. Log in again to continue where you were.")
            }
            Self::LoggedOut => Some("You are logged out."),
        }
    }
}

/// The login page's address: why it is shown and what to show after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginRequest {
    /// Why.
    pub reason: LoginReason,
    /// The address to go to after the login.
    pub next: String,
}

impl LoginRequest {
    /// Reads the query string of the login page.
    pub fn parse(query_string: &str) -> Self {
        let mut request = Self {
            reason: LoginReason::Fresh,
            next: BASE.to_owned(),
        };
        for (name, value) in parse(query_string.trim_start_matches('?').as_bytes()) {
            match (&*name, &*value) {
                ("reason", "expired") => request.reason = LoginReason::Expired,
                ("reason", "logged_out") => request.reason = LoginReason::LoggedOut,
                ("next", path) if leads_back(path) => request.next = path.to_owned(),
                _ => {}
            }
        }
        request
    }

    /// The address.
    pub fn address(&self) -> String {
        let mut pairs = Serializer::new(String::new());
        if let Some(slug) = self.reason.slug() {
            pairs.append_pair("reason", slug);
        }
        if self.next != BASE && leads_back(&self.next) {
            pairs.append_pair("next", &self.next);
        }
        match pairs.finish() {
            query if query.is_empty() => LOGIN.to_owned(),
            query => format!("{LOGIN}?{query}"),
        }
    }
}

/// Only a page of this console: an address that a stranger wrote must not lead elsewhere after the login.
fn leads_back(path: &str) -> bool {
    Page::parse(path).is_some() && !path.contains(char::is_control) && !path.contains('#')
}

/// A session that ends within this time is said to end soon.
const SOON_MS: u64 = 5 * 60_000;

/// How long a session still lasts, where that is not long; by the server's clock.
///
/// ```
/// use weir_console::session::ends_in_ms;
/// assert_eq!(ends_in_ms(400_000, 200_000), Some(200_000));
/// assert_eq!(ends_in_ms(900_000, 200_000), None);
/// ```
pub fn ends_in_ms(expires_at: u64, now_ms: u64) -> Option<u64> {
    let left_ms = expires_at.saturating_sub(now_ms);
    (left_ms < SOON_MS).then_some(left_ms)
}

/// A token as it was pasted, without the blanks and line ends that a terminal adds; none when nothing is left.
pub fn pasted_token(text: &str) -> Option<&str> {
    let token = text.trim();
    (!token.is_empty()).then_some(token)
}

/// What the login page says of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginError {
    /// What happened.
    pub title: String,
    /// In more detail.
    pub detail: String,
}

impl LoginError {
    /// Nothing was typed.
    pub fn empty() -> Self {
        Self {
            title: "No token".to_owned(),
            detail: "Paste a token to log in.".to_owned(),
        }
    }
}

impl From<&ApiError> for LoginError {
    fn from(error: &ApiError) -> Self {
        if error.is_unauthenticated() {
            let title = "This token is not accepted".to_owned();
            return Self {
                title,
                detail: error.detail(),
            };
        }
        Self {
            title: error.title(),
            detail: error.detail(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back() {
        for (reason, next, address) in [
            (LoginReason::Fresh, "/console/", "/console/login"),
            (
                LoginReason::Expired,
                "/console/",
                "/console/login?reason=expired",
            ),
            (
                LoginReason::Expired,
                "/console/tenant?name=acme%2Fweb&tab=why",
                "/console/login?reason=expired&next=%2Fconsole%2Ftenant%3Fname%3Dacme%252Fweb%26tab%3Dwhy",
            ),
            (
                LoginReason::LoggedOut,
                "/console/?q=a..b&sort=tier",
                "/console/login?reason=logged_out&next=%2Fconsole%2F%3Fq%3Da..b%26sort%3Dtier",
            ),
        ] {
            let request = LoginRequest {
                reason,
                next: next.to_owned(),
            };
            assert_eq!(request.address(), address);
            assert_eq!(
                LoginRequest::parse(address.trim_start_matches(LOGIN)),
                request
            );
        }
    }

    #[test]
    fn only_pages_of_the_console_come_next() {
        for next in [
            "https://example.net/console/",
            "//example.net/console/",
            "/",
            "/operator/v1/policy",
            "/console/login?reason=expired",
            "/console/../v1/check",
            "/console/%2e%2e/v1/check",
            "/console/tenants/%2e%2e",
            "/console/tenants/a//b",
            "/console/elsewhere",
            "/console//example.net",
            "/console/\\example.net",
            "/console/\n",
            "/console/?q=\n",
            "javascript:alert(1)",
        ] {
            let query: String = Serializer::new(String::new())
                .append_pair("next", next)
                .finish();
            assert_eq!(LoginRequest::parse(&query).next, BASE, "{next:?}");
        }
        assert_eq!(
            LoginRequest::parse("?reason=because").reason,
            LoginReason::Fresh
        );
    }

    #[test]
    fn only_a_session_that_ends_soon_is_said_to() {
        for (expires_at, left_ms) in [
            (1_000_000, Some(0)),
            (1_000_001, Some(1)),
            (1_299_999, Some(299_999)),
            (1_300_000, None),
            (u64::MAX, None),
            (0, Some(0)),
        ] {
            assert_eq!(ends_in_ms(expires_at, 1_000_000), left_ms);
        }
    }

    #[test]
    fn a_pasted_token_loses_its_blanks() {
        for (text, token) in [
            ("", None),
            (" \n", None),
            ("abc", Some("abc")),
            (" abc\r\n", Some("abc")),
            ("a b", Some("a b")),
        ] {
            assert_eq!(pasted_token(text), token);
        }
    }

    #[test]
    fn a_wrong_token_is_called_that() {
        let problem = |status| {
            let body = format!(
                r#"{{"type":"/p","title":"Unauthorized","status":{status},"detail":"Not known."}}"#
            );
            ApiError::from_answer(status, Some("application/problem+json"), &body)
        };
        for (error, title, detail) in [
            (problem(401), "This token is not accepted", "Not known."),
            (problem(503), "Unauthorized", "Not known."),
            (
                ApiError::Timeout { after_ms: 5_000 },
                "No answer",
                "There was no answer within 5 s.",
            ),
        ] {
            let shown = LoginError::from(&error);
            assert_eq!(
                (shown.title.as_str(), shown.detail.as_str()),
                (title, detail)
            );
        }
    }
}
