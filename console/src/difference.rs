//! What differs between two documents, value by value, each at its JSON pointer.

use serde_json::{Map, Value};
use weir_shared::audit::changes::{changes, side_by_side};

use crate::format::{count, counted, length};
use crate::instant::{TimeZone, date_time};
use crate::visible::visible;

/// One value that differs. `None` is a value that is not there.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Where it stands (RFC 6901); empty for the whole document.
    pub pointer: String,
    /// What was there.
    pub before: Option<Value>,
    /// What is there.
    pub after: Option<Value>,
}

impl Row {
    /// `added`, `removed` or `changed`.
    pub fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        }
    }

    /// Whether it stands for values of which the audit log has kept a hash alone.
    pub fn is_hashed(&self) -> bool {
        let sides = [&self.before, &self.after];
        sides
            .into_iter()
            .flatten()
            .any(|side| hashed(side).is_some())
    }
}

/// What differs, in the order of the pointers.
///
/// ```
/// use serde_json::json;
/// use weir_console::difference::difference;
/// let rows = difference(&json!({ "a": { "b": 1 }, "c": 2 }), &json!({ "a": { "b": 3 }, "d": 4 }));
/// let told: Vec<_> = rows.iter().map(|row| (row.pointer.as_str(), row.kind())).collect();
/// assert_eq!(told, [("/a/b", "changed"), ("/c", "removed"), ("/d", "added")]);
/// ```
pub fn difference(before: &Value, after: &Value) -> Vec<Row> {
    let (was, is) = changes(before, after);
    rows(&was, &is)
}

/// The rows of what the audit log keeps of a change: the values of both sides by pointer.
pub fn of_changes(was: &Value, is: &Value) -> Vec<Row> {
    let empty = Map::new();
    rows(
        was.as_object().unwrap_or(&empty),
        is.as_object().unwrap_or(&empty),
    )
}

fn rows(was: &Map<String, Value>, is: &Map<String, Value>) -> Vec<Row> {
    let rows = side_by_side(was, is).map(|(pointer, before, after)| Row {
        pointer: pointer.to_owned(),
        before: before.cloned(),
        after: after.cloned(),
    });
    rows.collect()
}

/// Puts a value where the pointer says, or takes it away. Objects on the way to it are made. An entry of a list is reached
/// where it is; the list gets none.
pub fn set(document: &mut Value, pointer: &str, value: Option<Value>) {
    let Some((parent, name)) = pointer.rsplit_once('/') else {
        *document = value.unwrap_or(Value::Null);
        return;
    };
    let mut at = document;
    for step in parent.split('/').skip(1) {
        at = match place(at, step) {
            Some(index) => &mut at[index],
            None => object(at).entry(unescaped(step)).or_insert(Value::Null),
        };
    }
    match (place(at, name), value) {
        (Some(index), value) => at[index] = value.unwrap_or(Value::Null),
        (None, Some(value)) => {
            object(at).insert(unescaped(name), value);
        }
        (None, None) => {
            object(at).remove(&unescaped(name));
        }
    }
}

/// The place in a list that a step names, if the list has it.
fn place(value: &Value, step: &str) -> Option<usize> {
    let index = step.parse().ok()?;
    (index < value.as_array()?.len()).then_some(index)
}

/// The value as an object, made one where it was none.
fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was made an object"),
    }
}

/// The names on the way to a value.
///
/// ```
/// assert_eq!(weir_console::difference::steps("/tenants/a~1b/weight"), ["tenants", "a/b", "weight"]);
/// ```
pub fn steps(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(unescaped).collect()
}

/// The pointer as people read it: `tenants › a/b › weight`.
pub fn words(pointer: &str) -> String {
    if pointer.is_empty() {
        return "the whole document".to_owned();
    }
    visible(&steps(pointer).join(" › "))
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// A value on one line: texts without quotes, whole numbers with separators, of what the audit log only counts how many
/// they are, all else as JSON.
pub fn shown(value: Option<&Value>) -> String {
    match value {
        None => "not set".to_owned(),
        Some(Value::Null) => "null".to_owned(),
        Some(Value::String(text)) => visible(text),
        Some(Value::Number(number)) => match number.as_u64() {
            Some(whole) => count(whole.into()),
            None => number.to_string(),
        },
        Some(value) => match hashed(value) {
            Some(count) => format!("{}, kept by hash", counted(count, "value")),
            None => visible(&value.to_string()),
        },
    }
}

/// A value on one line as its field is read: instants as dates in `zone`, lengths of time with their unit, all else as
/// [`shown`] has it.
///
/// ```
/// use serde_json::json;
/// use weir_console::difference::shown_at;
/// use weir_console::instant::TimeZone;
/// let shown = |pointer, value| shown_at(pointer, Some(&value), TimeZone::UTC);
/// assert_eq!(shown("/budgets/tokens/window_ms", json!(60_000)), "1 min");
/// assert_eq!(shown("/tenants/a/overrides/0/expires_at", json!(0)), "1970-01-01 00:00:00 UTC");
/// assert_eq!(shown("/budgets/tokens/limit", json!(60_000)), "60,000");
/// ```
pub fn shown_at(pointer: &str, value: Option<&Value>, zone: TimeZone) -> String {
    let field = pointer.rsplit('/').next().unwrap_or_default();
    match value.and_then(Value::as_u64) {
        Some(ms) if field.ends_with("_ms") => length(ms),
        Some(at_ms) if is_instant(field) => date_time(at_ms, zone),
        _ => shown(value),
    }
}

/// A value on several lines as its fields are read: an object a line a field, a list a line an entry. A field that is null
/// says nothing and has no line, unless all are. None for a value of one line.
pub fn lines_at(pointer: &str, value: &Value, zone: TimeZone) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    match value {
        Value::Object(map) if !map.is_empty() && hashed(value).is_none() => {
            let silent = map.values().all(Value::is_null);
            for (name, inner) in map.iter().filter(|(_, inner)| silent || !inner.is_null()) {
                add_lines(
                    &mut lines,
                    &visible(name),
                    &format!("{pointer}/{name}"),
                    inner,
                    zone,
                );
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for (place, inner) in list.iter().enumerate() {
                let at = format!("{pointer}/{place}");
                match lines_at(&at, inner, zone) {
                    Some(inner) => lines.push(inner.join(", ")),
                    None => lines.push(shown_at(&at, Some(inner), zone)),
                }
            }
        }
        _ => return None,
    }
    Some(lines)
}

fn add_lines(lines: &mut Vec<String>, name: &str, pointer: &str, value: &Value, zone: TimeZone) {
    match lines_at(pointer, value, zone) {
        None => lines.push(format!("{name}: {}", shown_at(pointer, Some(value), zone))),
        Some(inner) => lines.extend(inner.into_iter().map(|line| format!("{name} › {line}"))),
    }
}

/// Whether a field is an instant, in epoch milliseconds.
fn is_instant(field: &str) -> bool {
    field.ends_with("_at") || matches!(field, "anchor" | "from" | "until")
}

/// How many values the audit log has not kept of a large change, where it says so.
fn hashed(value: &Value) -> Option<usize> {
    value.get("sha256")?;
    usize::try_from(value.get("values")?.as_u64()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_differ_as_a_whole_and_objects_inside_out() {
        let before = json!({ "regions": ["a", "b"], "tiers": { "free": { "weight": 1 } } });
        let after = json!({ "regions": ["a"], "tiers": { "free": { "weight": 2 }, "pro": { "weight": 4 } } });
        let rows = difference(&before, &after);
        let pointers: Vec<_> = rows.iter().map(|row| row.pointer.as_str()).collect();
        assert_eq!(pointers, ["/regions", "/tiers/free/weight", "/tiers/pro"]);
        assert_eq!(rows[0].before, Some(json!(["a", "b"])));
        assert_eq!(rows[2].before, None);
        assert!(difference(&before, &before).is_empty());
    }

    #[test]
    fn names_and_values_are_shown_with_what_nobody_sees_of_them() {
        assert_eq!(words("/tenants/ac\u{200b}me"), "tenants › ac⟨U+200B⟩me");
        assert_eq!(shown(Some(&json!("\u{202e}live"))), "⟨U+202E⟩live");
        assert_eq!(shown(Some(&json!(["\u{2066}a"]))), "[\"⟨U+2066⟩a\"]");
    }

    #[test]
    fn values_are_put_and_taken_where_the_pointer_says() {
        for (pointer, value, expected) in [
            ("/a/b", Some(json!(2)), json!({ "a": { "b": 2 } })),
            ("/a/b", None, json!({ "a": {} })),
            ("/a", None, json!({})),
            (
                "/x/y~1z",
                Some(json!([])),
                json!({ "a": { "b": 1 }, "x": { "y/z": [] } }),
            ),
            (
                "/a/b/c",
                Some(json!(3)),
                json!({ "a": { "b": { "c": 3 } } }),
            ),
            ("", Some(json!(7)), json!(7)),
        ] {
            let mut document = json!({ "a": { "b": 1 } });
            set(&mut document, pointer, value);
            assert_eq!(document, expected, "{pointer}");
        }
    }

    #[test]
    fn an_entry_of_a_list_is_changed_where_it_is() {
        let mut document = json!({ "routes": [{ "path": "/a" }, { "path": "/b" }] });
        set(&mut document, "/routes/1/origin/url", Some(json!("x")));
        set(&mut document, "/routes/0/path", None);
        let changed = json!({ "routes": [{}, { "path": "/b", "origin": { "url": "x" } }] });
        assert_eq!(document, changed);
        set(&mut document, "/routes/0", Some(json!({ "path": "/c" })));
        assert_eq!(document["routes"][0], json!({ "path": "/c" }));
    }

    #[test]
    fn applying_a_difference_leads_from_one_document_to_the_other_and_back() {
        let one = json!({ "a": { "b": 1, "l": [1, 2] }, "c": "x", "n/m": { "~": 0 } });
        let other = json!({ "a": { "b": 2, "l": [2] }, "n/m": {}, "d": { "e": {} } });
        let (mut forth, mut back) = (one.clone(), other.clone());
        for row in difference(&one, &other) {
            set(&mut forth, &row.pointer, row.after);
            set(&mut back, &row.pointer, row.before);
        }
        assert_eq!(forth, other);
        assert_eq!(back, one);
    }

    #[test]
    fn values_are_shown_on_one_line() {
        for (value, text) in [
            (None, "not set"),
            (Some(json!(null)), "null"),
            (Some(json!(30_000)), "30,000"),
            (Some(json!(0.5)), "0.5"),
            (Some(json!(-3)), "-3"),
            (Some(json!("paced")), "paced"),
            (Some(json!({ "weight": 2 })), r#"{"weight":2}"#),
            (Some(json!(true)), "true"),
        ] {
            assert_eq!(shown(value.as_ref()), text);
        }
        assert_eq!(words("/budgets/tokens/limit"), "budgets › tokens › limit");
        assert_eq!(words(""), "the whole document");
    }

    #[test]
    fn values_of_several_parts_are_read_line_by_line() {
        let tenant = json!({
            "weight": 2,
            "tier": null,
            "overrides": [{ "expires_at": 60_000, "starts_at": null, "weight": 9 }, { "expires_at": 0 }],
            "meters": { "bytes": { "max_debt_ms": 1_500 } },
        });
        let lines = lines_at("/tenants/a", &tenant, TimeZone::UTC).unwrap();
        assert_eq!(
            lines,
            [
                "meters › bytes › max_debt_ms: 1,500 ms",
                "overrides › expires_at: 1970-01-01 00:01:00 UTC, weight: 9",
                "overrides › expires_at: 1970-01-01 00:00:00 UTC",
                "weight: 2",
            ]
        );
        assert_eq!(
            lines_at("/tenants/a", &json!({ "tier": null }), TimeZone::UTC).unwrap(),
            ["tier: null"]
        );
        assert_eq!(
            lines_at("/regions", &json!(["weur", "enam"]), TimeZone::UTC).unwrap(),
            ["weur", "enam"]
        );
        for one in [
            json!(1),
            json!({}),
            json!([]),
            json!({ "sha256": "a", "values": 3 }),
        ] {
            assert_eq!(lines_at("", &one, TimeZone::UTC), None, "{one}");
        }
    }

    #[test]
    fn what_is_kept_of_a_change_reads_as_rows() {
        let rows = of_changes(&json!({ "/a": 1, "/b": 2 }), &json!({ "/a": 3, "/c": 4 }));
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.pointer.as_str(), row.kind()))
            .collect();
        assert_eq!(
            told,
            [("/a", "changed"), ("/b", "removed"), ("/c", "added")]
        );
        assert!(of_changes(&Value::Null, &Value::Null).is_empty());
        let rest = json!({ "sha256": "ab", "bytes": 9, "values": 1_200 });
        assert_eq!(shown(Some(&rest)), "1,200 values, kept by hash");
    }
}
