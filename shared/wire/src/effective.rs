//! What the policy comes to for one tenant at one instant, each value with whose word it is.

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

use super::decimal::Decimal;
use super::numbers::{EffectiveBudgetBody, EffectiveGuardBody, EffectiveMeterBody};
use super::overload::Steering;

/// Whose word a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// An override of the tenant that is in force.
    Override,
    /// The tenant's own entry.
    Tenant,
    /// Its tier.
    Tier,
    /// What the policy says for all.
    Policy,
    /// Nobody's: what counts where the policy says nothing.
    Default,
}

/// A value, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Valued<T> {
    /// The value.
    pub value: T,
    /// Whose word it is.
    pub origin: Origin,
    /// Where the policy document says so, as a JSON pointer; null for a default.
    pub from: Option<String>,
    /// When the override that says so is over, in epoch milliseconds; null where no end is set.
    pub until: Option<EpochMs>,
}

/// The value of a field of a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// A number.
    Number(Decimal),
    /// A word: a cadence, a time zone.
    Text(String),
}

impl FieldValue {
    /// The number.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number.0),
            Self::Text(_) => None,
        }
    }
}

/// What counts for one tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectiveBody {
    /// The tenant.
    pub tenant: String,
    /// The instant that this is for.
    pub at: EpochMs,
    /// When an override of it begins or ends next; null when none does.
    pub next_change_at: Option<EpochMs>,
    /// Whether the policy names it.
    pub known: bool,
    /// Its tier.
    pub tier: Valued<String>,
    /// Its weight, where a budget does not say otherwise.
    pub weight: Valued<Decimal>,
    /// The tenant above it.
    pub parent: Option<String>,
    /// Every meter.
    pub meters: OrderedMap<String, EffectiveMeterBody>,
    /// Every guard.
    pub guards: OrderedMap<String, EffectiveGuardBody>,
    /// The numbers of every limit of which it has its own keys.
    pub limits: OrderedMap<String, OrderedMap<String, Valued<FieldValue>>>,
    /// Its claim to every budget that tenants share.
    pub budgets: OrderedMap<String, EffectiveBudgetBody>,
    /// Every overload resource.
    #[serde(default)]
    pub overload: OrderedMap<String, EffectiveOverloadBody>,
}

/// An overload resource as it counts for one tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectiveOverloadBody {
    /// The weight of its share while the resource fails.
    pub weight: Valued<Decimal>,
    /// By what rule clients are denied.
    pub steering: Steering,
    /// Levels on which clients are kept apart, as the policy says or as they were found for its number of clients; 0 from a
    /// server before.
    #[serde(default)]
    pub levels: u64,
    /// Buckets of each level; 0 from a server before.
    #[serde(default)]
    pub buckets: u64,
    /// Whether it denies.
    pub enforced: bool,
}
