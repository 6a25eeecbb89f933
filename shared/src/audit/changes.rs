//! What a change changed: the values that differ, each at its JSON pointer. Whole documents stay out of the log.

use serde_json::{Map, Value, json};

use super::sha256_hex;
use crate::invalid::step;

/// What differs between two documents: what only the first has, or has otherwise, and the same of the second.
///
/// ```
/// use serde_json::json;
/// let before = json!({ "limit": 5, "scope": "region", "old": 1 });
/// let after = json!({ "limit": 7, "scope": "region" });
/// let (was, is) = weir_shared::audit::changes::changes(&before, &after);
/// assert_eq!(was, json!({ "/limit": 5, "/old": 1 }));
/// assert_eq!(is, json!({ "/limit": 7 }));
/// ```
#[must_use]
pub fn changes(before: &Value, after: &Value) -> (Value, Value) {
    let (mut was, mut is) = (Map::new(), Map::new());
    compare("", before, after, &mut was, &mut is);
    (Value::Object(was), Value::Object(is))
}

fn compare(
    at: &str,
    before: &Value,
    after: &Value,
    was: &mut Map<String, Value>,
    is: &mut Map<String, Value>,
) {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            was.insert(at.to_owned(), before.clone());
            is.insert(at.to_owned(), after.clone());
        }
        return;
    };
    for (name, before) in old {
        let at = format!("{at}{}", step(name));
        match new.get(name) {
            Some(after) => compare(&at, before, after, was, is),
            None => {
                was.insert(at, before.clone());
            }
        }
    }
    for (name, after) in new {
        if !old.contains_key(name) {
            is.insert(format!("{at}{}", step(name)), after.clone());
        }
    }
}

/// The value, or, of one that has more bytes as JSON than a record takes, its hash and its length.
///
/// ```
/// use serde_json::json;
/// use weir_shared::audit::changes::bounded;
/// assert_eq!(bounded(json!({ "a": 1 }), 100), json!({ "a": 1 }));
/// assert_eq!(bounded(json!("x".repeat(200)), 100)["bytes"], json!(202));
/// ```
#[must_use]
pub fn bounded(value: Value, bytes_max: usize) -> Value {
    let text = value.to_string();
    if text.len() <= bytes_max {
        return value;
    }
    json!({ "sha256": sha256_hex(&text), "bytes": text.len() })
}
