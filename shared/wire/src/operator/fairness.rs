//! The fairness view: every tenant seen, with what it got.

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

use super::page::PageReport;
use crate::accounting::{GuardTally, MeterTally, Tally};
use crate::count::Count;
use crate::decimal::Decimal;
use crate::effective::EffectiveBody;
use crate::overrides::OverrideBody;

/// `GET /operator/v1/fairness`: every tenant seen, with what it got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FairnessReply {
    /// When this was put together, epoch milliseconds.
    pub at: u64,
    /// The policy revision in force.
    pub policy_revision: u64,
    /// Whether decisions are enforced.
    pub enforcing: bool,
    /// One entry a region of the policy; a region whose ledger did not answer is named, never left out.
    pub regions: Vec<RegionReport>,
    /// Sorted by tenant unless asked otherwise; `[]` when none was seen.
    pub tenants: Vec<TenantReport>,
    /// Which part of the tenants this is; absent from answers of older servers, which held all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<PageReport>,
}

/// What one region's ledger said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionReport {
    /// The region.
    pub region: String,
    /// False when its ledger did not answer in time: the totals then lack this region.
    pub reachable: bool,
    /// The sum over its tenants.
    pub total: Tally,
}

/// One tenant's accounting, summed over the regions that answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TenantReport {
    /// The tenant; [`super::accounting::OTHERS`] stands for those beyond the bound of names kept.
    pub tenant: String,
    /// The tier the policy puts it in; null when it resolves to none.
    pub tier: Option<String>,
    /// Its weight.
    pub weight: Decimal,
    /// The sum over budgets and limits.
    pub total: Tally,
    /// Per budget.
    pub budgets: OrderedMap<String, BudgetReport>,
    /// Per limit.
    pub limits: OrderedMap<String, Tally>,
    /// Per meter.
    #[serde(default)]
    pub meters: OrderedMap<String, MeterTally>,
    /// Units used of those meters that the policy bills; absent for none.
    #[serde(default, skip_serializing_if = "Count::is_zero")]
    pub billable_units: Count,
    /// Per guard.
    #[serde(default)]
    pub guards: OrderedMap<String, GuardReport>,
    /// Per overload resource.
    #[serde(default)]
    pub overload: OrderedMap<String, Tally>,
    /// What the policy comes to for it at this moment; null when the policy refuses it, when it stands for several
    /// tenants, and when it was not asked for.
    #[serde(default)]
    pub effective: Option<Box<EffectiveBody>>,
    /// The overrides that the policy has for it.
    #[serde(default)]
    pub overrides: Vec<OverrideBody>,
}

/// What one guard let through and rejected of a tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuardReport {
    /// Calls that got a slot.
    pub allowed: Count,
    /// Calls rejected as all slots were taken.
    pub rejected_concurrency: Count,
    /// Calls rejected as the minute's budget was used up.
    pub rejected_budget: Count,
    /// Calls rejected as the guard was out of reach, or for any other reason.
    pub rejected_other: Count,
    /// Calls that a shadow would have rejected.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub would_deny: Count,
    /// Slots taken at this moment, as was last heard.
    pub in_flight: u64,
}

impl GuardReport {
    /// What was counted, at an instant.
    #[must_use]
    pub fn of(tally: &GuardTally, at: EpochMs) -> Self {
        Self {
            allowed: tally.allowed,
            rejected_concurrency: tally.rejected_concurrency,
            rejected_budget: tally.rejected_budget,
            rejected_other: tally.rejected_other,
            would_deny: tally.would_deny,
            in_flight: tally.in_flight.slots_at(at),
        }
    }

    /// Adds what another guard did.
    pub fn add(&mut self, other: &Self) {
        self.allowed += other.allowed;
        self.rejected_concurrency += other.rejected_concurrency;
        self.rejected_budget += other.rejected_budget;
        self.rejected_other += other.rejected_other;
        self.would_deny += other.would_deny;
        self.in_flight = self.in_flight.saturating_add(other.in_flight);
    }
}

/// What one tenant got of one budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BudgetReport {
    /// Its weight in this budget.
    pub weight: Decimal,
    /// The weight with which it counts, where the policy does not name it and such tenants weigh more together than they may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts_as: Option<Decimal>,
    /// Units guaranteed per window; 0 under `first_come`, which guarantees nothing.
    pub guarantee: u64,
    /// Units used since counting began: of reservations what was settled, or all when their time is over.
    pub used: Count,
    /// Units admitted beyond the guarantee.
    pub borrowed: Count,
    /// Calls denied since counting began.
    pub denied: Count,
    /// Units of reservations that are open.
    #[serde(default, skip_serializing_if = "Count::is_zero")]
    pub reserved: Count,
    /// Calls that a shadow would have denied.
    #[serde(default, skip_serializing_if = "Count::is_zero")]
    pub would_deny: Count,
    /// The counters in full.
    pub total: Tally,
}
