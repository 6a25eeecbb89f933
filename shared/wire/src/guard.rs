//! `POST /v1/guards/{guard}/acquire`, `/renew` and `/release`.

use serde::{Deserialize, Serialize};

/// Asks for a slot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcquireRequest {
    /// For whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// A slot was given. A refusal is a problem with the status 429, which says when a slot could be free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcquiredBody {
    /// Always true.
    pub allowed: bool,
    /// What renews and releases it.
    pub slot: String,
    /// When it lapses unless it is renewed, in epoch milliseconds.
    pub expires_at: u64,
}

/// Renews or releases a slot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotRequest {
    /// The slot, as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
}

/// The slot after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotBody {
    /// Whether it is held: false after its release, and when its lease had lapsed before it was renewed.
    pub held: bool,
    /// Until when it is held, in epoch milliseconds; null when it is not.
    pub expires_at: Option<u64>,
}
