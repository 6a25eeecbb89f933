//! The answers of the dimensions of a question, as they come in.

use std::rc::Rc;

use weir_shared::algorithms::scale::ScaledReceipt;
use weir_shared::decision::Decision;
use weir_shared::limiting::messages::{DecideBody, DecideReply, DrawnBody};
use weir_shared::limiting::verdict::StepRules;
use weir_shared::units::WindowLabel;
use weir_shared::wire::accounting::InFlight;

use super::now;
use super::plan::Step;
use crate::objects::binding::KeyShard;

/// How each check combines.
pub type Rules = Rc<Vec<StepRules>>;

/// A dimension: its check, and its place in it.
pub type At = (usize, usize);

/// What one dimension was charged.
#[derive(Debug, Clone, PartialEq)]
pub enum Charge {
    /// Nothing.
    Nothing,
    /// A window of a pool.
    Pool(WindowLabel),
    /// A resource.
    Resource,
    /// A key of this isolate.
    Local(ScaledReceipt),
    /// Units drawn earlier from a key of a shard, by that draw.
    Drawn(ScaledReceipt),
    /// A key of a shard.
    Shard(ScaledReceipt),
}

/// The answer of one dimension, in the scale of its state.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The decision.
    pub decision: Decision,
    /// The window, of a pool.
    pub window: Option<WindowLabel>,
    /// What was charged.
    pub charge: Charge,
    /// What a shard charged ahead of it.
    pub drawn: Option<DrawnBody>,
    /// Slots of a guard that are taken after it.
    pub in_flight: Option<InFlight>,
}

impl Answer {
    /// A decision that charged nothing.
    pub fn uncharged(decision: Decision) -> Self {
        Self {
            decision,
            window: None,
            charge: Charge::Nothing,
            drawn: None,
            in_flight: None,
        }
    }
}

/// The answers known so far.
#[derive(Debug, Clone)]
pub struct Answers(pub Vec<Vec<Option<Answer>>>);

/// A question to one shard, with the dimensions that it is asked for.
pub struct Part {
    /// The shard.
    pub shard: KeyShard,
    /// The question.
    pub body: DecideBody,
    /// Where each key of the question stands in the whole, and in the body.
    pub keys: Vec<(At, At)>,
}

impl Answers {
    /// Nothing is known yet.
    pub fn open(steps: &[Step<'_>]) -> Self {
        let none = |step: &Step<'_>| step.dimensions.iter().map(|_| None).collect();
        Self(steps.iter().map(none).collect())
    }

    /// The answer of a dimension.
    pub fn get(&self, at: At) -> Option<&Answer> {
        self.0.get(at.0)?.get(at.1)?.as_ref()
    }

    /// Takes the answer of a dimension.
    pub fn set(&mut self, at: At, answer: Answer) {
        if let Some(slot) = self.0.get_mut(at.0).and_then(|step| step.get_mut(at.1)) {
            *slot = Some(answer);
        }
    }

    /// The decisions alone.
    pub fn decisions(&self) -> Vec<Vec<Option<Decision>>> {
        let decision = |answer: &Option<Answer>| answer.as_ref().map(|answer| answer.decision);
        self.0
            .iter()
            .map(|step| step.iter().map(decision).collect())
            .collect()
    }

    /// Takes the answers of a shard; without any, its keys are out of reach.
    pub fn take(&mut self, part: &Part, reply: Option<&DecideReply>) {
        for (at, inner) in &part.keys {
            let body = reply.and_then(|reply| reply.groups.get(inner.0)?.get(inner.1));
            let answer = match body {
                Some(body) => Answer {
                    decision: body.decision.into(),
                    window: None,
                    charge: body.receipt.clone().map_or(Charge::Nothing, Charge::Shard),
                    drawn: body.drawn.clone(),
                    in_flight: body.in_flight,
                },
                None => out_of_reach(),
            };
            self.set(*at, answer);
        }
    }

    /// What was held could not be committed everywhere: it is undone, and what was drawn with it.
    pub fn withdraw(&mut self, parts: &[Part]) {
        for (at, _) in parts.iter().flat_map(|part| &part.keys) {
            self.set(*at, out_of_reach());
        }
    }
}

/// The answer of a holder that is out of reach.
pub fn out_of_reach() -> Answer {
    Answer::uncharged(Decision::unavailable(0, now(), 1))
}
