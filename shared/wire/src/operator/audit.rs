//! `GET /operator/v1/audit`: what was changed, by whom and why.

use serde::{Deserialize, Serialize};

use crate::audit::{AuditEntry, AuditHead};

/// Records of the audit log. Its pages go by the numbers of records, so that one that is written meanwhile moves none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditReply {
    /// The records, newest first unless `after` was given.
    pub records: Vec<AuditEntry>,
    /// Numbers of records that should stand among them and cannot be read.
    pub damaged: Vec<u64>,
    /// What to ask for next, as `before` (or `after`, where that was given); null behind the last.
    pub next: Option<u64>,
    /// What the log has.
    pub head: AuditHead,
}
