//! A question at the shards that keep its keys, all or nothing: one shard decides and charges in one step; of several each
//! holds what it would charge, and all commit, or all undo.
//!
//! It goes on after its [`Effect::Reply`]: what must not stay charged is undone however long that takes.

use std::rc::Rc;

use weir_core::limits::{CALL_MS_MAX, UNDO_ATTEMPTS_MAX};
use weir_core::units::EpochMs;
use weir_limiting::messages::{DecideReply, FinishBody};
use weir_limiting::verdict::{StepRules, verdict};
use weir_wire::exchange::VERSION;

use super::question::answers::{Answers, DimensionAnswer, Part};

/// What happens to it. A shard is named by its place among the parts.
#[derive(Debug, Clone)]
pub enum Event {
    /// What a shard says to its part, or that it says nothing in time.
    Decided {
        /// Which.
        part: usize,
        /// Its answer.
        reply: Option<DecideReply>,
    },
    /// What a shard says to the end of the question: whether its charges stand; nothing when it was not heard of in time.
    Finished {
        /// Which.
        part: usize,
        /// Its answer.
        standing: Option<bool>,
    },
    /// The instant that was named has come.
    Woke,
}

/// Something to be done, in the order of the list.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask a shard its part, and say `Decided` within a call's time.
    Decide(usize),
    /// Tell a shard how the question ends, and say `Finished` within a call's time.
    Finish(usize, FinishBody),
    /// The answers: what they charge stands.
    Reply(Answers),
    /// Say `Woke` at that instant. The last one that is named counts.
    WakeAt(EpochMs),
}

/// How far a shard is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Asked,
    Decided,
    Committing,
    Committed { kept: bool },
    Undoing { tried: u32 },
    UndoingAgain { tried: u32, at: EpochMs },
    Ended,
}

/// What a shard was asked, and how far it is.
#[derive(Debug, Clone)]
struct PartProgress<S> {
    part: Part<S>,
    stage: Stage,
    /// Whether its answer came.
    heard: bool,
    /// Whether it holds what it was asked.
    holds: bool,
}

/// A question at its shards.
#[derive(Debug, Clone)]
pub struct Commit<S> {
    rules: Rc<Vec<StepRules>>,
    answers: Answers,
    parts: Vec<PartProgress<S>>,
}

impl<S> Commit<S> {
    /// Asks the shards what is open in `answers`.
    #[must_use]
    pub fn begin(
        rules: Rc<Vec<StepRules>>,
        answers: Answers,
        parts: Vec<Part<S>>,
    ) -> (Self, Vec<Effect>) {
        let effects = (0..parts.len()).map(Effect::Decide).collect();
        let parts = parts.into_iter().map(|part| PartProgress {
            part,
            stage: Stage::Asked,
            heard: false,
            holds: false,
        });
        let commit = Self {
            rules,
            answers,
            parts: parts.collect(),
        };
        (commit, effects)
    }

    /// What a shard is asked.
    #[must_use]
    pub fn part(&self, part: usize) -> Option<&Part<S>> {
        self.parts.get(part).map(|asked| &asked.part)
    }

    /// Takes one event. One that is not awaited changes nothing.
    #[must_use]
    pub fn step(&mut self, event: Event, now: EpochMs) -> Vec<Effect> {
        match event {
            Event::Decided { part, reply } => self.decided(part, reply, now),
            Event::Finished { part, standing } => self.finished(part, standing, now),
            Event::Woke => self.undo_again(now),
        }
    }

    fn decided(&mut self, part: usize, reply: Option<DecideReply>, now: EpochMs) -> Vec<Effect> {
        let Some(asked) = self.parts.get_mut(part) else {
            return Vec::new();
        };
        if asked.stage != Stage::Asked {
            return Vec::new();
        }
        let reply = reply.filter(|reply| reply.taken);
        asked.stage = Stage::Decided;
        asked.heard = reply.is_some();
        asked.holds = asked.part.body.hold && reply.as_ref().is_some_and(|reply| reply.admitted);
        self.answers.take(&asked.part, reply.as_ref(), now);
        if self.any(|stage| stage == Stage::Asked) {
            return Vec::new();
        }
        let passed = verdict(&self.rules, &self.answers.decisions()).admitted;
        if passed && self.parts.iter().any(|asked| asked.holds) {
            self.commit()
        } else {
            self.reply(passed)
        }
    }

    /// All hold: each is told to commit.
    fn commit(&mut self) -> Vec<Effect> {
        let holding = self
            .parts
            .iter_mut()
            .enumerate()
            .filter(|(_, one)| one.holds);
        let commits = holding.map(|(part, asked)| {
            asked.stage = Stage::Committing;
            Effect::Finish(part, asked.end(true, true))
        });
        commits.collect()
    }

    fn finished(&mut self, part: usize, standing: Option<bool>, now: EpochMs) -> Vec<Effect> {
        let Some(asked) = self.parts.get_mut(part) else {
            return Vec::new();
        };
        match asked.stage {
            Stage::Committing => {
                let kept = standing == Some(true);
                asked.stage = Stage::Committed { kept };
                if self.any(|stage| stage == Stage::Committing) {
                    return Vec::new();
                }
                let kept = !self.any(|stage| stage == Stage::Committed { kept: false });
                if !kept {
                    self.withdraw(now);
                }
                self.reply(kept)
            }
            Stage::Undoing { .. } if standing.is_some() => {
                asked.stage = Stage::Ended;
                Vec::new()
            }
            Stage::Undoing { tried } if tried + 1 >= UNDO_ATTEMPTS_MAX => {
                asked.stage = Stage::Ended;
                Vec::new()
            }
            Stage::Undoing { tried } => {
                let at = now.plus(CALL_MS_MAX << tried);
                let tried = tried + 1;
                asked.stage = Stage::UndoingAgain { tried, at };
                self.wakes_at().into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// What was held could not be committed everywhere: it is undone, and what was drawn with it.
    fn withdraw(&mut self, now: EpochMs) {
        for asked in &mut self.parts {
            asked.heard = false;
            for (at, _) in &asked.part.keys {
                self.answers.set(*at, DimensionAnswer::out_of_reach(now));
            }
        }
    }

    /// Answers, and undoes what must not stay: what is held, unless it is all `kept`, and what was charged at once and not
    /// heard of.
    fn reply(&mut self, kept: bool) -> Vec<Effect> {
        let mut effects = vec![Effect::Reply(self.answers.clone())];
        for (part, asked) in self.parts.iter_mut().enumerate() {
            let stays = if asked.part.body.hold {
                kept
            } else {
                asked.heard
            };
            if stays {
                asked.stage = Stage::Ended;
            } else {
                asked.stage = Stage::Undoing { tried: 0 };
                effects.push(Effect::Finish(part, asked.end(false, asked.heard)));
            }
        }
        effects
    }

    /// Tells those again that did not hear of the end. What cannot be undone lapses if it was held, and stays charged if it
    /// was not.
    fn undo_again(&mut self, now: EpochMs) -> Vec<Effect> {
        let mut effects = Vec::new();
        for (part, asked) in self.parts.iter_mut().enumerate() {
            if let Stage::UndoingAgain { tried, at } = asked.stage
                && now >= at
            {
                asked.stage = Stage::Undoing { tried };
                effects.push(Effect::Finish(part, asked.end(false, asked.heard)));
            }
        }
        effects.extend(self.wakes_at());
        effects
    }

    fn wakes_at(&self) -> Option<Effect> {
        let instants = self.parts.iter().filter_map(|asked| match asked.stage {
            Stage::UndoingAgain { at, .. } => Some(at),
            _ => None,
        });
        instants.min().map(Effect::WakeAt)
    }

    fn any(&self, is: impl Fn(Stage) -> bool) -> bool {
        self.parts.iter().any(|asked| is(asked.stage))
    }
}

impl<S> PartProgress<S> {
    fn end(&self, commit: bool, heard: bool) -> FinishBody {
        FinishBody {
            v: VERSION,
            op: self.part.body.op,
            commit,
            heard,
        }
    }
}
