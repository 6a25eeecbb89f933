//! `GET /operator/v1/decisions/{decision}`: what the id of a denial leads to.

use serde::{Deserialize, Serialize};
use weir_core::units::EpochMs;

use crate::check::Reason;
use crate::count::Count;
use crate::rule_kind::RuleKind;

/// What an id says, and what was counted where it points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainedDecision {
    /// The id.
    pub decision: String,
    /// When it was decided, epoch milliseconds.
    pub at: EpochMs,
    /// The region that decided.
    pub region: String,
    /// Why.
    pub reason: Reason,
    /// What kind of rule denied.
    pub kind: RuleKind,
    /// Its name.
    pub rule: String,
    /// Whether the policy in force has that rule.
    pub in_force: bool,
    /// Whose it is; null where neither the policy nor the region's ledger knows a tenant of that mark by name.
    pub tenant: Option<String>,
    /// Where the explanation begins: the instant of the decision.
    pub from: EpochMs,
    /// Where it ends: the window that a budget had open then has ended, too.
    pub to: EpochMs,
    /// Calls that the rule denied the tenant at that time, as its region's ledger counted them: in that minute and the next,
    /// or in that hour where it is older than a day. 0 bears nothing out; null where nobody can tell.
    pub denied_calls: Option<Count>,
}
