//! `application/problem+json` (RFC 9457), the form of every error answer.

use serde::{Deserialize, Serialize};

/// The media type of an error answer.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// One error answer. `field` is a JSON pointer (RFC 6901) into the request where one value is at fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// A URI reference that names the kind of problem, such as `/problems/out-of-range`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in a few words, equal for every occurrence.
    pub title: String,
    /// The HTTP status, repeated for readers that see only the body.
    pub status: u16,
    /// What was wrong this time, with the offending value and the bound.
    pub detail: String,
    /// JSON pointer to the value at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Milliseconds until the same request could pass, where it was refused for being too much (status 429).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What leads to the explanation of a denial, where a rule of the policy denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}
