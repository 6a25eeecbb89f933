//! What isolates and the registry say to a `Region`, and what it answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::access::TokenUse;
use super::accounting::{FrameBody, FrameReply};
use super::exchange::{ExchangeAnswer, ExchangeBody};
use super::policy::PolicyDocument;
use super::shares::{SharesBody, SharesReply};
use crate::limiting::key::ShardKey;
use crate::limiting::owner::Account;
use crate::units::{EpochMs, Revision};

/// A saved policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedPolicy {
    /// Its revision.
    pub revision: Revision,
    /// The document.
    pub document: PolicyDocument,
    /// Static partitions whose shares changed lately, by budget: see [`Handover`](crate::policy::handover::Handover).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handovers: BTreeMap<String, HandoverBody>,
    /// The secret by which the shards of keys are chosen: the registry's, the same with each revision. None of one that
    /// was made before there were secrets, whose keys stay where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<ShardKey>,
}

/// What the regions of a static partition had before its shares changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoverBody {
    /// When the change was saved, in epoch milliseconds.
    pub since: EpochMs,
    /// Units of each region in a window; a region that is absent had none.
    pub before: BTreeMap<String, u64>,
}

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
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accounts: BTreeMap<String, Account>,
}

/// The answer to a contact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContactReply {
    /// The policy, where the isolate's is older: a [`SavedPolicy`]. Not read together with the rest, so that an
    /// isolate which is older than a new key of the policy still gets its answers.
    pub policy: Option<serde_json::Value>,
    /// The answers, in the order of the messages.
    pub exchanges: Vec<ExchangeAnswer>,
    /// The answer to the frame.
    pub frame: Option<FrameReply>,
    /// When the isolate shows itself again before it decides.
    pub next_contact_ms: u64,
    /// The tokens, where the isolate's are older: a [`super::access::SavedAccess`], read by itself as the policy is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<serde_json::Value>,
    /// What all holders have of the overloaded resources that the contact told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overload: Option<SharesReply>,
}
