//! The audit log: a row a record, and one row that says what the newest is and what was given up.

use serde_json::Value as Json;
use weir_shared::access::stored::Root;
use weir_shared::audit::chain::{Found, Link, Verifier, append, is_time_to_prune, next_to_prune};
use weir_shared::audit::draft::Draft;
use weir_shared::audit::summary::{Summary, in_full_of_root_per_day_max, in_full_per_day_max};
use weir_shared::audit::{export, sha256_hex};
use weir_shared::json;
use weir_shared::limits::{AUDIT_PAGE_MAX, DAY_MS, JSON_INTEGER_MAX};
use weir_shared::units::EpochMs;
use weir_shared::wire::audit::{AuditEntry, AuditHead, AuditRecord, AuditVerdict, Outcome};
use weir_shared::wire::stored::{Damaged, read_row};
use worker::console_error;

use super::Registry;
use crate::objects::calls::{
    AppendAudit, Appended, AuditLines, AuditPage, ExportAudit, ReadAudit, VerifyAudit,
};
use crate::objects::server::Refused;
use crate::objects::storage::{
    Statement, Value, integer, number, report_damaged, text, wrong_type,
};

pub(super) const SCHEMA: &[&str] = &[
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

impl Registry {
    /// Writes changes and the record of them, all or nothing. Above what one actor has in full within a day, the record is
    /// a part of a summary.
    ///
    /// Answers the record's number; 0 for one that was summed up.
    pub(super) fn record(
        &self,
        draft: Draft,
        mut statements: Vec<Statement>,
    ) -> Result<u64, Refused> {
        let now = self.now()?;
        // First and by itself: a summary that is due takes nothing more.
        let mut head = self.settled(now)?;
        let root = self.root_of(draft.token())?;
        let sequence = match self.gated(&draft, root.as_ref(), now)? {
            None => {
                let (link, next) = append(&head, draft)?;
                statements.push(insert(&link, root.as_ref()));
                head = next;
                head.sequence
            }
            Some(_) => {
                statements.extend(self.sum_up(&draft, root.as_ref(), now)?);
                0
            }
        };
        statements.extend(self.prune(&mut head, now)?);
        statements.push(keep(&head));
        self.database.atomically(statements)?;
        Ok(sequence)
    }

    /// Records what was refused, and why.
    pub(super) fn record_refused(
        &self,
        draft: Draft,
        before: Json,
        why: Json,
    ) -> Result<u64, Refused> {
        self.record(draft.with_change(before, why), vec![])
    }

    /// Until the log takes another record like this one in full; `None` where it does now.
    pub(super) fn in_full_after_ms(
        &self,
        draft: &Draft,
        now: EpochMs,
    ) -> Result<Option<u64>, Refused> {
        let root = self.root_of(draft.token())?;
        self.gated(draft, root.as_ref(), now)
    }

    /// For how long there are as many of its actor, or of all who come from its root, as the log takes in full.
    fn gated(
        &self,
        draft: &Draft,
        root: Option<&Root>,
        now: EpochMs,
    ) -> Result<Option<u64>, Refused> {
        let by_actor = "SELECT at FROM audit WHERE actor = ? AND action = ? AND outcome = ? \
             ORDER BY at DESC LIMIT 1 OFFSET ?";
        let max = in_full_per_day_max(draft);
        let full = self.full_for_ms(by_actor, draft.actor(), draft, max, now)?;
        let Some(root) = root.filter(|_| full.is_none()) else {
            return Ok(full);
        };
        let by_root = "SELECT at FROM audit WHERE root = ? AND action = ? AND outcome = ? \
             ORDER BY at DESC LIMIT 1 OFFSET ?";
        let max = in_full_of_root_per_day_max(draft);
        self.full_for_ms(by_root, &root.id, draft, max, now)
    }

    /// For how long the `max` newest of a kind that `query` finds of somebody are within a day.
    fn full_for_ms(
        &self,
        query: &str,
        whose: &str,
        draft: &Draft,
        max: Option<u64>,
        now: EpochMs,
    ) -> Result<Option<u64>, Refused> {
        let Some(max) = max else {
            return Ok(None);
        };
        let values = vec![
            whose.into(),
            draft.action().into(),
            draft.outcome().name().into(),
            number(max - 1),
        ];
        let row = self.database.first(query, values)?;
        let oldest = row.and_then(|row| integer(row.first()));
        let free_at = oldest.map(|at| EpochMs(at).plus(DAY_MS));
        Ok(free_at.filter(|at| *at > now).map(|at| at.since(now)))
    }

    /// Adds to the summary of what one actor does of one kind, or all who come from `root`: a name that is given to one token
    /// after the other makes no summary more. One that cannot be read is kept
    /// aside, and due at once: it becomes a record that says so.
    fn sum_up(
        &self,
        draft: &Draft,
        root: Option<&Root>,
        now: EpochMs,
    ) -> Result<Vec<Statement>, Refused> {
        let name = root.map_or_else(
            || Summary::name(draft),
            |root| Summary::name_of_root(root, draft),
        );
        let query = "SELECT body FROM audit_summaries WHERE name = ?";
        let row = self.database.first(query, vec![name.as_str().into()])?;
        let kept = row.map(|row| summary(row.first()));
        let mut statements = Vec::new();
        if let Some(Err(_)) = kept {
            let aside = "UPDATE audit_summaries SET name = ?, since = 0 WHERE name = ?";
            let values = vec![Summary::aside(&name, now).into(), name.as_str().into()];
            statements.push((aside, values));
        }
        let summary = match (kept.and_then(Result::ok), root) {
            (Some(kept), None) => kept.with(draft)?,
            (Some(kept), Some(_)) => kept.with_actor(draft)?,
            (None, None) => Summary::of(draft)?,
            (None, Some(root)) => Summary::of_root(root, draft)?,
        };
        let insert = "INSERT OR REPLACE INTO audit_summaries (name, since, body) VALUES (?, ?, ?)";
        let values = vec![
            name.into(),
            number(summary.since().0),
            serde_json::to_string(&summary)?.into(),
        ];
        statements.push((insert, values));
        Ok(statements)
    }

    /// The log, once the summaries that are due are records of it: as many as one answer may hold.
    fn settled(&self, now: EpochMs) -> Result<AuditHead, Refused> {
        let mut head = self.head()?;
        let query = "SELECT rowid, name, body FROM audit_summaries WHERE since <= ? ORDER BY since, name LIMIT ?";
        let due = number(Summary::due_since(now).0);
        let rows = self
            .database
            .rows(query, vec![due, number(AUDIT_PAGE_MAX)])?;
        if rows.is_empty() {
            return Ok(head);
        }
        let mut statements = Vec::new();
        for row in &rows {
            let draft = match summary(row.get(2)) {
                Ok(summary) => summary.into_draft(now),
                Err(damaged) => {
                    let name = text(row.get(1)).unwrap_or_default();
                    Summary::lost(name, text(row.get(2)), &damaged, now)
                }
            };
            let (link, next) = append(&head, draft)?;
            statements.push(insert(&link, None));
            let delete = "DELETE FROM audit_summaries WHERE rowid = ?";
            let row = integer(row.first()).unwrap_or_default();
            statements.push((delete, vec![number(row)]));
            head = next;
        }
        statements.push(keep(&head));
        self.database.atomically(statements)?;
        Ok(head)
    }

    /// Gives up the oldest records when it is time.
    fn prune(&self, head: &mut AuditHead, now: EpochMs) -> Result<Option<Statement>, Refused> {
        let Some(through) = next_to_prune(head) else {
            return Ok(None);
        };
        let at = "SELECT at FROM audit WHERE sequence = ?";
        let row = self.database.first(at, vec![number(through)])?;
        // What cannot be read is as old as any.
        let at = row.and_then(|row| integer(row.first())).unwrap_or(0);
        if !is_time_to_prune(head, EpochMs(at), now) {
            return Ok(None);
        }
        head.pruned_hash = self.hash_of(through)?;
        head.pruned = through;
        let delete = "DELETE FROM audit WHERE sequence <= ?";
        Ok(Some((delete, vec![number(through)])))
    }

    pub(super) fn append_audit(&self, call: AppendAudit) -> Result<Appended, Refused> {
        let now = self.now()?;
        let draft = Draft::new(call.author, &call.action, &call.target, call.outcome, now);
        let sequence = self.record(draft.with_change(call.before, call.after), vec![])?;
        Ok(Appended { sequence })
    }

    pub(super) fn read_audit(&self, call: ReadAudit) -> Result<AuditPage, Refused> {
        let head = self.settled(self.now()?)?;
        let before = if call.before == 0 {
            JSON_INTEGER_MAX
        } else {
            call.before
        };
        let limit = call.limit.clamp(1, AUDIT_PAGE_MAX);
        let order = if call.newest_first { "DESC" } else { "ASC" };
        // What is not asked for, and what cannot be read, excludes nothing.
        let query = format!(
            "SELECT {COLUMNS} FROM audit WHERE sequence > ? AND sequence < ? \
             AND coalesce(at >= ?, 1) AND coalesce(at < ?, 1) AND coalesce(actor = ?, 1) \
             AND coalesce(action = ?, 1) AND coalesce(target = ?, 1) AND coalesce(outcome = ?, 1) \
             ORDER BY sequence {order} LIMIT ?"
        );
        let values = vec![
            number(call.after),
            number(before),
            call.from.map(number).into(),
            call.to.map(number).into(),
            call.actor.into(),
            call.action.into(),
            call.target.into(),
            call.outcome.map(Outcome::name).into(),
            number(limit + 1),
        ];
        let rows = self.database.rows(&query, values)?;
        let more = rows.len() as u64 > limit;
        let mut entries = Vec::new();
        let mut damaged = Vec::new();
        for row in rows.iter().take(usize::try_from(limit)?) {
            match entry(row) {
                Some(entry) => entries.push(entry),
                None => {
                    report_damaged("audit", &wrong_type("body or another"));
                    damaged.push(integer(row.first()).unwrap_or(0));
                }
            }
        }
        Ok(AuditPage {
            entries,
            damaged,
            more,
            head,
        })
    }

    pub(super) fn export_audit(&self, call: ExportAudit) -> Result<AuditLines, Refused> {
        let head = self.settled(self.now()?)?;
        let limit = call.limit.clamp(1, AUDIT_PAGE_MAX);
        let rows = self.behind(call.after, limit)?;
        let more = rows.len() as u64 > limit;
        let mut lines = Vec::new();
        let mut through = call.after;
        for row in rows.iter().take(usize::try_from(limit)?) {
            through = integer(row.first()).unwrap_or(through);
            // A record that cannot be read is missing from the file, where the chain then does not hold.
            match (text(row.get(6)), text(row.get(7))) {
                (Some(hash), Some(body)) => lines.push(export::line(body, hash)),
                _ => report_damaged("audit", &wrong_type("hash or body")),
            }
        }
        Ok(AuditLines {
            lines,
            through,
            more,
            head,
        })
    }

    pub(super) fn verify_audit(&self, call: VerifyAudit) -> Result<AuditVerdict, Refused> {
        let head = self.settled(self.now()?)?;
        let limit = call.limit.clamp(1, AUDIT_PAGE_MAX);
        let mut verifier = if call.after <= head.pruned {
            Verifier::behind(head.pruned, &head.pruned_hash)
        } else {
            Verifier::behind(call.after, &call.previous)
        };
        let rows = self.behind(verifier.through(), limit)?;
        let more = rows.len() as u64 > limit;
        for row in rows.iter().take(usize::try_from(limit)?) {
            verify(&mut verifier, row);
        }
        Ok(verifier.verdict(head, more))
    }

    /// One record more than `limit` behind a number.
    fn behind(&self, sequence: u64, limit: u64) -> Result<Vec<Vec<Value>>, Refused> {
        let query =
            format!("SELECT {COLUMNS} FROM audit WHERE sequence > ? ORDER BY sequence LIMIT ?");
        let values = vec![number(sequence), number(limit + 1)];
        self.database.rows(&query, values)
    }

    /// What the log has. Where the row that says so cannot be read, or is behind the records, they say it.
    pub(super) fn head(&self) -> Result<AuditHead, Refused> {
        let query = "SELECT sequence, hash, pruned, pruned_hash FROM audit_head WHERE id = 1";
        let kept = self.database.first(query, vec![])?;
        let newest = self.newest_record()?;
        let read = kept.as_deref().and_then(head);
        match (read, newest) {
            (Some(head), newest) if newest <= head.sequence => Ok(head),
            (None, 0) if kept.is_none() => Ok(AuditHead::default()),
            (read, newest) => {
                report_damaged("audit_head", &wrong_type("sequence, hash or another"));
                let oldest = self.bound("SELECT MIN(sequence) FROM audit")?;
                let pruned = oldest.saturating_sub(1);
                let read = read.unwrap_or_default();
                Ok(AuditHead {
                    sequence: newest,
                    hash: self.hash_of(newest)?,
                    pruned: read.pruned.max(pruned),
                    pruned_hash: read.pruned_hash,
                })
            }
        }
    }

    fn newest_record(&self) -> Result<u64, Refused> {
        self.bound("SELECT MAX(sequence) FROM audit")
    }

    fn bound(&self, query: &str) -> Result<u64, Refused> {
        let row = self.database.first(query, vec![])?;
        Ok(row.and_then(|row| integer(row.first())).unwrap_or(0))
    }

    /// The hash of a record, as it stands beside it, else of its text. One of which nothing can be read has none: the
    /// chain then shows that it is damaged.
    fn hash_of(&self, sequence: u64) -> Result<String, Refused> {
        let query = "SELECT hash, body FROM audit WHERE sequence = ?";
        let row = self.database.first(query, vec![number(sequence)])?;
        let row = row.unwrap_or_default();
        let beside = text(row.first()).map(str::to_owned);
        let hash = beside.or_else(|| text(row.get(1)).map(sha256_hex));
        if hash.is_none() && sequence > 0 {
            console_error!("record {sequence} of the audit log has no hash");
        }
        Ok(hash.unwrap_or_default())
    }
}

fn insert(link: &Link, root: Option<&Root>) -> Statement {
    let statement = "INSERT INTO audit (sequence, at, actor, action, target, outcome, hash, body, root) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let record = &link.record;
    let values = vec![
        number(record.sequence),
        number(record.at),
        record.actor.as_str().into(),
        record.action.as_str().into(),
        record.target.as_str().into(),
        record.outcome.name().into(),
        link.hash.as_str().into(),
        link.text.as_str().into(),
        root.map(|root| root.id.clone()).into(),
    ];
    (statement, values)
}

/// A summary, if it can be read.
fn summary(body: Option<&Value>) -> Result<Summary, Damaged> {
    let read = text(body).ok_or_else(|| wrong_type("body"));
    let read = read.and_then(read_row);
    read.inspect_err(|damaged| report_damaged("audit_summaries", damaged))
}

fn keep(head: &AuditHead) -> Statement {
    let statement = "INSERT OR REPLACE INTO audit_head (id, sequence, hash, pruned, pruned_hash) \
         VALUES (1, ?, ?, ?, ?)";
    let values = vec![
        number(head.sequence),
        head.hash.as_str().into(),
        number(head.pruned),
        head.pruned_hash.as_str().into(),
    ];
    (statement, values)
}

fn head(row: &[Value]) -> Option<AuditHead> {
    Some(AuditHead {
        sequence: integer(row.first())?,
        hash: text(row.get(1))?.to_owned(),
        pruned: integer(row.get(2))?,
        pruned_hash: text(row.get(3))?.to_owned(),
    })
}

/// A record that can be read, whose columns say what it says.
fn entry(row: &[Value]) -> Option<AuditEntry> {
    let hash = text(row.get(6))?.to_owned();
    let record: AuditRecord = json::from_str(text(row.get(7))?).ok()?;
    agrees(row, &record).then_some(AuditEntry { record, hash })
}

fn agrees(row: &[Value], record: &AuditRecord) -> bool {
    integer(row.first()) == Some(record.sequence)
        && integer(row.get(1)) == Some(record.at)
        && text(row.get(2)) == Some(record.actor.as_str())
        && text(row.get(3)) == Some(record.action.as_str())
        && text(row.get(4)) == Some(record.target.as_str())
        && text(row.get(5)) == Some(record.outcome.name())
}

/// Looks at one row: the record, and the columns beside it, by which records are found.
fn verify(verifier: &mut Verifier, row: &[Value]) {
    let sequence = integer(row.first()).unwrap_or(0);
    let (Some(hash), Some(body)) = (text(row.get(6)), text(row.get(7))) else {
        verifier.unreadable(sequence);
        return;
    };
    let found = Found {
        sequence,
        text: body,
        hash,
    };
    // The verifier keeps the fault.
    let _found = verifier.check_with(found, |record| agrees(row, record));
}
