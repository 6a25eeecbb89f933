//! What becomes of requests that no route takes.

use serde_json::{Value, json};

use super::fields::{Field, Kind, field};

/// Where it stands in the document.
pub const UNROUTED: &str = "/unrouted";

/// Where the origin stands that they are forwarded to.
pub const FORWARD: &str = "/unrouted/forward";

/// The choices: values and what they are called.
pub const CHOICES: [(&str, &str); 2] = [
    ("refuse", "refused, with 404"),
    ("forward", "forwarded, and charged to nobody"),
];

/// The fields of the origin.
pub const FIELDS: [Field; 3] = [
    field(
        "url",
        "Origin of the others",
        Kind::Text,
        "Where they go, such as https://www.example.com.",
    ),
    field(
        "strip_prefix",
        "Strip of the others",
        Kind::Text,
        "The beginning of the path that the origin does not get.",
    ),
    field(
        "timeout_ms",
        "Wait for their origin",
        Kind::Duration,
        "For how long an answer is waited for.",
    ),
];

/// Which of the choices a document says.
pub fn chosen(value: Option<&Value>) -> &'static str {
    match value.and_then(|value| value.get("forward")) {
        Some(_) => CHOICES[1].0,
        None => CHOICES[0].0,
    }
}

/// The document's value with another choice. An origin that is there stays.
pub fn with(value: Option<&Value>, choice: &str) -> Value {
    match choice {
        "forward" if chosen(value) == "forward" => value.cloned().unwrap_or_default(),
        "forward" => json!({ "forward": { "url": "https://origin.example.com" } }),
        _ => json!("refuse"),
    }
}

/// It in a line, to read.
pub fn words(value: Option<&Value>) -> String {
    let url = value.and_then(|value| value.pointer("/forward/url"));
    match url.and_then(Value::as_str) {
        Some(url) => format!("forwarded to {url}, and charged to nobody"),
        None => CHOICES[0].1.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::policy::PolicyDocument;

    use super::*;
    use crate::features::policy::model::draft::PolicyDraft;

    #[test]
    fn both_choices_could_be_saved_at_once_and_are_read_again() {
        let document: PolicyDocument =
            serde_json::from_str(include_str!("../../../../../policy.json")).unwrap();
        let mut draft = PolicyDraft::new(&document, "\"1\"");
        for (choice, _) in CHOICES {
            let value = with(draft.at(UNROUTED), choice);
            draft.put(UNROUTED, Some(value));
            draft.check().unwrap();
            assert_eq!(chosen(draft.at(UNROUTED)), choice);
        }
        draft.put(&format!("{FORWARD}/timeout_ms"), Some(json!(5_000)));
        draft.check().unwrap();
        let kept = with(draft.at(UNROUTED), "forward");
        assert_eq!(kept["forward"]["timeout_ms"], 5_000);
        assert_eq!(
            words(Some(&kept)),
            "forwarded to https://origin.example.com, and charged to nobody"
        );
        assert_eq!(words(None), "refused, with 404");
    }

    #[test]
    fn every_field_is_one_of_the_document() {
        let document = weir_shared::openapi::document().unwrap();
        let known = &document["components"]["schemas"]["RouteOrigin"]["properties"];
        for field in FIELDS {
            assert!(known.get(field.name).is_some(), "{}", field.name);
        }
    }
}
