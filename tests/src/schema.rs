//! Holds answers against the schemas of the deployment's own OpenAPI document: the part of JSON Schema that it uses, and
//! no more. A keyword that is not understood is an error, so that none is passed over.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// What a schema may say here.
const KEYWORDS: [&str; 9] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "oneOf",
    "$ref",
    "description",
];

/// An OpenAPI document.
#[derive(Debug, Clone)]
pub struct OpenApi(pub Value);

impl OpenApi {
    /// The schema of a route's JSON answer with a status.
    pub fn answer(&self, method: &str, path: &str, status: u16) -> Result<&Value> {
        let operation = &self.0["paths"][path][method.to_lowercase()];
        let answer = &operation["responses"][status.to_string()];
        let content = answer["content"].as_object();
        let content = content.with_context(|| format!("{method} {path} answers no {status}"))?;
        let (_, media) = content.iter().next().context("no media type")?;
        Ok(&media["schema"])
    }

    /// Whether a value is as a schema says.
    ///
    /// # Errors
    /// Where it is not, and why.
    pub fn check(&self, schema: &Value, value: &Value) -> Result<()> {
        self.check_at(schema, value, "")
    }

    fn check_at(&self, schema: &Value, value: &Value, at: &str) -> Result<()> {
        let rules = schema.as_object().context("a schema is an object")?;
        for keyword in rules.keys() {
            ensure!(
                KEYWORDS.contains(&keyword.as_str()),
                "{at}: keyword {keyword}"
            );
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference.trim_start_matches('#');
            let found = self.0.pointer(pointer);
            let found = found.with_context(|| format!("{at}: no {reference}"))?;
            return self.check_at(found, value, at);
        }
        if let Some(one_of) = schema["oneOf"].as_array() {
            let fits = |schema: &&Value| self.check_at(schema, value, at).is_ok();
            let count = one_of.iter().filter(fits).count();
            ensure!(count == 1, "{at}: {value} is {count} of {one_of:?}");
            return Ok(());
        }
        if let Some(texts) = schema["enum"].as_array() {
            ensure!(texts.contains(value), "{at}: {value} is none of {texts:?}");
        }
        match &schema["type"] {
            Value::Null => {}
            Value::String(kind) => ensure!(is(kind, value), "{at}: {value} is no {kind}"),
            Value::Array(kinds) => {
                let fits = kinds
                    .iter()
                    .filter_map(Value::as_str)
                    .any(|kind| is(kind, value));
                ensure!(fits, "{at}: {value} is none of {kinds:?}");
            }
            other => bail!("{at}: type {other}"),
        }
        match value {
            Value::Object(fields) => self.object(schema, fields, at),
            Value::Array(items) if !schema["items"].is_null() => {
                for (index, item) in items.iter().enumerate() {
                    self.check_at(&schema["items"], item, &format!("{at}/{index}"))?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn object(
        &self,
        schema: &Value,
        fields: &serde_json::Map<String, Value>,
        at: &str,
    ) -> Result<()> {
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            ensure!(fields.contains_key(name), "{at}: {name} is missing");
        }
        for (name, value) in fields {
            let at = format!("{at}/{name}");
            match (&schema["properties"][name], &schema["additionalProperties"]) {
                (Value::Null, Value::Bool(false)) => bail!("{at} is not described"),
                (Value::Null, Value::Null) => {}
                (Value::Null, other) => self.check_at(other, value, &at)?,
                (described, _) => self.check_at(described, value, &at)?,
            }
        }
        Ok(())
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}
