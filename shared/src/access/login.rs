//! How often one address may try to log in: a limit that no policy names or changes.

use std::net::{IpAddr, Ipv6Addr};

use crate::limiting::key::SEPARATOR;
use crate::limits::{LOGIN_ATTEMPTS_MAX, LOGIN_PERIOD_MS};
use crate::units::Revision;
use crate::wire::keys::LimitTerms;
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

/// The key for which an attempt counts: the address, or its network of 64 bits, all of which one client of IPv6 has.
///
/// ```
/// use weir_shared::access::login::key;
/// assert_eq!(key(Some("203.0.113.9")), "203.0.113.9");
/// assert_eq!(key(Some("2001:db8:1:2:3:4:5:6")), "2001:db8:1:2::");
/// assert_eq!(key(Some("::ffff:203.0.113.9")), "203.0.113.9");
/// assert_eq!(key(None), key(Some("no address")));
/// ```
#[must_use]
pub fn key(address: Option<&str>) -> String {
    let parsed = address.and_then(|text| text.trim().parse::<IpAddr>().ok());
    match parsed.map(|address| address.to_canonical()) {
        None => NOWHERE.to_owned(),
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_string()
        }
    }
}
