//! One record for many: what an actor does more often than the log takes in full is summed up, so that nobody pushes the
//! history out, and nobody's records stand in the way of another's.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::draft::Draft;
use super::{Action, sha256_hex};
use crate::limits::{
    AUDIT_ANONYMOUS_IN_FULL_PER_DAY_MAX, AUDIT_IN_FULL_PER_DAY_MAX,
    AUDIT_REFUSED_IN_FULL_PER_DAY_MAX, AUDIT_SUMMARY_MS, AUDIT_SUMMARY_TARGETS_MAX,
};
use crate::units::EpochMs;
use crate::wire::audit::{Author, Outcome};
use crate::wire::count::is_zero;
use crate::wire::exchange::VERSION;
use crate::wire::role::Role;
use crate::wire::stored::{Damaged, Row};

/// How many records like this one the log takes in full within a day: of the same actor, action and outcome. `None` where
/// it takes them all. Those who have no name share what is for nobody.
///
/// ```
/// use weir_shared::audit::draft::Draft;
/// use weir_shared::audit::summary::in_full_per_day_max;
/// use weir_shared::units::EpochMs;
/// use weir_shared::wire::audit::{Author, Outcome};
/// let max = |actor, action, outcome| {
///     in_full_per_day_max(&Draft::new(Author::named(actor), action, "", outcome, EpochMs(1)))
/// };
/// assert_eq!(max("ada", "state.reset", Outcome::Done), Some(200));
/// assert_eq!(max("ada", "token.revoke", Outcome::Done), None);
/// assert_eq!(max("ada", "token.revoke", Outcome::Refused), Some(100));
/// assert_eq!(max("", "session.open", Outcome::Refused), Some(60));
/// ```
#[must_use]
pub fn in_full_per_day_max(draft: &Draft) -> Option<u64> {
    if draft.author.actor.is_empty() {
        return Some(AUDIT_ANONYMOUS_IN_FULL_PER_DAY_MAX);
    }
    match (draft.outcome, Action::of_name(&draft.action)) {
        (Outcome::Done, Some(action)) => action.in_full_per_day_max(),
        (Outcome::Done, None) => Some(AUDIT_IN_FULL_PER_DAY_MAX),
        (Outcome::Refused, _) => Some(AUDIT_REFUSED_IN_FULL_PER_DAY_MAX),
    }
}

/// Stands between the parts of a name: no text that a request brings contains a control character.
const SEPARATOR: &str = "\u{1}";

/// Where a record of several uses says how many.
pub const USES: &str = "uses";

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
    /// Uses that those it sums up told, each of so many.
    #[serde(default, skip_serializing_if = "is_zero")]
    uses: u64,
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
            uses: 0,
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
        let uses = after.get(USES).and_then(Value::as_u64);
        self.uses = self.uses.saturating_add(uses.unwrap_or_default());
        if self.targets.len() < AUDIT_SUMMARY_TARGETS_MAX {
            self.targets.insert(target.clone());
        }
        Ok(self)
    }

    /// The name of the summary that counts a record: that of its author, action and outcome.
    ///
    /// ```
    /// use weir_shared::audit::draft::Draft;
    /// use weir_shared::audit::summary::Summary;
    /// use weir_shared::units::EpochMs;
    /// use weir_shared::wire::audit::{Author, Outcome};
    /// let reset = |actor| Draft::new(Author::named(actor), "state.reset", "a", Outcome::Done, EpochMs(1));
    /// assert_eq!(Summary::name(&reset("ada")), "ada\u{1}\u{1}\u{1}state.reset\u{1}done");
    /// ```
    #[must_use]
    pub fn name(draft: &Draft) -> String {
        let Author {
            actor, token, role, ..
        } = &draft.author;
        let token = token.as_deref().unwrap_or_default();
        let role = role.map_or("", Role::name);
        [actor, token, role, &draft.action, draft.outcome.name()].join(SEPARATOR)
    }

    /// The record of one that was kept under `name` and cannot be read any more: that there was one is not lost.
    #[must_use]
    pub fn lost(name: &str, damaged: &Damaged, now: EpochMs) -> Draft {
        let mut parts = name.split(SEPARATOR);
        let author = Author::named(parts.next().unwrap_or_default());
        let action = parts.nth(2).unwrap_or_default();
        let refused = parts.next() == Some(Outcome::Refused.name());
        let outcome = if refused {
            Outcome::Refused
        } else {
            Outcome::Done
        };
        let after = json!({ "summed_up": null, "damaged": damaged.to_string() });
        Draft::new(author, action, "", outcome, now).with_change(Value::Null, after)
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
    /// assert_eq!(Summary::due_since(EpochMs(1_700_003_600_000)), EpochMs(1_700_000_000_000));
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
        let mut after = json!({
            "summed_up": self.count, "since": self.since, "until": self.until, "targets": self.targets,
            "sha256": self.hash,
        });
        if self.uses > 0 {
            after[USES] = self.uses.into();
        }
        Draft::new(self.author, &self.action, &target, self.outcome, now)
            .with_change(Value::Null, after)
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
