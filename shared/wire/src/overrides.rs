//! What a policy changes for one tenant, from a start to an end. What an override leaves out, or says is null, is as
//! beneath: each inner field for itself.

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

use super::decimal::Decimal;
use super::numbers::{BudgetOverrideBody, GuardOverrideBody, LimitOverrideBody, MeterOverrideBody};
use super::unique_map;

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
        skip_serializing_if = "OrderedMap::is_empty"
    )]
    pub meters: OrderedMap<String, MeterOverrideBody>,
    /// Numbers of guards, by name.
    #[serde(
        deserialize_with = "unique_map::deserialize",
        skip_serializing_if = "OrderedMap::is_empty"
    )]
    pub guards: OrderedMap<String, GuardOverrideBody>,
    /// Numbers of limits with `per_tenant`, by name.
    #[serde(
        deserialize_with = "unique_map::deserialize",
        skip_serializing_if = "OrderedMap::is_empty"
    )]
    pub limits: OrderedMap<String, LimitOverrideBody>,
    /// Claims to budgets, by name.
    #[serde(
        deserialize_with = "unique_map::deserialize",
        skip_serializing_if = "OrderedMap::is_empty"
    )]
    pub budgets: OrderedMap<String, BudgetOverrideBody>,
}
