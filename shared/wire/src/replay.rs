//! `POST /operator/v1/replay`: what was asked for, played against another policy.

use serde::{Deserialize, Serialize};
use weir_core::units::{EpochMs, Revision};

use super::accounting::Tally;
use super::policy::PolicyDocument;

/// What is played against which policy: a trace, or what the ledgers counted in a span of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    /// The candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyDocument>,
    /// A trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<TraceEntry>>,
    /// From the minute of this instant on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<EpochMs>,
    /// Before this instant, to the end of its minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<EpochMs>,
}

/// One request of a trace: it names one of `budget`, `limit` and `meter`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceEntry {
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// Who asked. Optional for a limit that is not per tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The budget that it would be charged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// The limit that it would be charged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The meter that it would be charged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meter: Option<String>,
    /// The key within the limit; every dimension of a limit that is made of others has the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Units; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayKind {
    /// A budget.
    Budget,
    /// A limit.
    Limit,
    /// A meter.
    Meter,
}

impl ReplayKind {
    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Limit => "limit",
            Self::Meter => "meter",
        }
    }
}

/// What would have been admitted, by either policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayBody {
    /// When it was played.
    pub at: EpochMs,
    /// The revision of the present policy; `None` for one out of a file.
    pub present_revision: Option<Revision>,
    /// Requests that were played: entries of the trace, or parts of recorded minutes.
    pub entries: u64,
    /// When the first of them was made; of recorded counters, when their first minute begins.
    pub from: EpochMs,
    /// When the last of them was made; of recorded counters, when their last minute ends.
    pub to: EpochMs,
    /// Regions whose ledgers did not answer: what they counted is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreachable: Vec<String>,
    /// Rows in all; those that change most are listed.
    pub rows_total: u64,
    /// What changes, the most first.
    pub rows: Vec<ReplayRow>,
    /// What the rows that are not listed come to together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<ReplayTallies>,
}

/// One tenant at one budget, limit or meter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayRow {
    /// What it is about.
    pub kind: ReplayKind,
    /// The budget's, limit's or meter's name.
    pub name: String,
    /// The tenant.
    pub tenant: String,
    /// By the present policy.
    pub present: Tally,
    /// By the candidate.
    pub candidate: Tally,
}

/// The same of several rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayTallies {
    /// By the present policy.
    pub present: Tally,
    /// By the candidate.
    pub candidate: Tally,
}
