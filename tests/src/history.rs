//! What clients saw: one operation a request, in the order of the answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use weir_shared::ordered::OrderedMap;
use weir_shared::wire::check::{DecisionBody, Reason};

/// One check and its answer. Times are counted from the start of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Which client asked.
    pub client: usize,
    /// For whom.
    pub tenant: String,
    /// Units asked for.
    pub cost: u64,
    /// When the request was sent.
    pub sent: Duration,
    /// When its answer had arrived. The decision fell between the two.
    pub received: Duration,
    /// The answer.
    pub outcome: Outcome,
}

/// How an operation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A decision.
    Decided(DecisionBody),
    /// An HTTP answer that is not a decision.
    Refused {
        /// Its status.
        status: u16,
        /// Its body.
        body: String,
    },
    /// No answer: the connection failed or the deadline passed. It may have been admitted.
    Lost(String),
}

impl Operation {
    /// The decision, when there was one.
    pub fn decision(&self) -> Option<&DecisionBody> {
        match &self.outcome {
            Outcome::Decided(decision) => Some(decision),
            Outcome::Refused { .. } | Outcome::Lost(_) => None,
        }
    }

    /// The window in which it was decided, by label.
    pub fn window(&self) -> Option<u64> {
        self.decision()?.window
    }

    /// How long the answer took.
    pub fn latency(&self) -> Duration {
        self.received.saturating_sub(self.sent)
    }

    /// Units admitted by this operation.
    pub fn admitted(&self) -> u64 {
        self.decision()
            .filter(|decision| decision.allowed)
            .map_or(0, |_| self.cost)
    }
}

/// All operations of a run. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct History {
    operations: Arc<Mutex<Vec<Operation>>>,
}

impl History {
    /// Adds an operation.
    pub fn push(&self, operation: Operation) {
        self.operations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(operation);
    }

    /// The operations so far.
    pub fn operations(&self) -> Vec<Operation> {
        self.operations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// How often each outcome occurred, for messages: `admitted`, the reasons of denials, `status 500`, `lost`.
pub fn outcomes(operations: &[Operation]) -> OrderedMap<String, usize> {
    let mut counts = OrderedMap::new();
    for operation in operations {
        let name = match &operation.outcome {
            Outcome::Decided(decision) => reason_name(decision.reason),
            Outcome::Refused { status, .. } => format!("status {status}"),
            Outcome::Lost(_) => "lost".to_owned(),
        };
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn reason_name(reason: Reason) -> String {
    format!("{reason:?}").to_lowercase()
}
