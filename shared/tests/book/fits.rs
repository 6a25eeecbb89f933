//! Whether a value is as a JSON Schema of ours says: the keywords that these use, and no others.

use serde_json::Value;

/// Where a value strays from a part of the schema, if it does.
pub(super) fn stray(whole: &Value, of: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(reference) = of["$ref"].as_str() {
        let found = whole.pointer(&reference[1..]);
        return stray(whole, found.expect("a form that is there"), value, at);
    }
    if let Some(either) = of["oneOf"].as_array() {
        let strays: Vec<_> = either
            .iter()
            .map(|one| stray(whole, one, value, at))
            .collect();
        let fits = strays.iter().filter(|stray| stray.is_none()).count();
        let told = strays.into_iter().flatten().max_by_key(String::len);
        return (fits != 1).then(|| format!("{fits} fit; {}", told.unwrap_or_default()));
    }
    if let Some(words) = of["enum"].as_array() {
        return (!words.contains(value)).then(|| format!("{at}: {value} is none of {words:?}"));
    }
    match (of["type"].as_str().unwrap_or_default(), value) {
        ("object", Value::Object(fields)) => fields.iter().find_map(|(name, inner)| {
            let at = format!("{at}/{name}");
            match (&of["properties"][name], &of["additionalProperties"]) {
                (Value::Null, Value::Bool(false)) => Some(format!("{at} is not described")),
                (Value::Null, each) => stray(whole, each, inner, &at),
                (described, _) => stray(whole, described, inner, &at),
            }
        }),
        ("array", Value::Array(items)) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| stray(whole, &of["items"], item, &format!("{at}/{index}"))),
        ("string", Value::String(_))
        | ("number", Value::Number(_))
        | ("boolean", Value::Bool(_))
        | ("null", Value::Null) => None,
        ("integer", number) if number.is_u64() || number.is_i64() => None,
        (kind, value) => Some(format!("{at}: {value} is no {kind}")),
    }
}
