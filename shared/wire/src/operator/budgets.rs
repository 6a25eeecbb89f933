//! `GET /operator/v1/budgets`: the budgets of the policy, and what went through them.

use serde::{Deserialize, Serialize};
use weir_core::units::{EpochMs, Revision};

use crate::accounting::Tally;
use crate::policy::BudgetBody;

/// Every budget of the policy, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BudgetsReply {
    /// When this was put together, epoch milliseconds.
    pub at: EpochMs,
    /// The policy revision in force.
    pub policy_revision: Revision,
    /// Regions whose ledger did not answer: the totals lack them.
    pub unreachable: Vec<String>,
    /// The budgets.
    pub budgets: Vec<BudgetRow>,
}

/// One budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BudgetRow {
    /// Its name.
    pub name: String,
    /// What the policy says of it.
    pub body: BudgetBody,
    /// Tenants that were seen to ask for it; those that are counted together are one.
    pub tenants: u64,
    /// What they got, since counting began.
    pub total: Tally,
}
