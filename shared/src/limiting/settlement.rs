//! What an isolate says to a `Region` to settle what a reservation charged to pools, and what it answers.

use serde::{Deserialize, Serialize};

use super::owner::Account;
use crate::units::{EpochMs, OpId, WindowLabel};

/// Settles a reservation, once: a second settlement answers the first result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettleBody {
    /// Version of the form.
    pub v: u16,
    /// The region that is meant.
    pub region: String,
    /// The reservation.
    pub op: OpId,
    /// Units that were used.
    pub actual: u64,
    /// Until when the result is kept.
    pub expires_at: EpochMs,
    /// What to change of each pool.
    pub pools: Vec<PoolChange>,
    /// On whose account those of keys are kept.
    #[serde(default, skip_serializing_if = "Account::is_nobody")]
    pub account: Account,
}

/// What a settlement changes of one pool; one of the two numbers is 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolChange {
    /// The pool.
    pub pool: String,
    /// The tenant that was charged, where tenants share the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The window that was charged.
    pub label: WindowLabel,
    /// Units to give back into that window.
    pub back: u64,
    /// Units to charge beyond, to the window that is open, as far as it lasts.
    pub debt: u64,
}

/// What came of a settlement: of the first, if there were several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettleReply {
    /// Units that were used, as the first settlement said.
    pub actual: u64,
    /// For each pool the units that were taken back.
    pub returned: Vec<u64>,
    /// For each pool the units that were charged beyond.
    pub charged: Vec<u64>,
}
