//! `test`: everything that is checked, step by step, with a table at the end.
//!
//! Three steps run beside each other. What each of them writes goes to a file and is shown in one piece when it ends; a step
//! that is asked for by name shows it as it comes.

mod browser;
mod changed;
mod compiled;
mod deploy;
mod end_to_end;
mod links;
mod lints;
mod memory;
mod named;
mod native;
mod outcome;
mod phases;
mod repeat;
mod report;
mod schedule;
mod steps;
mod stream;
mod totals;
mod workbench;

use std::fs::{self, File};
use std::io::{self, Write};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, anyhow};

use self::compiled::Choice;
use self::end_to_end::Retries::AsConfigured;
use self::outcome::Outcome;
use self::report::Report;
use self::schedule::{Ended, Job};
pub(crate) use self::steps::Step;
use self::workbench::Workbench;
use crate::clock::{self, Elapsed, Stopwatch};
use crate::environment::Environment;
use crate::{build_cache, paths, progress, setup, tidy};

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    Everything,
    Only(Step),
    /// Lints and quick native tests of what changed.
    Quick,
    /// The end-to-end tests so often, beside other work or not: those whose names begin so, or all.
    Repeat {
        times: u32,
        busy: bool,
        names: Vec<String>,
    },
}

/// Runs what is asked for. A failing step does not keep the others from running, but for those that need its result.
pub(crate) fn run(scope: Scope) -> Result<ExitCode> {
    let report = match scope {
        Scope::Everything => {
            let began = clock::now();
            let report = beside_each_other(&Step::BY_URGENCY, None)?;
            if report.has_passed(&Step::COMPILING) {
                build_cache::keep(began)?;
            }
            report
        }
        Scope::Only(step) => {
            // On what is there now, not on what an older build left.
            let steps = [step.waits_for(), &[step]].concat();
            one_by_one(&steps)?
        }
        Scope::Quick => {
            let changed = changed::packages()?;
            progress::note(&format!("changed: {}", changed.join(", ")));
            beside_each_other(&Step::QUICK, Some(&changed))?
        }
        Scope::Repeat { times, busy, names } => {
            let report = one_by_one(Step::Pages.waits_for())?;
            if report.is_success() {
                let runs = repeat::Runs { times, busy, names };
                repeat::run(&setup::for_tests()?, &runs, &mut io::stdout())?;
            }
            report
        }
    };
    print!("{report}");
    Ok(if report.is_success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The end-to-end tests of a suite, compiled where they are not: without the browser, the proxies and the clients' languages.
pub(crate) fn end_to_end_of(environment: Environment, suite: &str) -> Result<Command> {
    // As all tests are compiled, so that it is done once.
    compiled::suite(&environment.linting()?, suite)
}

fn one_by_one(steps: &[Step]) -> Result<Report> {
    let (mut report, start) = (Report::default(), Stopwatch::start());
    for &step in steps {
        announce(step);
        let began = start.elapsed().0;
        let outcome = perform(step, None, &mut io::stdout());
        conclude(&mut report, step, &outcome, began, start);
    }
    Ok(report)
}

/// The steps, the most urgent first, of what has changed or of everything.
fn beside_each_other(steps: &[Step], changed: Option<&[&str]>) -> Result<Report> {
    // What cannot be mended by waiting is told before minutes of work.
    setup::check()?;
    paths::program()?;
    let (mut report, start) = (Report::default(), Stopwatch::start());
    let logs = paths::local("test");
    fs::create_dir_all(&logs).context("creating the folder of the steps' output")?;
    let log = |step: Step| logs.join(format!("{}.log", step.name()));
    let job = |&step: &Step| Job {
        what: step,
        after: step.waits_for(),
        behind: step.yields_to(),
    };
    let jobs: Vec<_> = steps.iter().map(job).collect();
    schedule::run(
        &jobs,
        |step| {
            announce(step);
            let began = start.elapsed().0;
            let outcome = Outcome::of(
                File::create(log(step))
                    .context("creating the file of a step's output")
                    .map(|mut file| perform(step, changed, &mut file)),
            );
            let passed = outcome.result.is_ok();
            ((outcome, began), passed)
        },
        |step, ended| match ended {
            Ended::Ran((outcome, began)) => {
                show(step, &fs::read(log(step)).unwrap_or_default());
                conclude(&mut report, step, &outcome, began, start);
            }
            Ended::Skipped => {
                let outcome = Outcome::check(Err(anyhow!("what it works on is not there")));
                conclude(&mut report, step, &outcome, start.elapsed().0, start);
            }
        },
    );
    Ok(report)
}

fn announce(step: Step) {
    progress::note(&format!("step {}: {}", step.name(), step.purpose()));
}

fn show(step: Step, output: &[u8]) {
    let mut stdout = io::stdout().lock();
    // A reader that left is no reason to stop.
    let _ = writeln!(stdout, "\n--- {} ---", step.name());
    let _ = stdout.write_all(output);
}

fn conclude(
    report: &mut Report,
    step: Step,
    outcome: &Outcome,
    began: std::time::Duration,
    start: Stopwatch,
) {
    let time = start.elapsed().0.saturating_sub(began);
    match &outcome.result {
        Ok(()) => progress::note(&format!("step {}: done in {}", step.name(), Elapsed(time))),
        Err(error) => progress::note(&format!("step {} failed: {error:#}", step.name())),
    }
    report.add(step.name(), outcome, began, time);
}

/// One step, with the set-up that it needs.
fn perform(step: Step, changed: Option<&[&str]>, output: &mut dyn Write) -> Outcome {
    Outcome::of(Workbench::of(step, output).map(|mut bench| {
        let result = work(step, changed, &mut bench);
        if let Err(error) = &result {
            bench.say(&format!("step {} failed: {error:#}", step.name()));
        }
        bench.outcome(result)
    }))
}

fn work(step: Step, changed: Option<&[&str]>, bench: &mut Workbench<'_>) -> Result<()> {
    let set_up = |parts: fn() -> Result<Environment>| {
        let environment = parts()?;
        Ok::<_, anyhow::Error>(if step.is_urgent() {
            environment
        } else {
            environment.stepping_back()
        })
    };
    match step {
        Step::Tidy => tidy::run(),
        Step::Fmt => lints::fmt(bench, &set_up(setup::for_lints)?),
        Step::ClippyWasm => lints::clippy_wasm(bench, &set_up(setup::for_lints)?, changed),
        Step::CompileEndToEnd | Step::Compile | Step::Native => {
            let environment = set_up(setup::for_native)?.linting()?;
            match (step, changed) {
                (Step::CompileEndToEnd, _) => {
                    compiled::compile(bench, &environment, &Choice::EndToEnd)
                }
                (Step::Compile, _) => compiled::compile(bench, &environment, &Choice::Native),
                (_, None) => native::all(bench, &environment),
                (_, Some(changed)) => {
                    native::of_what_changed(bench, &environment.not_optimised(), changed)
                }
            }
        }
        Step::BuildEdge => built("--edge", bench, &set_up(setup::for_builds)?),
        Step::BuildConsole => built("--console", bench, &set_up(setup::for_builds)?),
        Step::Deploy => deploy::dry_run(bench, &set_up(setup::for_wrangler)?),
        Step::Browser => browser::run(bench, &set_up(setup::for_tests)?),
        Step::EndToEnd => {
            let environment = set_up(setup::for_tests)?;
            end_to_end::run(bench, &environment, &Choice::EndToEnd, AsConfigured)
        }
        Step::Pages => {
            let environment = set_up(setup::for_tests)?;
            end_to_end::run(bench, &environment, &Choice::Pages, AsConfigured)
        }
    }
}

/// By a program of its own, so that the processor's time that it takes is known.
fn built(part: &str, bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    let mut build = environment.command(paths::program()?)?;
    build.args(["build", part]);
    bench.compile(build)
}
