//! The chain: each record names the hash of the one before, so that whoever changes, drops, adds or reorders one has to
//! write all that follow anew, and the newest hash is another.

use weir_core::json;
use weir_core::limits::{AUDIT_KEPT_MS, AUDIT_PRUNE, AUDIT_RECORDS_MAX, AUDIT_YOUNG_RECORDS_MAX};
use weir_core::units::EpochMs;
use weir_wire::audit::{AuditFault, AuditHead, AuditRecord, AuditVerdict};

use super::draft::Draft;
use super::sha256_hex;

/// A record as it is kept: its text, and the hash of that text.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The record.
    pub record: AuditRecord,
    /// Its text, over which the hash is.
    pub text: String,
    /// SHA-256 of the text, in hexadecimal.
    pub hash: String,
}

/// The next record of a log, and what the log has then.
///
/// # Errors
/// Never for records, which are plain data; the writer's words otherwise.
pub fn append(head: &AuditHead, draft: Draft) -> Result<(Link, AuditHead), serde_json::Error> {
    let record = AuditRecord {
        sequence: head.sequence + 1,
        previous: head.hash.clone(),
        at: draft.at.0,
        actor: draft.author.actor,
        token: draft.author.token,
        role: draft.author.role,
        action: draft.action,
        target: draft.target,
        before: draft.before,
        after: draft.after,
        why: draft.author.why,
        outcome: draft.outcome,
    };
    let text = serde_json::to_string(&record)?;
    let hash = sha256_hex(&text);
    let head = AuditHead {
        sequence: record.sequence,
        hash: hash.clone(),
        ..head.clone()
    };
    Ok((Link { record, text, hash }, head))
}

/// Through which record a log is given up next: no sooner than it has more than are kept however old they are.
///
/// ```
/// use weir_audit::chain::next_to_prune;
/// use weir_wire::audit::AuditHead;
/// let head = AuditHead { sequence: 100_001, ..AuditHead::default() };
/// assert_eq!(next_to_prune(&head), Some(1_000));
/// assert_eq!(next_to_prune(&AuditHead { pruned: 1, ..head }), None);
/// ```
#[must_use]
pub fn next_to_prune(head: &AuditHead) -> Option<u64> {
    (kept(head) > AUDIT_RECORDS_MAX).then(|| head.pruned + AUDIT_PRUNE)
}

/// Whether it is time: the newest of those that would go, of the time `at`, is old enough, or there are too many of any
/// age.
///
/// ```
/// use weir_audit::chain::is_time_to_prune;
/// use weir_core::units::EpochMs;
/// use weir_wire::audit::AuditHead;
/// let day_ms = 24 * 3_600_000;
/// let head = AuditHead { sequence: 100_001, ..AuditHead::default() };
/// assert!(is_time_to_prune(&head, EpochMs(0), EpochMs(90 * day_ms)));
/// assert!(!is_time_to_prune(&head, EpochMs(1), EpochMs(90 * day_ms)));
/// let head = AuditHead { sequence: 200_001, ..head };
/// assert!(is_time_to_prune(&head, EpochMs(1), EpochMs(1)));
/// ```
#[must_use]
pub fn is_time_to_prune(head: &AuditHead, at: EpochMs, now: EpochMs) -> bool {
    now.since(at) >= AUDIT_KEPT_MS || kept(head) > AUDIT_YOUNG_RECORDS_MAX
}

fn kept(head: &AuditHead) -> u64 {
    head.sequence.saturating_sub(head.pruned)
}

/// A record as it was found: whatever of it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a> {
    /// The number under which it is kept.
    pub sequence: u64,
    /// Its text.
    pub text: &'a str,
    /// The hash beside it.
    pub hash: &'a str,
}

/// Reads a log record by record and finds the first that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verifier {
    through: u64,
    hash: String,
    checked: u64,
    fault: Option<AuditFault>,
}

impl Verifier {
    /// One that goes on behind the record of that number and hash; behind 0 and no hash from the first one on.
    #[must_use]
    pub fn behind(sequence: u64, hash: &str) -> Self {
        Self {
            through: sequence,
            hash: hash.to_owned(),
            checked: 0,
            fault: None,
        }
    }

    /// Looks at the next record. Behind a fault nothing is looked at: it could not be told what it should be.
    ///
    /// # Errors
    /// The fault, this record's or an earlier one's. The record itself when it is as it was written.
    pub fn check(&mut self, found: Found<'_>) -> Result<AuditRecord, AuditFault> {
        self.check_with(found, |_| true)
    }

    /// The same for a record with something beside it, which has to agree with it.
    ///
    /// # Errors
    /// As [`Verifier::check`].
    pub fn check_with(
        &mut self,
        found: Found<'_>,
        agrees: impl FnOnce(&AuditRecord) -> bool,
    ) -> Result<AuditRecord, AuditFault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let looked = self.look(found).and_then(|record| {
            let what = "what stands beside it, to find it by, says otherwise";
            agrees(&record).then_some(record).ok_or(what)
        });
        match looked {
            Ok(record) => {
                self.through = found.sequence;
                found.hash.clone_into(&mut self.hash);
                self.checked += 1;
                Ok(record)
            }
            Err(what) => Err(self.refuse(found.sequence, what)),
        }
    }

    /// A record that cannot be read at all.
    pub fn unreadable(&mut self, sequence: u64) {
        if self.fault.is_none() {
            self.refuse(sequence, "it cannot be read");
        }
    }

    /// Where a record is missing, it is the missing one that is at fault.
    fn refuse(&mut self, sequence: u64, what: &str) -> AuditFault {
        if sequence == self.through + 1 {
            self.fail(sequence, what)
        } else {
            self.fail(sequence.min(self.through + 1), "it is missing")
        }
    }

    fn fail(&mut self, sequence: u64, what: &str) -> AuditFault {
        let fault = AuditFault {
            sequence,
            what: what.to_owned(),
        };
        self.fault = Some(fault.clone());
        fault
    }

    fn look(&self, found: Found<'_>) -> Result<AuditRecord, &'static str> {
        if found.sequence != self.through + 1 {
            return Err("it stands in another's place");
        }
        if sha256_hex(found.text) != found.hash {
            return Err("its text is not the one that was hashed");
        }
        let record: AuditRecord =
            json::from_str(found.text).map_err(|_| "it is not of the form of a record")?;
        if record.sequence != found.sequence {
            return Err("it stands in another's place");
        }
        if record.previous != self.hash {
            return Err("it does not follow the record before");
        }
        Ok(record)
    }

    /// The last record that is as it was written.
    #[must_use]
    pub fn through(&self) -> u64 {
        self.through
    }

    /// What was found. `more` says whether there are records behind; a log that ends before its newest record is at
    /// fault.
    #[must_use]
    pub fn verdict(mut self, head: AuditHead, more: bool) -> AuditVerdict {
        let ends = (self.through, &self.hash) == (head.sequence, &head.hash);
        if !more && !ends && self.fault.is_none() {
            let what = if self.through < head.sequence {
                "it is missing"
            } else {
                "it is not the newest record that was written"
            };
            let sequence = head.sequence.min(self.through + 1);
            self.fail(sequence, what);
        }
        AuditVerdict {
            intact: self.fault.is_none(),
            checked: self.checked,
            through: self.through,
            hash: self.hash,
            more: more && self.fault.is_none(),
            fault: self.fault,
            head,
        }
    }
}
