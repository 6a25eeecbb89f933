//! What of a request reaches the origin, and what of its answer the client (RFC 9110, section 7.6).

use weir_access::credential::{self, SecretEnds};
use weir_access::session::{COOKIE, COOKIE_LOCAL};
use weir_core::limits::{FORWARDED_HOPS_MAX, GATEWAY_PASSES_MAX};
use weir_policy::network::Cidr;
use weir_policy::route::{HOP_BY_HOP, HeaderName, Origin, SecretName, is_reserved};

use super::address::{CONNECTING, FORWARDED_FOR, from_trusted};
use super::facts::Facts;

/// Cookies by which operators prove who they are, to Weir or to Cloudflare Access before it: nobody else's business.
pub const OPERATOR_COOKIES: [&str; 6] = [
    COOKIE,
    COOKIE_LOCAL,
    "CF_AppSession",
    "CF_Authorization",
    "CF_Binding",
    "CF_Session",
];

/// Fields of an answer that speak for everything at the address, Weir's console too: where a script of the origin may
/// work for the browser, and what the browser is to forget.
const OF_ALL_PATHS: [&str; 2] = ["clear-site-data", "service-worker-allowed"];

/// What a proxy calls itself in `via`.
const PSEUDONYM: &str = "weir";

/// Fields by which proxies say where a request comes from and what it was before, besides those that begin with
/// `x-forwarded-`. From whom the policy does not trust they are hearsay: a server that heeds them would take the request
/// for another than the one that was decided.
const HEARSAY: [&str; 33] = [
    "client-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "forwarded",
    "proxy-client-ip",
    "remote-addr",
    "true-client-ip",
    "wl-proxy-client-ip",
    "x-appengine-remote-addr",
    "x-appengine-user-ip",
    "x-azure-clientip",
    "x-azure-socketip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-cluster-ip",
    "x-envoy-external-address",
    "x-envoy-original-path",
    "x-forwarded",
    "x-host",
    "x-http-host-override",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-forwarded-for",
    "x-original-host",
    "x-original-method",
    "x-original-uri",
    "x-original-url",
    "x-originating-ip",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
    "x-rewrite-url",
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
    /// The bootstrap secret of the deployment, which has no form of its own.
    pub secret: Option<&'a SecretEnds>,
    /// The header that the origin does not get, as the tenant's credential is in it.
    pub consumed: Option<&'a HeaderName>,
}

/// The header fields that the origin gets. Those of one connection, the platform's (`cf-`) and Weir's own (`weir-`, the
/// cookies of operators, whatever has a credential of Weir's) are left out, as is `host`, which is the origin's own.
/// `x-forwarded-for`, `-proto` and `-host` say where the request comes from: what a trusted proxy said is kept, what anyone
/// else said is replaced.
#[must_use]
pub fn request_headers(
    headers: impl IntoIterator<Item = (String, String)>,
    hop: &Hop<'_>,
) -> Vec<(String, String)> {
    let trusted = from_trusted(hop.trusted, hop.facts);
    let connection = (hop.facts.header)("connection");
    let is_secret = |name: &str, value: &str| credential::is_in(name, value, hop.secret);
    let mut kept = Vec::new();
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        // Servers that know headers as variables take a low line for a hyphen: the name of any other field.
        let hearsay = HEARSAY.contains(&name.as_str())
            || name.starts_with("x-forwarded-")
            || name.contains('_');
        if is_reserved(&name)
            || is_listed(&name, connection.as_deref())
            || replaced(&name)
            || hop
                .consumed
                .is_some_and(|consumed| consumed.as_str() == name)
            || (hearsay && !trusted)
        {
            continue;
        }
        if name == "cookie" {
            let cookies = cookies_without(&value, |one| is_operators(one) || is_secret(&name, one));
            kept.extend(cookies.map(|cookies| (name, cookies)));
        } else if !is_secret(&name, &value) {
            kept.push((name, value));
        }
    }
    let forwarded = forwarded(hop, trusted).into_iter();
    kept.extend(forwarded.filter(|(name, value)| !is_secret(name, value)));
    let via = (hop.facts.header)("via");
    let via = via.filter(|via| !via.trim().is_empty() && !is_secret("via", via));
    let via = via.map_or_else(String::new, |via| format!("{via}, "));
    kept.push(("via".to_owned(), format!("{via}1.1 {PSEUDONYM}")));
    kept
}

/// Whether a header field of the origin's answer reaches the client. `connection`: the answer's field of that name.
/// Fields of rate limits are left out, as Weir writes its own: two would contradict each other. Left out is also what
/// would reach the operators' console at the same address: their cookies, and words about all its paths.
///
/// ```
/// use weir_gateway::forwarding::keep_response_header;
/// assert!(keep_response_header("x-tokens-used", "12", None));
/// assert!(!keep_response_header("X-Hop", "1", Some("close, x-hop")));
/// assert!(!keep_response_header("ratelimit", "\"theirs\";r=1", None));
/// ```
#[must_use]
pub fn keep_response_header(name: &str, value: &str, connection: Option<&str>) -> bool {
    let name = name.to_ascii_lowercase();
    let limits =
        name == "ratelimit" || name == "ratelimit-policy" || name.starts_with("x-ratelimit-");
    let operators = name == "set-cookie" && sets_operators(value);
    let of_all_paths = OF_ALL_PATHS.contains(&name.as_str());
    !(is_of_connection(&name, connection) || is_weirs(&name) || limits || operators || of_all_paths)
}

/// The URL that is asked: the origin's, then the path without what is stripped of it, then the query with its `?`, if
/// there is one.
///
/// ```
/// use weir_gateway::forwarding::target_url;
/// use weir_policy::route::{Origin, OriginUrl};
/// let origin = Origin::at(OriginUrl::read("https://o.example.com/base/").unwrap());
/// assert_eq!(target_url(&origin, "/a%20b//c", Some("q=1")), "https://o.example.com/base/a%20b//c?q=1");
/// ```
#[must_use]
pub fn target_url(origin: &Origin, path: &str, query: Option<&str>) -> String {
    let (url, path) = (origin.url.text(), origin.strip_prefix.off(path));
    match query {
        Some(query) => format!("{url}{path}?{query}"),
        None => format!("{url}{path}"),
    }
}

/// Puts in the headers that an origin gets from the deployment, in the place of whatever the client sent by their names.
/// `secret`: the value of a secret.
///
/// # Errors
/// The name of a secret that the deployment does not have.
pub fn with_origin_headers(
    headers: Vec<(String, String)>,
    origin: &Origin,
    secret: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, &SecretName> {
    let mut kept = headers;
    kept.retain(|(name, _)| !origin.headers.iter().any(|own| own.name.as_str() == name));
    for own in &origin.headers {
        let value = secret(own.secret.as_str()).ok_or(&own.secret)?;
        kept.push((
            own.name.as_str().to_owned(),
            format!("{}{value}", own.prefix),
        ));
    }
    Ok(kept)
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
    HOP_BY_HOP.contains(&name) || is_listed(name, connection)
}

/// Whether `connection` lists a field as its own.
fn is_listed(name: &str, connection: Option<&str>) -> bool {
    let mut listed = connection.unwrap_or_default().split(',');
    listed.any(|one| one.trim().eq_ignore_ascii_case(name))
}

/// The cookies of a `cookie` field that stay; `None` when none does.
fn cookies_without(cookies: &str, leave_out: impl Fn(&str) -> bool) -> Option<String> {
    let kept = cookies.split(';').map(str::trim);
    let kept = kept.filter(|one| !one.is_empty() && !leave_out(one));
    let kept: Vec<&str> = kept.collect();
    (!kept.is_empty()).then(|| kept.join("; "))
}

/// Whether a value of `set-cookie` would set a cookie of operators: also one without a name, as browsers send its value
/// alone, which may read `name=value`.
fn sets_operators(value: &str) -> bool {
    let cookie = value.split(';').next().unwrap_or_default();
    is_operators(cookie.trim_start_matches(|c: char| c == '=' || c.is_whitespace()))
}

fn is_operators(cookie: &str) -> bool {
    let name = cookie.split('=').next().unwrap_or_default().trim();
    OPERATOR_COOKIES
        .iter()
        .any(|own| own.eq_ignore_ascii_case(name))
}
