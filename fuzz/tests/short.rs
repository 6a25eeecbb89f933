//! A short run of every target, as part of the tests.

use weir_fuzz::driver::Outcome;
use weir_fuzz::targets::{TARGETS, share};

/// Executions of a short run in all: some seconds without optimisation.
const EXECUTIONS: u64 = 120_000;

#[test]
fn nothing_that_reads_input_panics_or_breaks_a_law() {
    let run = |target| share(TARGETS, target, EXECUTIONS);
    let all = TARGETS
        .iter()
        .map(|target| target.run(run(target), 7))
        .fold(Outcome::default(), Outcome::with);
    let found: Vec<_> = all
        .found
        .iter()
        .map(|found| format!("{}: {}", found.at, found.input.escape_ascii()))
        .collect();
    assert_eq!((all.panics, found), (0, Vec::<String>::new()));
}

#[test]
fn every_reader_accepts_something_of_its_corpus() {
    let mut idle = Vec::new();
    for target in TARGETS {
        let inputs = target.inputs();
        for lane in target.lanes {
            if !inputs.iter().any(|input| (lane.run)(input)) {
                idle.push(format!("{} {}", target.name, lane.name));
            }
        }
    }
    assert_eq!(idle, [""; 0]);
}

#[test]
fn the_corpus_is_small() {
    let bytes: usize = TARGETS.iter().map(|target| target.corpus.len()).sum();
    assert!(bytes < 300_000, "{bytes}");
}
