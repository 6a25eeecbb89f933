//! `GET /operator/v1/regions`: the regions of the policy, and how they are.

use serde::{Deserialize, Serialize};

pub use crate::holdings::{RegionBudget, TenantLent};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, Revision, WindowLabel};

/// The regions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionsReply {
    /// When they were asked, epoch milliseconds.
    pub at: EpochMs,
    /// The policy revision in force.
    pub policy_revision: Revision,
    /// The region that a request like this one is decided in.
    pub here: String,
    /// One entry a region of the policy, in its order.
    pub regions: Vec<RegionStatus>,
    /// One entry a budget whose windows a coordinator opens, by name; absent from answers of older servers.
    #[serde(default)]
    pub coordinators: Vec<CoordinatorStatus>,
    /// Budgets that were not asked about, as there are too many: they can be asked for by name.
    #[serde(default)]
    pub unasked: u64,
}

/// One region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionStatus {
    /// Its name.
    pub region: String,
    /// Whether coordinators, registry and ledgers are placed here.
    pub home: bool,
    /// Whether the region's object answered.
    pub reachable: bool,
    /// How long its answer took; null without one.
    pub answer_ms: Option<u64>,
    /// The policy revision that it applies; null without an answer.
    pub policy_revision: Option<Revision>,
    /// Whether the region's ledger answered.
    pub ledger_reachable: bool,
    /// When it was last heard of there: an isolate of the region at its object, or the region at its ledger. Null where
    /// it never was.
    #[serde(default)]
    pub last_contact_at: Option<EpochMs>,
    /// What the region holds of each budget, by name.
    #[serde(default)]
    pub budgets: Vec<RegionBudget>,
}

/// The coordinator of one budget, and where the units of its open window are. All of that is null or 0 while no window
/// is open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CoordinatorStatus {
    /// The budget.
    pub budget: String,
    /// Whether its object answered.
    pub reachable: bool,
    /// How long its answer took; null without one.
    pub answer_ms: Option<u64>,
    /// The open window.
    pub window: Option<WindowLabel>,
    /// Its end, epoch milliseconds.
    pub ends_at: Option<EpochMs>,
    /// Units in it.
    pub limit: u64,
    /// Units that each region was lent and has not returned, spent or not.
    pub lent: OrderedMap<String, u64>,
    /// All units that count as lent: more than the sum of `lent` where the coordinator woke in this window and does not
    /// know who has them.
    pub lent_total: u64,
    /// Units that may still be lent.
    pub free: u64,
    /// False in a window in which the coordinator woke: `lent_total` is then an upper bound.
    pub exact: bool,
    /// What regions have of each tenant, the largest first: where one budget was asked for and tenants share it.
    pub tenants: Vec<TenantLent>,
}
