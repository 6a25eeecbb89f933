//! `POST /v1/reserve`: a place in the queue of a shaper (a `leaky_bucket`).

use serde::{Deserialize, Serialize};

/// What asks for a place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReserveRequest {
    /// Who asks. Optional for a limit that is not per tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The shaper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The key within it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Units that are to leave; 1 when absent, 0 looks without taking a place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

/// The place, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationBody {
    /// Whether there is a place.
    pub accepted: bool,
    /// How long to wait before going on; 0 when not accepted.
    pub delay_ms: u64,
    /// Milliseconds after which the same request could get a place; 0 when accepted, null for never.
    pub retry_after_ms: Option<u64>,
    /// What leads to the explanation of a denial; absent where there is a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}
