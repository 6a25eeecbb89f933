//! The validated routes of the gateway: which requests they take, what they charge, and where they forward to.

mod answer;
mod check;
mod cost;
mod header;
mod inside;
mod model;
mod origin;
mod origin_header;
mod origin_limits;
mod pattern;
mod tenant;
mod usage;
mod websocket;

use std::sync::Arc;

use super::{Policy, count};
pub use answer::Answerer;
pub use check::{KeySource, KeySources, RouteCheck, RouteTarget};
pub use cost::Cost;
pub use header::{HOP_BY_HOP, HeaderName, is_reserved};
pub use model::ModelPattern;
pub use origin::{Origin, OriginUrl, StripPrefix, host_alone};
pub use origin_header::{OriginHeader, SecretName};
pub use origin_limits::OriginLimits;
pub use pattern::{HostPattern, PathPattern};
pub use tenant::{AbsentTenant, Jwt, TenantFrom, TenantSource};
pub use usage::{TokenWeights, Usage, UsageFormat};
use weir_access::own_path::is_own;
use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{FALLBACK_ORIGINS_MAX, METHOD_BYTES_MAX, ROUTE_METHODS_MAX, ROUTES_MAX};
use weir_core::name::label;
use weir_core::ordered::OrderedSet;
use weir_wire::policy::PolicyDocument;
use weir_wire::route::{ErrorForm, OriginBody, RouteBody, UnroutedBody};

/// A route of the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its name: that of no other route.
    pub name: String,
    /// The hosts that it is for.
    pub host: HostPattern,
    /// The paths that it is for.
    pub path: PathPattern,
    /// The methods that it is for; empty for all.
    pub methods: OrderedSet<String>,
    /// The models that it is for, as the request's body names them; empty for all, and for requests that name none.
    pub models: Vec<ModelPattern>,
    /// Where the tenant's name is found. Never absent where something of a tenant's is charged.
    pub tenant: Option<TenantSource>,
    /// What becomes of a request in which no tenant is found.
    pub absent_tenant: AbsentTenant,
    /// Whether the origin gets the header in which the tenant's credential is.
    pub forwards_credential: bool,
    /// Whether streams of OpenAI's form are asked for their usage where the client does not.
    pub injects_usage: bool,
    /// The form of answers that refuse a request.
    pub errors: ErrorForm,
    /// What a request is charged to: at most 16 things, each budget, meter and overload resource at most once, and at
    /// most one guard.
    pub checks: Vec<RouteCheck>,
    /// What answers requests that are admitted.
    pub answer: Answerer,
    /// Where they go when that origin fails, in turn.
    pub fallback: Vec<Origin>,
    /// Whether a request that may have been done is sent to the next one too, whatever its method.
    pub retries_unsafe: bool,
    /// For how many milliseconds a WebSocket may be open; `None` where requests for one are none.
    pub websocket_ms: Option<u64>,
    /// Whether it is only decided and counted.
    pub shadow: bool,
}

/// What becomes of a request that no route takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unrouted {
    /// It is answered 404.
    Refuse,
    /// It is forwarded and nothing is charged.
    Forward(Origin),
}

/// The methods that the platform does not forward.
const METHODS_UNSERVED: [&str; 3] = ["CONNECT", "TRACE", "TRACK"];

/// The routes of a document, by what `policy` has of everything else.
///
/// # Errors
/// The first fault, at `/routes/..`.
pub(super) fn routes(document: &PolicyDocument, policy: &Policy) -> Result<Vec<Route>, Invalid> {
    count("/routes", "routes", document.routes.len(), ROUTES_MAX)?;
    let mut names = OrderedSet::new();
    let numbered = document.routes.iter().enumerate();
    let routes = numbered.map(|(index, body)| {
        let route = Route::read(body, policy).and_then(|route| {
            if names.insert(route.name.clone()) {
                return Ok(route);
            }
            let got = route.name;
            Err(Invalid::new("/name", Fault::Duplicate { got }))
        });
        route.map_err(|refused| refused.under(&format!("/routes/{index}")))
    });
    routes.collect()
}

/// What a document does with requests that no route takes.
///
/// # Errors
/// The first fault, at `/unrouted/..`.
pub(super) fn unrouted(document: &PolicyDocument) -> Result<Unrouted, Invalid> {
    let UnroutedBody::Forward(body) = &document.unrouted else {
        return Ok(Unrouted::Refuse);
    };
    let at = "/unrouted/forward";
    let origin = Origin::read(body.forward.as_ref(), at)?;
    Ok(Unrouted::Forward(origin))
}

impl Route {
    /// The header in which the tenant's API key or token is, where the origin does not get it.
    #[must_use]
    pub fn consumed(&self) -> Option<&HeaderName> {
        let source = self.tenant.as_ref().filter(|_| !self.forwards_credential);
        match &source?.from {
            TenantFrom::ApiKey(header) => Some(header),
            TenantFrom::Jwt(jwt) => Some(&jwt.header),
            _ => None,
        }
    }

    fn read(body: &RouteBody, policy: &Policy) -> Result<Self, Invalid> {
        let name = required(body.name.as_ref(), "/name")?;
        label(name).map_err(|fault| Invalid::new("/name", fault))?;
        let source = body.tenant.as_ref();
        let source = source.map(|source| {
            TenantSource::read(source, policy).map_err(|refused| refused.under("/tenant"))
        });
        let route = Self {
            name: name.clone(),
            host: HostPattern::read(body.host.as_deref())?,
            path: path(body.path.as_deref())?
                .case_insensitive(body.case_insensitive.unwrap_or(false)),
            methods: methods(body)?,
            models: model::models(body)?,
            tenant: source.transpose()?,
            absent_tenant: tenant::absent(body)?,
            forwards_credential: body.forward_credential.unwrap_or(false),
            injects_usage: body.inject_usage.unwrap_or(false),
            errors: body.errors.unwrap_or_default(),
            checks: check::checks(&body.checks, policy)?,
            answer: Answerer::read(body)?,
            fallback: fallback(&body.fallback)?,
            retries_unsafe: body.retry_unsafe.unwrap_or(false),
            websocket_ms: body.websocket_ms,
            shadow: body.shadow.unwrap_or(false),
        };
        websocket::permit(&route)?;
        route.answer.permit(body, &route.checks)?;
        origin_limits::permit(&route, policy)?;
        let bodiless = |method: &String| matches!(method.as_str(), "GET" | "HEAD");
        let all_bodiless = !route.methods.is_empty() && route.methods.iter().all(bodiless);
        if all_bodiless && !route.models.is_empty() {
            let to = "a route of methods whose requests have no body".to_owned();
            return Err(Invalid::new("/models", Fault::Foreign { to }));
        }
        let asks = |check: &RouteCheck| check.target.needs_tenant(policy);
        if route.tenant.is_none() && route.checks.iter().any(asks) {
            return Err(Invalid::new("/tenant", Fault::Missing));
        }
        let told = route.usage().map(|usage| &usage.format);
        if route.injects_usage && told != Some(&UsageFormat::OpenAi) {
            let to = "a route without a cost by usage in the format \"openai\"".to_owned();
            return Err(Invalid::new("/inject_usage", Fault::Foreign { to }));
        }
        let mut waits = route.checks.iter().map(|check| check.wait_ms);
        if let Some(at) = waits.position(|wait| wait.is_some() && route.shadow) {
            let to = "a route in shadow, on which nobody is denied".to_owned();
            let at = format!("/checks/{at}/wait_ms");
            return Err(Invalid::new(at, Fault::Foreign { to }));
        }
        if body.retry_unsafe.is_some() && route.fallback.is_empty() {
            let to = "a route without fallback".to_owned();
            return Err(Invalid::new("/retry_unsafe", Fault::Foreign { to }));
        }
        Ok(route)
    }

    /// The origins in the order in which they are tried, each with where it stands in the route.
    pub fn origins(&self) -> impl Iterator<Item = (String, &Origin)> {
        let others = self.fallback.iter().enumerate();
        let others = others.map(|(index, origin)| (format!("/fallback/{index}"), origin));
        let first = self.origin().map(|origin| ("/origin".to_owned(), origin));
        first.into_iter().chain(others)
    }

    /// The origin that is tried first; `None` where Weir answers itself.
    #[must_use]
    pub fn origin(&self) -> Option<&Origin> {
        match &self.answer {
            Answerer::Origin(origin) => Some(origin),
            Answerer::Models => None,
        }
    }

    /// Whether it is for a model; `None` for a request that names none.
    #[must_use]
    pub fn serves(&self, model: Option<&str>) -> bool {
        let fits = |model| self.models.iter().any(|pattern| pattern.fits(model));
        self.models.is_empty() || model.is_some_and(fits)
    }

    /// A cost of the route by what the answer tells: all of them are told in one format.
    #[must_use]
    pub fn usage(&self) -> Option<&Arc<Usage>> {
        self.checks.iter().find_map(|check| check.cost.usage())
    }

    /// Whether a request may have to wait for its turn, or for units.
    #[must_use]
    pub fn waits(&self, policy: &Policy) -> bool {
        let waits = |check: &RouteCheck| check.wait_ms.is_some() || check.target.delays(policy);
        !self.shadow && self.checks.iter().any(waits)
    }

    /// Whether the head of a request's body is read before it is decided.
    #[must_use]
    pub fn reads_requests(&self) -> bool {
        let mut usages = self.checks.iter().filter_map(|check| check.cost.usage());
        self.injects_usage || usages.any(|usage| usage.reads_requests())
    }
}

/// The origins that are tried after the first.
fn fallback(bodies: &[OriginBody]) -> Result<Vec<Origin>, Invalid> {
    count("/fallback", "origins", bodies.len(), FALLBACK_ORIGINS_MAX)?;
    let numbered = bodies.iter().enumerate();
    numbered
        .map(|(index, body)| Origin::read(Some(body), &format!("/fallback/{index}")))
        .collect()
}

/// The paths of a route, of which Weir must leave some over.
fn path(pattern: Option<&str>) -> Result<PathPattern, Invalid> {
    let path = PathPattern::read(pattern)?;
    let own = pattern.filter(|_| !path.is_open());
    let own = own.filter(|own| is_own(own));
    match own {
        None => Ok(path),
        Some(own) => {
            let (got, served) = (own.to_owned(), "paths that are not Weir's own");
            Err(Invalid::new("/path", Fault::Unserved { got, served }))
        }
    }
}

fn methods(body: &RouteBody) -> Result<OrderedSet<String>, Invalid> {
    let Some(given) = &body.methods else {
        return Ok(OrderedSet::new());
    };
    if given.is_empty() {
        return Err(Invalid::new("/methods", Fault::Missing));
    }
    count("/methods", "methods", given.len(), ROUTE_METHODS_MAX)?;
    let mut methods = OrderedSet::new();
    for (index, method) in given.iter().enumerate() {
        let at = |fault| Invalid::new(format!("/methods/{index}"), fault);
        self::method(method).map_err(at)?;
        if !methods.insert(method.clone()) {
            let got = method.clone();
            return Err(at(Fault::Duplicate { got }));
        }
    }
    Ok(methods)
}

/// Refuses what is no method, or one that cannot be forwarded.
fn method(method: &str) -> Result<(), Fault> {
    let allowed = |c: char| c.is_ascii_uppercase() || c == '-';
    text(method, METHOD_BYTES_MAX, allowed, "A-Z and -")?;
    if METHODS_UNSERVED.contains(&method) {
        let served = "methods that are forwarded";
        let got = method.to_owned();
        return Err(Fault::Unserved { got, served });
    }
    Ok(())
}

/// Refuses text that is empty, of more than `bytes_max` bytes, or with other characters than those `allowed`.
pub(crate) fn text(
    text: &str,
    bytes_max: usize,
    allowed: impl Fn(char) -> bool,
    names: &'static str,
) -> Result<(), Fault> {
    if text.is_empty() {
        return Err(Fault::Missing);
    }
    if text.len() > bytes_max {
        return Err(Fault::TooMany {
            got: text.len(),
            max: bytes_max,
            what: "bytes",
        });
    }
    match text.chars().find(|c| !allowed(*c)) {
        None => Ok(()),
        Some(got) => Err(Fault::Character {
            got,
            allowed: names,
        }),
    }
}

/// The value, or [`Fault::Missing`].
fn required<'a, T: ?Sized>(value: Option<&'a T>, field: &str) -> Result<&'a T, Invalid> {
    value.ok_or_else(|| Invalid::new(field, Fault::Missing))
}

/// Refuses a policy that names a secret which the deployment does not have.
///
/// # Errors
/// At the first of them.
pub fn permit_secrets(policy: &Policy, has: impl Fn(&str) -> bool) -> Result<(), Invalid> {
    let routed = policy.routes.iter().enumerate();
    let routed = routed.flat_map(|(index, route)| {
        let origins = route.origins();
        origins.map(move |(at, origin)| (format!("/routes/{index}{at}"), origin))
    });
    let unrouted = match &policy.unrouted {
        Unrouted::Forward(origin) => Some(("/unrouted/forward".to_owned(), origin)),
        Unrouted::Refuse => None,
    };
    for (at, origin) in routed.chain(unrouted) {
        if let Some(header) = origin.headers.iter().find(|one| !has(one.secret.as_str())) {
            let field = format!("{at}/headers/{}/secret", header.name.as_str());
            let (name, what) = (
                header.secret.as_str().to_owned(),
                "secret of the deployment",
            );
            return Err(Invalid::new(field, Fault::Unknown { name, what }));
        }
    }
    Ok(())
}

/// The only one of several alternatives that is given, read.
///
/// # Errors
/// [`Fault::Missing`] at `first` when none is, [`Fault::Excluded`] at the second when two are, else its own.
fn one_of<T, const N: usize>(
    given: [(&'static str, Option<Result<T, Invalid>>); N],
    first: &str,
) -> Result<T, Invalid> {
    let mut given = given
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let Some((by, value)) = given.next() else {
        return Err(Invalid::new(first, Fault::Missing));
    };
    match given.next() {
        Some((second, _)) => {
            let field = format!("/{second}");
            Err(Invalid::new(field, Fault::Excluded { by }))
        }
        None => value,
    }
}
