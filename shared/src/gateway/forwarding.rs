//! What of a request reaches the origin, and what of its answer the client (RFC 9110, section 7.6).

use super::address::{CONNECTING, FORWARDED_FOR, from_trusted};
use super::facts::Facts;
use crate::limits::{FORWARDED_HOPS_MAX, GATEWAY_PASSES_MAX};
use crate::policy::network::Cidr;
use crate::policy::route::Origin;

/// Weir's own cookie: the session of an operator, which is nobody else's business.
pub const SESSION_COOKIE: &str = "weir_session";

/// What a proxy calls itself in `via`.
const PSEUDONYM: &str = "weir";

/// Fields that concern one connection, whatever `connection` says.
const HOP_BY_HOP: [&str; 11] = [
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

/// Fields by which proxies say where a request comes from, besides those that begin with `x-forwarded-`. From whom the
/// policy does not trust they are hearsay.
const HEARSAY: [&str; 6] = [
    "forwarded",
    "true-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-forwarded-for",
    "x-real-ip",
];

/// What the forwarding headers say of a request.
#[derive(Debug, Clone, Copy)]
pub struct Hop<'a> {
    /// What is known of the request.
    pub facts: &'a Facts<'a>,
    /// Networks of proxies whose word is taken.
    pub trusted: &'a [Cidr],
    /// `http` or `https`, as the request came in.
    pub scheme: &'a str,
}

/// The header fields that the origin gets. Those of one connection, the platform's (`cf-`) and Weir's own (`weir-`, the
/// session cookie) are left out, as is `host`, which is the origin's own. `x-forwarded-for`, `-proto` and `-host` say
/// where the request comes from: what a trusted proxy said is kept, what anyone else said is replaced.
#[must_use]
pub fn request_headers(
    headers: impl IntoIterator<Item = (String, String)>,
    hop: &Hop<'_>,
) -> Vec<(String, String)> {
    let trusted = from_trusted(hop.trusted, hop.facts);
    let connection = (hop.facts.header)("connection");
    let mut kept = Vec::new();
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        let hearsay = HEARSAY.contains(&name.as_str()) || name.starts_with("x-forwarded-");
        let own = name.starts_with("cf-") || name == "host" || name == "via";
        if is_of_connection(&name, connection.as_deref())
            || is_weirs(&name)
            || own
            || replaced(&name)
            || (hearsay && !trusted)
        {
            continue;
        }
        if name != "cookie" {
            kept.push((name, value));
        } else if let Some(cookies) = without_session(&value) {
            kept.push((name, cookies));
        }
    }
    kept.extend(forwarded(hop, trusted));
    let via = (hop.facts.header)("via").filter(|via| !via.trim().is_empty());
    let via = via.map_or_else(String::new, |via| format!("{via}, "));
    kept.push(("via".to_owned(), format!("{via}1.1 {PSEUDONYM}")));
    kept
}

/// Whether a header field of the origin's answer reaches the client. `connection`: the answer's field of that name.
/// Fields of rate limits are left out, as Weir writes its own: two would contradict each other.
///
/// ```
/// use weir_shared::gateway::forwarding::keep_response_header;
/// assert!(keep_response_header("x-tokens-used", "12", None));
/// assert!(!keep_response_header("X-Hop", "1", Some("close, x-hop")));
/// assert!(!keep_response_header("ratelimit", "\"theirs\";r=1", None));
/// ```
#[must_use]
pub fn keep_response_header(name: &str, value: &str, connection: Option<&str>) -> bool {
    let name = name.to_ascii_lowercase();
    let limits =
        name == "ratelimit" || name == "ratelimit-policy" || name.starts_with("x-ratelimit-");
    let session = name == "set-cookie" && cookie_name(value) == SESSION_COOKIE;
    !(is_of_connection(&name, connection) || is_weirs(&name) || limits || session)
}

/// The URL that is asked: the origin's, then the path, then the query with its `?`, if there is one.
///
/// ```
/// use weir_shared::gateway::forwarding::target_url;
/// use weir_shared::policy::route::{Origin, OriginUrl};
/// let origin = Origin { url: OriginUrl::read("https://o.example.com/base/").unwrap(), timeout_ms: 1_000 };
/// assert_eq!(target_url(&origin, "/a%20b//c", Some("q=1")), "https://o.example.com/base/a%20b//c?q=1");
/// ```
#[must_use]
pub fn target_url(origin: &Origin, path: &str, query: Option<&str>) -> String {
    let url = origin.url.text();
    match query {
        Some(query) => format!("{url}{path}?{query}"),
        None => format!("{url}{path}"),
    }
}

/// Whether a request has passed through Weir so often that it goes in a circle.
#[must_use]
pub fn loops(facts: &Facts<'_>) -> bool {
    let via = (facts.header)("via").unwrap_or_default();
    let by = |entry: &str| entry.split_whitespace().nth(1) == Some(PSEUDONYM);
    via.split(',').filter(|entry| by(entry)).count() >= GATEWAY_PASSES_MAX
}

/// The fields that say where a request comes from.
fn forwarded(hop: &Hop<'_>, trusted: bool) -> Vec<(String, String)> {
    let said = |name: &str| hop.facts.value(name).filter(|_| trusted);
    let mut fields = Vec::new();
    if let Some(connecting) = hop.facts.value(CONNECTING) {
        let chain = said(FORWARDED_FOR).map(|chain| last(&chain));
        let chain = chain.map_or_else(String::new, |chain| format!("{chain}, "));
        fields.push((FORWARDED_FOR, format!("{chain}{connecting}")));
    }
    let host = said("x-forwarded-host").unwrap_or_else(|| hop.facts.host.to_owned());
    fields.push(("x-forwarded-host", host));
    let scheme = said("x-forwarded-proto").unwrap_or_else(|| hop.scheme.to_owned());
    fields.push(("x-forwarded-proto", scheme));
    let named = fields.into_iter();
    named
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The end of a chain, as far as it is looked at.
fn last(chain: &str) -> String {
    let mut hops: Vec<&str> = chain.rsplit(',').take(FORWARDED_HOPS_MAX).collect();
    hops.reverse();
    hops.join(",").trim().to_owned()
}

fn replaced(name: &str) -> bool {
    [FORWARDED_FOR, "x-forwarded-host", "x-forwarded-proto"].contains(&name)
}

fn is_weirs(name: &str) -> bool {
    name.starts_with("weir-")
}

/// Whether a field concerns one connection alone: by its name, or because `connection` lists it.
fn is_of_connection(name: &str, connection: Option<&str>) -> bool {
    let mut listed = connection.unwrap_or_default().split(',');
    HOP_BY_HOP.contains(&name) || listed.any(|one| one.trim().eq_ignore_ascii_case(name))
}

/// The cookies of a `cookie` field without Weir's own; `None` when no other is left.
fn without_session(cookies: &str) -> Option<String> {
    let kept = cookies.split(';').map(str::trim);
    let kept = kept.filter(|one| !one.is_empty() && cookie_name(one) != SESSION_COOKIE);
    let kept: Vec<&str> = kept.collect();
    (!kept.is_empty()).then(|| kept.join("; "))
}

fn cookie_name(cookie: &str) -> &str {
    cookie.split('=').next().unwrap_or_default().trim()
}
