//! Limits that an origin tells in its answers.

use weir_core::invalid::{Fault, Invalid};
use weir_wire::overload::Steering;
use weir_wire::route::{LimitsFormat, OriginBody};

use super::check::{RouteCheck, RouteTarget};
use super::{Route, required};
use crate::Policy;

/// Where an origin tells how much it lets through, and who follows that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginLimits {
    /// The overload resource that follows it, steered by its fair rate. That of a route's first origin is one of its checks.
    /// That of another is none: it is asked when a request would go there.
    pub overload: String,
    /// In which fields of an answer it is told.
    pub format: LimitsFormat,
}

/// What an origin at the pointer `at` says of it.
pub(super) fn read(body: &OriginBody, at: &str) -> Result<Option<OriginLimits>, Invalid> {
    let Some(limits) = &body.limits else {
        return Ok(None);
    };
    let at = format!("{at}/limits");
    if at.starts_with("/unrouted") {
        let to = "an origin of requests that no route takes".to_owned();
        return Err(Invalid::new(at, Fault::Foreign { to }));
    }
    Ok(Some(OriginLimits {
        overload: required(limits.overload.as_ref(), &format!("{at}/overload"))?.clone(),
        format: *required(limits.format.as_ref(), &format!("{at}/format"))?,
    }))
}

/// Refuses limits that no resource could follow.
pub(super) fn permit(route: &Route, policy: &Policy) -> Result<(), Invalid> {
    for (index, (at, origin)) in route.origins().enumerate() {
        let Some(limits) = &origin.limits else {
            continue;
        };
        let followed = followed(route, index == 0, &limits.overload, policy);
        followed.map_err(|fault| Invalid::new(format!("{at}/limits/overload"), fault))?;
        if route.tenant.is_none() {
            return Err(Invalid::new("/tenant", Fault::Missing));
        }
    }
    Ok(())
}

/// Refuses a resource that cannot follow an origin of a route, its first one or another.
fn followed(route: &Route, is_first: bool, name: &str, policy: &Policy) -> Result<(), Fault> {
    let checked = RouteTarget::Overload(name.to_owned());
    let is_checked = |check: &RouteCheck| check.target == checked;
    let is_checked = route.checks.iter().any(is_checked);
    let config = policy.overload.get(name);
    let unknown = |what| {
        let name = name.to_owned();
        Err(Fault::Unknown { name, what })
    };
    let foreign = |to: &str| Err(Fault::Foreign { to: to.to_owned() });
    match config {
        _ if is_first && !is_checked => unknown("overload resource among the route's checks"),
        None => unknown("overload resource"),
        Some(config) if config.steering == Steering::Blue => {
            foreign("an overload resource with the steering \"blue\", which has no rate")
        }
        Some(_) if !is_first && is_checked => {
            foreign("a fallback: the route's checks ask for it before its first origin")
        }
        Some(_) => Ok(()),
    }
}
