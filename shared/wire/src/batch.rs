//! `POST /v1/check/batch`: several questions and their decisions, in order.

use serde::{Deserialize, Serialize};

use super::check::{CheckRequest, DecisionBody};

/// The questions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BatchRequest {
    /// Each is decided as if it had come alone.
    pub requests: Vec<CheckRequest>,
}

/// The decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchReply {
    /// One for each question, in the order of the questions.
    pub decisions: Vec<DecisionBody>,
}
