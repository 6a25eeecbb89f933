//! What a policy changes for one tenant, from a start to an end. What an override leaves out, or says is null, is as
//! beneath: each inner field for itself.

use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

use super::decimal::Decimal;
use super::numbers::{BudgetOverrideBody, GuardOverrideBody, LimitOverrideBody, MeterOverrideBody};
use super::section::section;
use super::unique_map;

section! {
/// Changes for one tenant. If two are in force, the one that started later counts; of two with one start, the later in the
/// list.
pub struct OverrideBody {
    /// The start, in epoch milliseconds; without one when absent.
    pub starts_at: Option<EpochMs> = required "integer?";
    /// The end: the first millisecond at which the override no longer counts; without one when absent.
    pub expires_at: Option<EpochMs> = required "integer?";
    /// The tenant's weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Decimal> = "number";
    ...Changes;
}
}
