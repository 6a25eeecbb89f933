//! The rows of the registry: what it reads, and what an event writes. A column that is not of its type is read as `None`.
//!
//! Nothing but what [`Memory`](super::memory::Memory) says is kept between events: the history of policies and the audit
//! log may be large, and are asked for by the row or the page.

use weir_audit::chain::Link;
use weir_core::units::{EpochMs, Revision};
use weir_wire::access::EndedSession;
use weir_wire::audit::{AuditHead, AuditOutcome};
use weir_wire::policy::PolicyDocument;
use weir_wire::registry::ReadAudit;

use super::call::Failure;

/// A saved policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyRow {
    /// Its revision.
    pub revision: Option<u64>,
    /// The document, as JSON.
    pub document: Option<String>,
    /// Its handovers, as JSON; none where there are none.
    pub handovers: Option<String>,
}

/// What stands about all tokens in common.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessRow {
    /// The revision of the tokens.
    pub revision: Option<u64>,
    /// The key of their MAC, in base64url.
    pub key: Option<String>,
}

/// A token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenColumns {
    /// Its id.
    pub id: Option<String>,
    /// When it was last used, epoch milliseconds.
    pub last_used: Option<u64>,
    /// A [`StoredToken`](weir_access::stored::StoredToken), as JSON.
    pub body: Option<String>,
}

/// A key of what callers keep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SealColumns {
    /// Its version.
    pub version: Option<u64>,
    /// The key, in base64url.
    pub key: Option<String>,
    /// Until when what it sealed is opened, epoch milliseconds; none while it seals.
    pub until: Option<u64>,
}

/// A session that was ended before its time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndedColumns {
    /// The token that it was opened with.
    pub token: Option<String>,
    /// Its id; empty for all of the token's.
    pub id: Option<String>,
    /// When it would have ended by itself, epoch milliseconds.
    pub expires_at: Option<u64>,
}

/// What the audit log has, as the row says that says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadRow {
    /// The number of the newest record.
    pub sequence: Option<u64>,
    /// Its hash.
    pub hash: Option<String>,
    /// The number of the newest record that was given up.
    pub pruned: Option<u64>,
    /// Its hash.
    pub pruned_hash: Option<String>,
}

/// A record of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordRow {
    /// Its number.
    pub sequence: Option<u64>,
    /// When, epoch milliseconds.
    pub at: Option<u64>,
    /// Who.
    pub actor: Option<String>,
    /// What.
    pub action: Option<String>,
    /// To what.
    pub target: Option<String>,
    /// With what outcome.
    pub outcome: Option<String>,
    /// The hash of the text.
    pub hash: Option<String>,
    /// The text.
    pub body: Option<String>,
}

/// A summary of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryRow {
    /// The number of its row.
    pub row: Option<u64>,
    /// Its name.
    pub name: Option<String>,
    /// A [`Summary`](weir_audit::summary::Summary), as JSON.
    pub body: Option<String>,
}

/// Whose records are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose<'a> {
    /// Those of an actor of that name.
    Actor(&'a str),
    /// Those of all whose tokens come from the root of that id.
    Root(&'a str),
}

/// What the registry reads. What it reads is durable.
///
/// # Errors
/// Each fails with the database's words.
#[expect(
    clippy::missing_errors_doc,
    reason = "each fails as the trait says, and for no other reason"
)]
pub trait Rows {
    /// The policy that the deployment ships.
    fn shipped(&self) -> Result<PolicyDocument, Failure>;

    /// The highest revision that a policy was ever saved under, readable or not; 0 for none.
    fn highest_revision(&self) -> Result<u64, Failure>;

    /// The policy of the highest revision below that one.
    fn policy_below(&self, below: u64) -> Result<Option<PolicyRow>, Failure>;

    /// The secret by which the shards of keys are chosen: the outer `None` where there is no row.
    fn placement(&self) -> Result<Option<Option<String>>, Failure>;

    /// What stands about all tokens in common.
    fn access(&self) -> Result<Option<AccessRow>, Failure>;

    /// All tokens, by id.
    fn tokens(&self) -> Result<Vec<TokenColumns>, Failure>;

    /// The token of that id.
    fn token(&self, id: &str) -> Result<Option<TokenColumns>, Failure>;

    /// The newest `max` keys of what callers keep, the newest first.
    fn seals(&self, max: usize) -> Result<Vec<SealColumns>, Failure>;

    /// The ended sessions that would not have ended by themselves at `now`.
    fn ended_sessions(&self, now: EpochMs) -> Result<Vec<EndedColumns>, Failure>;

    /// Whether a row of an ended session has a column that is not of its type.
    fn has_damaged_ended_session(&self) -> Result<bool, Failure>;

    /// What the audit log has.
    fn head(&self) -> Result<Option<HeadRow>, Failure>;

    /// The number of the oldest record; 0 for none.
    fn oldest_record(&self) -> Result<u64, Failure>;

    /// The number of the newest record; 0 for none.
    fn newest_record(&self) -> Result<u64, Failure>;

    /// The record of that number.
    fn record(&self, sequence: u64) -> Result<Option<RecordRow>, Failure>;

    /// When the record of one kind was written that `newer` others of that kind follow, epoch milliseconds.
    fn recorded_at(
        &self,
        whose: Whose<'_>,
        action: &str,
        outcome: AuditOutcome,
        newer: u64,
    ) -> Result<Option<u64>, Failure>;

    /// The body of the summary of that name: the outer `None` where there is no row.
    fn summary(&self, name: &str) -> Result<Option<Option<String>>, Failure>;

    /// At most `max` summaries that began at `since` or before, the oldest first.
    fn summaries_since(&self, since: EpochMs, max: u64) -> Result<Vec<SummaryRow>, Failure>;

    /// At most `max` records that are asked for. The limit and the bounds of numbers in `find` are within their range. What
    /// cannot be read excludes no record.
    fn records(&self, find: &ReadAudit, max: u64) -> Result<Vec<RecordRow>, Failure>;

    /// At most `max` records behind that number, the oldest first.
    fn records_behind(&self, after: u64, max: u64) -> Result<Vec<RecordRow>, Failure>;
}

/// A row to write, or rows to drop. What an event writes is in one transaction, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Put {
    /// A policy.
    Policy {
        /// Its revision.
        revision: Revision,
        /// When it was saved.
        saved_at: EpochMs,
        /// By whom.
        actor: String,
        /// The document, as JSON.
        document: String,
    },
    /// No policy, and no handovers, through that revision.
    DropPolicies {
        /// The last one to go.
        through: u64,
    },
    /// The handovers of a policy.
    Handovers {
        /// Its revision.
        revision: Revision,
        /// They, as JSON.
        body: String,
    },
    /// The secret by which the shards of keys are chosen.
    Placement(String),
    /// A new token.
    Token {
        /// Its id.
        id: String,
        /// It, as JSON.
        body: String,
    },
    /// No token of that id, nor any of its ended sessions.
    DropToken(String),
    /// What stands about all tokens in common.
    Access {
        /// Their revision.
        revision: Revision,
        /// The key of their MAC, in base64url.
        key: String,
    },
    /// When tokens were last used, by id, where that is [`TOKEN_USE_MS`](weir_core::limits::TOKEN_USE_MS) later than what is
    /// known.
    LastUsed(Vec<(String, EpochMs)>),
    /// Another key of what callers keep, in the place of the one that seals. No session has been ended then.
    Seal {
        /// Its version.
        version: u64,
        /// The key, in base64url.
        key: String,
        /// When it begins to seal. Keys that open nothing any more are dropped.
        now: EpochMs,
        /// Until when the one before opens.
        until: EpochMs,
        /// Keys through that version are dropped.
        drop_through: u64,
    },
    /// A session that was ended, or all of one token's.
    Ended(EndedSession),
    /// No ended session that would have ended by itself by then.
    DropEndedBy(EpochMs),
    /// No ended session of that token.
    DropEndedOf(String),
    /// A record of the audit log.
    Record {
        /// The record.
        link: Box<Link>,
        /// The id of the root that its author comes from.
        root: Option<String>,
    },
    /// No record through that number.
    DropRecords {
        /// The last one to go.
        through: u64,
    },
    /// What the audit log has.
    Head(AuditHead),
    /// A summary.
    Summary {
        /// Its name.
        name: String,
        /// When it began.
        since: EpochMs,
        /// It, as JSON.
        body: String,
    },
    /// A summary that cannot be read goes by another name, and is due.
    SetSummaryAside {
        /// Its name.
        name: String,
        /// The other.
        aside: String,
    },
    /// No summary in that row.
    DropSummary {
        /// The number of the row.
        row: u64,
    },
}
