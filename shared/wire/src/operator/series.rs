//! `GET /operator/v1/series` and `GET /operator/v1/budgets/{name}/windows`: what was counted, over time.

use serde::{Deserialize, Serialize};
use weir_core::units::EpochMs;

use super::page::PageReport;
use crate::accounting::TenantCounters;
use crate::windows::WindowRecord;

/// Counters by interval, over all regions that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesView {
    /// The start of the first interval.
    pub from: EpochMs,
    /// The end of the last.
    pub to: EpochMs,
    /// Length of the intervals: minutes for a day, hours for what is older.
    pub step_ms: u64,
    /// Of one tenant; null sums over all.
    pub tenant: Option<String>,
    /// Regions whose ledger did not answer: the counters lack them.
    pub unreachable: Vec<String>,
    /// In the order of time; intervals in which nothing was counted are left out.
    pub points: Vec<SeriesPoint>,
}

/// What was counted in one interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// Its start.
    pub at: EpochMs,
    /// The counters.
    #[serde(flatten)]
    pub counters: TenantCounters,
}

/// The windows that a budget had, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowsView {
    /// The budget.
    pub budget: String,
    /// Which part of the list this is.
    #[serde(flatten)]
    pub page: PageReport,
    /// Regions whose ledger did not answer.
    pub unreachable: Vec<String>,
    /// Their records.
    pub windows: Vec<WindowRecord>,
}
