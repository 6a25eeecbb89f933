//! How often somebody may try to log in: limits that no policy names or changes.
//!
//! Each attempt counts in a line of its own, and then takes its turn in a queue with all of its kind. What proves more does
//! not wait behind what proves less: the token of an admin has a queue that only admins' tokens are in.

use std::net::{IpAddr, Ipv6Addr};

use weir_core::limits::{
    LOGIN_ATTEMPTS_MAX, LOGIN_PERIOD_MS, LOGIN_QUEUE_MS_MAX, LOGINS_PER_SEC_MAX,
};
use weir_core::name::SEPARATOR;
use weir_core::units::Revision;
use weir_wire::decimal::Decimal;
use weir_wire::limit_terms::LimitTerms;
use weir_wire::policy::{Algorithm, LimitBody, Scope};
use weir_wire::role::Role;

/// For whom an attempt counts that comes from no address, as where nothing stands before the Worker.
const NOWHERE: &str = "nowhere";

/// The rules of a line, as a region's shard takes them.
///
/// ```
/// use weir_access::login::terms;
/// use weir_core::limits::LOGIN_ATTEMPTS_MAX;
/// assert_eq!(terms().body.burst, Some(LOGIN_ATTEMPTS_MAX));
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

/// The rules of a queue, in which all attempts of a kind take their turns.
#[must_use]
pub fn queue_terms() -> LimitTerms {
    let body = LimitBody {
        algorithm: Some(Algorithm::LeakyBucket),
        rate_per_sec: Some(Decimal(LOGINS_PER_SEC_MAX as f64)),
        max_queue_ms: Some(LOGIN_QUEUE_MS_MAX),
        scope: Some(Scope::Region),
        ..LimitBody::default()
    };
    let name = format!("login{SEPARATOR}queue");
    LimitTerms::of_limit(&name, Revision(1), 1, body)
}

/// For whom an attempt to log in counts.
///
/// A token that Weir made proves itself: its holder has a line of its own, so that no stranger's attempts take its place.
/// What begins as the bootstrap secret does, as only those write it who have seen it, counts apart from all else that
/// strangers write; both by the address that they come from, and what comes from none together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt<'a> {
    /// Whoever has the token of that id, which has that role.
    Token(&'a str, Role),
    /// Whoever writes the beginning of the bootstrap secret.
    Bootstrap(Option<&'a str>),
    /// Anybody.
    Stranger(Option<&'a str>),
}

impl Attempt<'_> {
    /// The line in which it counts: the token's, or that of an address, which is its network of 64 bits for IPv6, all of
    /// which one client has.
    ///
    /// ```
    /// use weir_access::login::Attempt::{Bootstrap, Stranger, Token};
    /// use weir_wire::role::Role;
    /// assert_eq!(Stranger(Some("203.0.113.9")).line(), "203.0.113.9");
    /// assert_eq!(Stranger(Some("2001:db8:1:2:3:4:5:6")).line(), "2001:db8:1:2::");
    /// assert_eq!(Stranger(Some("::ffff:203.0.113.9")).line(), "203.0.113.9");
    /// assert_eq!(Stranger(Some("no address")).line(), Stranger(None).line());
    /// assert_eq!(Bootstrap(Some("203.0.113.9")).line(), "bootstrap/203.0.113.9");
    /// assert_eq!(Token("203.0.113.9", Role::Admin).line(), "token/203.0.113.9");
    /// ```
    #[must_use]
    pub fn line(self) -> String {
        match self {
            Self::Token(id, _) => format!("token/{id}"),
            Self::Bootstrap(address) => format!("bootstrap/{}", network(address)),
            Self::Stranger(address) => network(address),
        }
    }

    /// The queue in which it takes its turn: that of its role, where it operates the deployment.
    ///
    /// ```
    /// use weir_access::login::Attempt::{Bootstrap, Stranger, Token};
    /// use weir_wire::role::Role;
    /// assert_eq!(Token("k1", Role::Admin).queue(), "admin");
    /// assert_eq!(Bootstrap(None).queue(), "bootstrap");
    /// // Who has the token of a tenant logs in nowhere, and is in nobody's way.
    /// assert_eq!(Token("k2", Role::Tenant).queue(), Stranger(None).queue());
    /// ```
    #[must_use]
    pub fn queue(self) -> &'static str {
        match self {
            Self::Token(_, role) if role.operates() => role.name(),
            Self::Bootstrap(_) => "bootstrap",
            Self::Token(..) | Self::Stranger(_) => "strangers",
        }
    }

    /// Whether it counts for somebody whom the deployment knows, and not for whoever comes along.
    #[must_use]
    pub fn is_known(self) -> bool {
        matches!(self, Self::Token(..))
    }
}

/// The network that an address is in, as text.
fn network(address: Option<&str>) -> String {
    let parsed = address.map(|text| text.trim().parse::<IpAddr>());
    match parsed.map(|parsed| parsed.map(|address| address.to_canonical())) {
        None | Some(Err(_)) => NOWHERE.to_owned(),
        Some(Ok(IpAddr::V4(address))) => address.to_string(),
        Some(Ok(IpAddr::V6(address))) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_string()
        }
    }
}
