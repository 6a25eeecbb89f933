//! What is read of the audit log: pages, lines of the export, and whether a part is as it was written.

use weir_audit::chain::{Found, Verifier};
use weir_audit::export;
use weir_core::json;
use weir_core::limits::{AUDIT_PAGE_MAX, JSON_INTEGER_MAX};
use weir_wire::audit::{AuditEntry, AuditRecord, AuditVerdict};
use weir_wire::registry::{AuditLines, AuditPage, ExportAudit, ReadAudit, VerifyAudit};
use weir_wire::stored::Damaged;

use super::call::Failure;
use super::rows::{RecordRow, Rows};
use super::task::Desk;

/// The records of a page, of which one more than it holds was read.
struct Page {
    rows: Vec<RecordRow>,
    more: bool,
}

impl Page {
    fn of(mut rows: Vec<RecordRow>, limit: u64) -> Self {
        let more = rows.len() as u64 > limit;
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Self { rows, more }
    }
}

impl<R: Rows> Desk<'_, R> {
    pub(super) fn read_audit(&mut self, call: &ReadAudit) -> Result<AuditPage, Failure> {
        let head = self.head()?;
        let before = match call.before {
            0 => JSON_INTEGER_MAX,
            before => before,
        };
        let limit = call.limit.clamp(1, AUDIT_PAGE_MAX);
        let find = ReadAudit {
            before,
            limit,
            ..call.clone()
        };
        let Page { rows, more } = Page::of(self.rows.records(&find, limit + 1)?, limit);
        let mut entries = Vec::new();
        let mut damaged = Vec::new();
        for row in &rows {
            match entry(row) {
                Some(entry) => entries.push(entry),
                None => {
                    self.damaged("audit", Damaged::column("body or another"));
                    damaged.push(row.sequence.unwrap_or(0));
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

    pub(super) fn export_audit(&mut self, call: &ExportAudit) -> Result<AuditLines, Failure> {
        let head = self.head()?;
        let Page { rows, more } = self.behind(call.after, call.limit)?;
        let mut lines = Vec::new();
        let mut through = call.after;
        for row in &rows {
            through = row.sequence.unwrap_or(through);
            // A record that cannot be read is missing from the file, where the chain then does not hold.
            match (&row.hash, &row.body) {
                (Some(hash), Some(body)) => lines.push(export::line(body, hash)),
                _ => self.damaged("audit", Damaged::column("hash or body")),
            }
        }
        Ok(AuditLines {
            lines,
            through,
            more,
            head,
        })
    }

    pub(super) fn verify_audit(&mut self, call: &VerifyAudit) -> Result<AuditVerdict, Failure> {
        let head = self.head()?;
        let mut verifier = if call.after <= head.pruned {
            Verifier::behind(head.pruned, &head.pruned_hash)
        } else {
            Verifier::behind(call.after, &call.previous)
        };
        let Page { rows, more } = self.behind(verifier.through(), call.limit)?;
        for row in &rows {
            verify(&mut verifier, row);
        }
        Ok(verifier.verdict(head, more))
    }

    /// The records behind a number: at most `limit`, and no more than a page has.
    fn behind(&self, sequence: u64, limit: u64) -> Result<Page, Failure> {
        let limit = limit.clamp(1, AUDIT_PAGE_MAX);
        let rows = self.rows.records_behind(sequence, limit + 1)?;
        Ok(Page::of(rows, limit))
    }
}

/// A record that can be read, whose columns say what it says.
fn entry(row: &RecordRow) -> Option<AuditEntry> {
    let hash = row.hash.clone()?;
    let record: AuditRecord = json::from_str(row.body.as_deref()?).ok()?;
    agrees(row, &record).then_some(AuditEntry { record, hash })
}

fn agrees(row: &RecordRow, record: &AuditRecord) -> bool {
    row.sequence == Some(record.sequence)
        && row.at == Some(record.at)
        && row.actor.as_ref() == Some(&record.actor)
        && row.action.as_ref() == Some(&record.action)
        && row.target.as_ref() == Some(&record.target)
        && row.outcome.as_deref() == Some(record.outcome.name())
}

/// Looks at one row: the record, and the columns beside it, by which records are found.
fn verify(verifier: &mut Verifier, row: &RecordRow) {
    let sequence = row.sequence.unwrap_or(0);
    let (Some(hash), Some(body)) = (row.hash.as_deref(), row.body.as_deref()) else {
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
