//! What a step came to.

use anyhow::Result;

use super::named::Named;
use super::phases::Phases;
use super::totals::Totals;

/// What a step came to.
pub(super) struct Outcome {
    pub(super) totals: Totals,
    pub(super) named: Named,
    pub(super) phases: Phases,
    pub(super) result: Result<()>,
}

impl Outcome {
    /// Of a step that is one check.
    pub(super) fn check(result: Result<()>) -> Self {
        Self {
            totals: Totals::default(),
            named: Named::default(),
            phases: Phases::default(),
            result,
        }
    }

    /// Of a step that could not begin.
    pub(super) fn of(outcome: Result<Self>) -> Self {
        outcome.unwrap_or_else(|error| Self::check(Err(error)))
    }
}
