//! `GET /operator/v1/regions`: the regions of the policy, and how they are.

use serde::{Deserialize, Serialize};

use crate::units::{EpochMs, Revision};

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
}
