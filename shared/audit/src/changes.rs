//! What a change changed: the values that differ, each at its JSON pointer. Whole documents stay out of the log.

use serde_json::{Map, Value, json};
use weir_core::json::pointer::step;
use weir_core::ordered::{OrderedMap, OrderedSet};

use super::sha256_hex;

/// What differs between two documents: what only the first has, or has otherwise, and the same of the second.
///
/// ```
/// use serde_json::json;
/// let before = json!({ "limit": 5, "scope": "region", "old": 1 });
/// let after = json!({ "limit": 7, "scope": "region" });
/// let (was, is) = weir_audit::changes::changes(&before, &after);
/// assert_eq!(json!(was), json!({ "/limit": 5, "/old": 1 }));
/// assert_eq!(json!(is), json!({ "/limit": 7 }));
/// ```
#[must_use]
pub fn changes(before: &Value, after: &Value) -> (Map<String, Value>, Map<String, Value>) {
    let (mut was, mut is) = (Map::new(), Map::new());
    compare("", before, after, &mut was, &mut is);
    (was, is)
}

/// The values of both sides of a change, in the order of their pointers.
///
/// ```
/// use serde_json::json;
/// use weir_audit::changes::{changes, side_by_side};
/// let (was, is) = changes(&json!({ "a": 1, "b": 2 }), &json!({ "a": 3, "c": 4 }));
/// let told: Vec<_> = side_by_side(&was, &is).map(|(pointer, ..)| pointer).collect();
/// assert_eq!(told, ["/a", "/b", "/c"]);
/// ```
pub fn side_by_side<'a>(
    was: &'a Map<String, Value>,
    is: &'a Map<String, Value>,
) -> impl Iterator<Item = (&'a str, Option<&'a Value>, Option<&'a Value>)> {
    let pointers: OrderedSet<&String> = was.keys().chain(is.keys()).collect();
    let pairs = pointers.into_iter();
    pairs.map(|pointer| (pointer.as_str(), was.get(pointer), is.get(pointer)))
}

/// What the text of a record has, one or the other, if what it tells of changed anything of a tenant: the pointer to the
/// tenant, and the beginning of those into it, as they stand in JSON.
///
/// ```
/// use weir_audit::changes::of_tenant;
/// assert_eq!(of_tenant("a/b"), ["\"/tenants/a~1b\"", "\"/tenants/a~1b/"]);
/// ```
#[must_use]
pub fn of_tenant(name: &str) -> [String; 2] {
    let pointer = Value::from(format!("/tenants{}", step(name))).to_string();
    let into = pointer.strip_suffix('"').unwrap_or(&pointer);
    let into = format!("{into}/");
    [pointer, into]
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

/// One side of a change, in so many bytes of JSON. Where it has more, every section of the document (the first step of the
/// pointers) has an equal share: its short values stay, and of the rest it says the hash, the length and how many they are.
/// So a change of a thousand limits does not hide that of a single setting.
///
/// ```
/// use serde_json::{Map, Value, json};
/// use weir_audit::changes::in_sections;
/// let mut values: Map<String, Value> = Map::new();
/// for number in 0..100 {
///     values.insert(format!("/tenants/{number}/weight"), json!(5));
/// }
/// values.insert("/unrouted".to_owned(), json!("forward"));
/// let bounded = in_sections(values, 500);
/// assert_eq!(bounded["/unrouted"], "forward");
/// assert_eq!(bounded["/tenants/0/weight"], 5);
/// assert_eq!(bounded["/tenants"]["values"], 96);
/// assert!(bounded.to_string().len() <= 500);
/// ```
#[must_use]
pub fn in_sections(values: Map<String, Value>, bytes_max: usize) -> Value {
    if bytes(&values) <= bytes_max {
        return Value::Object(values);
    }
    let mut sections: OrderedMap<String, Map<String, Value>> = OrderedMap::new();
    for (pointer, value) in values {
        let end = pointer.get(1..).and_then(|rest| rest.find('/'));
        let section = pointer.get(..end.map_or(pointer.len(), |end| end + 1));
        let section = section.unwrap_or_default().to_owned();
        sections.entry(section).or_default().insert(pointer, value);
    }
    let share = bytes_max / sections.len().max(1);
    let mut kept = Map::new();
    for (name, section) in sections {
        kept.append(&mut short(&name, section, share));
    }
    Value::Object(kept)
}

/// A section in so many bytes.
fn short(name: &str, section: Map<String, Value>, bytes_max: usize) -> Map<String, Value> {
    if bytes(&section) <= bytes_max {
        return section;
    }
    let mut entries: Vec<_> = section.into_iter().collect();
    entries.sort_by_cached_key(|(_, value)| value.to_string().len());
    let (mut kept, mut rest) = (Map::new(), Map::new());
    let mut left = bytes_max.saturating_sub(REST_BYTES + name.len());
    for (pointer, value) in entries {
        let entry = json!({ pointer.as_str(): value }).to_string().len();
        match left.checked_sub(entry) {
            Some(less) => {
                left = less;
                kept.insert(pointer, value);
            }
            None => {
                left = 0;
                rest.insert(pointer, value);
            }
        }
    }
    let count = rest.len();
    let mut said = bounded(Value::Object(rest), 0);
    if let Some(said) = said.as_object_mut() {
        said.insert("values".to_owned(), json!(count));
    }
    kept.insert(name.to_owned(), said);
    kept
}

/// Bytes of what is said of the rest of a section: a hash of 64, two numbers of at most 8, and their names.
const REST_BYTES: usize = 128;

fn bytes(values: &Map<String, Value>) -> usize {
    json!(values).to_string().len()
}

/// The value, or, of one that has more bytes as JSON than a record takes, its hash and its length.
///
/// ```
/// use serde_json::json;
/// use weir_audit::changes::bounded;
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
