//! Runs targets: takes an input of the corpus, or one that was accepted since, changes it, and gives it to a target.

use std::panic::{AssertUnwindSafe, catch_unwind};

use weir_shared::ordered::OrderedSet;

use crate::mutate::changed;
use crate::random::Random;

/// Inputs that one lane keeps beside its corpus, at most: those that were accepted lead deeper than those refused.
const KEPT_MAX: usize = 256;

/// Panics of a run whose inputs are told, at most.
const FOUND_MAX: usize = 20;

/// One reader with its laws.
#[derive(Debug, Clone, Copy)]
pub struct Lane {
    /// What it reads.
    pub name: &'static str,
    /// Reads an input, and panics where a law does not hold. Says whether the input was accepted.
    pub run: fn(&[u8]) -> bool,
}

/// Readers that have a corpus together.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// What it is called at the command line.
    pub name: &'static str,
    /// The corpus: an input a line. `\n` within an input is written `␤`.
    pub corpus: &'static str,
    /// How many executions it gets, as a part of those of all: a slow reader gets fewer.
    pub weight: u64,
    /// Its readers.
    pub lanes: &'static [Lane],
}

/// An input that broke a law, or made a reader panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The target and the lane.
    pub at: String,
    /// The input.
    pub input: Vec<u8>,
}

/// What came of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Inputs that were given to a lane.
    pub executions: u64,
    /// Those that were accepted.
    pub accepted: u64,
    /// Panics.
    pub panics: u64,
    /// Inputs of the first of them.
    pub found: Vec<Found>,
}

impl Outcome {
    /// Both together.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.executions += other.executions;
        self.accepted += other.accepted;
        self.panics += other.panics;
        self.found.extend(other.found);
        self
    }
}

impl Target {
    /// The inputs of its corpus.
    #[must_use]
    pub fn inputs(&self) -> Vec<Vec<u8>> {
        let lines = self.corpus.lines().filter(|line| !line.is_empty());
        lines
            .map(|line| line.replace('␤', "\n").into_bytes())
            .collect()
    }

    /// Gives every lane the corpus as it is, then changed inputs until `executions` are done in all.
    #[must_use]
    pub fn run(&self, executions: u64, seed: u64) -> Outcome {
        let inputs = self.inputs();
        let words = words(&inputs);
        let mut outcome = Outcome::default();
        let lanes = self.lanes.len() as u64;
        for (index, lane) in (0..).zip(self.lanes) {
            let mut run = Run::new(
                self.name,
                *lane,
                seed.wrapping_mul(1_009).wrapping_add(index),
            );
            let seeds = run.corpus(&inputs);
            run.changed(&seeds, &inputs, &words, executions.div_ceil(lanes));
            outcome = outcome.with(run.outcome);
        }
        outcome
    }
}

/// What stands between quotation marks in the corpus: the names of fields among them.
fn words(inputs: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut words = OrderedSet::new();
    for input in inputs {
        let between = input.split(|byte| *byte == b'"').skip(1).step_by(2);
        words.extend(between.filter(|word| word.len() <= 64).map(<[u8]>::to_vec));
    }
    words.into_iter().collect()
}

struct Run {
    target: &'static str,
    lane: Lane,
    random: Random,
    outcome: Outcome,
}

impl Run {
    fn new(target: &'static str, lane: Lane, seed: u64) -> Self {
        let (random, outcome) = (Random::new(seed), Outcome::default());
        Self {
            target,
            lane,
            random,
            outcome,
        }
    }

    fn execute(&mut self, input: &[u8]) -> bool {
        self.outcome.executions += 1;
        let run = self.lane.run;
        let accepted = catch_unwind(AssertUnwindSafe(|| run(input))).unwrap_or_else(|_| {
            self.outcome.panics += 1;
            if self.outcome.found.len() < FOUND_MAX {
                let at = format!("{} {}", self.target, self.lane.name);
                self.outcome.found.push(Found {
                    at,
                    input: input.to_vec(),
                });
            }
            false
        });
        self.outcome.accepted += u64::from(accepted);
        accepted
    }

    /// Those of the corpus that this lane accepts; all of it where it accepts none.
    fn corpus(&mut self, inputs: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let accepted: Vec<_> = inputs
            .iter()
            .filter(|input| self.execute(input))
            .cloned()
            .collect();
        if accepted.is_empty() {
            inputs.to_vec()
        } else {
            accepted
        }
    }

    fn changed(&mut self, seeds: &[Vec<u8>], others: &[Vec<u8>], words: &[Vec<u8>], until: u64) {
        let mut kept: Vec<Vec<u8>> = Vec::new();
        while self.outcome.executions < until {
            let from = if self.random.below(4) == 0 && !kept.is_empty() {
                &kept[..]
            } else {
                seeds
            };
            let among = if self.random.below(2) == 0 {
                seeds
            } else {
                others
            };
            let (Some(input), Some(other)) = (self.random.pick(from), self.random.pick(among))
            else {
                return;
            };
            let input = changed(&mut self.random, input, other, words);
            if !self.execute(&input) || self.random.below(16) > 0 {
                continue;
            }
            if kept.len() < KEPT_MAX {
                kept.push(input);
            } else {
                let place = self.random.below(KEPT_MAX);
                kept[place] = input;
            }
        }
    }
}
