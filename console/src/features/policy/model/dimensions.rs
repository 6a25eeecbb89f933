//! The limits that a composite limit is made of, as people type them: `ip = per_ip * 2, resets`.

use serde_json::{Map, Value};

use super::fields::number;

/// What stands between two limits, a limit and its other name, a limit and its weight.
const BETWEEN: char = ',';
const NAMES: char = '=';
const TIMES: char = '*';

/// The dimensions as text: `None` for what text cannot say, such as an object with a field that no dimension has.
///
/// ```
/// use serde_json::json;
/// use weir_console::features::policy::model::dimensions::text;
/// let dimensions = json!([{ "name": "ip", "limit": "per_ip", "weight": 2 }, "resets"]);
/// assert_eq!(text(&dimensions).unwrap(), "ip = per_ip * 2, resets");
/// ```
pub fn text(dimensions: &Value) -> Option<String> {
    let all = dimensions.as_array().filter(|all| !all.is_empty())?;
    let texts = all.iter().map(one).collect::<Option<Vec<_>>>()?;
    let text = texts.join(", ");
    (parse(&text).as_ref() == Some(dimensions)).then_some(text)
}

fn one(dimension: &Value) -> Option<String> {
    let body = match dimension {
        Value::String(limit) => return Some(limit.clone()),
        Value::Object(body) => body,
        _ => return None,
    };
    let limit = body.get("limit")?.as_str()?;
    let named = match body.get("name") {
        Some(name) => format!("{} {NAMES} {limit}", name.as_str()?),
        None => limit.to_owned(),
    };
    Some(match body.get("weight") {
        Some(weight) => format!("{named} {TIMES} {weight}"),
        None => named,
    })
}

/// What was typed as dimensions; `None` while it is not of that form.
///
/// ```
/// use serde_json::json;
/// use weir_console::features::policy::model::dimensions::parse;
/// assert_eq!(parse("per_ip*2").unwrap(), json!([{ "limit": "per_ip", "weight": 2 }]));
/// assert_eq!(parse("ip = "), None);
/// ```
pub fn parse(text: &str) -> Option<Value> {
    let parts = text.split(BETWEEN).map(str::trim);
    let parts = parts.filter(|part| !part.is_empty());
    let all = parts.map(dimension).collect::<Option<Vec<_>>>()?;
    (!all.is_empty()).then_some(Value::Array(all))
}

fn dimension(text: &str) -> Option<Value> {
    let (name, rest) = match text.split_once(NAMES) {
        Some((name, rest)) => (Some(said(name)?), rest),
        None => (None, text),
    };
    let (limit, weight) = match rest.split_once(TIMES) {
        Some((limit, weight)) => (said(limit)?, Some(number(weight)?)),
        None => (said(rest)?, None),
    };
    if name.is_none() && weight.is_none() {
        return Some(limit);
    }
    let mut body = Map::new();
    for (field, value) in [("name", name), ("limit", Some(limit)), ("weight", weight)] {
        if let Some(value) = value {
            body.insert(field.to_owned(), value);
        }
    }
    Some(Value::Object(body))
}

fn said(name: &str) -> Option<Value> {
    let name = name.trim();
    (!name.is_empty()).then(|| Value::String(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_shown_and_typed_again_is_the_same() {
        for dimensions in [
            json!(["ip"]),
            json!(["ip", { "limit": "login", "weight": 2 }]),
            json!([{ "name": "address", "limit": "ip" }, "login"]),
            json!([{ "name": "address", "limit": "ip", "weight": 0.5 }]),
        ] {
            let shown = text(&dimensions).unwrap();
            assert_eq!(parse(&shown), Some(dimensions), "{shown}");
        }
    }

    #[test]
    fn what_text_would_say_otherwise_is_not_shown_as_text() {
        for dimensions in [
            json!([]),
            json!("ip"),
            json!([5]),
            json!([{ "limit": "ip" }]),
            json!([{ "name": "ip" }]),
            json!([{ "limit": "ip", "cost": 2 }]),
            json!([{ "limit": "ip", "weight": "2" }]),
            json!(["a, b"]),
            json!(["a=b"]),
            json!([" ip"]),
        ] {
            assert_eq!(text(&dimensions), None, "{dimensions}");
        }
    }

    #[test]
    fn while_it_is_typed_it_is_what_it_says_so_far() {
        for (typed, dimensions) in [
            ("i", Some(json!(["i"]))),
            ("ip,", Some(json!(["ip"]))),
            ("ip, login", Some(json!(["ip", "login"]))),
            ("a =", None),
            ("a = ip", Some(json!([{ "name": "a", "limit": "ip" }]))),
            ("a = ip *", None),
            (
                "a = ip * 2",
                Some(json!([{ "name": "a", "limit": "ip", "weight": 2 }])),
            ),
            ("= ip", None),
            ("* 2", None),
            ("ip * two", None),
            (",", None),
        ] {
            assert_eq!(parse(typed), dimensions, "{typed}");
        }
    }
}
