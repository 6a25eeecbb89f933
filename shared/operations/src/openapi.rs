//! The interface as an OpenAPI 3.1 document, made from the table of all routes.

pub mod form;
pub mod forms;
pub mod gateway_forms;
pub mod operations;
pub mod operator_forms;

use form::Miswritten;
use forms::FORMS;
use gateway_forms::GATEWAY_FORMS;
use operations::{Answer, FORMAT, operation};
use operator_forms::OPERATOR_FORMS;
use serde_json::{Map, Value, json};
use weir_access::endpoint::{Access, ROUTES, Route};
use weir_access::session::COOKIE;
use weir_core::limits::IDEMPOTENCY_KEY_BYTES_MAX;
use weir_wire::problem::MEDIA_TYPE;

use crate::export::file_form::FileForm;

/// The document.
///
/// # Errors
/// A form that is not well written; a test goes through all of them.
pub fn document() -> Result<Value, Miswritten> {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.name().to_lowercase()] = described(route)?;
    }
    let mut schemas = Map::new();
    for (name, description, fields) in forms() {
        let mut schema = match fields.strip_prefix('=') {
            Some(form) => form::schema(form)?,
            None => form::object(fields, &fields_of)?,
        };
        schema["description"] = json!(description);
        schemas.insert((*name).to_owned(), schema);
    }
    Ok(json!({
        "openapi": "3.1.0",
        "info": { "title": "Weir", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": COOKIE },
            },
        },
    }))
}

/// Every form that has a name.
fn forms() -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
    FORMS.iter().chain(OPERATOR_FORMS).chain(GATEWAY_FORMS)
}

fn fields_of(name: &str) -> Option<&'static str> {
    let found = forms().find(|(known, ..)| *known == name);
    found.map(|(_, _, fields)| *fields)
}

fn described(route: &Route) -> Result<Value, Miswritten> {
    let operation = operation(route.endpoint);
    let mut described = json!({
        "operationId": format!("{:?}{}", route.endpoint, suffix(route)),
        "summary": operation.summary,
        "responses": responses(route)?,
    });
    let mut parameters = Vec::new();
    if let Some(name) = route.parameter() {
        parameters.push(json!({
            "name": name, "in": "path", "required": true, "schema": { "type": "string" },
        }));
    }
    for (name, form) in operation.query {
        parameters.push(json!({ "name": name, "in": "query", "schema": form::schema(form)? }));
    }
    if operation.if_match {
        parameters.push(json!({
            "name": "If-Match", "in": "header", "required": true,
            "schema": { "type": "string", "minLength": 1 },
        }));
    }
    if route.takes_key() {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header",
            "schema": { "type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_BYTES_MAX },
        }));
    }
    if !parameters.is_empty() {
        described["parameters"] = json!(parameters);
    }
    if let Some(body) = operation.body {
        described["requestBody"] = json!({
            "required": true,
            "content": { "application/json": { "schema": form::schema(body)? } },
        });
    }
    if let Access::Roles(roles) = route.access {
        let token = json!({ "token": [] });
        let session = json!({ "session": [] });
        described["security"] = if route.takes_session() {
            json!([token, session])
        } else {
            json!([token])
        };
        let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
        described["x-weir-roles"] = json!(names);
    }
    Ok(described)
}

/// Keeps the names of one endpoint's routes apart.
fn suffix(route: &Route) -> String {
    let same = ROUTES
        .iter()
        .filter(|other| other.endpoint == route.endpoint);
    let before = same.take_while(|other| *other != route).count();
    if before == 0 {
        String::new()
    } else {
        (before + 1).to_string()
    }
}

fn responses(route: &Route) -> Result<Value, Miswritten> {
    let operation = operation(route.endpoint);
    let mut responses = Map::new();
    let (status, answer) = match operation.answer {
        Answer::Json(status, form) => {
            let mut content = json!({ "application/json": { "schema": form::schema(form)? } });
            if operation.query.contains(&FORMAT) {
                for file in [FileForm::Csv, FileForm::JsonLines] {
                    content[file.media_type()] = text_of_any_kind();
                }
            }
            (
                status,
                json!({ "description": "Done.", "content": content }),
            )
        }
        Answer::Text(media) => {
            let content = match media {
                "application/json" => json!({ media: {} }),
                _ => json!({ media: text_of_any_kind() }),
            };
            (200, json!({ "description": "Done.", "content": content }))
        }
        Answer::Empty(status) => (status, json!({ "description": "Done." })),
        Answer::Socket => (101, json!({ "description": "A WebSocket." })),
    };
    responses.insert(status.to_string(), answer);
    let problem = json!({ "$ref": "#/components/schemas/Problem" });
    let refused = json!({
        "description": "Refused.", "content": { MEDIA_TYPE: { "schema": problem } },
    });
    let everywhere: &[u16] = match route.access {
        Access::Public => &[],
        Access::Roles(_) => &[401, 403, 429, 503],
    };
    // While the first is being answered, and for a key that stands for another body.
    let of_keys: &[u16] = match route.takes_key() {
        true => &[409, 422],
        false => &[],
    };
    for status in everywhere.iter().chain(operation.refusals).chain(of_keys) {
        responses.insert(status.to_string(), refused.clone());
    }
    Ok(Value::Object(responses))
}

/// What is no JSON: generators of clients give it out as text.
fn text_of_any_kind() -> Value {
    json!({ "schema": { "type": "string" } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    if name == "$ref" {
                        found.extend(inner.as_str().map(str::to_owned));
                    }
                    references(inner, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_route_of_the_table_is_in_the_document_with_its_roles_and_nothing_else_is() {
        let document = document().unwrap();
        let mut described = 0;
        for methods in document["paths"].as_object().unwrap().values() {
            described += methods.as_object().unwrap().len();
        }
        assert_eq!(described, ROUTES.len());
        for route in ROUTES {
            let method = route.method.name().to_lowercase();
            let operation = &document["paths"][route.path][&method];
            assert!(
                operation["responses"].is_object(),
                "{method} {}",
                route.path
            );
            let summary = operation["summary"].as_str().unwrap();
            assert!(!summary.is_empty(), "{method} {}", route.path);
            match route.access {
                Access::Public => assert!(operation.get("security").is_none()),
                Access::Roles(roles) => {
                    let named = operation["x-weir-roles"].as_array().unwrap();
                    assert_eq!(named.len(), roles.len(), "{method} {}", route.path);
                }
            }
        }
    }

    #[test]
    fn every_form_that_is_named_is_there_and_every_form_that_is_there_is_named() {
        let document = document().unwrap();
        let mut found = Vec::new();
        references(&document, &mut found);
        for reference in &found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        let spread: Vec<&str> = forms().map(|(_, _, fields)| *fields).collect();
        for (name, ..) in forms() {
            let whole = format!("#/components/schemas/{name}");
            let parts = format!("...{name}");
            let used =
                found.contains(&whole) || spread.iter().any(|fields| fields.contains(&parts));
            assert!(used, "{name} is used nowhere");
        }
    }

    #[test]
    fn no_two_forms_have_one_name() {
        let mut names = weir_core::ordered::OrderedSet::new();
        for (name, ..) in forms() {
            assert!(names.insert(name), "{name}");
        }
    }

    #[test]
    fn names_of_operations_are_unique() {
        let document = document().unwrap();
        let mut names = weir_core::ordered::OrderedSet::new();
        for methods in document["paths"].as_object().unwrap().values() {
            for operation in methods.as_object().unwrap().values() {
                let name = operation["operationId"].as_str().unwrap();
                assert!(names.insert(name.to_owned()), "{name}");
            }
        }
    }
}
