//! The rows of the registry in its database.

use weir_shared::audit::changes::of_tenant;
use weir_shared::node::registry::{
    AccessRow, EndedColumns, Failure, HeadRow, PolicyRow, Put, RecordRow, Rows, SealColumns,
    SummaryRow, TokenColumns, Whose,
};
use weir_shared::units::EpochMs;
use weir_shared::wire::audit::AuditOutcome;
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::registry::ReadAudit;

use super::shipped;
use super::statements::statements;
use crate::objects::server::Refused;
use crate::objects::storage::{Database, Value, integer, number, text};

/// `policies`, every revision whole, with their `handovers`; `placement`, one row; `access`, one row, and the `tokens` that
/// it is about; `seals`, the keys of what callers keep, and the `ended_sessions`; `audit`, a row a record, with
/// `audit_summaries` of what has none, and `audit_head`, one row.
pub(super) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS policies \
     (revision INTEGER PRIMARY KEY, saved_at INTEGER, actor TEXT, document TEXT)",
    "CREATE TABLE IF NOT EXISTS handovers (revision INTEGER PRIMARY KEY, body TEXT)",
    "CREATE TABLE IF NOT EXISTS placement (id INTEGER PRIMARY KEY, secret TEXT)",
    "CREATE TABLE IF NOT EXISTS access (id INTEGER PRIMARY KEY, revision INTEGER, token_key TEXT)",
    "CREATE TABLE IF NOT EXISTS tokens (id TEXT PRIMARY KEY, last_used INTEGER, body TEXT)",
    "CREATE TABLE IF NOT EXISTS seals (version INTEGER PRIMARY KEY, key TEXT, until INTEGER)",
    "CREATE TABLE IF NOT EXISTS ended_sessions (token TEXT, id TEXT, expires_at INTEGER, PRIMARY KEY (token, id))",
    "CREATE TABLE IF NOT EXISTS audit (sequence INTEGER PRIMARY KEY, at INTEGER, actor TEXT, action TEXT, \
     target TEXT, outcome TEXT, hash TEXT, body TEXT)",
    "ALTER TABLE audit ADD COLUMN root TEXT",
    "CREATE INDEX IF NOT EXISTS audit_by_kind ON audit (actor, action, outcome, at)",
    "CREATE INDEX IF NOT EXISTS audit_by_root ON audit (root, action, outcome, at) WHERE root IS NOT NULL",
    "CREATE TABLE IF NOT EXISTS audit_summaries (name TEXT PRIMARY KEY, since INTEGER, body TEXT)",
    "CREATE TABLE IF NOT EXISTS audit_head (id INTEGER PRIMARY KEY, sequence INTEGER, hash TEXT, pruned INTEGER, \
     pruned_hash TEXT)",
];

/// The columns of a record, in the order in which they are read.
const COLUMNS: &str = "sequence, at, actor, action, target, outcome, hash, body";

/// The rows of the registry.
pub(super) struct RegistryRows<'a>(pub(super) &'a Database);

type Read<T> = Result<T, Failure>;

impl RegistryRows<'_> {
    /// Writes rows, all or none.
    pub(super) fn write(&self, puts: Vec<Put>) -> Read<()> {
        let statements = puts.into_iter().flat_map(statements).collect();
        self.0.atomically(statements).map_err(failure)
    }

    fn all(&self, query: &str, values: Vec<Value>) -> Read<Vec<Vec<Value>>> {
        self.0.rows(query, values).map_err(failure)
    }

    fn first(&self, query: &str, values: Vec<Value>) -> Read<Option<Vec<Value>>> {
        self.0.first(query, values).map_err(failure)
    }

    /// The one number of a query; 0 for none.
    fn bound(&self, query: &str) -> Read<u64> {
        let row = self.first(query, vec![])?;
        Ok(row.and_then(|row| integer(row.first())).unwrap_or(0))
    }

    fn each<T>(&self, query: &str, values: Vec<Value>, read: fn(&[Value]) -> T) -> Read<Vec<T>> {
        let rows = self.all(query, values)?;
        Ok(rows.iter().map(|row| read(row)).collect())
    }

    fn one<T>(&self, query: &str, values: Vec<Value>, read: fn(&[Value]) -> T) -> Read<Option<T>> {
        Ok(self.first(query, values)?.map(|row| read(&row)))
    }
}

impl Rows for RegistryRows<'_> {
    fn shipped(&self) -> Read<PolicyDocument> {
        shipped::document().map_err(failure)
    }

    fn highest_revision(&self) -> Read<u64> {
        self.bound("SELECT MAX(revision) FROM policies")
    }

    fn policy_below(&self, below: u64) -> Read<Option<PolicyRow>> {
        let query = "SELECT policies.revision, document, body FROM policies \
                     LEFT JOIN handovers ON handovers.revision = policies.revision \
                     WHERE policies.revision < ? ORDER BY policies.revision DESC LIMIT 1";
        self.one(query, vec![number(below)], |row| PolicyRow {
            revision: integer(row.first()),
            document: owned(row, 1),
            handovers: owned(row, 2),
        })
    }

    fn placement(&self) -> Read<Option<Option<String>>> {
        let query = "SELECT secret FROM placement WHERE id = 1";
        self.one(query, vec![], |row| owned(row, 0))
    }

    fn access(&self) -> Read<Option<AccessRow>> {
        let query = "SELECT revision, token_key FROM access WHERE id = 1";
        self.one(query, vec![], |row| AccessRow {
            revision: integer(row.first()),
            key: owned(row, 1),
        })
    }

    fn tokens(&self) -> Read<Vec<TokenColumns>> {
        let query = "SELECT id, last_used, body FROM tokens ORDER BY id";
        self.each(query, vec![], token)
    }

    fn token(&self, id: &str) -> Read<Option<TokenColumns>> {
        let query = "SELECT id, last_used, body FROM tokens WHERE id = ?";
        self.one(query, vec![id.into()], token)
    }

    fn seals(&self, max: usize) -> Read<Vec<SealColumns>> {
        let query = "SELECT version, key, until FROM seals ORDER BY version DESC LIMIT ?";
        self.each(query, vec![number(max as u64)], |row| SealColumns {
            version: integer(row.first()),
            key: owned(row, 1),
            until: integer(row.get(2)),
        })
    }

    fn ended_sessions(&self, now: EpochMs) -> Read<Vec<EndedColumns>> {
        let query = "SELECT token, id, expires_at FROM ended_sessions WHERE expires_at > ?";
        self.each(query, vec![number(now.0)], |row| EndedColumns {
            token: owned(row, 0),
            id: owned(row, 1),
            expires_at: integer(row.get(2)),
        })
    }

    fn has_damaged_ended_session(&self) -> Read<bool> {
        let query = "SELECT 1 FROM ended_sessions WHERE typeof(token) != 'text' OR typeof(id) != 'text' \
             OR typeof(expires_at) != 'integer' LIMIT 1";
        Ok(self.first(query, vec![])?.is_some())
    }

    fn head(&self) -> Read<Option<HeadRow>> {
        let query = "SELECT sequence, hash, pruned, pruned_hash FROM audit_head WHERE id = 1";
        self.one(query, vec![], |row| HeadRow {
            sequence: integer(row.first()),
            hash: owned(row, 1),
            pruned: integer(row.get(2)),
            pruned_hash: owned(row, 3),
        })
    }

    fn oldest_record(&self) -> Read<u64> {
        self.bound("SELECT MIN(sequence) FROM audit")
    }

    fn newest_record(&self) -> Read<u64> {
        self.bound("SELECT MAX(sequence) FROM audit")
    }

    fn record(&self, sequence: u64) -> Read<Option<RecordRow>> {
        let query = format!("SELECT {COLUMNS} FROM audit WHERE sequence = ?");
        self.one(&query, vec![number(sequence)], record)
    }

    fn recorded_at(
        &self,
        whose: Whose<'_>,
        action: &str,
        outcome: AuditOutcome,
        newer: u64,
    ) -> Read<Option<u64>> {
        let by_actor = "SELECT at FROM audit WHERE actor = ? AND action = ? AND outcome = ? \
             ORDER BY at DESC LIMIT 1 OFFSET ?";
        let by_root = "SELECT at FROM audit WHERE root = ? AND action = ? AND outcome = ? \
             ORDER BY at DESC LIMIT 1 OFFSET ?";
        let (query, whose) = match whose {
            Whose::Actor(name) => (by_actor, name),
            Whose::Root(id) => (by_root, id),
        };
        let values = vec![
            whose.into(),
            action.into(),
            outcome.name().into(),
            number(newer),
        ];
        let row = self.first(query, values)?;
        Ok(row.and_then(|row| integer(row.first())))
    }

    fn summary(&self, name: &str) -> Read<Option<Option<String>>> {
        let query = "SELECT body FROM audit_summaries WHERE name = ?";
        self.one(query, vec![name.into()], |row| owned(row, 0))
    }

    fn summaries_since(&self, since: EpochMs, max: u64) -> Read<Vec<SummaryRow>> {
        let query = "SELECT rowid, name, body FROM audit_summaries WHERE since <= ? ORDER BY since, name LIMIT ?";
        let values = vec![number(since.0), number(max)];
        self.each(query, values, |row| SummaryRow {
            row: integer(row.first()),
            name: owned(row, 1),
            body: owned(row, 2),
        })
    }

    fn records(&self, find: &ReadAudit, max: u64) -> Read<Vec<RecordRow>> {
        let order = if find.newest_first { "DESC" } else { "ASC" };
        // What is not asked for, and what cannot be read, excludes nothing.
        let query = format!(
            "SELECT {COLUMNS} FROM audit WHERE sequence > ? AND sequence < ? \
             AND coalesce(at >= ?, 1) AND coalesce(at < ?, 1) AND coalesce(actor = ?, 1) \
             AND coalesce(action = ?, 1) AND coalesce(outcome = ?, 1) \
             AND coalesce(target = ? OR instr(body, ?) > 0 OR instr(body, ?) > 0, 1) \
             ORDER BY sequence {order} LIMIT ?"
        );
        // A change of the whole policy, such as a revert, may change a tenant, too.
        let texts = find.target.as_deref().map(of_tenant);
        let [tenant, within] = texts.map_or([None, None], |texts| texts.map(Some));
        let values = vec![
            number(find.after),
            number(find.before),
            find.from.map(number).into(),
            find.to.map(number).into(),
            find.actor.clone().into(),
            find.action.clone().into(),
            find.outcome.map(AuditOutcome::name).into(),
            find.target.clone().into(),
            tenant.into(),
            within.into(),
            number(max),
        ];
        self.each(&query, values, record)
    }

    fn records_behind(&self, after: u64, max: u64) -> Read<Vec<RecordRow>> {
        let query =
            format!("SELECT {COLUMNS} FROM audit WHERE sequence > ? ORDER BY sequence LIMIT ?");
        self.each(&query, vec![number(after), number(max)], record)
    }
}

fn failure(refused: Refused) -> Failure {
    Failure::Database { message: refused.0 }
}

fn owned(row: &[Value], column: usize) -> Option<String> {
    text(row.get(column)).map(str::to_owned)
}

fn token(row: &[Value]) -> TokenColumns {
    TokenColumns {
        id: owned(row, 0),
        last_used: integer(row.get(1)),
        body: owned(row, 2),
    }
}

fn record(row: &[Value]) -> RecordRow {
    RecordRow {
        sequence: integer(row.first()),
        at: integer(row.get(1)),
        actor: owned(row, 2),
        action: owned(row, 3),
        target: owned(row, 4),
        outcome: owned(row, 5),
        hash: owned(row, 6),
        body: owned(row, 7),
    }
}
