//! What isolates and the registry say to a `Region`, and what it answers.

use serde::{Deserialize, Serialize};

use super::accounting::{FrameBody, FrameReply};
use super::exchange::{ExchangeAnswer, ExchangeBody};
use super::policy::PolicyDocument;
use crate::units::Revision;

/// A saved policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedPolicy {
    /// Its revision.
    pub revision: Revision,
    /// The document.
    pub document: PolicyDocument,
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
}
