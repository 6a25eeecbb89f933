//! The routes of a draft: a list in the order in which they are tried, each with a form for its common fields.

use serde_json::{Value, json};
use weir_shared::name::label;

use super::checks::CheckLine;
use super::descriptors;
use super::draft::PolicyDraft;
use super::entries::Fate;
use super::fields::{Field, Kind, SHADOW, field, named};
use super::unrouted::{ORIGIN, STRIP_PREFIX, TIMEOUT};

/// Where they stand in the document.
pub const ROUTES: &str = "/routes";

/// One route in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteLine {
    /// Its place, from 0.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// What it says.
    pub summary: String,
    /// What the draft does to it.
    pub fate: Fate,
}

fn list(draft: &PolicyDraft) -> Vec<Value> {
    let list = draft.at(ROUTES).and_then(Value::as_array);
    list.cloned().unwrap_or_default()
}

fn text<'a>(route: &'a Value, pointer: &str) -> &'a str {
    let value = route.pointer(pointer);
    value.and_then(Value::as_str).unwrap_or_default()
}

/// The routes of a draft. A route is known by its name, wherever it stands.
pub fn lines(draft: &PolicyDraft) -> Vec<RouteLine> {
    let base = draft.base_at(ROUTES).and_then(Value::as_array);
    let line = |(index, route): (usize, Value)| {
        let name = text(&route, "/name").to_owned();
        let before = base
            .into_iter()
            .flatten()
            .find(|one| text(one, "/name") == name);
        let fate = match before {
            None => Fate::Added,
            Some(before) if *before == route => Fate::Kept,
            Some(_) => Fate::Changed,
        };
        RouteLine {
            index,
            name,
            summary: summary(&route),
            fate,
        }
    };
    list(draft).into_iter().enumerate().map(line).collect()
}

/// What a route says, in a line.
pub fn summary(route: &Value) -> String {
    let host = match text(route, "/host") {
        "" => "any host",
        host => host,
    };
    let path = match text(route, "/path") {
        "" => "any path",
        path => path,
    };
    let to = match (text(route, "/origin/url"), text(route, "/answer")) {
        ("", "") => "nowhere yet",
        ("", answer) => answer,
        (url, _) => url,
    };
    let shadow = route.get("shadow") == Some(&Value::Bool(true));
    let checks = route.get("checks").and_then(Value::as_array);
    let checks = crate::format::counted(checks.map_or(0, Vec::len), "check");
    let shadow = if shadow { " · shadow" } else { "" };
    format!("{host} {path} → {to} · {checks}{shadow}")
}

/// Whether a new route may have that name.
///
/// # Errors
/// What is wrong with it.
pub fn new_name(draft: &PolicyDraft, name: &str) -> Result<(), String> {
    label(name).map_err(|fault| fault.to_string())?;
    match list(draft).iter().any(|route| text(route, "/name") == name) {
        true => Err("there is a route of that name".to_owned()),
        false => Ok(()),
    }
}

/// The routes with one more, after the others.
pub fn added(draft: &PolicyDraft, name: &str) -> Value {
    let mut routes = list(draft);
    routes.push(json!({
        "name": name, "path": format!("/{name}/*"), "checks": [],
        "origin": { "url": "https://origin.example.com" }
    }));
    Value::Array(routes)
}

/// The routes without the one at a place.
pub fn removed(draft: &PolicyDraft, index: usize) -> Value {
    let mut routes = list(draft);
    if index < routes.len() {
        routes.remove(index);
    }
    Value::Array(routes)
}

/// The routes with the one at a place tried before the one that was tried before it.
pub fn earlier(draft: &PolicyDraft, index: usize) -> Value {
    let mut routes = list(draft);
    if index > 0 && index < routes.len() {
        routes.swap(index - 1, index);
    }
    Value::Array(routes)
}

/// Whether what a pointer leads to is in the draft what it was in the document that the draft began with. Routes move:
/// of another one at its place there is nothing to go back to.
pub fn is_same(draft: &PolicyDraft, pointer: &str) -> bool {
    let Some(before) = draft.base_at(pointer) else {
        return false;
    };
    let named = |route: &Value| text(route, "/name").to_owned();
    let steps: Vec<&str> = pointer.split('/').collect();
    if let [_, "descriptors", domain, place] = steps[..] {
        let list = format!("/descriptors/{domain}");
        let place = place.parse().unwrap_or_default();
        return descriptors::stays(draft.base_at(&list), draft.at(&list), place);
    }
    if !pointer.starts_with("/routes/") {
        return true;
    }
    // A check is known by what it charges.
    let [_, routes, index, "checks", place, ..] = steps[..] else {
        return draft.at(pointer).map(named) == Some(named(before));
    };
    let route = format!("/{routes}/{index}");
    let check = format!("{route}/checks/{place}");
    let rule = |check: &Value| CheckLine::of(check).rule();
    is_same(draft, &route) && draft.at(&check).map(rule) == draft.base_at(&check).map(rule)
}

/// The fields of a route that have a control. All others are edited as JSON.
pub const FIELDS: [Field; 17] = [
    field(
        "name",
        "Name",
        Kind::Text,
        "In answers and records; a-z, 0-9, _ and -.",
    ),
    field(
        "host",
        "Host",
        Kind::Text,
        "Such as api.example.com, or *.example.com; any when empty.",
    ),
    field(
        "path",
        "Path",
        Kind::Text,
        "Such as /llm/*: * is one segment, at the end all that follow; any when empty.",
    ),
    field(
        "case_insensitive",
        "Ignore case",
        Kind::Flag(false),
        "Of letters in the path.",
    ),
    field(
        "methods",
        "Methods",
        Kind::Names,
        "Such as GET, POST; all when empty.",
    ),
    field(
        "models",
        "Models",
        Kind::Names,
        "Such as gpt-4o*, by the model in the body; all when empty.",
    ),
    named("origin/url", ORIGIN),
    named("origin/strip_prefix", STRIP_PREFIX),
    named("origin/timeout_ms", TIMEOUT),
    field(
        "tenant/header",
        "Tenant by header",
        Kind::Text,
        "The header that names the tenant; its sender is trusted.",
    ),
    field(
        "tenant/api_key/header",
        "Tenant by API key in",
        Kind::Text,
        "The header with a key of the policy's API keys, such as authorization.",
    ),
    field(
        "forward_credential",
        "Forward the credential",
        Kind::Flag(false),
        "The origin gets the header that named the tenant.",
    ),
    field(
        "errors",
        "Refusals",
        Kind::Choice(&[
            ("", "problem (by default)"),
            ("problem", "problem (RFC 9457)"),
            ("openai", "as OpenAI's clients read them"),
            ("anthropic", "as Anthropic's clients read them"),
        ]),
        "The form of answers that refuse a request.",
    ),
    field(
        "inject_usage",
        "Ask for usage",
        Kind::Flag(false),
        "Of streams of OpenAI's form, if the client does not.",
    ),
    field(
        "retry_unsafe",
        "Repeat any method",
        Kind::Flag(false),
        "A request that the first origin may have done goes to the next one, too.",
    ),
    field(
        "websocket_ms",
        "WebSockets",
        Kind::Duration,
        "For how long one may be open; none is when this is empty.",
    ),
    SHADOW,
];

#[cfg(test)]
mod tests {
    use weir_shared::wire::policy::PolicyDocument;

    use super::*;

    fn draft() -> PolicyDraft {
        let mut document: PolicyDocument =
            serde_json::from_str(include_str!("../../../../../policy.json")).unwrap();
        let routes = json!([
            { "name": "a", "path": "/a/*", "checks": [{ "budget": "tokens" }], "tenant": { "header": "x-tenant" },
              "origin": { "url": "https://a.example.com" } },
            { "name": "b", "host": "b.example.com", "checks": [], "answer": "models", "shadow": true },
        ]);
        document.routes = serde_json::from_value(routes).unwrap();
        PolicyDraft::new(&document, "\"1\"")
    }

    fn told(draft: &PolicyDraft) -> Vec<(String, &'static str)> {
        let lines = lines(draft).into_iter();
        lines.map(|line| (line.name, line.fate.word())).collect()
    }

    fn named(names: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
        let own = |(name, fate): &(&str, &'static str)| ((*name).to_owned(), *fate);
        names.iter().map(own).collect()
    }

    #[test]
    fn a_route_is_known_by_its_name_wherever_it_stands() {
        let mut draft = draft();
        draft.put(ROUTES, Some(added(&draft, "c")));
        draft.put(ROUTES, Some(earlier(&draft, 1)));
        assert_eq!(told(&draft), named(&[("b", ""), ("a", ""), ("c", "added")]));
        assert!(!is_same(&draft, "/routes/0"), "another one stood there");
        draft.put("/routes/1/path", Some(json!("/x/*")));
        assert_eq!(told(&draft)[1], ("a".to_owned(), "changed"));
        draft.put(ROUTES, Some(removed(&draft, 0)));
        assert_eq!(told(&draft), named(&[("a", "changed"), ("c", "added")]));
        assert!(is_same(&draft, "/routes/0"));
        // The ends of the list.
        assert_eq!(earlier(&draft, 0), *draft.at(ROUTES).unwrap());
        assert_eq!(removed(&draft, 7), *draft.at(ROUTES).unwrap());
    }

    #[test]
    fn a_check_is_known_by_what_it_charges() {
        let mut draft = draft();
        let check = "/routes/0/checks/0";
        assert!(is_same(&draft, check));
        draft.put(&format!("{check}/cost"), Some(json!(5)));
        assert!(is_same(&draft, check));
        draft.put(check, Some(json!({ "meter": "bytes" })));
        assert!(!is_same(&draft, check));
        assert!(!is_same(&draft, "/routes/0/checks/1"), "there was none");
    }

    #[test]
    fn routes_say_what_they_are_in_a_line() {
        let lines: Vec<String> = lines(&draft())
            .into_iter()
            .map(|line| line.summary)
            .collect();
        assert_eq!(
            lines,
            [
                "any host /a/* → https://a.example.com · 1 check",
                "b.example.com any path → models · 0 checks · shadow"
            ]
        );
        assert!(summary(&json!({})).contains("nowhere yet"));
    }

    #[test]
    fn what_is_added_could_be_saved_at_once_and_its_name_is_free() {
        let mut draft = draft();
        draft.put(ROUTES, Some(added(&draft, "c")));
        draft.check().unwrap();
        assert!(
            new_name(&draft, "c")
                .unwrap_err()
                .contains("there is a route")
        );
        assert!(new_name(&draft, "C").is_err());
        assert_eq!(new_name(&draft, "d"), Ok(()));
    }

    #[test]
    fn a_field_changes_its_own_route_and_keeps_what_has_no_field() {
        let mut draft = draft();
        draft.put("/routes/0/origin/timeout_ms", Some(json!(5_000)));
        let document = draft.check().unwrap().document;
        assert_eq!(
            document.routes[0].origin.as_ref().unwrap().timeout_ms,
            Some(5_000)
        );
        assert_eq!(document.routes[0].checks.len(), 1);
        draft.put("/routes/0/host", Some(json!("not a host")));
        assert_eq!(draft.check().unwrap_err().pointer, "/routes/0/host");
        draft.undo();
        assert!(draft.check().is_ok());
    }

    /// What is wrong with a route once a field has a value of its kind.
    fn flaw(name: &str, kind: Kind) -> Option<String> {
        let value = match kind {
            Kind::Flag(_) => json!(true),
            Kind::Duration => json!(5_000),
            Kind::Names => json!(["GET"]),
            Kind::Choice(_) => json!("openai"),
            _ => json!("x"),
        };
        let mut draft = draft();
        draft.put(&format!("/routes/1/{name}"), Some(value));
        let flaw = draft.check().err()?;
        Some(format!("{}: {}", flaw.pointer, flaw.message))
    }

    #[test]
    fn every_field_is_one_of_the_document() {
        let unknown = flaw("colour", Kind::Text).unwrap();
        assert!(unknown.contains("unknown field"), "{unknown}");
        for field in FIELDS {
            let found = flaw(field.name, field.kind).unwrap_or_default();
            assert!(!found.contains("unknown field"), "{}: {found}", field.name);
        }
    }
}
