//! A record that is not in the log yet.

use serde_json::Value;
use weir_core::limits::{AUDIT_VALUE_BYTES_MAX, NAME_BYTES_MAX, REASON_CHARACTERS_MAX};
use weir_core::units::EpochMs;
use weir_wire::audit::{AuditOutcome, Author};

use super::changes::bounded;

/// What a record will say. Everything in it is bounded when it is put in.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub(super) author: Author,
    pub(super) action: String,
    pub(super) target: String,
    pub(super) before: Value,
    pub(super) after: Value,
    pub(super) outcome: AuditOutcome,
    pub(super) at: EpochMs,
}

impl Draft {
    /// A record of what `author` did, or tried to do, to `target`.
    #[must_use]
    pub fn new(
        author: Author,
        action: &str,
        target: &str,
        outcome: AuditOutcome,
        at: EpochMs,
    ) -> Self {
        let Author {
            actor,
            token,
            role,
            why,
        } = author;
        Self {
            author: Author {
                actor: cut(&actor, NAME_BYTES_MAX),
                token: token.map(|token| cut(&token, NAME_BYTES_MAX)),
                role,
                why: why.map(|why| why.chars().take(REASON_CHARACTERS_MAX).collect()),
            },
            action: cut(action, NAME_BYTES_MAX),
            target: cut(target, NAME_BYTES_MAX),
            before: Value::Null,
            after: Value::Null,
            outcome,
            at,
        }
    }

    /// Who did it.
    #[must_use]
    pub fn actor(&self) -> &str {
        &self.author.actor
    }

    /// The id of the token of who did it.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.author.token.as_deref()
    }

    /// What was done.
    #[must_use]
    pub fn action(&self) -> &str {
        &self.action
    }

    /// When.
    #[must_use]
    pub fn at(&self) -> EpochMs {
        self.at
    }

    /// What became of it.
    #[must_use]
    pub fn outcome(&self) -> AuditOutcome {
        self.outcome
    }

    /// With what was there, and what is there now.
    #[must_use]
    pub fn with_change(mut self, before: Value, after: Value) -> Self {
        self.before = bounded(before, AUDIT_VALUE_BYTES_MAX);
        self.after = bounded(after, AUDIT_VALUE_BYTES_MAX);
        self
    }
}

/// The text, or so much of it as fits.
fn cut(text: &str, bytes_max: usize) -> String {
    let end = text.floor_char_boundary(bytes_max);
    text.get(..end).unwrap_or_default().to_owned()
}
