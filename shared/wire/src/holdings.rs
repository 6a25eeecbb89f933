//! Where the units of budgets are: what a coordinator has lent of a window, and what a region holds and lends on. Told
//! by the objects themselves, and shown to operators as it is.

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, WindowLabel};

/// What a region has of one budget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RegionBudget {
    /// The budget.
    pub budget: String,
    /// Whether the region opens the windows itself and no coordinator does: a budget of scope `region`, or a slice of a
    /// static partition.
    pub own: bool,
    /// The open window that something is held of; null while there is none.
    pub window: Option<WindowLabel>,
    /// Its end by the region's clock, epoch milliseconds.
    pub ends_at: Option<EpochMs>,
    /// Units in the whole window: over the deployment, or of a budget of the region's own over the region.
    pub limit: u64,
    /// Units that the region was lent and has not returned; of one of its own, all that may be lent in the window.
    pub held: u64,
    /// Units of those that its isolates were lent and have not returned, spent or not.
    pub lent: u64,
    /// Isolates that were heard of lately.
    pub isolates: u64,
    /// Whether the coordinator did not answer the last question.
    pub outage: bool,
}

/// What a region's object says of some budgets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holdings {
    /// When an isolate was last heard of; null where none was since the object woke.
    pub heard_at: Option<EpochMs>,
    /// The budgets that were asked for, as far as the region knows them.
    pub budgets: Vec<RegionBudget>,
}

/// Asks a coordinator what it has lent of a budget's open window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LentBody {
    /// The budget.
    pub budget: String,
    /// The regions whose part is wanted.
    pub regions: Vec<String>,
    /// How many tenants are wanted at most, those with the most units first.
    #[serde(default)]
    pub tenants_max: u64,
}

/// What a coordinator has lent of a budget's open window. Everything is null or 0 while none is open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lent {
    /// The open window.
    pub window: Option<WindowLabel>,
    /// Its end, epoch milliseconds.
    pub ends_at: Option<EpochMs>,
    /// Units in the window.
    pub limit: u64,
    /// Units of it that each region was lent and has not returned, spent or not.
    pub lent: OrderedMap<String, u64>,
    /// All units that count as lent: in a window in which the coordinator woke, also those of which it does not know
    /// who has them.
    pub lent_total: u64,
    /// Units that may still be lent.
    pub free: u64,
    /// Whether all of that is known exactly, which it is not in a window in which the coordinator woke.
    pub exact: bool,
    /// What regions have of each tenant, where tenants share the budget and they were asked for: the largest first.
    pub tenants: Vec<TenantLent>,
}

/// Units of a window that regions have of one tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantLent {
    /// The tenant.
    pub tenant: String,
    /// Units that were lent for it and not returned, spent or not.
    pub lent: u64,
}
