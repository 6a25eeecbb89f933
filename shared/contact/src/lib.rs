//! What an isolate says to its region, or a branch to what is above it, and what that answers.

pub mod agent;

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::{HolderId, Revision};
use weir_limiting::owner::Account;
use weir_wire::access::TokenUse;
use weir_wire::accounting::{FrameBody, FrameReply};
use weir_wire::exchange::{ExchangeAnswer, ExchangeBody};
use weir_wire::shares::{SharesBody, SharesReply};

/// Who makes a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speaker {
    /// The isolate, or the branch of the region.
    pub holder: HolderId,
    /// For how many isolates it speaks: one for itself, a branch for all below it.
    pub isolates: u64,
}

/// A contact of an isolate, or of a branch of its region: budgets to exchange, counters to hand over, and the policy it knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContactBody {
    /// The region that is meant, or the branch: an object cannot see its own name on every runtime.
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
    /// Who makes it; nobody who could ask a branch of the region, where this is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<Speaker>,
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
    /// How many branches the region has, for who can ask one; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branches: Option<u32>,
}
