//! A limit among those of the document, taken or refused.

use serde_json::Value;

use super::{policy, with};

/// Fails unless the document with `literal` at `pointer` is refused at `field` with the message.
pub(crate) fn is_refused(pointer: &str, literal: &str, field: &str, message: &str) {
    let expected = Err((field.to_owned(), message.to_owned()));
    let got = policy(&with(pointer, literal)).map(|_| "admitted");
    assert_eq!(got, expected, "{pointer}: {literal}");
}

/// Fails unless the document with `body` as one more limit is refused at `field` of that with the message.
pub(crate) fn body_is_refused(body: &Value, field: &str, message: &str) {
    let field = format!("/limits/it{field}");
    is_refused("/limits/it", &body.to_string(), &field, message);
}

/// Fails unless the document with `body` as one more limit is taken.
pub(crate) fn body_is_taken(body: &Value) {
    let taken = policy(&with("/limits/it", &body.to_string()));
    assert_eq!(taken.map(|_| ()), Ok(()), "{body}");
}

/// The body with another field.
pub(crate) fn and(body: &Value, field: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[field] = value;
    body
}
