//! Counters over time, as ledgers keep them and operators ask for them.

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, WindowLabel};

use super::accounting::{Counters, TenantCounters};
use super::count::{Count, is_zero};
use super::telemetry::Telemetry;
use super::usage::Usage;

/// Asks a ledger for counters by interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesBody {
    /// From the interval of this instant on.
    pub from: EpochMs,
    /// Before this instant.
    pub to: EpochMs,
    /// Length of the intervals: a multiple of a minute, or of an hour for what is older than a day.
    pub step_ms: u64,
    /// Of one tenant; `None` sums over all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// The answer: intervals in which nothing was counted are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeriesReply {
    /// By the start of the interval.
    pub points: OrderedMap<EpochMs, TenantCounters>,
    /// When the region last told the ledger what it had counted: to the minute where the ledger woke since. `None` where
    /// it never did, and from an older ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_at: Option<EpochMs>,
}

/// Asks a ledger for what every tenant was counted for, by interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DemandBody {
    /// From the minute of this instant on.
    pub from: EpochMs,
    /// Before this instant.
    pub to: EpochMs,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DemandReply {
    /// Length of the intervals.
    pub step_ms: u64,
    /// By tenant, then by the start of the interval.
    pub tenants: OrderedMap<String, OrderedMap<EpochMs, TenantCounters>>,
    /// Tenants for whom there was no room.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// Asks a ledger for its totals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalsBody {}

/// A ledger's totals since it was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TotalsReply {
    /// By tenant.
    pub counters: Counters,
    /// When the ledger began to count.
    pub since: EpochMs,
    /// What running the deployment used of the platform, as far as it was told here.
    pub usage: Usage,
    /// What running the deployment told of itself, as far as it was told here.
    #[serde(skip_serializing_if = "Telemetry::is_empty")]
    pub telemetry: Telemetry,
    /// What was used so far of the window that is open of each budget whose windows are recorded here.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    pub open: OrderedMap<String, WindowUse>,
    /// What each tenant is entitled to in the last window of each budget whose windows are recorded here.
    pub entitlements: OrderedMap<String, OrderedMap<String, u64>>,
}

/// What was used so far of a window that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowUse {
    /// The window.
    pub label: WindowLabel,
    /// Its end, epoch milliseconds.
    pub ends_at: EpochMs,
    /// Units of the whole window.
    pub limit: u64,
    /// Units of it that were used, and those that are reserved.
    pub used: Count,
}
