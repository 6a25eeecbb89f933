//! `test`: everything that is checked, step by step, with a table at the end.

mod report;
mod steps;
mod stream;
mod totals;

use std::process::ExitCode;

use anyhow::Result;

use crate::clock::Stopwatch;
use crate::{progress, setup};

pub(crate) use self::steps::Step;

/// Runs all steps or one. A failing step does not keep the later ones from running.
pub(crate) fn run(only: Option<Step>) -> Result<ExitCode> {
    let steps = only.map_or_else(|| Step::ALL.to_vec(), |step| vec![step]);
    let environment = if steps.iter().any(|step| step.needs_browser()) {
        setup::everything()?
    } else {
        setup::for_builds()?
    };
    let mut report = report::Report::default();
    for step in steps {
        progress::note(&format!("step {}: {}", step.name(), step.purpose()));
        let watch = Stopwatch::start();
        let outcome = step.run(&environment);
        if let Err(error) = &outcome.result {
            progress::note(&format!("step {} failed: {error:#}", step.name()));
        }
        report.add(step.name(), &outcome, watch.elapsed());
    }
    print!("{report}");
    Ok(if report.is_success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
