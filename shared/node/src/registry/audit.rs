//! The audit log: a row a record, and one row that says what the newest is and what was given up.

use weir_access::stored::Root;
use weir_audit::chain::{append, is_time_to_prune, next_to_prune};
use weir_audit::draft::Draft;
use weir_audit::sha256_hex;
use weir_audit::summary::{Summary, in_full_of_root_per_day_max, in_full_per_day_max};
use weir_core::limits::{AUDIT_PAGE_MAX, DAY_MS};
use weir_core::units::EpochMs;
use weir_wire::audit::AuditHead;
use weir_wire::registry::{AppendAudit, Appended};
use weir_wire::stored::{Damaged, read_row};

use super::call::{Failure, Reply, Report};
use super::rows::{HeadRow, Put, Rows, Whose};
use super::task::{Desk, Recording, Step, Task};

impl<R: Rows> Desk<'_, R> {
    pub(super) fn append_audit(&self, call: AppendAudit) -> Vec<Task> {
        let draft = Draft::new(
            call.author,
            &call.action,
            &call.target,
            call.outcome,
            self.now,
        );
        let recording = Recording {
            draft: draft.with_change(call.before, call.after),
            puts: vec![],
            learned: None,
            is_answer: true,
        };
        vec![Task::RecordDue, Task::Record(Box::new(recording))]
    }

    /// Writes a change and the record of it. Above what one actor has in full within a day, the record is a part of a
    /// summary, and has the number 0.
    pub(super) fn record(&mut self, recording: Recording) -> Result<Step, Failure> {
        let Recording {
            draft,
            mut puts,
            learned,
            is_answer,
        } = recording;
        let mut head = self.head()?;
        let root = self.root_of(draft.token())?;
        let sequence = match self.gated(&draft, root.as_ref())? {
            None => {
                let (link, next) = append(&head, draft)?;
                puts.push(Put::Record {
                    link: Box::new(link),
                    root: root.map(|root| root.id),
                });
                head = next;
                head.sequence
            }
            Some(_) => {
                puts.extend(self.sum_up(&draft, root.as_ref())?);
                0
            }
        };
        puts.extend(self.prune(&mut head)?);
        puts.push(Put::Head(head));
        let reply = || Task::Reply(Box::new(Reply::Appended(Appended { sequence })));
        Ok(Step::Write {
            puts,
            learned,
            then: is_answer.then(reply).into_iter().collect(),
        })
    }

    /// Until the log takes another record like this one in full; `None` where it does now.
    pub(super) fn in_full_after_ms(&self, draft: &Draft) -> Result<Option<u64>, Failure> {
        let root = self.root_of(draft.token())?;
        self.gated(draft, root.as_ref())
    }

    /// For how long there are as many of its actor, or of all who come from its root, as the log takes in full.
    fn gated(&self, draft: &Draft, root: Option<&Root>) -> Result<Option<u64>, Failure> {
        let actor = Whose::Actor(draft.actor());
        let full = self.full_for_ms(actor, draft, in_full_per_day_max(draft))?;
        let Some(root) = root.filter(|_| full.is_none()) else {
            return Ok(full);
        };
        let max = in_full_of_root_per_day_max(draft);
        self.full_for_ms(Whose::Root(&root.id), draft, max)
    }

    /// For how long the `max` newest of a kind of somebody are within a day.
    fn full_for_ms(
        &self,
        whose: Whose<'_>,
        draft: &Draft,
        max: Option<u64>,
    ) -> Result<Option<u64>, Failure> {
        let Some(max) = max else {
            return Ok(None);
        };
        let oldest = self
            .rows
            .recorded_at(whose, draft.action(), draft.outcome(), max - 1)?;
        let free_at = oldest.map(|at| EpochMs(at).plus(DAY_MS));
        let free_at = free_at.filter(|at| *at > self.now);
        Ok(free_at.map(|at| at.since(self.now)))
    }

    /// Adds to the summary of what one actor does of one kind, or all who come from `root`: a name that is given to one token
    /// after the other makes no summary more. One that cannot be read is kept aside, and due at once: it becomes a record
    /// that says so.
    fn sum_up(&mut self, draft: &Draft, root: Option<&Root>) -> Result<Vec<Put>, Failure> {
        let name = root.map_or_else(
            || Summary::name(draft),
            |root| Summary::name_of_root(root, draft),
        );
        let kept = self.rows.summary(&name)?;
        let kept = kept.map(|body| self.summary(body.as_deref()));
        let mut puts = Vec::new();
        if let Some(Err(_)) = kept {
            puts.push(Put::SetSummaryAside {
                name: name.clone(),
                aside: Summary::aside(&name, self.now),
            });
        }
        let summary = match (kept.and_then(Result::ok), root) {
            (Some(kept), None) => kept.with(draft)?,
            (Some(kept), Some(_)) => kept.with_actor(draft)?,
            (None, None) => Summary::of(draft)?,
            (None, Some(root)) => Summary::of_root(root, draft)?,
        };
        puts.push(Put::Summary {
            name,
            since: summary.since(),
            body: serde_json::to_string(&summary)?,
        });
        Ok(puts)
    }

    /// Makes the summaries that are due records: as many as one answer may hold.
    pub(super) fn record_due(&mut self) -> Result<Step, Failure> {
        let due_since = Summary::due_since(self.now);
        let rows = self.rows.summaries_since(due_since, AUDIT_PAGE_MAX)?;
        if rows.is_empty() {
            return Ok(Step::First(vec![]));
        }
        let mut head = self.head()?;
        let mut puts = Vec::new();
        for row in rows {
            let body = row.body.as_deref();
            let draft = match self.summary(body) {
                Ok(summary) => summary.into_draft(self.now),
                Err(damaged) => {
                    let name = row.name.unwrap_or_default();
                    Summary::lost(&name, body, &damaged, self.now)
                }
            };
            let (link, next) = append(&head, draft)?;
            puts.push(Put::Record {
                link: Box::new(link),
                root: None,
            });
            puts.push(Put::DropSummary {
                row: row.row.unwrap_or_default(),
            });
            head = next;
        }
        puts.push(Put::Head(head));
        Ok(Step::Write {
            puts,
            learned: None,
            then: vec![],
        })
    }

    /// Gives up the oldest records when it is time.
    fn prune(&mut self, head: &mut AuditHead) -> Result<Option<Put>, Failure> {
        let Some(through) = next_to_prune(head) else {
            return Ok(None);
        };
        let at = self.rows.record(through)?.and_then(|row| row.at);
        // What cannot be read is as old as any.
        let at = EpochMs(at.unwrap_or(0));
        if !is_time_to_prune(head, at, self.now) {
            return Ok(None);
        }
        head.pruned_hash = self.hash_of(through)?;
        head.pruned = through;
        Ok(Some(Put::DropRecords { through }))
    }

    /// What the log has. Where the row that says so cannot be read, or is behind the records, they say it.
    pub(super) fn head(&mut self) -> Result<AuditHead, Failure> {
        let kept = self.rows.head()?;
        let newest = self.rows.newest_record()?;
        let is_kept = kept.is_some();
        match (kept.and_then(head), newest) {
            (Some(head), newest) if newest <= head.sequence => Ok(head),
            (None, 0) if !is_kept => Ok(AuditHead::default()),
            (read, newest) => {
                let damaged = Damaged::column("sequence, hash or another");
                self.damaged("audit_head", damaged);
                let pruned = self.rows.oldest_record()?.saturating_sub(1);
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

    /// The hash of a record, as it stands beside it, else of its text. One of which nothing can be read has none: the
    /// chain then shows that it is damaged.
    fn hash_of(&mut self, sequence: u64) -> Result<String, Failure> {
        let row = self.rows.record(sequence)?.unwrap_or_default();
        let hash = row.hash.or_else(|| row.body.as_deref().map(sha256_hex));
        if hash.is_none() && sequence > 0 {
            self.reports.push(Report::NoHash { sequence });
        }
        Ok(hash.unwrap_or_default())
    }

    /// A summary, if it can be read.
    fn summary(&mut self, body: Option<&str>) -> Result<Summary, Damaged> {
        let read = body.ok_or_else(|| Damaged::column("body"));
        let read = read.and_then(read_row);
        read.inspect_err(|damaged| self.damaged("audit_summaries", damaged.clone()))
    }
}

fn head(row: HeadRow) -> Option<AuditHead> {
    Some(AuditHead {
        sequence: row.sequence?,
        hash: row.hash?,
        pruned: row.pruned?,
        pruned_hash: row.pruned_hash?,
    })
}
