//! The audit log on the wire, as it is kept, listed and exported.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::role::Role;

/// Who changes something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The name of the token, `bootstrap`, or who an identity provider says it is.
    pub actor: String,
    /// The id of its token, which nobody else ever has; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The role in which it acts; `None` for whoever has none, as before a login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Why, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Author {
    /// One who has no token and no role.
    #[must_use]
    pub fn named(actor: &str) -> Self {
        Self {
            actor: actor.to_owned(),
            ..Self::default()
        }
    }
}

/// What became of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// It was carried out.
    Done,
    /// It was refused, and nothing was changed.
    Refused,
}

impl AuditOutcome {
    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
        }
    }
}

/// One record. Its hash covers all of it, the hash of the record before included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// Its number, from 1, without gaps.
    pub sequence: u64,
    /// The hash of the record before; empty for the first.
    pub previous: String,
    /// When, epoch milliseconds.
    pub at: u64,
    /// Who.
    pub actor: String,
    /// The id of its token; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// In which role; null without one.
    pub role: Option<Role>,
    /// What was done: see `audit::Action`.
    pub action: String,
    /// To what: a tenant, a token's id, a route; empty for the policy as a whole.
    pub target: String,
    /// What was there; null where nothing was.
    pub before: Value,
    /// What is there; null where nothing is.
    pub after: Value,
    /// Why, in the author's words.
    pub why: Option<String>,
    /// What became of it.
    pub outcome: AuditOutcome,
}

/// A record with its hash: a line of the export.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The record.
    #[serde(flatten)]
    pub record: AuditRecord,
    /// SHA-256 of the record's canonical text, in hexadecimal.
    pub hash: String,
}

/// What the log has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// The number of the newest record; 0 for none.
    pub sequence: u64,
    /// Its hash.
    pub hash: String,
    /// The number of the newest record that was given up, as there were too many; 0 for none.
    pub pruned: u64,
    /// Its hash, which the oldest record that is kept names.
    pub pruned_hash: String,
}

/// The first thing in the log that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditFault {
    /// The number of the record at fault.
    pub sequence: u64,
    /// What is wrong with it.
    pub what: String,
}

/// What a look at a part of the log found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditVerdict {
    /// Whether everything that was looked at is as it was written.
    pub intact: bool,
    /// Records that were looked at.
    pub checked: u64,
    /// The last of them that is as it was written.
    pub through: u64,
    /// Its hash.
    pub hash: String,
    /// What is wrong; null while nothing is.
    pub fault: Option<AuditFault>,
    /// Whether there are records behind.
    pub more: bool,
    /// What the log has.
    pub head: AuditHead,
}
