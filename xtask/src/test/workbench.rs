//! Where a step works: its output, its commands, and the time that they take.

use std::io::Write;
use std::process::Command;

use anyhow::{Result, anyhow};

use super::links::Links;
use super::named::Named;
use super::outcome::Outcome;
use super::phases::Phases;
use super::steps::Step;
use super::stream;
use super::totals::Totals;
use crate::clock::Stopwatch;

/// One step at work.
pub(super) struct Workbench<'a> {
    output: &'a mut dyn Write,
    links: Links,
    phases: Phases,
    totals: Totals,
    named: Named,
}

impl<'a> Workbench<'a> {
    /// For a step whose output goes to `output`.
    pub(super) fn of(step: Step, output: &'a mut dyn Write) -> Result<Self> {
        Ok(Self {
            output,
            links: Links::of(step.name())?,
            phases: Phases::default(),
            totals: Totals::default(),
            named: Named::default(),
        })
    }

    /// Says something among the output.
    pub(super) fn say(&mut self, line: &str) {
        // A reader that left is no reason to stop.
        let _ = writeln!(self.output, "{line}");
    }

    /// Runs a command that checks or builds.
    pub(super) fn compile(&mut self, mut command: Command) -> Result<()> {
        self.links.watch(&mut command)?;
        let watch = Stopwatch::start();
        let (told, result) = stream::run(&mut command, &mut self.output);
        self.phases.processor += told.processor;
        self.phases.compile += watch.elapsed().0;
        self.phases.link = self.links.total();
        result
    }

    /// Runs a command that runs tests, and counts them; one that runs none has checked nothing.
    pub(super) fn test(&mut self, mut command: Command) -> Result<()> {
        let watch = Stopwatch::start();
        let (told, result) = stream::run(&mut command, &mut self.output);
        self.phases.run += watch.elapsed().0;
        self.phases.processor += told.processor;
        self.totals += told.totals;
        self.named.add(&told.named);
        result?;
        if told.totals.count() == 0 {
            return Err(anyhow!("no test ran"));
        }
        Ok(())
    }

    /// What it all came to.
    pub(super) fn outcome(self, result: Result<()>) -> Outcome {
        Outcome {
            totals: self.totals,
            named: self.named,
            phases: self.phases,
            result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_no_test_is_a_failure() {
        let mut output = Vec::new();
        let mut bench = Workbench::of(Step::Tidy, &mut output).unwrap();
        assert!(bench.test(Command::new("true")).is_err());
        let mut echo = Command::new("echo");
        echo.arg("test result: ok. 1 passed; 0 failed; 0 ignored");
        bench.test(echo).unwrap();
        assert_eq!(bench.outcome(Ok(())).totals.count(), 1);
    }
}
