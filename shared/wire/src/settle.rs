//! `POST /v1/settle`: what a reservation came to.

use serde::{Deserialize, Serialize};

/// The reservation and what was used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SettleRequest {
    /// The text that the decision named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// Units that were used; 0 releases what was reserved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
}

/// What was settled, in units, summed over everything that the reservation charged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledBody {
    /// Units that were reserved.
    pub reserved: u64,
    /// Units that were used.
    pub actual: u64,
    /// Units that were given back: less than what was left over where a window has ended.
    pub refunded: u64,
    /// Units that were charged beyond what was reserved: as far as the limits had room.
    pub debt: u64,
}
