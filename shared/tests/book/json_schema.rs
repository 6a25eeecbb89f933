//! The JSON Schema of the policy, for editors: the forms on the wire, and their comments as descriptions.

use serde_json::{Map, Value, json};

use crate::book::policy::{Form, WHOLE, form, title};
use crate::book::source::{Member, snake};

/// The schema with every form that a policy is made of.
pub(super) fn schema() -> Value {
    let (mut names, mut forms, mut at) = (vec![WHOLE.to_owned()], Map::new(), 0);
    while let Some(name) = names.get(at).cloned() {
        at += 1;
        let mut named = Vec::new();
        let made = match form(&name).expect("what is referred to has a form") {
            Form::Struct(says, fields) => object(&says, &fields, &mut named),
            Form::Words(says, variants) => {
                let words: Vec<Value> = variants.iter().map(word).collect();
                json!({ "description": plain(&says), "oneOf": words })
            }
            Form::Either(_) => panic!("{name} stands where it is used"),
        };
        forms.insert(title(&name).to_owned(), made);
        named.retain(|other| !names.contains(other));
        names.extend(named);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A policy of Weir",
        "$ref": reference(WHOLE),
        "$defs": forms,
    })
}

fn object(says: &str, fields: &[Member], named: &mut Vec<String>) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let mut of = held(field.holds.as_deref().unwrap_or_default(), named);
        of["description"] = json!(plain(&field.says));
        properties.insert(field.name.clone(), of);
    }
    json!({
        "description": plain(says), "type": "object", "properties": properties,
        "additionalProperties": false,
    })
}

/// A type of the code as a schema; `named` gets the forms that it refers to.
fn held(of: &str, named: &mut Vec<String>) -> Value {
    let inner = |wrapper: &str| of.strip_prefix(wrapper)?.strip_suffix('>');
    if let Some(of) = inner("Option<") {
        return json!({ "oneOf": [held(of, named), { "type": "null" }] });
    }
    if let Some(of) = inner("Box<") {
        return held(of, named);
    }
    if let Some(of) = inner("Vec<") {
        return json!({ "type": "array", "items": held(of, named) });
    }
    if let Some(of) = inner("OrderedMap<String, ") {
        return json!({ "type": "object", "additionalProperties": held(of, named) });
    }
    match of {
        "String" => return json!({ "type": "string" }),
        "bool" => return json!({ "type": "boolean" }),
        "u64" | "i64" | "EpochMs" => return json!({ "type": "integer" }),
        "Decimal" => return json!({ "type": "number" }),
        _ => {}
    }
    match form(of).unwrap_or_else(|| panic!("{of} is in none of the sources")) {
        Form::Either(variants) => {
            let either = variants.iter().map(|variant| match &variant.holds {
                Some(of) => held(of, named),
                None => word(variant),
            });
            json!({ "oneOf": either.collect::<Vec<_>>() })
        }
        _ => {
            named.push(of.to_owned());
            json!({ "$ref": reference(of) })
        }
    }
}

fn reference(form: &str) -> String {
    format!("#/$defs/{}", title(form))
}

fn word(variant: &Member) -> Value {
    json!({ "enum": [snake(&variant.name)], "description": plain(&variant.says) })
}

/// What a page says, where it is in no table.
fn plain(says: &str) -> String {
    says.replace("\\|", "|")
}
