//! `POST /operator/v1/policy/preview`: what another policy would have changed.

use serde::{Deserialize, Serialize};
use weir_core::limits::MINUTE_MS;
use weir_core::units::EpochMs;

use super::count::{Count, is_zero};
use super::decimal::Decimal;
use super::rule_kind::RuleKind;

/// Who gains and who loses, over what was recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PreviewBody {
    /// As of when both policies count.
    pub at: EpochMs,
    /// Windows of budgets that were looked at.
    pub windows: u64,
    /// Older ones that were recorded and not looked at: what one preview works out is bounded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub windows_left_out: u64,
    /// Intervals of meters, guards, limits and overload resources that were looked at, each tenant's for itself.
    pub intervals: u64,
    /// The intervals of time that those are of: what several tenants asked for in one minute is of one minute. Absent for none,
    /// and from older servers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spans: u64,
    /// Their length: a minute; longer where there were many tenants.
    #[serde(default = "minute", skip_serializing_if = "is_minute")]
    pub interval_ms: u64,
    /// Tenants, those with the fewest calls, that were counted too and whose intervals were not looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tenants_left_out: u64,
    /// Tenants that gain somewhere.
    pub gaining: u64,
    /// Tenants that lose somewhere.
    pub losing: u64,
    /// Their names, the first ones of many.
    pub gains: Vec<String>,
    /// As for those that gain.
    pub loses: Vec<String>,
    /// Rows in all; those that change most are listed.
    pub rows_total: u64,
    /// What changes, the most first.
    pub rows: Vec<PreviewRow>,
    /// Tenants whose claims change, at the budgets for which they asked: those whose guarantees change most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<PreviewClaim>,
}

/// What one tenant claims of a budget by the present policy and by the candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreviewClaim {
    /// The budget.
    pub budget: String,
    /// The tenant.
    pub tenant: String,
    /// By the present policy.
    pub present: Claimed,
    /// By the candidate.
    pub candidate: Claimed,
}

/// A claim on a budget, among all tenants that asked for it in recorded windows; of a tenant that the policy refuses, nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Claimed {
    /// Its weight.
    pub weight: Decimal,
    /// The weight with which it counts, where the policy does not name it and such tenants weigh more together than they may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts_as: Option<Decimal>,
    /// Units a window that it is guaranteed.
    pub guarantee: u64,
}

/// One tenant at one budget, meter, guard, limit or overload resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewRow {
    /// What it is about: of a guard calls a minute count, as nobody records how many ran at a time.
    pub kind: RuleKind,
    /// The name of what it is about.
    pub name: String,
    /// The tenant; requests at a limit that named none are `"\u0001anonymous"`'s.
    pub tenant: String,
    /// Units that were asked for.
    pub demand: Count,
    /// Units that were served.
    pub served: Count,
    /// Units that the present policy would have given of what was asked for.
    pub present: Count,
    /// Units that the candidate would have given.
    pub candidate: Count,
}

fn minute() -> u64 {
    MINUTE_MS
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_minute(interval_ms: &u64) -> bool {
    *interval_ms == MINUTE_MS
}
