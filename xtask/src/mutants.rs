//! `mutants`: whether the tests notice when what decides is changed (mutation testing; DeMillo, Lipton and Sayward, 1978).
//!
//! A sample of the changes that cargo-mutants knows is written into one copy of the sources, each behind a switch that the
//! running program reads (mutant schemata; Untch, Offutt and Harrold, 1993). The copy is compiled once. Each mutant is then
//! judged by the tests that reach it alone, the quickest first, until one fails.

mod blame;
mod examples;
mod judge;
mod limited;
mod list;
mod programs;
mod reach;
mod report;
mod sample;
mod schema;
mod site;
mod switch;
mod text;
mod tree;
mod viable;

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::args::MutantsOptions;
use crate::{paths, progress, tools};
use list::Mutant;
use report::Report;

/// Mutants of one run, where it is not said.
pub(crate) const SAMPLE: usize = 1_000;

/// The seed of a sample, where it is not said.
pub(crate) const SEED: u64 = 1;

/// A mutant's number in the copy, from 1: its place in the sample.
type Id = u32;

/// Samples, tries, and lists what no test noticed. Succeeds whatever that is: it is a figure, and no test.
pub(crate) fn run(options: &MutantsOptions) -> Result<ExitCode> {
    tools::ensure(&[&tools::MUTANTS])?;
    let all = list::all()?;
    let drawn = sample::sample(&all, options.sample, options.seed);
    let drawn = sample::shard(drawn, options.shard);
    progress::note(&format!("{} of {} mutants", drawn.len(), all.len()));
    let report = tried(&drawn)?;
    let text = report.text(options.seed);
    print!("{text}");
    let file = paths::root().join("target/mutants/survivors.txt");
    fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn tried(mutants: &[Mutant]) -> Result<Report> {
    let viable = progress::step("leaving out what does not compile", || {
        viable::compiled(mutants)
    })?;
    let programs = progress::step("building the tests", programs::build)?;
    let tests = progress::step("running each test by itself", || reach::traced(&programs))?;
    let verdicts = progress::step("judging", || judge::all(mutants, &viable.tried, &tests))?;
    Ok(Report::new(mutants, &viable, verdicts))
}
