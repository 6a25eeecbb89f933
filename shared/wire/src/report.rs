//! `POST /v1/report`: how a request that used a resource came out.

use serde::{Deserialize, Serialize};

/// Whether a resource served a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportedOutcome {
    /// It did.
    Success,
    /// It did not: it refused as overloaded, failed, or took too long.
    Failure,
}

/// One outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReportRequest {
    /// The overload resource of the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Whose request it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// How it came out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ReportedOutcome>,
}

/// The outcome counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportReply {
    /// Always true.
    pub reported: bool,
}
