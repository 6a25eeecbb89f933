//! How often somebody may try to log in: a limit that no policy names or changes.

use std::net::{IpAddr, Ipv6Addr};

use crate::limits::{LOGIN_ATTEMPTS_MAX, LOGIN_PERIOD_MS};
use crate::name::SEPARATOR;
use crate::units::Revision;
use crate::wire::limit_terms::LimitTerms;
use crate::wire::policy::{Algorithm, LimitBody, Scope};

/// For whom an attempt counts that comes from no address, as where nothing stands before the Worker.
const NOWHERE: &str = "nowhere";

/// The rules, as a region's shard takes them.
///
/// ```
/// use weir_shared::access::login::terms;
/// use weir_shared::limiting::terms::machine_of;
/// use weir_shared::limits::LOGIN_ATTEMPTS_MAX;
/// assert_eq!(machine_of(&terms()).unwrap().ceiling(), LOGIN_ATTEMPTS_MAX);
/// ```
#[must_use]
pub fn terms() -> LimitTerms {
    let body = LimitBody {
        algorithm: Some(Algorithm::Gcra),
        limit: Some(LOGIN_ATTEMPTS_MAX),
        period_ms: Some(LOGIN_PERIOD_MS),
        burst: Some(LOGIN_ATTEMPTS_MAX),
        scope: Some(Scope::Region),
        ..LimitBody::default()
    };
    LimitTerms::of_limit(&format!("login{SEPARATOR}"), Revision(1), 1, body)
}

/// For whom an attempt to log in counts.
///
/// A token that Weir made proves itself: its holder has a line of its own, so that no stranger's attempts take its place.
/// All else counts for its address, and what comes from none for all strangers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt<'a> {
    /// Whoever has the token of that id.
    Token(&'a str),
    /// Whoever comes from that address.
    Address(&'a str),
    /// Everybody whose address is not known.
    Nowhere,
}

impl Attempt<'_> {
    /// The key for which it counts: the token, the address, or its network of 64 bits, all of which one client of IPv6
    /// has.
    ///
    /// ```
    /// use weir_shared::access::login::Attempt::{Address, Nowhere, Token};
    /// assert_eq!(Address("203.0.113.9").key(), "203.0.113.9");
    /// assert_eq!(Address("2001:db8:1:2:3:4:5:6").key(), "2001:db8:1:2::");
    /// assert_eq!(Address("::ffff:203.0.113.9").key(), "203.0.113.9");
    /// assert_eq!(Address("no address").key(), Nowhere.key());
    /// assert_eq!(Token("203.0.113.9").key(), "token/203.0.113.9");
    /// ```
    #[must_use]
    pub fn key(self) -> String {
        let text = match self {
            Self::Token(id) => return format!("token/{id}"),
            Self::Address(text) => text,
            Self::Nowhere => return NOWHERE.to_owned(),
        };
        let parsed = text.trim().parse::<IpAddr>();
        match parsed.map(|address| address.to_canonical()) {
            Err(_) => NOWHERE.to_owned(),
            Ok(IpAddr::V4(address)) => address.to_string(),
            Ok(IpAddr::V6(address)) => {
                let [a, b, c, d, ..] = address.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_string()
            }
        }
    }

    /// Whether it counts for somebody whom the deployment knows, and not for whoever comes along.
    #[must_use]
    pub fn is_known(self) -> bool {
        matches!(self, Self::Token(_))
    }
}
