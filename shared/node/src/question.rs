//! A question of several checks, all or nothing: first what this isolate holds, in the order of the request, then what
//! shards keep. It ends with what has to be given back.
//!
//! One thing is done at a time, and what came of it is the next event.

pub mod answers;

use std::rc::Rc;

use answers::{Answers, At, Charge, DimensionAnswer};
use weir_core::units::EpochMs;
use weir_limiting::verdict::{QuestionVerdict, StepRules, verdict};

/// What came of the last effect.
#[derive(Debug, Clone)]
pub enum Event {
    /// Denials that are known without asking anyone.
    Looked(Vec<(At, DimensionAnswer)>),
    /// Whether another request asks for one of the keys that are open.
    Probed {
        /// Whether it does.
        busy: bool,
    },
    /// What this isolate says of a dimension.
    Held(At, LocalAnswer),
    /// Whether all keys that are open were claimed, so that others wait for what comes of them.
    Claimed(bool),
    /// What the shards say of what was open.
    Asked(Answers),
}

/// What this isolate can say of a dimension.
#[derive(Debug, Clone)]
pub enum LocalAnswer {
    /// It decides.
    Decided(Box<DimensionAnswer>),
    /// A shard has to be asked.
    Elsewhere,
    /// A newer policy does not have it any more.
    Gone,
}

/// The one thing to be done now.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Say which denials are known.
    Look,
    /// Say whether another request asks for a key that is open.
    Probe,
    /// Decide a dimension of which this isolate holds units.
    Hold(At),
    /// Claim all keys that are open, or none.
    Claim,
    /// Ask the shards what is open.
    Ask,
    /// Give back what those dimensions charged here. What shards charged they undo themselves.
    End(End, Vec<At>),
}

/// How it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It is decided.
    Decided(QuestionVerdict),
    /// Another request asks for one of its keys, whose answer may decide it: it begins anew.
    Busy,
    /// A newer policy does not have what is asked any more.
    Gone,
}

/// A question at one attempt to decide it.
#[derive(Debug, Clone)]
pub struct Question {
    rules: Rc<Vec<StepRules>>,
    answers: Answers,
    /// What is still to be looked at here, last first.
    to_hold: Vec<At>,
    /// Whether it has waited for so long that it waits for no other.
    late: bool,
}

impl Question {
    /// Begins an attempt.
    #[must_use]
    pub fn begin(rules: Rc<Vec<StepRules>>, late: bool) -> (Self, Effect) {
        let answers = Answers::open(&rules);
        let mut to_hold: Vec<_> = answers.places().collect();
        to_hold.reverse();
        let question = Self {
            rules,
            answers,
            to_hold,
            late,
        };
        (question, Effect::Look)
    }

    /// The answers that are known.
    #[must_use]
    pub fn answers(&self) -> &Answers {
        &self.answers
    }

    /// The answers, once it has ended.
    #[must_use]
    pub fn into_answers(self) -> Answers {
        self.answers
    }

    /// Takes what came of the last effect.
    #[must_use]
    pub fn step(&mut self, event: Event, now: EpochMs) -> Effect {
        match event {
            Event::Looked(denials) => {
                for (at, denial) in denials {
                    self.answers.set(at, denial);
                }
                match self.late || self.is_lost() {
                    true => self.hold_next(),
                    false => Effect::Probe,
                }
            }
            Event::Probed { busy: true } => Effect::End(End::Busy, Vec::new()),
            Event::Probed { busy: false } | Event::Held(_, LocalAnswer::Elsewhere) => {
                self.hold_next()
            }
            Event::Held(at, LocalAnswer::Decided(answer)) => {
                self.answers.set(at, *answer);
                self.hold_next()
            }
            Event::Held(_, LocalAnswer::Gone) => Effect::End(End::Gone, self.charged(|_| true)),
            Event::Claimed(true) => Effect::Ask,
            Event::Claimed(false) if self.late => {
                self.answers.give_up(now);
                self.conclude()
            }
            Event::Claimed(false) => Effect::End(End::Busy, self.charged(|_| true)),
            Event::Asked(answers) => {
                self.answers = answers;
                self.conclude()
            }
        }
    }

    /// The next dimension that is open here. Once it is denied nothing more is charged.
    fn hold_next(&mut self) -> Effect {
        if self.is_lost() {
            return self.conclude();
        }
        while let Some(at) = self.to_hold.pop() {
            if self.answers.get(at).is_none() {
                return Effect::Hold(at);
            }
        }
        let mut places = self.answers.places();
        match places.any(|at| self.answers.get(at).is_none()) {
            true => Effect::Claim,
            false => self.conclude(),
        }
    }

    /// The verdict on the answers; what must not be charged is given back.
    fn conclude(&self) -> Effect {
        let verdict = verdict(&self.rules, &self.answers.decisions());
        // What is not enforced charges none of its dimensions where it would have denied.
        let stays = |step: usize| verdict.admitted && verdict.steps[step].admitted;
        let back = self.charged(|step| !stays(step));
        Effect::End(End::Decided(verdict), back)
    }

    /// The dimensions of those checks that were charged here.
    fn charged(&self, which: impl Fn(usize) -> bool) -> Vec<At> {
        let charged = |at: &At| {
            let answer = self.answers.get(*at);
            answer
                .is_some_and(|answer| !matches!(answer.charge, Charge::Nothing | Charge::Shard(_)))
        };
        let places = self.answers.places().filter(|at| which(at.0));
        places.filter(charged).collect()
    }

    fn is_lost(&self) -> bool {
        self.answers.are_lost(&self.rules)
    }
}
