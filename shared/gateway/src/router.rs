//! Which route takes a request.

use weir_access::own_path::is_own;
use weir_policy::Policy;
use weir_policy::route::{Origin, Route, Unrouted, host_alone};

use super::facts::Facts;
use super::path::RequestPath;
use super::problem::Refusal;

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

/// A request that looks for its route.
#[derive(Debug)]
pub struct Router<'a, 'b> {
    policy: &'a Policy,
    method: &'b str,
    host: String,
    path: RequestPath,
}

impl<'a, 'b> Router<'a, 'b> {
    /// Of these facts.
    ///
    /// # Errors
    /// 404 for paths that may be taken for Weir's own ([`is_own`]), 400 for one that cannot be read.
    pub fn new(policy: &'a Policy, facts: &Facts<'b>) -> Result<Self, Refusal> {
        if is_own(facts.path) {
            return Err(Refusal::no_route());
        }
        let path = RequestPath::read(facts.path).map_err(|why| Refusal::path(why.detail()))?;
        // `..` takes an empty segment along by one reading, and the name before it by another.
        if is_own(&path.forwarded) {
            return Err(Refusal::no_route());
        }
        Ok(Self {
            policy,
            method: facts.method,
            host: host_alone(facts.host),
            path,
        })
    }

    /// The first route that fits, where it is for certain models: then the request's body says which route takes it.
    #[must_use]
    pub fn by_model(&self) -> Option<&'a Route> {
        let readings = [Some(&self.path.strict), self.path.lenient.as_ref()];
        let mut first = readings.into_iter().flatten();
        first.find_map(|path| {
            self.fitting(path)
                .next()
                .filter(|route| !route.models.is_empty())
        })
    }

    /// The first route that fits the request by host, path, method and model, or what the policy says of all others.
    ///
    /// # Errors
    /// 404 when nobody takes it, 400 when its path could be meant for different routes.
    pub fn find(self, model: Option<&str>) -> Result<Routed<'a>, Refusal> {
        let taking = |path| self.fitting(path).find(|route| route.serves(model));
        let route = taking(&self.path.strict);
        if let Some(lenient) = &self.path.lenient
            && !same(taking(lenient), route)
        {
            let detail = "The path could be meant for different routes.";
            return Err(Refusal::path(detail));
        }
        let to = match (route, &self.policy.unrouted) {
            (Some(route), _) => To::Route(route),
            (None, Unrouted::Forward(origin)) => To::Forward(origin),
            (None, Unrouted::Refuse) if self.by_model().is_some() => {
                return Err(Refusal::no_model(model));
            }
            (None, Unrouted::Refuse) => return Err(Refusal::no_route()),
        };
        let path = self.path.forwarded;
        Ok(Routed { to, path })
    }

    /// The routes that fit by host, path and method, the first of the policy first.
    fn fitting(&self, path: &[String]) -> impl Iterator<Item = &'a Route> {
        let routes = self.policy.routes.iter();
        routes.filter(move |route| fits(route, self.method, &self.host, path))
    }
}

/// The route of a request of which no model is known.
///
/// # Errors
/// As [`Router::new`] and [`Router::find`].
pub fn find<'a>(policy: &'a Policy, facts: &Facts<'_>) -> Result<Routed<'a>, Refusal> {
    Router::new(policy, facts)?.find(None)
}

/// Names are different from one another.
fn same(one: Option<&Route>, other: Option<&Route>) -> bool {
    one.map(|route| &route.name) == other.map(|route| &route.name)
}

fn fits(route: &Route, method: &str, host: &str, path: &[String]) -> bool {
    let methods = &route.methods;
    (methods.is_empty() || methods.contains(method))
        && route.answer.takes(method)
        && route.host.fits(host)
        && route.path.fits(path)
}
