//! Decisions of the vectors beside those of Weir.

use serde::Deserialize;
use serde_json::Value;
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::units::EpochMs;

use super::report::Outcome;

/// A decision as ThrottleKit writes it. Numbers are doubles, as a capacity may be a decimal.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReferenceDecision {
    pub allowed: bool,
    pub limit: f64,
    pub remaining: f64,
    pub reset_at: f64,
    pub retry_after_ms: f64,
}

/// Which fields are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fields {
    /// All.
    All,
    /// All but the retry hint, for this reason.
    ExceptRetry(&'static str),
}

impl ReferenceDecision {
    pub fn read(value: &Value) -> Result<Self, Outcome> {
        Self::deserialize(value)
            .map_err(|error| Outcome::failed(value, format!("no decision: {error}")))
    }

    /// How Weir's decision reads there: never is an infinite wait, and Weir tells a decimal limit rounded down.
    pub fn of(decision: &Decision) -> Self {
        Self {
            allowed: decision.admitted(),
            limit: decision.limit as f64,
            remaining: decision.remaining as f64,
            reset_at: decision.reset_at.0 as f64,
            retry_after_ms: decision
                .retry
                .after_ms()
                .map_or(f64::INFINITY, |ms| ms as f64),
        }
    }

    /// The same decision in Weir's form; `None` if a number of it is no whole one.
    pub fn decision(&self) -> Option<Decision> {
        let whole = |number: f64| (number.fract() == 0.0 && number >= 0.0).then_some(number as u64);
        let retry_ms = whole(self.retry_after_ms)?;
        Some(Decision {
            reason: if self.allowed {
                Reason::Admitted
            } else {
                Reason::LimitExceeded
            },
            limit: whole(self.limit)?,
            remaining: whole(self.remaining)?,
            reset_at: EpochMs(whole(self.reset_at)?),
            retry: if retry_ms == 0 {
                Retry::Now
            } else {
                Retry::AfterMs(retry_ms)
            },
        })
    }

    /// Whether both say the same.
    pub fn agrees(&self, got: &Decision, fields: Fields) -> bool {
        let told = Self {
            limit: self.limit.floor(),
            ..*self
        };
        let got = Self::of(got);
        match fields {
            Fields::All => told == got,
            Fields::ExceptRetry(_) => {
                let retry_after_ms = got.retry_after_ms;
                Self {
                    retry_after_ms,
                    ..told
                } == got
            }
        }
    }

    /// What comes of the comparison.
    pub fn compare(&self, got: &Decision, fields: Fields) -> Outcome {
        if !self.agrees(got, fields) {
            return Outcome::failed(format!("{self:?}"), Self::of(got));
        }
        match fields {
            Fields::All => Outcome::Passed,
            Fields::ExceptRetry(reason) => Outcome::PassedExcept(reason.into()),
        }
    }
}
