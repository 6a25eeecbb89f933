//! What an isolate says to its region, and what it answers.

pub mod agent;

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::Revision;
use weir_limiting::owner::Account;
use weir_wire::access::TokenUse;
use weir_wire::accounting::{FrameBody, FrameReply};
use weir_wire::exchange::{ExchangeAnswer, ExchangeBody};
use weir_wire::shares::{SharesBody, SharesReply};

/// An isolate's contact: budgets to exchange, counters to hand over, and the policy it knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContactBody {
    /// The region that is meant: an object cannot see its own name on every runtime.
    pub region: String,
    /// The policy revision that the isolate applies; 0 for none.
    pub revision: Revision,
    /// One message a budget.
    pub exchanges: Vec<ExchangeBody>,
    /// Counters, if there are any.
    pub frame: Option<FrameBody>,
    /// The revision of the tokens that the isolate knows; 0 for none.
    #[serde(default)]
    pub access_revision: Revision,
    /// Tokens that were used, each at most once a minute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens_used: Vec<TokenUse>,
    /// The id of a token with a true MAC that the isolate does not know: it may be newer than what it knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_wanted: Option<String>,
    /// What the isolate has to say of overloaded resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overload: Option<SharesBody>,
    /// On whose accounts those of the exchanged pools are that are keys'.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub accounts: OrderedMap<String, Account>,
}

/// The answer to a contact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContactReply {
    /// The policy, where the isolate's is older: a [`SavedPolicy`](weir_wire::saved_policy::SavedPolicy). Not read together with the rest, so that an
    /// isolate which is older than a new key of the policy still gets its answers.
    pub policy: Option<serde_json::Value>,
    /// The answers, in the order of the messages.
    pub exchanges: Vec<ExchangeAnswer>,
    /// The answer to the frame.
    pub frame: Option<FrameReply>,
    /// When the isolate shows itself again before it decides.
    pub next_contact_ms: u64,
    /// The tokens, where the isolate's are older: a [`SavedAccess`](weir_wire::access::SavedAccess), read by itself as the policy is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<serde_json::Value>,
    /// What all holders have of the overloaded resources that the contact told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overload: Option<SharesReply>,
}
