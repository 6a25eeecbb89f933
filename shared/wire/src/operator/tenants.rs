//! `/operator/v1/tenants`: the tenants that the policy names and those that were seen.

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, Revision};

use super::page::PageReport;
use crate::accounting::Tally;
use crate::count::Count;
use crate::decimal::Decimal;
use crate::effective::EffectiveBody;
use crate::policy::TenantBody;

/// One page of tenants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TenantsReply {
    /// When this was put together, epoch milliseconds.
    pub at: EpochMs,
    /// The policy revision in force.
    pub policy_revision: Revision,
    /// Which part of the list this is.
    #[serde(flatten)]
    pub page: PageReport,
    /// Regions whose ledger did not answer: the totals lack them, and who was seen only there is not in the list.
    pub unreachable: Vec<String>,
    /// The budget that the rows tell of: the one that was asked for, else the first of the policy; null where it has none,
    /// and from older servers.
    #[serde(default)]
    pub budget: Option<String>,
    /// The tenants.
    pub tenants: Vec<TenantRow>,
}

/// One tenant in the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TenantRow {
    /// Its name.
    pub tenant: String,
    /// Whether the policy names it.
    pub named: bool,
    /// Its tier; null when the policy refuses it.
    pub tier: Option<String>,
    /// Its weight at this moment; 0 when the policy refuses it.
    pub weight: Decimal,
    /// The tenant above it.
    pub parent: Option<String>,
    /// Overrides that the policy has for it, those to come and those that are over included.
    pub overrides: u64,
    /// What it got, over everything that is charged and all regions.
    pub total: Tally,
    /// What it got of the budget that the rows tell of, by its name; empty for a tenant that was not seen to ask for it.
    #[serde(default)]
    pub budgets: OrderedMap<String, TenantBudget>,
}

/// What one tenant got of one budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantBudget {
    /// Units guaranteed per window among all tenants that were seen to ask; 0 under `first_come`.
    pub guarantee: u64,
    /// Units admitted since counting began.
    pub used: Count,
    /// Units admitted beyond the guarantee.
    pub borrowed: Count,
    /// Calls denied since counting began.
    pub denied: Count,
    /// Units denied since counting began.
    pub denied_units: Count,
}

/// One tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TenantReply {
    /// Its name.
    pub tenant: String,
    /// The policy revision that this is of.
    pub policy_revision: Revision,
    /// Whether the policy names it. One that it does not name is resolved by rule, and is named by the first change.
    pub named: bool,
    /// Of one that it does not name: what all such tenants weigh together at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_weight_max: Option<Decimal>,
    /// What the policy says of it.
    pub body: TenantBody,
    /// What that comes to at this moment, each value with its origin; null when the policy refuses it.
    pub effective: Option<EffectiveBody>,
}
