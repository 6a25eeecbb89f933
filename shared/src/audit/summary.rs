//! One record for many: what an actor does more often than the log takes in full is summed up, so that nobody pushes the
//! history out, and nobody's records stand in the way of another's.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::draft::Draft;
use super::sha256_hex;
use crate::limits::{
    AUDIT_ANONYMOUS_PER_HOUR_MAX, AUDIT_IN_FULL_PER_HOUR_MAX, AUDIT_SUMMARY_MS,
    AUDIT_SUMMARY_TARGETS_MAX,
};
use crate::units::EpochMs;
use crate::wire::audit::{Author, Outcome};
use crate::wire::exchange::VERSION;
use crate::wire::stored::{Damaged, Row};

/// How many records of one actor and outcome the log takes in full within an hour. Those who have no name share what is
/// for nobody.
///
/// ```
/// use weir_shared::audit::summary::in_full_per_hour_max;
/// assert_eq!(in_full_per_hour_max("ada"), 200);
/// assert_eq!(in_full_per_hour_max(""), 60);
/// ```
#[must_use]
pub fn in_full_per_hour_max(actor: &str) -> u64 {
    if actor.is_empty() {
        AUDIT_ANONYMOUS_PER_HOUR_MAX
    } else {
        AUDIT_IN_FULL_PER_HOUR_MAX
    }
}

/// What one actor did, or was refused, of one kind, and has no record of its own. This is also how it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    v: u16,
    author: Author,
    action: String,
    outcome: Outcome,
    since: EpochMs,
    until: EpochMs,
    count: u64,
    /// The first different ones.
    targets: BTreeSet<String>,
    /// Over all of them: that of what came before and what follows, as text.
    hash: String,
}

impl Summary {
    /// Of one.
    ///
    /// # Errors
    /// Never for records, which are plain data; the writer's words otherwise.
    pub fn of(draft: &Draft) -> Result<Self, serde_json::Error> {
        let empty = Self {
            v: VERSION,
            author: Author {
                why: None,
                ..draft.author.clone()
            },
            action: draft.action.clone(),
            outcome: draft.outcome,
            since: draft.at,
            until: draft.at,
            count: 0,
            targets: BTreeSet::new(),
            hash: String::new(),
        };
        empty.with(draft)
    }

    /// With one more.
    ///
    /// # Errors
    /// As [`Summary::of`].
    pub fn with(mut self, draft: &Draft) -> Result<Self, serde_json::Error> {
        let Draft {
            author,
            target,
            before,
            after,
            at,
            ..
        } = draft;
        let text = serde_json::to_string(&(&self.hash, at, target, before, after, &author.why))?;
        self.hash = sha256_hex(&text);
        self.until = self.until.max(*at);
        self.count += 1;
        if self.targets.len() < AUDIT_SUMMARY_TARGETS_MAX {
            self.targets.insert(target.clone());
        }
        Ok(self)
    }

    /// Since when it is.
    #[must_use]
    pub fn since(&self) -> EpochMs {
        self.since
    }

    /// Since when a summary is that is due to become a record.
    ///
    /// ```
    /// use weir_shared::audit::summary::Summary;
    /// use weir_shared::units::EpochMs;
    /// assert_eq!(Summary::due_since(EpochMs(1_700_000_600_000)), EpochMs(1_700_000_000_000));
    /// ```
    #[must_use]
    pub fn due_since(now: EpochMs) -> EpochMs {
        EpochMs(now.0.saturating_sub(AUDIT_SUMMARY_MS))
    }

    /// The record of all of them.
    #[must_use]
    pub fn into_draft(self, now: EpochMs) -> Draft {
        let target = match self.targets.first() {
            Some(only) if self.targets.len() == 1 => only.clone(),
            _ => String::new(),
        };
        let after = json!({
            "summed_up": self.count, "since": self.since, "until": self.until, "targets": self.targets,
            "sha256": self.hash,
        });
        Draft::new(self.author, &self.action, &target, self.outcome, now)
            .with_change(serde_json::Value::Null, after)
    }
}

impl Row for Summary {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        if self.count == 0 || self.until < self.since || self.targets.is_empty() {
            let what = "a summary is of something, and ends behind its start";
            return Err(Damaged::Contradiction { what });
        }
        Ok(())
    }
}
