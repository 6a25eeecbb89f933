//! What a policy changes for one tenant, from a start to an end. What an override leaves out, or says is null, is as
//! beneath: each inner field for itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::amount::AmountBody;
use super::decimal::Decimal;
use super::metering::RateBody;
use super::policy::Cadence;
use super::unique_map;
use crate::units::EpochMs;

/// Changes for one tenant. If two are in force, the one that started later counts; of two with one start, the later in the
/// list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OverrideBody {
    /// The start, in epoch milliseconds; without one when absent.
    pub starts_at: Option<EpochMs>,
    /// The end: the first millisecond at which the override no longer counts; without one when absent.
    pub expires_at: Option<EpochMs>,
    /// The tenant's weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Decimal>,
    /// Numbers of meters, by name.
    #[serde(
        deserialize_with = "unique_map::deserialize",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub meters: BTreeMap<String, MeterOverrideBody>,
    /// Numbers of guards, by name.
    #[serde(
        deserialize_with = "unique_map::deserialize",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub guards: BTreeMap<String, GuardOverrideBody>,
    /// Numbers of limits with `per_tenant`, by name.
    #[serde(
        deserialize_with = "unique_map::deserialize",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub limits: BTreeMap<String, LimitOverrideBody>,
    /// Claims to budgets, by name.
    #[serde(
        deserialize_with = "unique_map::deserialize",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub budgets: BTreeMap<String, BudgetOverrideBody>,
}

/// The numbers of a meter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MeterOverrideBody {
    /// Units per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_sec: Option<RateBody>,
    /// Seconds of that rate in a full bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_seconds: Option<Decimal>,
    /// How long one batch may leave the bucket empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_debt_ms: Option<u64>,
}

/// The numbers of a guard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuardOverrideBody {
    /// Calls at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<AmountBody>,
    /// Calls in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<AmountBody>,
    /// How long a call counts as running without a renewal or release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// The numbers of a limit, as its algorithm has them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitOverrideBody {
    /// Units per period, window or cadence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_ms: Option<u64>,
    /// Units at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Tokens in a full bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Decimal>,
    /// Tokens that flow in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refill_per_sec: Option<Decimal>,
    /// Length of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
    /// Parts of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u64>,
    /// The period of a quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cadence: Option<Cadence>,
    /// Minutes of local time before UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_minutes: Option<i64>,
    /// The time zone of the periods' calendar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The first day of a week.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub week_starts_on: Option<u64>,
    /// The start of a period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<i64>,
    /// Units that leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_sec: Option<Decimal>,
    /// The longest wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_queue_ms: Option<u64>,
}

/// A tenant's claim to one budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetOverrideBody {
    /// Its weight there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Decimal>,
    /// Units above its guarantee that it may use in a window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borrow_max: Option<AmountBody>,
    /// Units of its guarantee that others may use while it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lend_max: Option<AmountBody>,
    /// Units that it may use in a window, whatever else is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<AmountBody>,
    /// Units that are set aside for it in a window before weights divide the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<u64>,
}
