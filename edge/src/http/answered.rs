//! An answer, with what its headers say.

use weir_shared::wire::check::DecisionBody;

use super::ratelimit::ServiceLimit;

/// An answer, with what its headers say.
#[derive(Clone)]
pub struct Answered {
    /// The decision.
    pub body: DecisionBody,
    /// Every budget and limit that was decided, the binding one first.
    pub service_limits: Vec<ServiceLimit>,
}
