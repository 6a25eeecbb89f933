//! What the registry is asked, what it answers, and why it cannot.

use std::fmt;

use serde::Serialize;
use weir_core::invalid::Invalid;
use weir_core::ordered::OrderedSet;
use weir_wire::access::TokenView;
use weir_wire::audit::AuditVerdict;
use weir_wire::registry::{
    AppendAudit, Appended, AuditLines, AuditPage, CreateToken, Created, DeleteTenant, Done,
    EndSession, EndSessions, ExportAudit, ListTokens, PatchTenant, ReadAudit, ReadPolicy,
    RevokeToken, Revoked, Rules, SavePolicy, Saved, VerifyAudit,
};
use weir_wire::stored::Damaged;

/// What is asked of the registry.
#[derive(Debug, Clone, PartialEq)]
pub enum RegistryCall {
    /// What is in force.
    Read(ReadPolicy),
    /// That another policy is in force.
    Save(Box<SavePolicy>),
    /// That a tenant changes.
    PatchTenant(Box<PatchTenant>),
    /// That a tenant is no longer named.
    DeleteTenant(DeleteTenant),
    /// A new token.
    CreateToken(CreateToken),
    /// The end of a token.
    RevokeToken(RevokeToken),
    /// All tokens.
    ListTokens(ListTokens),
    /// The end of one session.
    EndSession(EndSession),
    /// The end of all sessions.
    EndSessions(EndSessions),
    /// A page of the audit log.
    ReadAudit(ReadAudit),
    /// Lines of the audit log's export.
    ExportAudit(ExportAudit),
    /// Whether a part of the audit log is as it was written.
    VerifyAudit(VerifyAudit),
    /// A record of the audit log.
    AppendAudit(AppendAudit),
}

/// What the registry answers, to each in kind. It is written as what it holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To who reads what is in force.
    Rules(Box<Rules>),
    /// To who changes the policy.
    Saved(Saved),
    /// To who makes a token.
    Created(Created),
    /// To who revokes a token.
    Revoked(Revoked),
    /// To who ends sessions.
    Done(Done),
    /// To who lists tokens.
    Tokens(Vec<TokenView>),
    /// To who reads the audit log.
    Page(AuditPage),
    /// To who exports the audit log.
    Lines(AuditLines),
    /// To who verifies the audit log.
    Verdict(AuditVerdict),
    /// To who appends to the audit log.
    Appended(Appended),
}

/// What regions are told of a change. Their ledgers are told of the tokens, too, as they hold live sockets, which end with
/// what let them in.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// The regions.
    pub regions: OrderedSet<String>,
    /// What was changed.
    pub rules: Rules,
}

/// Why a call is not answered as asked. The text is for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The database did not read or write.
    Database {
        /// Its words.
        message: String,
    },
    /// A value cannot be read, or written as text.
    Form {
        /// The reader's or the writer's words.
        message: String,
    },
    /// Policies were saved, and none of them can be read.
    NoPolicy,
    /// There are tokens, and the key of their MAC cannot be read.
    NoTokenKey,
    /// The key gives no MAC.
    NoToken,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database { message } | Self::Form { message } => f.write_str(message),
            Self::NoPolicy => f.write_str("no saved policy can be read"),
            Self::NoTokenKey => f.write_str("the key of the tokens cannot be read"),
            Self::NoToken => f.write_str("no token"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Form {
            message: error.to_string(),
        }
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        Self::Form {
            message: invalid.to_string(),
        }
    }
}

/// A part of what is done for whoever reads what is in force. One that fails keeps no other back: the asker goes on with the
/// last that it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The tokens that a region saw are marked as used.
    Uses,
    /// The policy is read.
    Policy,
    /// The tokens are read.
    Access,
}

/// Something that an operator is to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// A row cannot be read.
    Damaged {
        /// Of which table.
        table: &'static str,
        /// Why not.
        damaged: Damaged,
    },
    /// A record of the audit log has neither a hash nor a text to take one of.
    NoHash {
        /// Its number.
        sequence: u64,
    },
    /// A part failed, and the answer is given without it.
    LeftOut {
        /// The part.
        part: Part,
        /// Why it failed.
        failure: Failure,
    },
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged { table, damaged } => write!(f, "damaged row {table}: {damaged}"),
            Self::NoHash { sequence } => {
                write!(f, "record {sequence} of the audit log has no hash")
            }
            Self::LeftOut { part, failure } => {
                let part = match part {
                    Part::Uses => "uses of tokens",
                    Part::Policy => "policy",
                    Part::Access => "tokens",
                };
                write!(f, "{part}: {failure}")
            }
        }
    }
}
