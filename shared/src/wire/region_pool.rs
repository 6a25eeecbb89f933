//! What a region asks of a coordinator that splits a window between regions by their weight, and what it answers.

use serde::{Deserialize, Serialize};

use super::count::Count;
use crate::units::EpochMs;

/// Asks a [`RegionPool`](crate::federation::region_pool::RegionPool).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionPoolBody {
    /// Version of the form.
    pub v: u16,
    /// The pool's name.
    pub pool: String,
    /// Units per window.
    pub limit: u64,
    /// Length of a window.
    pub window_ms: u64,
    /// When it is asked; the coordinator's clock where absent. Windows only roll forward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<EpochMs>,
    /// What is asked.
    pub ask: RegionPoolAsk,
}

/// What is asked of a pool of regions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionPoolAsk {
    /// To raise what a region has to `want` units.
    Grant {
        /// The region.
        region: String,
        /// The sum of its active tenants' weights, in millionths.
        weight_micros: Count,
        /// Units that it wants to have in all.
        want: u64,
    },
    /// To forget a region that has spent nothing and will spend nothing.
    Release {
        /// The region.
        region: String,
    },
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionPoolReply {
    /// Units that the region has in the open window.
    pub granted: u64,
    /// Units that all regions have.
    pub granted_total: u64,
}
