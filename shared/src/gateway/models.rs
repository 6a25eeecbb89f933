//! The models that a tenant may use, as OpenAI's API lists them (API reference, "List models").
//!
//! A tenant may use the models that a route names in full, where that route would take the same client's request for some
//! tenant's: at the same host, beneath the path at which the list stands.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::Serialize;

use super::facts::Facts;
use super::path::RequestPath;
use super::tenant::{Tenant, find, is_vouched, settled};
use crate::policy::Policy;
use crate::policy::route::{Answer, ModelPattern, Route, host_alone};
use crate::units::EpochMs;

/// A request for the list.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// The route that answers it.
    pub route: &'a Route,
    /// The tenant that it was admitted for.
    pub tenant: Option<&'a str>,
    /// What is known of it.
    pub facts: &'a Facts<'a>,
    /// Where it comes from ([`super::address::client`]).
    pub client: Option<IpAddr>,
}

#[derive(Serialize)]
struct List<'a> {
    object: &'static str,
    data: Vec<Model<'a>>,
}

#[derive(Serialize)]
struct Model<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
}

/// The names of the models that the client may use at this instant.
#[must_use]
pub fn names<'a>(policy: &'a Policy, asking: &Asking<'_>, now: EpochMs) -> BTreeSet<&'a str> {
    let path = RequestPath::read(asking.facts.path).map(|path| path.strict);
    let path = path.unwrap_or_default();
    let base = path.split_last().map_or(&[][..], |(_, base)| base);
    let host = host_alone(asking.facts.host);
    let routes = policy.routes.iter().filter(|route| {
        route.answer != Answer::Models && route.host.fits(&host) && route.path.reaches(base)
    });
    let open = routes.filter(|route| takes(route, policy, asking, now));
    open.flat_map(|route| route.models.iter().filter_map(ModelPattern::name))
        .collect()
}

/// The list of models. When a model was made nobody has told; it is the deployment that offers them.
///
/// ```
/// use weir_shared::gateway::models::list;
/// assert_eq!(
///     list(["o1"]),
///     r#"{"object":"list","data":[{"id":"o1","object":"model","created":0,"owned_by":"weir"}]}"#
/// );
/// ```
#[must_use]
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let data = names.into_iter().map(|id| Model {
        id,
        object: "model",
        created: 0,
        owned_by: "weir",
    });
    let list = List {
        object: "list",
        data: data.collect(),
    };
    // Text and numbers are always written.
    serde_json::to_string(&list).unwrap_or_default()
}

/// Whether a route would take the client's request for somebody's whom the policy lets in.
fn takes(route: &Route, policy: &Policy, asking: &Asking<'_>, now: EpochMs) -> bool {
    let Some(source) = &route.tenant else {
        return true;
    };
    let found = match find(source, policy, asking.facts, asking.client) {
        // A token was verified only as the list's own route says.
        Tenant::Jwt { .. }
            if asking.route.tenant.as_ref() == Some(source)
                && is_vouched(asking.route, asking.tenant) =>
        {
            return true;
        }
        found => found,
    };
    let tenant = settled(route, found).ok().flatten();
    tenant.is_some_and(|tenant| policy.resolve(&tenant, now).is_some())
}
