//! Forms of JSON, written short, as the JSON Schema of OpenAPI 3.1.
//!
//! | written | means |
//! | --- | --- |
//! | `string` `integer` `number` `boolean` `null` `any` | that type |
//! | `Name` | the form of that name |
//! | `[form]` `{form}` | a list, a map by names |
//! | `'word'` | that text |
//! | `one or other` | either |
//! | `form?` | or null |
//! | `name: form, other?: form, ...Name` | an object with these fields and no others: one needed, one optional, and those of another form |
//! | `...Name!, name?: form` | an object with those of another form, all needed, but for what is said of one of them after that |

use serde_json::{Map, Value, json};

/// Where the forms are found that have names.
const REFERENCE: &str = "#/components/schemas/";

/// What is wrong with a form as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miswritten(pub String);

/// The schema of an object that is written as its fields; `named` finds the fields of another.
///
/// # Errors
/// What cannot be read.
///
/// ```
/// use weir_operations::openapi::form::object;
/// let schema = object("name: string, weight?: number?", &|_| None).unwrap();
/// assert_eq!(schema["required"], serde_json::json!(["name"]));
/// assert_eq!(schema["properties"]["weight"]["type"], serde_json::json!(["number", "null"]));
/// assert_eq!(schema["additionalProperties"], false);
/// ```
pub fn object(
    fields: &str,
    named: &dyn Fn(&str) -> Option<&'static str>,
) -> Result<Value, Miswritten> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    collect(fields, named, false, &mut properties, &mut required)?;
    Ok(json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    }))
}

/// Takes the fields into those of an object; with `all_needed` also those that may be absent where they are written.
fn collect(
    fields: &str,
    named: &dyn Fn(&str) -> Option<&'static str>,
    all_needed: bool,
    properties: &mut Map<String, Value>,
    required: &mut Vec<String>,
) -> Result<(), Miswritten> {
    for field in parts(fields) {
        if let Some(name) = field.strip_prefix("...") {
            let whole = name.strip_suffix('!');
            let name = whole.unwrap_or(name);
            let of = named(name).ok_or_else(|| Miswritten(format!("no form {name}")))?;
            collect(of, named, whole.is_some(), properties, required)?;
            continue;
        }
        let (name, form) = field
            .split_once(':')
            .ok_or_else(|| Miswritten(field.to_owned()))?;
        let name = name.trim();
        let optional = name.strip_suffix('?');
        let name = optional.unwrap_or(name);
        let before = required.iter().position(|known| known == name);
        match (all_needed || optional.is_none(), before) {
            (true, None) => required.push(name.to_owned()),
            (false, Some(at)) => {
                required.remove(at);
            }
            _ => {}
        }
        properties.insert(name.to_owned(), schema(form)?);
    }
    Ok(())
}

/// The fields of an object: what stands between the commas that are in no bracket.
fn parts(fields: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (at, c) in fields.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(fields[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(fields[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// The schema of a form.
///
/// # Errors
/// What cannot be read.
pub fn schema(form: &str) -> Result<Value, Miswritten> {
    let form = form.trim();
    if let Some(inner) = form.strip_suffix('?') {
        let mut schema = schema(inner)?;
        return Ok(match schema.get("type").and_then(Value::as_str) {
            Some(kind) if schema.get("enum").is_none() => {
                schema["type"] = json!([kind, "null"]);
                schema
            }
            _ => json!({ "oneOf": [schema, { "type": "null" }] }),
        });
    }
    let alternatives: Vec<&str> = form.split(" or ").collect();
    if alternatives.len() > 1 && brackets_close(&alternatives) {
        let texts: Option<Vec<&str>> = alternatives.iter().map(|one| quoted(one)).collect();
        if let Some(texts) = texts {
            return Ok(json!({ "type": "string", "enum": texts }));
        }
        let schemas: Result<Vec<Value>, _> = alternatives.into_iter().map(schema).collect();
        return Ok(json!({ "oneOf": schemas? }));
    }
    if let Some(inner) = within(form, '[', ']') {
        return Ok(json!({ "type": "array", "items": schema(inner)? }));
    }
    if let Some(inner) = within(form, '{', '}') {
        return Ok(json!({ "type": "object", "additionalProperties": schema(inner)? }));
    }
    if let Some(text) = quoted(form) {
        return Ok(json!({ "type": "string", "enum": [text] }));
    }
    match form {
        "string" | "integer" | "number" | "boolean" | "null" => Ok(json!({ "type": form })),
        "any" => Ok(json!({})),
        name if name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric()) =>
        {
            Ok(json!({ "$ref": format!("{REFERENCE}{name}") }))
        }
        other => Err(Miswritten(other.to_owned())),
    }
}

fn brackets_close(parts: &[&str]) -> bool {
    let closes = |part: &&str| {
        let count = |c| part.matches(c).count();
        count('[') == count(']') && count('{') == count('}')
    };
    parts.iter().all(closes)
}

fn within(form: &str, open: char, close: char) -> Option<&str> {
    form.strip_prefix(open)?.strip_suffix(close)
}

fn quoted(form: &str) -> Option<&str> {
    form.trim().strip_prefix('\'')?.strip_suffix('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_become_the_schemas_that_they_stand_for() {
        for (form, expected) in [
            ("string", json!({ "type": "string" })),
            (
                "[integer]",
                json!({ "type": "array", "items": { "type": "integer" } }),
            ),
            (
                "{Tally?}",
                json!({ "type": "object", "additionalProperties": {
                    "oneOf": [{ "$ref": "#/components/schemas/Tally" }, { "type": "null" }]
                } }),
            ),
            (
                "'a' or 'b'",
                json!({ "type": "string", "enum": ["a", "b"] }),
            ),
            (
                "integer or 'unlimited'",
                json!({ "oneOf": [{ "type": "integer" }, { "type": "string", "enum": ["unlimited"] }] }),
            ),
            ("integer?", json!({ "type": ["integer", "null"] })),
            ("any", json!({})),
        ] {
            assert_eq!(schema(form).unwrap(), expected, "{form}");
        }
        for miswritten in ["text", "[integer", "", "tally", "a b"] {
            assert!(schema(miswritten).is_err(), "{miswritten:?}");
        }
    }

    #[test]
    fn an_object_takes_over_the_fields_of_another() {
        let named = |name: &str| (name == "Page").then_some("page: integer, total?: integer");
        let schema = object("...Page, list: [{integer}]", &named).unwrap();
        assert_eq!(schema["required"], json!(["page", "list"]));
        assert!(schema["properties"].get("total").is_some());
        let schema = object("...Page!, page: string", &named).unwrap();
        assert_eq!(schema["required"], json!(["page", "total"]));
        assert_eq!(schema["properties"]["page"]["type"], "string");
        let schema = object("...Page!, page?: integer", &named).unwrap();
        assert_eq!(schema["required"], json!(["total"]));
        assert!(object("...Nothing", &named).is_err());
        assert!(object("name", &named).is_err());
    }
}
