//! Sessions: a token in exchange for a cookie.

use serde::{Deserialize, Serialize};

pub use crate::role::Role;

/// `POST /operator/v1/session`: a token in exchange for a cookie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// The token to log in with.
    pub token: String,
}

/// The answer to a login, and to `GET /operator/v1/session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionReply {
    /// What the holder of the session may do.
    pub role: Role,
    /// What the audit log calls the holder; empty from older servers.
    #[serde(default)]
    pub name: String,
    /// When the session ends, epoch milliseconds.
    pub expires_at: u64,
}
