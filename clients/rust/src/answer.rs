//! What is answered. Fields are named as the HTTP interface names them: one word for each thing. Times are epoch milliseconds,
//! durations milliseconds. What a newer Weir adds is left out.

use serde::{Deserialize, Serialize};

use crate::error::WeirError;

/// Why a decision came out as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// It may pass.
    Admitted,
    /// The tenant has used its share.
    OverShare,
    /// The budget is used up until its window ends.
    CapReached,
    /// The limit is exceeded.
    LimitExceeded,
    /// As many calls are running as may.
    Concurrency,
    /// The resource has no capacity left for the tenant now.
    Overloaded,
    /// Whoever decides is out of Weir's own reach.
    Unavailable,
    /// No future state of the policy admits that cost.
    Never,
    /// This client's own: Weir did not answer in time.
    Unreachable,
    /// A reason of a newer Weir.
    #[serde(other)]
    Other,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Decision {
    /// Whether the request may pass.
    pub allowed: bool,
    /// Why.
    pub reason: Reason,
    /// The ceiling that was compared with, in units; 0 when Weir was out of reach.
    pub limit: u64,
    /// Units that could still be admitted now.
    pub remaining: u64,
    /// When the state is back to full, or the window's expected end.
    pub reset_at: u64,
    /// After how long the same request could be admitted; 0 when allowed, `None` when it never could.
    pub retry_after_ms: Option<u64>,
    /// The name of the budget, limit, meter, guard or resource that decided; empty when Weir was out of reach.
    pub binding: String,
    /// The region that decided.
    pub region: String,
    /// The label of the window that was charged; `None` where there is none.
    pub window: Option<u64>,
    /// The revision of the policy that was applied.
    pub policy_revision: u64,
    /// What leads to the explanation of a denial, for whoever operates Weir.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// What settles the charge, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// What renews and releases the slot, where one was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// When the slot lapses unless it is renewed, by Weir's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// The rate-limit fields that Weir's answer had, to be passed on; empty for a check that was part of a batch.
    #[serde(skip)]
    pub headers: Vec<(String, String)>,
    /// Why there was no answer, where `reason` is [`Reason::Unreachable`].
    #[serde(skip)]
    pub cause: Option<WeirError>,
}

/// A place in the queue of a `leaky_bucket`, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Place {
    /// Whether there is a place.
    pub accepted: bool,
    /// How long to wait before going on; 0 when not accepted.
    pub delay_ms: u64,
    /// After how long the same request could get a place; 0 when accepted, `None` for never.
    pub retry_after_ms: Option<u64>,
    /// What leads to the explanation of a denial, for whoever operates Weir.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Why there was no answer, where Weir was out of reach.
    #[serde(skip)]
    pub cause: Option<WeirError>,
}

/// What was settled, in units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub struct Settled {
    /// Units that were reserved.
    pub reserved: u64,
    /// Units that were used.
    pub actual: u64,
    /// Units that were given back.
    pub refunded: u64,
    /// Units that were charged beyond what was reserved.
    pub debt: u64,
}

/// A slot after it was renewed or released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub struct SlotState {
    /// Whether it is held.
    pub held: bool,
    /// Until when, by Weir's clock; `None` when it is not.
    pub expires_at: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_newer_weir_adds_is_left_out() {
        let told = r#"{"allowed":false,"reason":"bad_weather","limit":1,"remaining":0,"reset_at":5,"retry_after_ms":null,
            "binding":"b","region":"weur","window":null,"policy_revision":1,"decision":"5.x","colour":"blue"}"#;
        let decision: Decision = serde_json::from_str(told).unwrap();
        assert_eq!(
            (decision.reason, decision.retry_after_ms),
            (Reason::Other, None)
        );
        assert_eq!(decision.decision.as_deref(), Some("5.x"));
        assert!(serde_json::from_str::<Decision>(r#"{"hello":"world"}"#).is_err());
    }
}
