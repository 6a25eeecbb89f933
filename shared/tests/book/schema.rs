//! Forms of JSON as tables of a page.

use serde_json::{Map, Value};

/// A form in words; `link` says where one that has a name is told.
pub(super) fn words(schema: &Value, link: &dyn Fn(&str) -> String) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        return format!("[{name}]({})", link(name));
    }
    if let Some(texts) = schema["enum"].as_array() {
        let texts = texts.iter().map(|text| format!("`{text}`"));
        return either(texts.collect());
    }
    if let Some(forms) = schema["oneOf"].as_array() {
        return either(forms.iter().map(|form| words(form, link)).collect());
    }
    match &schema["type"] {
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            either(kinds.map(|kind| of_type(kind, schema, link)).collect())
        }
        Value::String(kind) => of_type(kind, schema, link),
        _ => "any".to_owned(),
    }
}

fn of_type(kind: &str, schema: &Value, link: &dyn Fn(&str) -> String) -> String {
    match kind {
        "array" => format!("list of {}", words(&schema["items"], link)),
        "object" if schema["additionalProperties"].is_object() => {
            format!("map of {}", words(&schema["additionalProperties"], link))
        }
        kind => kind.to_owned(),
    }
}

fn either(forms: Vec<String>) -> String {
    forms.join(" or ")
}

/// A section: the form's name, what it is, and its fields.
pub(super) fn section(name: &str, schema: &Value, link: &dyn Fn(&str) -> String) -> String {
    let description = schema["description"]
        .as_str()
        .expect("every form says what it is");
    let mut text = format!("### {name}\n\n{description}\n\n");
    match schema["properties"].as_object() {
        Some(fields) if !fields.is_empty() => {
            text.push_str(&table(fields, &schema["required"], link))
        }
        Some(_) => {}
        None => text.push_str(&format!("{}\n\n", words(schema, link))),
    }
    text
}

fn table(fields: &Map<String, Value>, required: &Value, link: &dyn Fn(&str) -> String) -> String {
    let mut text = "| field | form | |\n| --- | --- | --- |\n".to_owned();
    for (name, form) in fields {
        let needed = required
            .as_array()
            .is_some_and(|names| names.iter().any(|known| known == name));
        let needed = if needed { "required" } else { "" };
        text.push_str(&format!(
            "| `{name}` | {} | {needed} |\n",
            words(form, link)
        ));
    }
    text.push('\n');
    text
}

/// The names of forms that a form refers to, in any depth of itself.
pub(super) fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                if let (true, Some(reference)) = (name == "$ref", inner.as_str()) {
                    found.extend(reference.rsplit('/').next().map(str::to_owned));
                }
                references(inner, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}
