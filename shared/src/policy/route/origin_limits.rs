//! Limits that an origin tells in its answers.

use super::check::{RouteCheck, RouteTarget};
use super::{Answer, Origin, required};
use crate::invalid::{Fault, Invalid};
use crate::policy::Policy;
use crate::wire::overload::Steering;
use crate::wire::route::{LimitsFormat, OriginBody};

/// Where an origin tells how much it lets through, and who follows that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginLimits {
    /// The overload resource that follows it: one of the route's checks, steered by its fair rate.
    pub overload: String,
    /// In which fields of an answer it is told.
    pub format: LimitsFormat,
}

/// What an origin at the pointer `at` says of it.
pub(super) fn read(body: &OriginBody, at: &str) -> Result<Option<OriginLimits>, Invalid> {
    let Some(limits) = &body.limits else {
        return Ok(None);
    };
    if at != "/origin" {
        let to = "an origin that is not the first of a route".to_owned();
        return Err(Invalid::new(format!("{at}/limits"), Fault::Foreign { to }));
    }
    Ok(Some(OriginLimits {
        overload: required(limits.overload.as_ref(), "/origin/limits/overload")?.clone(),
        format: *required(limits.format.as_ref(), "/origin/limits/format")?,
    }))
}

/// Refuses limits that no check of the route could follow.
pub(super) fn permit(
    answer: &Answer,
    checks: &[RouteCheck],
    policy: &Policy,
) -> Result<(), Invalid> {
    let Answer::Origin(Origin {
        limits: Some(OriginLimits { overload, .. }),
        ..
    }) = answer
    else {
        return Ok(());
    };
    let refused = |fault| Err(Invalid::new("/origin/limits/overload", fault));
    let checked = RouteTarget::Overload(overload.clone());
    if !checks.iter().any(|check| check.target == checked) {
        let (name, what) = (
            overload.clone(),
            "overload resource among the route's checks",
        );
        return refused(Fault::Unknown { name, what });
    }
    let config = policy.overload.get(overload);
    if config.is_some_and(|config| config.steering == Steering::Blue) {
        let to = "an overload resource with the steering \"blue\", which has no rate".to_owned();
        return refused(Fault::Foreign { to });
    }
    Ok(())
}
