//! What an agent says to the deployment, and what it answers: `POST /v1/agent/contact`.

use serde::{Deserialize, Serialize};
use weir_core::units::{HolderId, Revision};

use super::accounting::{FrameBody, FrameReply};
use super::exchange::{ExchangeAnswer, ExchangeBody};

/// An agent's contact: budgets to exchange, counters to hand over, and the policy it knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentContactBody {
    /// Version of the form: that of all [forms between Weir's parts](super::exchange::VERSION).
    pub v: u16,
    /// Which life of the agent speaks: a number that each draws at random. To the region, a holder is this and the id of
    /// the token together.
    pub agent: HolderId,
    /// The region that lends. Absent with the first contact: the nearest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The policy revision that the agent applies; 0 for none.
    pub revision: Revision,
    /// One message a budget. The terms and claims of each are replaced by those of the deployment.
    pub exchanges: Vec<ExchangeBody>,
    /// Counters of budgets, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameBody>,
}

/// The answer to a contact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentContactReply {
    /// The region that lends: the agent names it from then on.
    pub region: String,
    /// The policy, where the agent's is older: a [`SavedPolicy`](super::saved_policy::SavedPolicy) without what agents do
    /// not need. Not read together with the rest, so that an agent which is older than a new key of the policy still gets
    /// its answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<serde_json::Value>,
    /// The answers, in the order of the messages.
    pub exchanges: Vec<ExchangeAnswer>,
    /// The answer to the frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameReply>,
    /// When the agent shows itself again, if it has something to tell.
    pub next_contact_ms: u64,
}
