//! `/operator/v1/tenants`: the tenants that the policy names and those that were seen.

use serde::{Deserialize, Serialize};

use super::page::PageReport;
use crate::units::{EpochMs, Revision};
use crate::wire::accounting::Tally;
use crate::wire::decimal::Decimal;
use crate::wire::effective::EffectiveBody;
use crate::wire::policy::TenantBody;

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
    /// What the policy says of it.
    pub body: TenantBody,
    /// What that comes to at this moment, each value with its origin; null when the policy refuses it.
    pub effective: Option<EffectiveBody>,
}
