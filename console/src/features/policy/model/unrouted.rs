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

/// Where requests go.
pub const ORIGIN: Field = field(
    "url",
    "Origin",
    Kind::Text,
    "Where requests go, such as https://models.example.com.",
);

/// What is taken off a path.
pub const STRIP_PREFIX: Field = field(
    "strip_prefix",
    "Strip prefix",
    Kind::Text,
    "Removed from the start of the path before the request goes to the origin, such as /llm.",
);

/// How long an origin may take.
pub const TIMEOUT: Field = field(
    "timeout_ms",
    "Timeout",
    Kind::Duration,
    "How long the origin may take to begin its answer; 30 s by default.",
);

/// The fields of the origin.
pub const FIELDS: [Field; 3] = [ORIGIN, STRIP_PREFIX, TIMEOUT];

/// Which of the choices a document says.
pub fn chosen(value: Option<&Value>) -> &'static str {
    match value.and_then(|value| value.get("forward")) {
        Some(_) => CHOICES[1].0,
        None => CHOICES[0].0,
    }
}

/// The document's value with another choice. Who forwards goes on with an origin: the first that one of these values has, with
/// all that it says.
///
/// ```
/// use serde_json::json;
/// use weir_console::features::policy::model::unrouted::with;
/// let before = json!({ "forward": { "url": "https://www.example.com", "timeout_ms": 5_000 } });
/// assert_eq!(with("refuse", [Some(&before)]), json!("refuse"));
/// assert_eq!(with("forward", [Some(&json!("refuse")), None, Some(&before)]), before);
/// ```
pub fn with<'a>(choice: &str, known: impl IntoIterator<Item = Option<&'a Value>>) -> Value {
    if choice != "forward" {
        return json!("refuse");
    }
    let mut known = known.into_iter().flatten();
    let origin = known.find(|value| chosen(Some(value)) == "forward");
    let new = || json!({ "forward": { "url": "https://origin.example.com" } });
    origin.cloned().unwrap_or_else(new)
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
            let value = with(choice, [draft.at(UNROUTED)]);
            draft.put(UNROUTED, Some(value));
            draft.check().unwrap();
            assert_eq!(chosen(draft.at(UNROUTED)), choice);
        }
        draft.put(&format!("{FORWARD}/timeout_ms"), Some(json!(5_000)));
        draft.check().unwrap();
        let kept = with("forward", [draft.at(UNROUTED)]);
        assert_eq!(kept["forward"]["timeout_ms"], 5_000);
        assert_eq!(
            words(Some(&kept)),
            "forwarded to https://origin.example.com, and charged to nobody"
        );
        assert_eq!(words(None), "refused, with 404");
    }

    #[test]
    fn the_last_origin_counts_before_that_of_the_policy_in_force() {
        let to = |url: &str| json!({ "forward": { "url": url, "limits": {} } });
        let (last, base) = (
            to("https://last.example.com"),
            to("https://base.example.com"),
        );
        let refuse = json!("refuse");
        assert_eq!(
            with("forward", [Some(&refuse), Some(&last), Some(&base)]),
            last
        );
        assert_eq!(with("forward", [Some(&refuse), None, Some(&base)]), base);
        assert_eq!(
            chosen(Some(&with("forward", [Some(&refuse), None]))),
            "forward"
        );
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
