//! What came of a function around what is charged or held.

use crate::answer::Decision;

/// What came of a scope: what its function returned, or why it was not called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome<T> {
    /// The function was called.
    Allowed {
        /// The decision.
        decision: Decision,
        /// What it returned.
        value: T,
    },
    /// It was not: the decision says why.
    Denied(Decision),
}

impl<T> Outcome<T> {
    /// The decision.
    pub fn decision(&self) -> &Decision {
        match self {
            Self::Allowed { decision, .. } | Self::Denied(decision) => decision,
        }
    }

    /// What the function returned; `None` when it was not called.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Allowed { value, .. } => Some(value),
            Self::Denied(_) => None,
        }
    }
}
