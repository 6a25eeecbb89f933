//! The audit log: a row a record, and one row that says what the newest is and what was given up.

use weir_shared::audit::chain::{Found, Link, Verifier, append, is_time_to_prune, next_to_prune};
use weir_shared::audit::draft::Draft;
use weir_shared::audit::summary::{Summary, in_full_per_hour_max};
use weir_shared::audit::{export, sha256_hex};
use weir_shared::json;
use weir_shared::limits::{AUDIT_PAGE_MAX, JSON_INTEGER_MAX};
use weir_shared::units::EpochMs;
use weir_shared::wire::audit::{AuditEntry, AuditHead, AuditRecord, AuditVerdict, Outcome};
use weir_shared::wire::stored::read_row;
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
    "CREATE INDEX IF NOT EXISTS audit_by_actor ON audit (actor, outcome, at)",
    "CREATE TABLE IF NOT EXISTS audit_summaries (name TEXT PRIMARY KEY, since INTEGER, body TEXT)",
    "CREATE TABLE IF NOT EXISTS audit_head (id INTEGER PRIMARY KEY, sequence INTEGER, hash TEXT, pruned INTEGER, \
     pruned_hash TEXT)",
];

/// In which records of one actor are counted.
const HOUR_MS: u64 = 3_600_000;

/// The columns of a record, in the order in which they are read.
const COLUMNS: &str = "sequence, at, actor, action, target, outcome, hash, body";

impl Registry {
    /// Writes changes and the record of them, all or nothing. Above what one actor has in full within an hour, the record is
    /// a part of a summary.
    ///
    /// Answers the record's number; 0 for one that was summed up.
    pub(super) fn record(
        &self,
        draft: Draft,
        mut statements: Vec<Statement>,
    ) -> Result<u64, Refused> {
        let now = self.now()?;
        let mut head = self.head()?;
        statements.extend(self.sum_up_due(&mut head, now)?);
        let sequence = if self.is_in_full(&draft, now)? {
            let (link, next) = append(&head, draft)?;
            statements.push(insert(&link));
            head = next;
            head.sequence
        } else {
            statements.push(self.sum_up(&draft)?);
            0
        };
        statements.extend(self.prune(&mut head, now)?);
        statements.push(keep(&head));
        self.database.atomically(statements)?;
        Ok(sequence)
    }

    /// Whether the log takes another record of that actor and outcome in full.
    fn is_in_full(&self, draft: &Draft, now: EpochMs) -> Result<bool, Refused> {
        let max = in_full_per_hour_max(draft.actor());
        let query = "SELECT COUNT(*) FROM (SELECT 1 FROM audit WHERE actor = ? AND outcome = ? AND at > ? LIMIT ?)";
        let values = vec![
            draft.actor().into(),
            draft.outcome().name().into(),
            number(now.0.saturating_sub(HOUR_MS)),
            number(max),
        ];
        let row = self.database.first(query, values)?;
        Ok(row.and_then(|row| integer(row.first())).unwrap_or(0) < max)
    }

    /// Adds to the summary of what one actor does of one kind.
    fn sum_up(&self, draft: &Draft) -> Result<Statement, Refused> {
        let name = [draft.actor(), draft.action(), draft.outcome().name()].join("\u{1}");
        let query = "SELECT body FROM audit_summaries WHERE name = ?";
        let row = self.database.first(query, vec![name.as_str().into()])?;
        let kept = row.as_deref().and_then(summary);
        let summary = match kept {
            Some(kept) => kept.with(draft)?,
            None => Summary::of(draft)?,
        };
        let insert = "INSERT OR REPLACE INTO audit_summaries (name, since, body) VALUES (?, ?, ?)";
        let values = vec![
            name.into(),
            number(summary.since().0),
            serde_json::to_string(&summary)?.into(),
        ];
        Ok((insert, values))
    }

    /// Makes records of the summaries that are due.
    fn sum_up_due(&self, head: &mut AuditHead, now: EpochMs) -> Result<Vec<Statement>, Refused> {
        let due = Summary::due_since(now).0;
        let query = "SELECT body FROM audit_summaries WHERE since <= ? ORDER BY since, name";
        let rows = self.database.rows(query, vec![number(due)])?;
        let mut statements = Vec::new();
        for summary in rows.iter().filter_map(|row| summary(row)) {
            let (link, next) = append(head, summary.into_draft(now))?;
            statements.push(insert(&link));
            *head = next;
        }
        if !rows.is_empty() {
            let delete = "DELETE FROM audit_summaries WHERE since <= ?";
            statements.push((delete, vec![number(due)]));
        }
        Ok(statements)
    }

    /// The log as it is when what is due was summed up.
    fn settled(&self) -> Result<AuditHead, Refused> {
        let mut head = self.head()?;
        let mut statements = self.sum_up_due(&mut head, self.now()?)?;
        if !statements.is_empty() {
            statements.push(keep(&head));
            self.database.atomically(statements)?;
        }
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
        let head = self.settled()?;
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
        let head = self.settled()?;
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
        let head = self.settled()?;
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

fn insert(link: &Link) -> Statement {
    let statement = "INSERT INTO audit (sequence, at, actor, action, target, outcome, hash, body) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
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
    ];
    (statement, values)
}

/// A summary that can be read; of another nothing is known but that it was.
fn summary(row: &[Value]) -> Option<Summary> {
    let read = text(row.first())
        .ok_or_else(|| wrong_type("body"))
        .and_then(read_row);
    read.inspect_err(|damaged| report_damaged("audit_summaries", damaged))
        .ok()
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
