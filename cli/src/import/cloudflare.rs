//! Rate limiting rules of Cloudflare's WAF, as its API answers them: the ruleset of the phase `http_ratelimit`.
//!
//! A rule counts the requests that its expression fits, over a period before each of them: `sliding_window`. Each data
//! centre counts for itself, which is a region here. `log` is `shadow`. What a rule counts by is the key. JSON is YAML, so
//! that each note has its line.

use weir_shared::wire::policy::{Algorithm, LimitBody, Scope};

use super::Unparsed;
use super::fragment::Imported;
use super::yaml::{Field, Node, read};

/// The characteristic by which every rule counts in each data centre for itself.
const DATA_CENTRE: &str = "cf.colo.id";

/// Where a rule's name stands; the first that says something.
const NAMES: [&str; 3] = ["description", "ref", "id"];

/// Makes limits of rules.
///
/// # Errors
/// When it is no JSON.
///
/// ```
/// let made = weir_cli::import::cloudflare::import(
///     r#"{ "rules": [{ "ref": "login", "expression": "true", "action": "block",
///         "ratelimit": { "characteristics": ["cf.colo.id", "ip.src"], "period": 10, "requests_per_period": 5 } }] }"#,
/// ).unwrap();
/// let limit = &made.limits["login"];
/// assert_eq!((limit.limit, limit.window_ms), (Some(5), Some(10_000)));
/// ```
pub fn import(text: &str) -> Result<Imported, Unparsed> {
    let mut imported = Imported::default();
    walk(&read(text)?, &mut imported);
    Ok(imported)
}

/// Looks for rules in the whole answer, or in a part of it.
fn walk(node: &Node, imported: &mut Imported) {
    if let Some(counted) = node.field("ratelimit") {
        take(node, counted, imported);
        return;
    }
    let inner = node.fields().iter().map(|field| &field.value);
    for node in inner.chain(node.entries()) {
        walk(node, imported);
    }
}

fn take(rule: &Node, counted: &Field, imported: &mut Imported) {
    let line = counted.line;
    let names = NAMES.into_iter().filter_map(|field| rule.text_of(field));
    let name = names.into_iter().find(|name| !name.is_empty());
    let name = name.unwrap_or("rule");
    if rule.text_of("enabled") == Some("false") {
        imported.unmapped(line, format!("{name}: the rule is not enabled"));
        return;
    }
    let number = |field| counted.value.text_of(field)?.parse::<u64>().ok();
    let (Some(limit), Some(period_s)) = (number("requests_per_period"), number("period")) else {
        imported.unmapped(line, format!("{name}: it counts no requests of a period"));
        return;
    };
    let body = LimitBody {
        algorithm: Some(Algorithm::SlidingWindow),
        limit: Some(limit),
        window_ms: Some(period_s.saturating_mul(1_000)),
        scope: Some(Scope::Region),
        shadow: (rule.text_of("action") == Some("log")).then_some(true),
        ..LimitBody::default()
    };
    let Some(limit) = imported.limit(line, name, body) else {
        return;
    };
    let key = key(&counted.value);
    let expression = rule.text_of("expression").unwrap_or("true");
    let text = format!("{name}: ask for limit {limit:?}, by {key}, where {expression}");
    imported.asked(line, text);
    for field in rule.fields().iter().chain(counted.value.fields()) {
        if let Some(why) = differs(field) {
            imported.unmapped(field.line, format!("{name}: {}: {why}", field.name));
        }
    }
}

/// What a rule counts by.
fn key(counted: &Node) -> String {
    let listed = counted.get("characteristics").map(Node::entries);
    let named = listed.unwrap_or_default().iter().filter_map(Node::text);
    let named: Vec<&str> = named.filter(|name| *name != DATA_CENTRE).collect();
    match named.is_empty() {
        true => "one key for all".to_owned(),
        false => named.join(" and "),
    }
}

/// What is otherwise here than a field of a rule says; nothing where it is the same, or says nothing.
fn differs(field: &Field) -> Option<String> {
    let text = field.value.text().unwrap_or_default();
    let why = match (field.name.as_str(), text) {
        ("action", "block" | "log")
        | ("mitigation_timeout", "0")
        | ("requests_to_origin", "false") => {
            return None;
        }
        ("counting_expression" | "mitigation_expression", "") => return None,
        ("action", action) => format!("{action} there is a denial here"),
        ("action_parameters", _) => "a denial has an answer of its own here".to_owned(),
        ("characteristics", _) => {
            let listed = field.value.entries().iter().filter_map(Node::text);
            if !listed.into_iter().any(|name| name == DATA_CENTRE) {
                return None;
            }
            "each data centre counts there, each region here".to_owned()
        }
        ("counting_expression", counted) => format!("ask only where {counted}"),
        ("mitigation_expression", _) => "who is denied is who is counted here".to_owned(),
        ("mitigation_timeout", seconds) => {
            format!("a key is denied for {seconds} s there, and until its window has room here")
        }
        ("requests_to_origin", _) => {
            "ask only for what goes to the origin, not for what a cache answers".to_owned()
        }
        ("score_per_period" | "score_response_header_name", _) => {
            "a score is counted there, requests here".to_owned()
        }
        _ => return None,
    };
    Some(why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RULESET: &str = r#"{
  "result": {
    "phase": "http_ratelimit",
    "rules": [
      {
        "id": "1a",
        "description": "Login",
        "expression": "(http.request.uri.path eq \"/login\")",
        "action": "managed_challenge",
        "enabled": true,
        "ratelimit": {
          "characteristics": ["cf.colo.id", "ip.src"],
          "period": 60,
          "requests_per_period": 5,
          "mitigation_timeout": 0,
          "counting_expression": "http.response.code eq 401"
        }
      },
      {
        "id": "2b",
        "expression": "true",
        "action": "log",
        "ratelimit": {
          "characteristics": ["cf.colo.id", "ip.src", "http.request.headers[\"x-api-key\"]"],
          "period": 10,
          "requests_per_period": 50,
          "mitigation_timeout": 600,
          "requests_to_origin": true
        }
      },
      {
        "description": "by cost",
        "ratelimit": { "characteristics": ["cf.colo.id"], "period": 60, "score_per_period": 400 }
      },
      {
        "description": "old",
        "enabled": false,
        "ratelimit": { "characteristics": ["cf.colo.id"], "period": 60, "requests_per_period": 4 }
      }
    ]
  }
}"#;

    #[test]
    fn each_rule_is_a_limit_of_a_sliding_window() {
        let made = import(RULESET).unwrap();
        assert_eq!(
            made.fragment(),
            json!({ "limits": {
                "login": {
                    "algorithm": "sliding_window", "limit": 5, "window_ms": 60_000, "scope": "region"
                },
                "2b": {
                    "algorithm": "sliding_window", "limit": 50, "window_ms": 10_000, "scope": "region", "shadow": true
                },
            } })
        );
    }

    #[test]
    fn what_does_not_map_is_told_with_its_line() {
        let made = import(RULESET).unwrap();
        let told: Vec<String> = made.notes.iter().map(|note| note.text("f")).collect();
        let login = "Login: ask for limit \"login\", by ip.src, where (http.request.uri.path eq \"/login\")";
        let keyed = "2b: ask for limit \"2b\", by ip.src and http.request.headers[\"x-api-key\"], where true";
        for expected in [
            &format!("f:11: {login}"),
            "f:9: not mapped: Login: action: managed_challenge there is a denial here",
            "f:12: not mapped: Login: characteristics: each data centre counts there, each region here",
            "f:16: not mapped: Login: counting_expression: ask only where http.response.code eq 401",
            &format!("f:23: {keyed}"),
            "f:27: not mapped: 2b: mitigation_timeout: a key is denied for 600 s there, and until its window has room here",
            "f:28: not mapped: 2b: requests_to_origin: ask only for what goes to the origin, not for what a cache answers",
            "f:33: not mapped: by cost: it counts no requests of a period",
            "f:38: not mapped: old: the rule is not enabled",
        ] {
            assert!(
                told.iter().any(|line| line == expected),
                "{expected}\n{told:#?}"
            );
        }
        assert_eq!(told.len(), 10, "{told:#?}");
    }

    #[test]
    fn what_is_no_json_is_told_with_its_line() {
        assert_eq!(import("{\n  \"rules\": [}\n").unwrap_err().line, 2);
    }
}
