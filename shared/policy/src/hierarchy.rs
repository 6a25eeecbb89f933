//! Tenants above tenants: a company, its teams, their users. No tenant is above itself, and there is a bound to the
//! levels.

use weir_core::invalid::{Fault, Invalid};
use weir_core::json::pointer::step;
use weir_core::limits::TENANT_DEPTH_MAX;
use weir_core::ordered::{OrderedMap, OrderedSet};

/// The names from `name` upwards, itself included. Endless where a tenant is above itself.
fn line<'a>(
    parents: &'a OrderedMap<&'a str, &'a str>,
    name: &'a str,
) -> impl Iterator<Item = &'a str> {
    std::iter::successors(Some(name), |name| parents.get(name).copied())
}

/// Refuses a tenant that is above itself, and more levels than there may be. `parents` has the parent of each tenant
/// that has one.
///
/// # Errors
/// At the `parent` of the tenant that closes a cycle, where parents are given in the order of the tenants' names; and
/// at that of one with too many above it.
pub(super) fn check(parents: &OrderedMap<&str, &str>) -> Result<(), Invalid> {
    let levels = |name| line(parents, name).take(TENANT_DEPTH_MAX + 1).count();
    match parents.keys().find(|name| levels(name) > TENANT_DEPTH_MAX) {
        Some(name) => Err(refused(parents, name)),
        None => Ok(()),
    }
}

/// What is wrong above `name`, which has too many above it, or no end of them.
fn refused(parents: &OrderedMap<&str, &str>, name: &str) -> Invalid {
    let at = |name: &str| format!("/tenants{}/parent", step(name));
    let mut seen = OrderedSet::new();
    let again = line(parents, name).find(|name| !seen.insert(*name));
    if let Some(again) = again {
        let last = closing(parents, again);
        let others = line(parents, last).skip(1);
        let others = others.take_while(|name| *name != last);
        let path = std::iter::once(last).chain(others).chain([last]);
        let path = path.map(str::to_owned).collect();
        return Invalid::new(at(last), Fault::Cycle { path });
    }
    let fault = Fault::TooMany {
        got: seen.len(),
        max: TENANT_DEPTH_MAX,
        what: "levels of tenants",
    };
    Invalid::new(at(name), fault)
}

/// The last in the order of names of the cycle that `member` is part of.
fn closing<'a>(parents: &'a OrderedMap<&'a str, &'a str>, member: &'a str) -> &'a str {
    let others = line(parents, member).skip(1);
    let others = others.take_while(|name| *name != member);
    others.fold(member, Ord::max)
}
