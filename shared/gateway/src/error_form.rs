//! Refusals in the form that a provider's own clients read, so that they back off by themselves: the same status, a body of
//! that provider's, and the fields by which its clients decide whether and when to try again.
//!
//! Sources: the error codes of OpenAI's API (platform.openai.com/docs/guides/error-codes) and of Anthropic's
//! (docs.anthropic.com/en/api/errors); `retry-after-ms` and `x-should-retry` as the official clients of both read them.

use serde_json::{Value, json};
use weir_wire::problem::MEDIA_TYPE;
use weir_wire::route::ErrorForm;

use super::problem::{Refusal, UNKNOWN_MODEL};

/// The media type of a refusal.
#[must_use]
pub fn media_type(form: ErrorForm) -> &'static str {
    match form {
        ErrorForm::Problem => MEDIA_TYPE,
        ErrorForm::OpenAi | ErrorForm::Anthropic => "application/json",
    }
}

/// The body of a refusal.
///
/// ```
/// use weir_gateway::error_form::body;
/// use weir_gateway::problem::Refusal;
/// use weir_wire::route::ErrorForm;
/// let refusal = Refusal::no_tenant();
/// let told = body(&refusal, ErrorForm::OpenAi);
/// assert!(told.contains(r#""type":"authentication_error""#) && told.contains(r#""code":"no-tenant""#));
/// assert!(body(&refusal, ErrorForm::Anthropic).starts_with(r#"{"error":{"message":"#));
/// assert_eq!(body(&refusal, ErrorForm::Problem), refusal.body());
/// ```
#[must_use]
pub fn body(refusal: &Refusal, form: ErrorForm) -> String {
    let message = refusal.detail.as_str();
    match form {
        ErrorForm::Problem => refusal.body(),
        ErrorForm::OpenAi => {
            let error = json!({
                "message": message, "type": openai(refusal.status), "param": refusal.field, "code": code(refusal),
            });
            json!({ "error": with_decision(error, refusal) }).to_string()
        }
        ErrorForm::Anthropic => {
            let error = json!({ "type": anthropic(refusal.status), "message": message });
            json!({ "type": "error", "error": with_decision(error, refusal) }).to_string()
        }
    }
}

/// The fields by which a client decides whether it asks again, and when.
///
/// ```
/// use weir_gateway::error_form::fields;
/// use weir_gateway::problem::Refusal;
/// use weir_wire::route::ErrorForm;
/// let soon = Refusal { retry_after_ms: Some(1_250), ..Refusal::no_route() };
/// let told = fields(&soon, ErrorForm::OpenAi);
/// assert_eq!(told, [("retry-after-ms", "1250".to_owned()), ("x-should-retry", "true".to_owned())]);
/// assert!(fields(&soon, ErrorForm::Problem).is_empty());
/// ```
#[must_use]
pub fn fields(refusal: &Refusal, form: ErrorForm) -> Vec<(&'static str, String)> {
    if form == ErrorForm::Problem {
        return Vec::new();
    }
    let after = refusal.retry_after_ms;
    let after = after.map(|ms| ("retry-after-ms", ms.max(1).to_string()));
    // What waiting does not help is not asked again, though a client would else do so by the status.
    let again = refusal.retry_after_ms.is_some().to_string();
    after
        .into_iter()
        .chain([("x-should-retry", again)])
        .collect()
}

/// The same with what leads to the explanation: a provider's clients hand on what they do not know of an error.
fn with_decision(mut error: Value, refusal: &Refusal) -> Value {
    if let (Some(error), Some(decision)) = (error.as_object_mut(), &refusal.decision) {
        error.insert("decision".to_owned(), json!(decision));
    }
    error
}

/// What OpenAI's API calls a status.
fn openai(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

/// What Anthropic's API calls it.
fn anthropic(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

/// A refusal's kind in one word: the end of the URI that names it.
fn code(refusal: &Refusal) -> &str {
    match refusal.status {
        429 => "rate_limit_exceeded",
        _ if *refusal.kind == UNKNOWN_MODEL => "model_not_found",
        _ => refusal
            .kind
            .uri
            .rsplit(['/', '#'])
            .next()
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_the_type_that_the_provider_gives_it() {
        let types = [
            (400, "invalid_request_error", "invalid_request_error"),
            (401, "authentication_error", "authentication_error"),
            (403, "permission_error", "permission_error"),
            (404, "not_found_error", "not_found_error"),
            (413, "invalid_request_error", "request_too_large"),
            (429, "rate_limit_error", "rate_limit_error"),
            (500, "server_error", "api_error"),
            (502, "server_error", "api_error"),
            (503, "server_error", "overloaded_error"),
        ];
        for (status, of_openai, of_anthropic) in types {
            assert_eq!(
                (openai(status), anthropic(status)),
                (of_openai, of_anthropic),
                "{status}"
            );
        }
    }
}
