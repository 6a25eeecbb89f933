//! What the tests say of each mutant: those that reach it run while it is on, the quickest first, until one fails.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;

use super::limited::{self, Ended};
use super::list::Mutant;
use super::reach::{Test, in_parallel};
use super::{Id, switch};
use crate::progress;

/// Tests run in batches, a process each: a mutant is mostly caught by the first.
const BATCHES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Tests that take longer together, with no mutant on, are not all run for one mutant.
const BUDGET: Duration = Duration::from_secs(15);

/// A batch that takes so many times as long, and these seconds more, is taken to loop.
const SLOWER: u32 = 5;
const GRACE: Duration = Duration::from_secs(5);

/// What came of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A test failed, or did not end.
    Caught,
    /// All tests that reach it passed.
    Survived,
    /// More tests reach it than fit into [`BUDGET`]; those that fit passed.
    SurvivedBudget,
    /// Tests reach it that take longer than [`TEST_MAX`](super::reach::TEST_MAX), and no other.
    ReachedByLong,
    /// No test reaches it.
    NotReached,
}

/// Judges these of the mutants, and tells each that survives at once: the rest takes a while.
pub(super) fn all(mutants: &[Mutant], tried: &[Id], tests: &[Test]) -> Result<Vec<(Id, Verdict)>> {
    let (done, caught) = (AtomicUsize::new(0), AtomicUsize::new(0));
    in_parallel(tried, |_, id| {
        let verdict = one(*id, tests)?;
        if verdict == Verdict::Caught {
            caught.fetch_add(1, Ordering::Relaxed);
        } else {
            // Numbers are from 1.
            progress::note(&format!("survives: {}", mutants[*id as usize - 1].name));
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(50) {
            let (of, caught) = (tried.len(), caught.load(Ordering::Relaxed));
            progress::note(&format!(
                "{done} of {of} are judged, {caught} of them caught"
            ));
        }
        Ok((*id, verdict))
    })
}

fn one(id: Id, tests: &[Test]) -> Result<Verdict> {
    let reach: Vec<&Test> = tests
        .iter()
        .filter(|test| test.reached.contains(&id))
        .collect();
    let Plan { batches, is_whole } = plan(&reach);
    if batches.is_empty() {
        return Ok(if reach.is_empty() {
            Verdict::NotReached
        } else {
            Verdict::ReachedByLong
        });
    }
    for batch in batches {
        if batch.catches(id)? {
            return Ok(Verdict::Caught);
        }
    }
    Ok(if is_whole {
        Verdict::Survived
    } else {
        Verdict::SurvivedBudget
    })
}

/// Tests of one program that run in one process.
#[derive(Debug, PartialEq, Eq)]
struct Batch<'a> {
    program: &'a Path,
    tests: Vec<&'a str>,
    takes: Duration,
}

/// What runs for one mutant.
#[derive(Debug, PartialEq, Eq)]
struct Plan<'a> {
    batches: Vec<Batch<'a>>,
    /// Whether these are all tests that reach it and are short.
    is_whole: bool,
}

impl Batch<'_> {
    fn catches(&self, id: Id) -> Result<bool> {
        let limit = self.takes * SLOWER + GRACE;
        let variables = [(switch::MUTANT, id.to_string())];
        let variables = variables
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        let ended = limited::run(self.program, &self.tests, &variables, limit)?;
        Ok(ended != Ended::Passed)
    }
}

/// The short ones of these tests, the quickest first, as far as the budget goes. One test runs however long it takes.
fn plan<'a>(reach: &[&'a Test]) -> Plan<'a> {
    let mut short: Vec<&Test> = reach.iter().copied().filter(|test| test.is_short).collect();
    short.sort_by_key(|test| test.takes);
    let mut plan = Plan {
        batches: Vec::new(),
        is_whole: true,
    };
    let (mut used, mut rest) = (Duration::ZERO, &short[..]);
    for upto in BATCHES.into_iter().chain([BUDGET]) {
        let fit = |test: &&&Test| {
            let fits = used.is_zero() || used + test.takes <= upto;
            used += if fits { test.takes } else { Duration::ZERO };
            fits
        };
        let (batch, after) = rest.split_at(rest.iter().take_while(fit).count());
        plan.add(batch);
        rest = after;
    }
    plan.is_whole = rest.is_empty();
    plan
}

impl<'a> Plan<'a> {
    fn add(&mut self, tests: &[&'a Test]) {
        let mut batches: Vec<Batch<'a>> = Vec::new();
        for test in tests {
            let program = test.program.as_path();
            match batches.iter_mut().find(|batch| batch.program == program) {
                Some(batch) => {
                    batch.tests.push(&test.name);
                    batch.takes += test.takes;
                }
                None => batches.push(Batch {
                    program,
                    tests: vec![&test.name],
                    takes: test.takes,
                }),
            }
        }
        self.batches.extend(batches);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::*;

    fn test(program: &str, name: &str, millis: u64) -> Test {
        Test {
            program: PathBuf::from(program),
            name: name.to_owned(),
            takes: Duration::from_millis(millis),
            is_short: true,
            reached: BTreeSet::from([1]),
        }
    }

    fn planned(tests: &[Test]) -> (Vec<(String, Vec<&str>)>, bool) {
        let plan = plan(&tests.iter().collect::<Vec<_>>());
        let batches = plan.batches.into_iter();
        let batches = batches.map(|batch| (batch.program.display().to_string(), batch.tests));
        (batches.collect(), plan.is_whole)
    }

    #[test]
    fn the_quickest_run_first_and_in_growing_batches() {
        let tests = [
            test("a", "slow", 4_000),
            test("a", "quick", 10),
            test("b", "other", 20),
            test("a", "quicker", 5),
            test("a", "slowest", 7_000),
        ];
        let batch = |program: &str, tests: &[&'static str]| (program.to_owned(), tests.to_vec());
        let due = vec![
            batch("a", &["quicker", "quick"]),
            batch("b", &["other"]),
            batch("a", &["slow"]),
            batch("a", &["slowest"]),
        ];
        assert_eq!(planned(&tests), (due, true));
    }

    #[test]
    fn tests_beyond_the_budget_do_not_run() {
        let tests = [
            test("a", "one", 7_000),
            test("a", "two", 7_500),
            test("a", "three", 16_000),
        ];
        let due = vec![("a".to_owned(), vec!["one"]), ("a".to_owned(), vec!["two"])];
        assert_eq!(planned(&tests), (due, false));
        let long = Test {
            is_short: false,
            ..test("a", "long", 8_000)
        };
        assert_eq!(planned(&[long]), (vec![], true));
    }

    #[test]
    fn a_mutant_that_nothing_short_reaches_is_told_so() {
        let mut long = test("a", "long", 8_000);
        long.is_short = false;
        assert_eq!(
            one(1, std::slice::from_ref(&long)).unwrap(),
            Verdict::ReachedByLong
        );
        assert_eq!(one(2, &[long]).unwrap(), Verdict::NotReached);
    }
}
