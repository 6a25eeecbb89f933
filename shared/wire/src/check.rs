//! `POST /v1/check`: the question and the decision.

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;

use super::unique_map;

/// The question, short (one of `budget`, `limit`, `meter`, `meters`, `guard` and `overload` at the top) or as a list in `checks`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// Who asks. Optional for a limit that is not per tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The budget to charge (short form).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// The limit to charge (short form).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The key within the limit (short form).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The key of each dimension, by name, within a limit that is made of others (short form).
    #[serde(
        default,
        deserialize_with = "unique_map::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub keys: Option<OrderedMap<String, String>>,
    /// The meter to charge (short form).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meter: Option<String>,
    /// Several meters to charge, each with its units, all or none (short form).
    #[serde(
        default,
        deserialize_with = "unique_map::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub meters: Option<OrderedMap<String, u64>>,
    /// The guard to take a slot of (short form).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// The overload resource that the request is for (short form).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overload: Option<String>,
    /// Units to charge (short form); 1 when absent, 0 looks without changing anything. A guard gives 1 slot or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    /// The long form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<CheckItem>>,
    /// How `checks` combine; only `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<Require>,
    /// Whether what is charged may be settled later; the decision then names a reservation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<bool>,
}

/// One entry of `checks`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckItem {
    /// The budget to charge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// The limit to charge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The key within the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The key of each dimension, by name, within a limit that is made of others.
    #[serde(
        default,
        deserialize_with = "unique_map::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub keys: Option<OrderedMap<String, String>>,
    /// The meter to charge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meter: Option<String>,
    /// Several meters to charge, each with its units.
    #[serde(
        default,
        deserialize_with = "unique_map::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub meters: Option<OrderedMap<String, u64>>,
    /// The guard to take a slot of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// The overload resource that the request is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overload: Option<String>,
    /// Units to charge; 1 when absent. A guard gives 1 slot or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

/// How several checks combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Require {
    /// Every check must admit, or none is charged.
    All,
}

/// Why a decision came out as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Admitted.
    Admitted,
    /// The tenant has used its share of the budget.
    OverShare,
    /// The budget's window is used up.
    CapReached,
    /// The limit's state does not permit the cost now.
    LimitExceeded,
    /// No slot is free.
    Concurrency,
    /// The resource is shedding load.
    Overloaded,
    /// A holder of the state was unreachable.
    Unavailable,
    /// No future state of this policy could admit the cost.
    Never,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Admitted,
        Self::OverShare,
        Self::CapReached,
        Self::LimitExceeded,
        Self::Concurrency,
        Self::Overloaded,
        Self::Unavailable,
        Self::Never,
    ];

    /// The reason of that name.
    ///
    /// ```
    /// use weir_wire::check::Reason;
    /// assert_eq!(Reason::named("over_share"), Some(Reason::OverShare));
    /// assert_eq!(Reason::named("OverShare"), None);
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::OverShare => "over_share",
            Self::CapReached => "cap_reached",
            Self::LimitExceeded => "limit_exceeded",
            Self::Concurrency => "concurrency",
            Self::Overloaded => "overloaded",
            Self::Unavailable => "unavailable",
            Self::Never => "never",
        }
    }
}

/// The decision. Times are epoch milliseconds; `retry_after_ms` is null only for `never`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionBody {
    /// Whether the request may pass.
    pub allowed: bool,
    /// The ceiling that was compared with: of a budget this tenant's current ceiling, of a gcra limit its burst.
    pub limit: u64,
    /// Units that could still be admitted now, as far as the deciding holder knows.
    pub remaining: u64,
    /// When the state is back to full (a limit) or the window's expected end (a budget).
    pub reset_at: u64,
    /// Milliseconds after which the same request could be admitted; 0 when allowed, null for `never`.
    pub retry_after_ms: Option<u64>,
    /// The name of what decided: a budget, a limit, a meter, a guard or an overload resource.
    pub binding: String,
    /// Why.
    pub reason: Reason,
    /// The region that decided.
    pub region: String,
    /// The label of the window that was charged; null for a limit.
    pub window: Option<u64>,
    /// The policy revision that was applied.
    pub policy_revision: u64,
    /// What leads to the explanation of a denial; absent where it is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// What settles the charge, where that was asked for and the charge was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// What renews and releases the slot, where one was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// When the slot lapses unless it is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}
