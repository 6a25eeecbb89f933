//! `GET /operator/v1/costs`: what the deployment used of the platform for what it decided.

use serde::{Deserialize, Serialize};

use crate::count::Count;
use crate::decimal::Decimal;
use crate::usage::Usage;

/// What was counted, over all regions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostsReply {
    /// When this was put together, epoch milliseconds.
    pub at: u64,
    /// Decisions counted: each check of each request, admitted or denied.
    pub decisions: Count,
    /// Calls of objects and rows written for them, and for what went on beside them.
    pub usage: Usage,
    /// The same for a million decisions; null before the first decision.
    pub per_million: Option<PerMillion>,
    /// One entry a region.
    pub regions: Vec<RegionCosts>,
}

/// What a million decisions cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PerMillion {
    /// Calls of objects of all classes.
    pub object_calls: Decimal,
    /// Rows written.
    pub rows_written: Decimal,
}

/// What one region told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegionCosts {
    /// The region.
    pub region: String,
    /// False when its ledger did not answer in time: the sums then lack this region.
    pub reachable: bool,
    /// Decisions that it counted.
    pub decisions: Count,
    /// What it used.
    pub usage: Usage,
}
