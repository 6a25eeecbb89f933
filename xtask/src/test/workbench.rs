//! Where a step works: its output, its commands, and the time that they take.

use std::io::Write;
use std::process::Command;

use anyhow::{Result, anyhow};

use super::links::Links;
use super::outcome::Outcome;
use super::phases::Phases;
use super::steps::Step;
use super::stream;
use super::totals::Totals;
use crate::clock::Stopwatch;

/// How far tests and lints step back behind the release builds and the tests of what they made.
const NICENESS: &str = "19";

/// One step at work.
pub(super) struct Workbench<'a> {
    output: &'a mut dyn Write,
    links: Links,
    steps_back: bool,
    phases: Phases,
    totals: Totals,
}

impl<'a> Workbench<'a> {
    /// For a step whose output goes to `output`.
    pub(super) fn of(step: Step, output: &'a mut dyn Write) -> Result<Self> {
        Ok(Self {
            output,
            links: Links::of(step.name())?,
            steps_back: !step.is_urgent(),
            phases: Phases::default(),
            totals: Totals::default(),
        })
    }

    /// Says something among the output.
    pub(super) fn say(&mut self, line: &str) {
        // A reader that left is no reason to stop.
        let _ = writeln!(self.output, "{line}");
    }

    /// Runs a command that checks or builds.
    pub(super) fn compile(&mut self, command: Command) -> Result<()> {
        let mut command = self.prepared(command);
        self.links.watch(&mut command)?;
        let watch = Stopwatch::start();
        let (_, result) = stream::run(&mut command, &mut self.output);
        self.phases.compile += watch.elapsed().0;
        self.phases.link = self.links.total();
        result
    }

    /// Runs something else that builds.
    pub(super) fn build(&mut self, build: impl FnOnce() -> Result<()>) -> Result<()> {
        let watch = Stopwatch::start();
        let result = build();
        self.phases.compile += watch.elapsed().0;
        result
    }

    /// Runs a command that runs tests, and counts them; one that runs none has checked nothing.
    pub(super) fn test(&mut self, command: Command) -> Result<()> {
        let mut command = self.prepared(command);
        let watch = Stopwatch::start();
        let (totals, result) = stream::run(&mut command, &mut self.output);
        self.phases.run += watch.elapsed().0;
        self.totals += totals;
        result?;
        if totals.count() == 0 {
            return Err(anyhow!("no test ran"));
        }
        Ok(())
    }

    /// What it all came to.
    pub(super) fn outcome(self, result: Result<()>) -> Outcome {
        Outcome {
            totals: self.totals,
            phases: self.phases,
            result,
        }
    }

    fn prepared(&self, command: Command) -> Command {
        if self.steps_back {
            niced(&command)
        } else {
            command
        }
    }
}

/// The same command at a lower priority.
fn niced(command: &Command) -> Command {
    let mut nice = Command::new("nice");
    nice.args(["-n", NICENESS]).arg(command.get_program());
    nice.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => nice.env(name, value),
            None => nice.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        nice.current_dir(folder);
    }
    nice
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;

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

    #[test]
    fn a_command_that_steps_back_is_the_same_command() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo $(nice) $WORD $(pwd -P)"]);
        command.env("WORD", "word").current_dir(folder.path());
        let text = process::capture(&mut niced(&command)).unwrap();
        let place = folder.path().canonicalize().unwrap();
        assert!(
            text.ends_with(&format!("word {}", place.display())),
            "{text}"
        );
        assert!(!text.starts_with("0 "), "{text}");
    }
}
