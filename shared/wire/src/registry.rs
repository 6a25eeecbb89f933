//! What the registry is asked and answers, and what it tells regions.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_core::units::{EpochMs, Revision};

use crate::access::{SavedAccess, TokenReply, TokenRequest, TokenUse};
use crate::audit::{AuditEntry, AuditHead, AuditOutcome, Author};
use crate::holdings::Holdings;
use crate::policy::PolicyDocument;
use crate::saved_policy::SavedPolicy;
use crate::tenant::TenantPatch;

/// What is in force: as far as it is newer than what the asker has, and can be read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// The policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<SavedPolicy>,
    /// The tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<SavedAccess>,
}

/// What was changed, on its way to a region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PushRules {
    /// The region that is meant.
    pub region: String,
    /// What was changed.
    pub rules: Rules,
    /// Budgets of which the region is to tell what it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub look: Vec<String>,
}

/// What a region has after a push.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pushed {
    /// The revision of its policy.
    pub policy: Revision,
    /// The revision of its tokens.
    pub access: Revision,
    /// What it holds, where it was asked to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdings: Option<Holdings>,
}

/// Asks for what is in force: for everything by default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadPolicy {
    /// The policy that the asker has; 0 for none.
    #[serde(default)]
    pub policy_revision: Revision,
    /// The tokens that the asker has; 0 for none.
    #[serde(default)]
    pub access_revision: Revision,
    /// The region that asks; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// Tokens that were used there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens_used: Vec<TokenUse>,
}

/// Saves a policy if `expected` is still the revision in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavePolicy {
    /// The revision that the author saw; `None` takes whatever is in force.
    pub expected: Option<Revision>,
    /// The new document.
    pub document: PolicyDocument,
    /// Who saves it.
    pub author: Author,
}

/// Changes the fields of a tenant that the patch names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatchTenant {
    /// The tenant.
    pub tenant: String,
    /// The fields.
    pub patch: TenantPatch,
    /// The tag of the tenant that the author saw (`audit::tag::tenant_tag`); `None` takes whatever it is.
    pub expected: Option<String>,
    /// Who changes it.
    pub author: Author,
}

/// Takes a tenant out of the policy: it is treated as any unnamed one from then on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeleteTenant {
    /// The tenant.
    pub tenant: String,
    /// The tag that the author saw; `None` takes whatever it is.
    pub expected: Option<String>,
    /// Who removes it.
    pub author: Author,
}

/// What came of a change of the policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Saved {
    /// It is in force.
    Done(Box<SavedPolicy>),
    /// It is not what the author saw; nothing was changed.
    Moved {
        /// The revision in force.
        revision: Revision,
        /// The tenant's tag, where a tenant was meant.
        tag: Option<String>,
    },
    /// The policy does not name the tenant; nothing was changed.
    Unknown,
    /// The same author saved as many within a day as the audit log takes; nothing was changed.
    TooOften {
        /// Milliseconds until it takes another.
        after_ms: u64,
    },
    /// It would not be a valid policy; nothing was changed.
    Invalid {
        /// JSON pointer to the value at fault.
        field: String,
        /// What is wrong with it.
        message: String,
    },
}

/// Makes a token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreateToken {
    /// What it is to permit.
    pub token: TokenRequest,
    /// Who makes it.
    pub author: Author,
}

/// What came of making a token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Created {
    /// The token, this once.
    Done(TokenReply),
    /// A token that is not revoked has that name, or Weir itself.
    Taken {
        /// The name.
        name: String,
    },
    /// There are as many as there may be.
    Full {
        /// How many that is.
        max: usize,
    },
    /// The same author made as many within a day as the audit log takes.
    TooOften {
        /// Milliseconds until it takes another.
        after_ms: u64,
    },
    /// It cannot be made so.
    Invalid {
        /// JSON pointer to the value at fault.
        field: String,
        /// What is wrong with it.
        message: String,
    },
}

/// Revokes a token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RevokeToken {
    /// Its id.
    pub id: String,
    /// Who revokes it.
    pub author: Author,
}

/// What came of revoking a token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Revoked {
    /// It opens nothing any more.
    Done,
    /// There is none of that id.
    Unknown,
}

/// Asks for every token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListTokens {}

/// Asks for records of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadAudit {
    /// Only those behind this number.
    pub after: u64,
    /// Only those before this number; 0 for no bound.
    pub before: u64,
    /// At most so many.
    pub limit: u64,
    /// From the newest to the oldest.
    pub newest_first: bool,
    /// Only this actor's.
    pub actor: Option<String>,
    /// Only this action.
    pub action: Option<String>,
    /// Only this target, and what changed the tenant of this name.
    pub target: Option<String>,
    /// Only with this outcome.
    pub outcome: Option<AuditOutcome>,
    /// Only from this time on, epoch milliseconds.
    pub from: Option<u64>,
    /// Only before this time, epoch milliseconds.
    pub to: Option<u64>,
}

/// Ends a session before its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndSession {
    /// The id of the token that it was opened with.
    pub token: String,
    /// Its own.
    pub id: String,
    /// When it ends by itself.
    pub expires_at: EpochMs,
    /// Who ends it.
    pub author: Author,
}

/// Ends every session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndSessions {
    /// Who ends them.
    pub author: Author,
}

/// It is done, or was before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {}

/// Records of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditPage {
    /// The records.
    pub entries: Vec<AuditEntry>,
    /// Numbers of records that should stand among them and cannot be read.
    pub damaged: Vec<u64>,
    /// Whether there are more behind the last one.
    pub more: bool,
    /// What the log has.
    pub head: AuditHead,
}

/// Asks for lines of the export.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportAudit {
    /// Behind this number.
    pub after: u64,
    /// At most so many.
    pub limit: u64,
}

/// Lines of the export, as they stand in the file: see `audit::export`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditLines {
    /// The lines, without their ends.
    pub lines: Vec<String>,
    /// The number of the last one.
    pub through: u64,
    /// Whether there are more behind it.
    pub more: bool,
    /// What the log has.
    pub head: AuditHead,
}

/// Looks whether a part of the log is as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerifyAudit {
    /// Behind this number; 0 from the first record on that is kept.
    pub after: u64,
    /// The hash of the record of that number, as an earlier look told.
    pub previous: String,
    /// At most so many.
    pub limit: u64,
}

/// Records what happened, or was refused, outside of the registry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppendAudit {
    /// Who.
    pub author: Author,
    /// What: see `audit::Action`.
    pub action: String,
    /// To what.
    pub target: String,
    /// What was there; null where nothing was.
    #[serde(default)]
    pub before: Value,
    /// What is there; null where nothing is.
    #[serde(default)]
    pub after: Value,
    /// What became of it.
    pub outcome: AuditOutcome,
}

/// What came of recording something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Appended {
    /// The number of the record; 0 for a refused one that was only counted, as there were too many.
    pub sequence: u64,
}
