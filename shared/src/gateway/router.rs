//! Which route takes a request.

use super::facts::Facts;
use super::path::RequestPath;
use super::problem::Refusal;
use crate::access::own_path::is_own;
use crate::policy::Policy;
use crate::policy::route::{Origin, Route, Unrouted, host_alone};

/// Where a request goes, if it is admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routed<'a> {
    /// Who takes it.
    pub to: To<'a>,
    /// The path that is forwarded.
    pub path: String,
}

/// Who takes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To<'a> {
    /// A route, which charges it.
    Route(&'a Route),
    /// No route; the origin of all others, and nothing is charged.
    Forward(&'a Origin),
}

/// The first route that fits the request by host, path and method, or what the policy says of all others.
///
/// # Errors
/// 404 when nobody takes it and for paths that may be taken for Weir's own ([`is_own`]), 400 when its path cannot be read or could be meant for different routes.
pub fn find<'a>(policy: &'a Policy, facts: &Facts<'_>) -> Result<Routed<'a>, Refusal> {
    if is_own(facts.path) {
        return Err(Refusal::no_route());
    }
    let path = RequestPath::read(facts.path).map_err(|why| Refusal::path(why.detail()))?;
    // `..` takes an empty segment along by one reading, and the name before it by another.
    if is_own(&path.forwarded) {
        return Err(Refusal::no_route());
    }
    let host = host_alone(facts.host);
    let taking = |segments: &[String]| {
        let mut routes = policy.routes.iter();
        routes.find(|route| fits(route, facts.method, &host, segments))
    };
    let route = taking(&path.strict);
    if let Some(lenient) = &path.lenient
        && !same(taking(lenient), route)
    {
        let detail = "The path could be meant for different routes.";
        return Err(Refusal::path(detail));
    }
    let to = match (route, &policy.unrouted) {
        (Some(route), _) => To::Route(route),
        (None, Unrouted::Forward(origin)) => To::Forward(origin),
        (None, Unrouted::Refuse) => return Err(Refusal::no_route()),
    };
    let path = path.forwarded;
    Ok(Routed { to, path })
}

/// Names are different from one another.
fn same(one: Option<&Route>, other: Option<&Route>) -> bool {
    one.map(|route| &route.name) == other.map(|route| &route.name)
}

fn fits(route: &Route, method: &str, host: &str, path: &[String]) -> bool {
    let methods = &route.methods;
    (methods.is_empty() || methods.contains(method))
        && route.host.fits(host)
        && route.path.fits(path)
}
