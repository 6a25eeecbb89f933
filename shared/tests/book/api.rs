//! The page of the HTTP interface: what the OpenAPI document says of each route.

use serde_json::Value;
use weir_shared::access::endpoint::{Access, ROUTES, Route};
use weir_shared::openapi;

use crate::book::policy;
use crate::book::schema::{section, words};

const HEAD: &str = "\
# API

This page has every route, with the roles that may call it. `GET /openapi.json` of a deployment returns the same as an OpenAPI 3.1
document. Times are milliseconds since 1970, durations end in `_ms`, totals above 2^53 are texts. An unlisted field is an error.
[Errors](errors.md) explains refusals.

A caller sends `Authorization: Bearer TOKEN`; **Who** lists the roles whose tokens a route takes. A tenant's token is for that
tenant alone. Routes for viewers, editors and admins also take the console's session cookie.

";

/// The parts of the page: its title, and how the paths of its routes begin.
const PARTS: [(&str, &[&str]); 3] = [
    ("Decide", &["/v1/"]),
    ("Operate", &["/operator/v1/"]),
    ("Watch", &["/"]),
];

fn part(route: &Route) -> &'static str {
    let begins = |starts: &[&str]| starts.iter().any(|start| route.path.starts_with(start));
    let found = PARTS.iter().find(|(_, starts)| begins(starts));
    found.expect("every path begins with a slash").0
}

pub(super) fn page() -> String {
    let document = openapi::document().expect("the forms are well written");
    let schemas = &document["components"]["schemas"];
    let of_the_policy = policy::told(schemas);
    let link = |name: &str| {
        let page = match of_the_policy.contains(name) {
            true => "policy.md",
            false => "",
        };
        format!("{page}#{}", name.to_lowercase())
    };
    let mut text = HEAD.to_owned();
    for (title, _) in PARTS {
        text.push_str(&format!("## {title}\n\n"));
        for route in ROUTES.iter().filter(|route| part(route) == title) {
            let method = route.method.name();
            let described = &document["paths"][route.path][&method.to_lowercase()];
            text.push_str(&told(route, described, &link));
        }
    }
    text.push_str("## Forms\n\n[Policy](policy.md) has the forms of a policy.\n\n");
    for (name, schema) in schemas.as_object().expect("forms by name") {
        if !of_the_policy.contains(name) {
            text.push_str(&section(name, schema, &link));
        }
    }
    text.trim_end().to_owned() + "\n"
}

fn told(route: &Route, described: &Value, link: &dyn Fn(&str) -> String) -> String {
    let summary = described["summary"].as_str().expect("a summary");
    let mut text = format!(
        "### {} {}\n\n{summary}\n\n",
        route.method.name(),
        route.path
    );
    let mut row = |name: &str, what: &str| text.push_str(&format!("- **{name}**: {what}\n"));
    match route.access {
        Access::Public => row("Who", "anybody"),
        Access::Roles(roles) => {
            let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
            row("Who", &names.join(", "));
        }
    }
    let parameters = described["parameters"].as_array().into_iter().flatten();
    for place in ["query", "header"] {
        let here = parameters
            .clone()
            .filter(|parameter| parameter["in"] == place);
        let told: Vec<String> = here
            .map(|one| {
                format!(
                    "`{}` ({})",
                    one["name"].as_str().unwrap_or_default(),
                    words(&one["schema"], link)
                )
            })
            .collect();
        if !told.is_empty() {
            row(
                if place == "query" { "Query" } else { "Headers" },
                &told.join(", "),
            );
        }
    }
    let body = &described["requestBody"]["content"]["application/json"]["schema"];
    if !body.is_null() {
        row("Body", &words(body, link));
    }
    let (answers, refusals): (Vec<_>, Vec<_>) = described["responses"]
        .as_object()
        .into_iter()
        .flatten()
        .partition(|(status, _)| status.as_str() < "400");
    for (status, answer) in answers {
        row("Answer", &format!("{status}{}", content(answer, link)));
    }
    let statuses: Vec<&str> = refusals.iter().map(|(status, _)| status.as_str()).collect();
    if !statuses.is_empty() {
        row("Refused", &statuses.join(", "));
    }
    text + "\n"
}

/// The forms of an answer: JSON by its name, others by their media types.
fn content(answer: &Value, link: &dyn Fn(&str) -> String) -> String {
    let forms = answer["content"].as_object().into_iter().flatten();
    let told: Vec<String> = forms
        .map(|(media, form)| match form.get("schema") {
            Some(schema) => words(schema, link),
            None => format!("`{media}`"),
        })
        .collect();
    match told.is_empty() {
        true => String::new(),
        false => format!(", {}", told.join(" or ")),
    }
}
