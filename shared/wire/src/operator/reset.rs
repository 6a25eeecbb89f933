//! `POST /operator/v1/reset`: puts state back to its start.

use serde::{Deserialize, Serialize};
use weir_core::units::EpochMs;

/// What is put back: one key of a limit, a meter or a guard of a tenant, or every key of a tenant. A window of a budget
/// never is: its units may have been lent on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResetRequest {
    /// A limit, with its `key`, and the `tenant` where each has its own keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The key of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// A meter of the `tenant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meter: Option<String>,
    /// A guard of the `tenant`: its slots and its budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// The tenant; alone it stands for all of its meters, guards and keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Why, for the audit log; the header `weir-reason` says the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What was put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResetReply {
    /// When, epoch milliseconds.
    pub at: EpochMs,
    /// Its record in the audit log.
    pub audit: u64,
    /// Keys whose state was dropped; one that had none is at its start already.
    pub keys: u64,
}
