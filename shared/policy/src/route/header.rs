//! The name of a header field.

use weir_core::invalid::Fault;
use weir_core::limits::PATTERN_BYTES_MAX;

use super::text;

/// Fields that concern one connection, whatever `connection` says.
pub const HOP_BY_HOP: [&str; 11] = [
    "connection",
    "expect",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether no client and no policy says what an origin gets by a name, in lower case: fields of one connection, the
/// platform's and Weir's own, and those that Weir writes for each request.
///
/// ```
/// use weir_policy::route::is_reserved;
/// assert!(is_reserved("connection") && is_reserved("cf-ray") && is_reserved("weir-csrf") && is_reserved("host"));
/// assert!(!is_reserved("authorization"));
/// ```
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    let own = name.starts_with("cf-") || name.starts_with("weir-");
    own || name == "host" || name == "via" || HOP_BY_HOP.contains(&name)
}

/// The name of a header field, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeaderName(String);

impl HeaderName {
    /// Reads a name: a token (RFC 9110, section 5.6.2).
    ///
    /// # Errors
    /// What is wrong with it, for the caller to place.
    ///
    /// ```
    /// use weir_policy::route::HeaderName;
    /// assert_eq!(HeaderName::read("X-Tenant").unwrap().as_str(), "x-tenant");
    /// assert!(HeaderName::read("x tenant").is_err());
    /// ```
    pub fn read(name: &str) -> Result<Self, Fault> {
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        text(name, PATTERN_BYTES_MAX, token, "the characters of a token")?;
        Ok(Self(name.to_ascii_lowercase()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
