//! Who holds a live socket, as it travels to the ledger and stays with the socket.

use serde::{Deserialize, Serialize};
use weir_core::units::EpochMs;

use crate::role::Role;

/// Who opened a live socket, and by what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveHolder {
    /// The id of the token; of whom an identity provider names, what the audit log calls it.
    pub name: String,
    /// Whether an identity provider names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provided: bool,
    /// Its role when it opened the socket.
    pub role: Role,
    /// The session that it came by; absent for a bearer token and an identity provider's assertion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<LiveSession>,
    /// When what it came by ends by itself, epoch milliseconds; absent where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<EpochMs>,
}

/// A session that a live socket was opened by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveSession {
    /// Its id.
    pub id: String,
    /// The version of the key that sealed it.
    pub seal: u64,
}
