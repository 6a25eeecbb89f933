//! `GET /v1/fairness`: a tenant's own view: what applies to it, and what it got.

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;

use super::fairness::{BudgetReport, GuardReport};
use crate::accounting::{MeterTally, Tally};
use crate::effective::EffectiveBody;

/// The view. Where nothing is enforced it says so, and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnReply {
    /// Whether decisions are enforced.
    pub enforcing: bool,
    /// The rest.
    #[serde(flatten)]
    pub view: Option<OwnView>,
}

/// What applies to one tenant, and what it got, over all regions that answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnView {
    /// The tenant.
    pub tenant: String,
    /// When this was put together, epoch milliseconds.
    pub at: u64,
    /// The policy revision in force.
    pub policy_revision: u64,
    /// What applies to it at this moment, each value with its origin.
    pub policy: EffectiveBody,
    /// What its meters let through and shed.
    pub ingest: OrderedMap<String, MeterTally>,
    /// What its guards let through and rejected, together.
    pub queries: GuardReport,
    /// The same by guard.
    pub guards: OrderedMap<String, GuardReport>,
    /// What it got of each budget.
    pub budgets: OrderedMap<String, BudgetReport>,
    /// What its limits admitted and denied.
    pub limits: OrderedMap<String, Tally>,
    /// What overload resources admitted and denied of it.
    #[serde(default)]
    pub overload: OrderedMap<String, Tally>,
    /// Regions whose ledger did not answer: the counters lack them.
    pub unreachable: Vec<String>,
}
