//! The operator API: sessions and the fairness view.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::accounting::Tally;
use super::decimal::Decimal;

/// `POST /operator/v1/session`: a token in exchange for a cookie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// The token to log in with.
    pub token: String,
}

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything.
    Admin,
}

/// The answer to a login, and to `GET /operator/v1/session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionReply {
    /// What the holder of the session may do.
    pub role: Role,
    /// When the session ends, epoch milliseconds.
    pub expires_at: u64,
}

/// `GET /operator/v1/fairness`: every tenant seen, with what it got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FairnessReply {
    /// When this was put together, epoch milliseconds.
    pub at: u64,
    /// The policy revision in force.
    pub policy_revision: u64,
    /// Whether decisions are enforced.
    pub enforcing: bool,
    /// One entry a region of the policy; a region whose ledger did not answer is named, never left out.
    pub regions: Vec<RegionReport>,
    /// Sorted by tenant; `[]` when none was seen.
    pub tenants: Vec<TenantReport>,
}

/// What one region's ledger said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionReport {
    /// The region.
    pub region: String,
    /// False when its ledger did not answer in time: the totals then lack this region.
    pub reachable: bool,
    /// The sum over its tenants.
    pub total: Tally,
}

/// One tenant's accounting, summed over the regions that answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TenantReport {
    /// The tenant; [`super::accounting::OTHERS`] stands for those beyond the bound of names kept.
    pub tenant: String,
    /// The tier the policy puts it in; null when it resolves to none.
    pub tier: Option<String>,
    /// Its weight.
    pub weight: Decimal,
    /// The sum over budgets and limits.
    pub total: Tally,
    /// Per budget.
    pub budgets: BTreeMap<String, BudgetReport>,
    /// Per limit.
    pub limits: BTreeMap<String, Tally>,
}

/// What one tenant got of one budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BudgetReport {
    /// Its weight in this budget.
    pub weight: Decimal,
    /// Units guaranteed per window; 0 under `first_come`, which guarantees nothing.
    pub guarantee: u64,
    /// Units admitted since counting began.
    pub used: super::count::Count,
    /// Units admitted beyond the guarantee.
    pub borrowed: super::count::Count,
    /// Calls denied since counting began.
    pub denied: super::count::Count,
    /// The counters in full.
    pub total: Tally,
}
