//! The question that a request asks on a route: what to charge, to whom, how much.

use std::net::IpAddr;

use weir_check::{Check, Item, Keys, Target};
use weir_core::invalid::{Fault, Invalid};
use weir_core::name::tenant_name;
use weir_core::ordered::OrderedMap;
use weir_policy::route::{KeySource, KeySources, Route, RouteTarget};

use super::address;
use super::cost::{Settled, charge};
use super::facts::Facts;
use super::problem::Refusal;
use super::usage::request::ModelRequest;

/// A question, and what of it is settled afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteQuestion {
    /// The question; an item for each check of the route, in its order. Empty where the route charges nothing.
    pub check: Check,
    /// The items whose charge is a reservation, by their places, each with what says their cost.
    pub settled: Vec<(usize, Settled)>,
}

/// The question of a request. `asked` is what the head of its body says, where it was read; `client` is [`address::client`], `tenant` what [`super::tenant::settled`] says.
///
/// # Errors
/// 400 when the request does not say a key, or says no number where it says a cost.
pub fn question(
    route: &Route,
    facts: &Facts<'_>,
    asked: Option<&ModelRequest>,
    tenant: Option<&str>,
    client: Option<IpAddr>,
) -> Result<RouteQuestion, Refusal> {
    let mut items = Vec::with_capacity(route.checks.len());
    let mut settled = Vec::new();
    let key = |source: &KeySource| key(source, facts, tenant, client);
    for (index, check) in route.checks.iter().enumerate() {
        let charge = charge(&check.cost, facts, asked).map_err(|fault| Refusal::invalid(&fault))?;
        let target = target(&check.target, &key).map_err(|fault| Refusal::invalid(&fault))?;
        settled.extend(charge.settled.map(|from| (index, from)));
        items.push(Item {
            target,
            cost: charge.units,
            at: format!("/checks/{index}"),
        });
    }
    let check = Check {
        tenant: tenant.map(str::to_owned),
        items,
        reserve: false,
    };
    Ok(RouteQuestion { check, settled })
}

fn target(
    target: &RouteTarget,
    key: &dyn Fn(&KeySource) -> Result<String, Invalid>,
) -> Result<Target, Invalid> {
    Ok(match target {
        RouteTarget::Budget(name) => Target::Budget(name.clone()),
        RouteTarget::Meter(name) => Target::Meter {
            name: name.clone(),
            among: false,
        },
        RouteTarget::Guard(name) => Target::Guard(name.clone()),
        RouteTarget::Overload(name) => Target::Overload(name.clone()),
        RouteTarget::Limit { name, keys } => Target::Limit {
            name: name.clone(),
            keys: match keys {
                KeySources::None => Keys::None,
                KeySources::One(source) => Keys::One(key(source)?),
                KeySources::Named(sources) => {
                    let named = sources.iter();
                    let keys = named.map(|(name, source)| Ok((name.clone(), key(source)?)));
                    Keys::Named(keys.collect::<Result<OrderedMap<_, _>, Invalid>>()?)
                }
            },
        },
    })
}

/// A key. Requests of which it is not known where they come from share one.
fn key(
    source: &KeySource,
    facts: &Facts<'_>,
    tenant: Option<&str>,
    client: Option<IpAddr>,
) -> Result<String, Invalid> {
    let missing = |at: &str| Invalid::new(at, Fault::Missing);
    match source {
        KeySource::Tenant => tenant.map(str::to_owned).ok_or_else(|| missing("/tenant")),
        KeySource::ClientAddress => {
            Ok(client.map_or_else(|| address::UNKNOWN.to_owned(), address::name))
        }
        KeySource::Fixed(key) => Ok(key.clone()),
        KeySource::Header(name) => {
            let at = format!("/headers/{}", name.as_str());
            let value = facts.value(name.as_str()).ok_or_else(|| missing(&at))?;
            tenant_name(&value).map_err(|fault| Invalid::new(at, fault))?;
            Ok(value)
        }
    }
}
