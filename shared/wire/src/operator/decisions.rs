//! `GET /operator/v1/decisions`: the last decisions that the regions show, some of many.

use serde::{Deserialize, Serialize};
use weir_core::units::EpochMs;

use super::live::DecisionSample;
use crate::check::Reason;

/// How a decision came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionOutcome {
    /// It may pass.
    Admitted,
    /// It may not.
    Denied,
    /// It passed, and a shadow would have denied it.
    WouldDeny,
}

impl DecisionOutcome {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Admitted, Self::Denied, Self::WouldDeny];

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Denied => "denied",
            Self::WouldDeny => "would_deny",
        }
    }

    /// The outcome of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// How this one came out.
    #[must_use]
    pub fn of(sample: &DecisionSample) -> Self {
        match (sample.allowed, sample.would_deny) {
            (false, _) => Self::Denied,
            (true, true) => Self::WouldDeny,
            (true, false) => Self::Admitted,
        }
    }
}

/// Asks a ledger for the last decisions that it was shown. What is absent lets all through.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecisionsBody {
    /// Of one tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Of tenants whose name contains this, whatever the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// That came out so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<DecisionOutcome>,
    /// For this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// By this budget, limit, meter, guard or overload resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
}

/// What a ledger answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecisionsReply {
    /// Newest first.
    pub samples: Vec<DecisionSample>,
}

/// The last decisions of all regions that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionsView {
    /// When this was put together, epoch milliseconds.
    pub at: EpochMs,
    /// Regions whose ledger did not answer.
    pub unreachable: Vec<String>,
    /// Newest first.
    pub decisions: Vec<DecisionRow>,
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRow {
    /// The region that decided.
    pub region: String,
    /// How it came out.
    pub outcome: DecisionOutcome,
    /// The decision.
    #[serde(flatten)]
    pub sample: DecisionSample,
}
