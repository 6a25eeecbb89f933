//! One record for many: what an actor does more often than the log takes in full is summed up, so that nobody pushes the
//! history out, and nobody's records stand in the way of another's.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weir_access::stored::Root;
use weir_core::limits::{
    AUDIT_ANONYMOUS_IN_FULL_PER_DAY_MAX, AUDIT_IN_FULL_PER_DAY_MAX,
    AUDIT_REFUSED_IN_FULL_PER_DAY_MAX, AUDIT_ROOT_ACTORS, AUDIT_SUMMARY_MS,
    AUDIT_SUMMARY_TARGETS_MAX,
};
use weir_core::ordered::{OrderedMap, OrderedSet};
use weir_core::units::EpochMs;
use weir_wire::audit::{AuditOutcome, Author};
use weir_wire::count::is_zero;
use weir_wire::exchange::VERSION;
use weir_wire::role::Role;
use weir_wire::stored::{Damaged, Row};

use super::draft::Draft;
use super::{Action, sha256_hex};

/// How many records like this one the log takes in full within a day: of the same actor, action and outcome. `None` where
/// it takes them all. Those who have no name share what is for nobody.
///
/// ```
/// use weir_audit::draft::Draft;
/// use weir_audit::summary::in_full_per_day_max;
/// use weir_core::units::EpochMs;
/// use weir_wire::audit::{Author, AuditOutcome};
/// let max = |actor, action, outcome| {
///     in_full_per_day_max(&Draft::new(Author::named(actor), action, "", outcome, EpochMs(1)))
/// };
/// assert_eq!(max("ada", "state.reset", AuditOutcome::Done), Some(200));
/// assert_eq!(max("ada", "token.revoke", AuditOutcome::Done), None);
/// assert_eq!(max("ada", "token.revoke", AuditOutcome::Refused), Some(100));
/// assert_eq!(max("", "session.open", AuditOutcome::Refused), Some(60));
/// ```
#[must_use]
pub fn in_full_per_day_max(draft: &Draft) -> Option<u64> {
    if draft.author.actor.is_empty() {
        return Some(AUDIT_ANONYMOUS_IN_FULL_PER_DAY_MAX);
    }
    match (draft.outcome, Action::of_name(&draft.action)) {
        (AuditOutcome::Done, Some(action)) => action.in_full_per_day_max(),
        (AuditOutcome::Done, None) => Some(AUDIT_IN_FULL_PER_DAY_MAX),
        (AuditOutcome::Refused, _) => Some(AUDIT_REFUSED_IN_FULL_PER_DAY_MAX),
    }
}

/// How many the log takes in full within a day of all whose tokens come from one root: so nobody has more room in it by
/// making itself many.
///
/// ```
/// use weir_audit::draft::Draft;
/// use weir_audit::summary::in_full_of_root_per_day_max;
/// use weir_core::units::EpochMs;
/// use weir_wire::audit::{Author, AuditOutcome};
/// let reset = Draft::new(Author::named("ada"), "state.reset", "", AuditOutcome::Done, EpochMs(1));
/// assert_eq!(in_full_of_root_per_day_max(&reset), Some(400));
/// ```
#[must_use]
pub fn in_full_of_root_per_day_max(draft: &Draft) -> Option<u64> {
    in_full_per_day_max(draft).map(|max| max * AUDIT_ROOT_ACTORS)
}

/// Stands between the parts of a name: no text that a request brings contains a control character.
const SEPARATOR: &str = "\u{1}";

/// Where a record of several uses says how many.
pub const USES: &str = "uses";

/// What one actor, or all whose tokens come from one root, did or were refused of one kind, and has no record of its own.
/// This is also how it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    v: u16,
    author: Author,
    action: String,
    outcome: AuditOutcome,
    since: EpochMs,
    until: EpochMs,
    count: u64,
    /// The first different ones.
    targets: OrderedSet<String>,
    /// Over all of them: that of what came before and what follows, as text.
    hash: String,
    /// Where it is of all who come from one root: how many each of the first of them has.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    actors: OrderedMap<String, u64>,
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
        let author = Author {
            why: None,
            ..draft.author.clone()
        };
        Self::empty(author, draft).with(draft)
    }

    /// Of nothing yet, of the kind of a record.
    fn empty(author: Author, draft: &Draft) -> Self {
        Self {
            v: VERSION,
            author,
            action: draft.action.clone(),
            outcome: draft.outcome,
            since: draft.at,
            until: draft.at,
            count: 0,
            targets: OrderedSet::new(),
            hash: String::new(),
            actors: OrderedMap::new(),
            uses: 0,
        }
    }

    /// Of one who shares with all that come from `root`.
    ///
    /// # Errors
    /// As [`Summary::of`].
    pub fn of_root(root: &Root, draft: &Draft) -> Result<Self, serde_json::Error> {
        Self::empty(all_of(root), draft).with_actor(draft)
    }

    /// With one more of an actor who shares it with others. The hash is over who it was, too.
    ///
    /// # Errors
    /// As [`Summary::of`].
    pub fn with_actor(mut self, draft: &Draft) -> Result<Self, serde_json::Error> {
        let Author { actor, token, .. } = &draft.author;
        let text = serde_json::to_string(&(&self.hash, actor, token))?;
        self.hash = sha256_hex(&text);
        if let Some(count) = self.actors.get_mut(actor) {
            *count += 1;
        } else if self.actors.len() < AUDIT_SUMMARY_TARGETS_MAX {
            self.actors.insert(actor.clone(), 1);
        }
        self.with(draft)
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
    /// use weir_audit::draft::Draft;
    /// use weir_audit::summary::Summary;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::audit::{Author, AuditOutcome};
    /// let reset = |actor| Draft::new(Author::named(actor), "state.reset", "a", AuditOutcome::Done, EpochMs(1));
    /// assert_eq!(Summary::name(&reset("ada")), "ada\u{1}\u{1}\u{1}state.reset\u{1}done");
    /// ```
    #[must_use]
    pub fn name(draft: &Draft) -> String {
        name_of(&draft.author, draft)
    }

    /// The name of the summary that counts a record with all that come from `root`.
    #[must_use]
    pub fn name_of_root(root: &Root, draft: &Draft) -> String {
        name_of(&all_of(root), draft)
    }

    /// The name under which one that was kept under `name` and cannot be read any more is kept aside, until there is a
    /// record of it.
    ///
    /// ```
    /// use weir_audit::summary::Summary;
    /// use weir_core::units::EpochMs;
    /// let aside = Summary::aside("ada\u{1}\u{1}\u{1}state.reset\u{1}done", EpochMs(7));
    /// assert_eq!(aside, "ada\u{1}\u{1}\u{1}state.reset\u{1}done\u{1}7");
    /// ```
    #[must_use]
    pub fn aside(name: &str, now: EpochMs) -> String {
        format!("{name}{SEPARATOR}{now}")
    }

    /// The record of one that was kept under `name` and cannot be read any more, with what is there of it: that there was
    /// one is not lost.
    #[must_use]
    pub fn lost(name: &str, row: Option<&str>, damaged: &Damaged, now: EpochMs) -> Draft {
        let mut parts = name.split(SEPARATOR);
        let author = Author::named(parts.next().unwrap_or_default());
        let action = parts.nth(2).unwrap_or_default();
        let refused = parts.next() == Some(AuditOutcome::Refused.name());
        let outcome = if refused {
            AuditOutcome::Refused
        } else {
            AuditOutcome::Done
        };
        let after = json!({ "summed_up": null, "damaged": damaged.to_string(), "row": row });
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
    /// use weir_audit::summary::Summary;
    /// use weir_core::units::EpochMs;
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
        if !self.actors.is_empty() {
            after["actors"] = json!(self.actors);
        }
        if self.uses > 0 {
            after[USES] = self.uses.into();
        }
        Draft::new(self.author, &self.action, &target, self.outcome, now)
            .with_change(Value::Null, after)
    }
}

/// All whose tokens come from one root, as the author of what they have together.
fn all_of(root: &Root) -> Author {
    Author {
        token: Some(root.id.clone()),
        ..Author::named(&format!("tokens of {}", root.name))
    }
}

fn name_of(author: &Author, draft: &Draft) -> String {
    let token = author.token.as_deref().unwrap_or_default();
    let role = author.role.map_or("", Role::name);
    let (action, outcome) = (draft.action.as_str(), draft.outcome.name());
    [&author.actor, token, role, action, outcome].join(SEPARATOR)
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
