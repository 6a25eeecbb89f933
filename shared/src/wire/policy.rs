//! The policy document: `PUT /operator/v1/policy` and the policy file that a deployment ships.
//!
//! Everything is optional here so that what is missing is refused with its own pointer when a domain policy is built
//! (`weir_shared::policy::Policy::try_from`). Every top-level key is answered, empty maps included.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::decimal::Decimal;
use super::unique_map;

/// The whole document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyDocument {
    /// Whether decisions are enforced; false decides and counts, and admits everything.
    pub enforcing: bool,
    /// The regions that decide.
    pub regions: Vec<String>,
    /// Where coordinators, registry and ledgers are first placed; the first of `regions` when absent.
    pub home: Option<String>,
    /// Tiers by name.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub tiers: BTreeMap<String, TierBody>,
    /// A tenant's tier by the prefix of its name; the first match counts.
    pub tier_rules: Vec<TierRuleBody>,
    /// The tier of all others; null refuses them.
    pub default_tier: Option<String>,
    /// Tenants told apart; those beyond share one.
    pub tenants_max: u64,
    /// The weight that unnamed tenants have together, at most.
    pub unknown_weight_max: Decimal,
    /// Named tenants.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub tenants: BTreeMap<String, TenantBody>,
    /// Budgets by name.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub budgets: BTreeMap<String, BudgetBody>,
    /// Limits by name.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub limits: BTreeMap<String, LimitBody>,
    /// Meters by name.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub meters: BTreeMap<String, serde_json::Value>,
    /// Guards by name.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub guards: BTreeMap<String, serde_json::Value>,
    /// Overload resources by name.
    #[serde(deserialize_with = "unique_map::deserialize")]
    pub overload: BTreeMap<String, serde_json::Value>,
    /// Gateway routes.
    pub routes: Vec<serde_json::Value>,
}

impl Default for PolicyDocument {
    fn default() -> Self {
        Self {
            enforcing: true,
            regions: Vec::new(),
            home: None,
            tiers: BTreeMap::new(),
            tier_rules: Vec::new(),
            default_tier: None,
            tenants_max: 100_000,
            unknown_weight_max: Decimal(8.0),
            tenants: BTreeMap::new(),
            budgets: BTreeMap::new(),
            limits: BTreeMap::new(),
            meters: BTreeMap::new(),
            guards: BTreeMap::new(),
            overload: BTreeMap::new(),
            routes: Vec::new(),
        }
    }
}

/// One tier.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TierBody {
    /// The weight of each of its tenants; at most six decimals.
    pub weight: Option<Decimal>,
}

/// One rule that gives a tier by prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TierRuleBody {
    /// What the tenant's name begins with.
    pub prefix: Option<String>,
    /// The tier it then has.
    pub tier: Option<String>,
}

/// One named tenant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TenantBody {
    /// Its tier; by rule when absent.
    pub tier: Option<String>,
    /// Its weight; the tier's when absent.
    pub weight: Option<Decimal>,
    /// The tenant above it.
    pub parent: Option<String>,
    /// What it may borrow at most.
    pub borrow_max: Option<serde_json::Value>,
    /// What it may lend at most.
    pub lend_max: Option<serde_json::Value>,
    /// Changes with a start and an end.
    pub overrides: Vec<serde_json::Value>,
}

/// How a budget is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(
    missing_docs,
    reason = "the names are the field's own; the policy's documentation explains them"
)]
pub enum Sharing {
    WeightedFairEscrow,
    FairShare,
    WeightedFairShare,
    FirstCome,
    StaticPartition,
}

/// Where the state of a budget or limit is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// In each isolate.
    Isolate,
    /// In each region.
    Region,
    /// Over the whole deployment.
    Global,
}

/// What happens to the unused part of a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reserve {
    /// It stays reserved until the window ends.
    Pinned,
    /// It is released at an even pace.
    Paced,
}

/// What a region does while the coordinator is out of reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outage {
    /// Spends what it holds, then denies.
    FailClosed,
    /// Spends slices lent in advance, too.
    RegionalOnly,
}

/// What is answered when a holder of the state is out of reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnavailable {
    /// Not admitted.
    Deny,
    /// Admitted, and counted as such.
    Allow,
}

/// One budget.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetBody {
    /// Units per window.
    pub limit: Option<u64>,
    /// Length of a window.
    pub window_ms: Option<u64>,
    /// How it is shared.
    pub sharing: Option<Sharing>,
    /// Where it is kept.
    pub scope: Option<Scope>,
    /// What happens to unused guarantees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Reserve>,
    /// What happens when the coordinator is out of reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
    /// Lease sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<serde_json::Value>,
    /// Decided and counted, never enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool>,
    /// What is answered when a holder is out of reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<OnUnavailable>,
}

/// The algorithm of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(
    missing_docs,
    reason = "the names are the field's own; the policy's documentation explains them"
)]
pub enum Algorithm {
    Gcra,
    TokenBucket,
    FixedWindow,
    SlidingWindow,
    SlidingLog,
    Quota,
    LeakyBucket,
}

/// One limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitBody {
    /// The algorithm.
    pub algorithm: Option<Algorithm>,
    /// Units per period.
    pub limit: Option<u64>,
    /// The period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_ms: Option<u64>,
    /// Units at once; `limit` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Where it is kept.
    pub scope: Option<Scope>,
    /// Whether each tenant has its own keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_tenant: Option<bool>,
    /// Decided and counted, never enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool>,
    /// What is answered when the holder is out of reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<OnUnavailable>,
}
