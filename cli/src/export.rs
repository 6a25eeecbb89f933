//! The policy in force, as a file.

use serde_json::Value;

use crate::failure::Failure;

/// The document with a line a field: what `validate`, `plan` and `apply` take. A section that is empty is written out.
///
/// # Errors
/// When it cannot be written as JSON.
///
/// ```
/// let text = weir_cli::export::text(&serde_json::json!({ "regions": ["weur"] })).unwrap();
/// assert_eq!(text, "{\n  \"regions\": [\n    \"weur\"\n  ]\n}\n");
/// ```
pub fn text(document: &Value) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document);
    let text = text.map_err(|why| Failure::unintelligible("/operator/v1/policy", why))?;
    Ok(format!("{text}\n"))
}
