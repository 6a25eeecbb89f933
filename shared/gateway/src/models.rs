//! The models that a tenant may use, all or one, as the APIs of OpenAI and of Anthropic tell them (API references, "List
//! models", "Retrieve model", "Get a model").
//!
//! A tenant may use the models that a route names in full, where that route would take the same client's request for some
//! tenant's: at the same host, beneath the path at which the list stands. What follows that path is the name of one.

use std::net::IpAddr;

use serde_json::{Value, json};
use weir_core::ordered::OrderedSet;
use weir_core::units::EpochMs;
use weir_policy::Policy;
use weir_policy::route::{Answerer, ModelPattern, Route, host_alone};
use weir_wire::route::ErrorForm;

use super::facts::Facts;
use super::path::RequestPath;
use super::problem::Refusal;
use super::tenant::{Tenant, find, is_vouched, settled};

/// The field that clients of Anthropic's API send with each request.
const ANTHROPIC_VERSION: &str = "anthropic-version";

/// A request for the list, or for one of it.
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

/// What a request is answered: the list, or the model whose name follows its path. In Anthropic's form where the route
/// refuses in it, and for whoever sends `anthropic-version`; in OpenAI's otherwise.
///
/// # Errors
/// 404 for a model that the client may not use, whether or not there is one of that name.
pub fn answer(policy: &Policy, asking: &Asking<'_>, now: EpochMs) -> Result<String, Refusal> {
    let path = RequestPath::read(asking.facts.path).map(|path| path.strict);
    let path = path.unwrap_or_default();
    let (at, model) = asking.route.path.divided(&path);
    let names = names(policy, asking, at, now);
    let form = form(asking);
    if model.is_empty() {
        return Ok(list(form, &names));
    }
    let model = model.join("/");
    match names.contains(model.as_str()) {
        true => Ok(one(form, &model).to_string()),
        false => Err(Refusal::no_model(Some(&model))),
    }
}

fn form(asking: &Asking<'_>) -> ErrorForm {
    match asking.facts.value(ANTHROPIC_VERSION) {
        Some(_) => ErrorForm::Anthropic,
        None => asking.route.errors,
    }
}

/// The names of the models that the client may use at this instant, of a list that stands at a path.
fn names<'a>(
    policy: &'a Policy,
    asking: &Asking<'_>,
    at: &[String],
    now: EpochMs,
) -> OrderedSet<&'a str> {
    let base = at.split_last().map_or(&[][..], |(_, base)| base);
    let host = host_alone(asking.facts.host);
    let routes = policy.routes.iter().filter(|route| {
        route.answer != Answerer::Models && route.host.fits(&host) && route.path.reaches(base)
    });
    let open = routes.filter(|route| takes(route, policy, asking, now));
    open.flat_map(|route| route.models.iter().filter_map(ModelPattern::name))
        .collect()
}

/// The whole list: a page that none follows.
fn list(form: ErrorForm, names: &OrderedSet<&str>) -> String {
    let data: Vec<Value> = names.iter().map(|name| one(form, name)).collect();
    let list = match form {
        ErrorForm::Anthropic => json!({
            "data": data, "has_more": false, "first_id": names.first(), "last_id": names.last(),
        }),
        ErrorForm::OpenAi | ErrorForm::Problem => json!({ "object": "list", "data": data }),
    };
    list.to_string()
}

/// One model. When it was made, and what it can do, nobody has told; it is the deployment that offers it.
fn one(form: ErrorForm, name: &str) -> Value {
    match form {
        ErrorForm::Anthropic => json!({
            "type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z",
            "lifecycle": "active", "deprecated_at": null, "retires_at": null, "line": null,
            "capabilities": null, "max_input_tokens": null, "max_tokens": null,
        }),
        ErrorForm::OpenAi | ErrorForm::Problem => json!({
            "object": "model", "id": name, "created": 0, "owned_by": "weir",
        }),
    }
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
