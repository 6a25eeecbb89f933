//! The answers of the dimensions of a question, as they come in.

use weir_algorithms::scale::ScaledReceipt;
use weir_core::units::{EpochMs, WindowLabel};
use weir_decision::Decision;
use weir_limiting::messages::{DecideBody, DecideReply, DrawnBody};
use weir_limiting::spare_slots::HeardSlot;
use weir_limiting::verdict::StepRules;
use weir_wire::accounting::InFlight;

/// A dimension: its check, and its place in it.
pub type At = (usize, usize);

/// What one dimension was charged.
#[derive(Debug, Clone, PartialEq)]
pub enum Charge {
    /// Nothing.
    Nothing,
    /// A window of a pool.
    Pool(WindowLabel),
    /// A resource, and the slot there that was taken, by its number.
    Resource(Option<u64>),
    /// A key of this isolate.
    Local(ScaledReceipt),
    /// Units drawn earlier from a key of a shard, by that draw.
    Drawn(ScaledReceipt),
    /// A slot of a guard that this isolate had spare.
    Spare(Box<HeardSlot>),
    /// A key of a shard.
    Shard(ScaledReceipt),
}

/// The answer of one dimension, in the scale of its state.
#[derive(Debug, Clone, PartialEq)]
pub struct DimensionAnswer {
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

impl DimensionAnswer {
    /// A decision that charged nothing.
    #[must_use]
    pub fn uncharged(decision: Decision) -> Self {
        Self {
            decision,
            window: None,
            charge: Charge::Nothing,
            drawn: None,
            in_flight: None,
        }
    }

    /// The answer of a holder that is out of reach.
    #[must_use]
    pub fn out_of_reach(now: EpochMs) -> Self {
        Self::uncharged(Decision::unavailable(0, now, 1))
    }
}

/// The answers known so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers(pub Vec<Vec<Option<DimensionAnswer>>>);

/// A question to one shard, with the dimensions that it is asked for.
#[derive(Debug, Clone)]
pub struct Part<S> {
    /// The shard.
    pub shard: S,
    /// The question.
    pub body: DecideBody,
    /// Where each key of the question stands in the whole, and in the body.
    pub keys: Vec<(At, At)>,
}

impl Answers {
    /// Nothing is known yet.
    #[must_use]
    pub fn open(rules: &[StepRules]) -> Self {
        let none = |step: &StepRules| vec![None; step.dimensions.len()];
        Self(rules.iter().map(none).collect())
    }

    /// The answer of a dimension.
    #[must_use]
    pub fn get(&self, at: At) -> Option<&DimensionAnswer> {
        self.0.get(at.0)?.get(at.1)?.as_ref()
    }

    /// Takes the answer of a dimension.
    pub fn set(&mut self, at: At, answer: DimensionAnswer) {
        if let Some(slot) = self.0.get_mut(at.0).and_then(|step| step.get_mut(at.1)) {
            *slot = Some(answer);
        }
    }

    /// All dimensions, in the order of the request.
    pub fn places(&self) -> impl Iterator<Item = At> + use<> {
        let counts: Vec<_> = self.0.iter().map(Vec::len).collect();
        let steps = counts.into_iter().enumerate();
        steps.flat_map(|(step, count)| (0..count).map(move |inner| (step, inner)))
    }

    /// The decisions alone.
    #[must_use]
    pub fn decisions(&self) -> Vec<Vec<Option<Decision>>> {
        let decision =
            |answer: &Option<DimensionAnswer>| answer.as_ref().map(|answer| answer.decision);
        self.0
            .iter()
            .map(|step| step.iter().map(decision).collect())
            .collect()
    }

    /// Whether what is known is enough to deny: what is open cannot mend it.
    #[must_use]
    pub fn are_lost(&self, rules: &[StepRules]) -> bool {
        let decisions = self.decisions();
        let mut steps = rules.iter().zip(&decisions);
        steps.any(|(rules, decisions)| rules.lost(decisions))
    }

    /// Takes the answers of a shard; without any, its keys are out of reach.
    pub fn take<S>(&mut self, part: &Part<S>, reply: Option<&DecideReply>, now: EpochMs) {
        for (at, inner) in &part.keys {
            let body = reply.and_then(|reply| reply.groups.get(inner.0)?.get(inner.1));
            let answer = match body {
                Some(body) => DimensionAnswer {
                    decision: body.decision.into(),
                    window: None,
                    charge: body.receipt.clone().map_or(Charge::Nothing, Charge::Shard),
                    drawn: body.drawn.clone(),
                    in_flight: body.in_flight,
                },
                None => DimensionAnswer::out_of_reach(now),
            };
            self.set(*at, answer);
        }
    }

    /// What is open stays so: it is out of reach.
    pub fn give_up(&mut self, now: EpochMs) {
        let open = self.0.iter_mut().flatten().filter(|one| one.is_none());
        open.for_each(|one| *one = Some(DimensionAnswer::out_of_reach(now)));
    }
}
