//! `--repeat`: the end-to-end tests again and again, and what failed how often.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Result, bail};

use super::compiled::Choice;
use super::end_to_end::{self, Retries};
use super::named::Named;
use super::steps::Step;
use super::workbench::Workbench;
use crate::clock::{Elapsed, Stopwatch};
use crate::environment::Environment;

/// Which tests failed in how many runs.
#[derive(Debug, Default)]
pub(super) struct Flakes {
    runs: u32,
    failed_runs: u32,
    failed: BTreeMap<String, u32>,
}

impl Flakes {
    fn add(&mut self, result: &Result<()>, output: &str) {
        self.runs += 1;
        self.failed_runs += u32::from(result.is_err());
        let mut named = Named::default();
        output.lines().for_each(|line| named.read(line));
        for name in named.failed {
            *self.failed.entry(name).or_default() += 1;
        }
    }
}

impl fmt::Display for Flakes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (test, times) in &self.failed {
            writeln!(out, "failed {times} of {} times: {test}", self.runs)?;
        }
        writeln!(
            out,
            "{} of {} runs had a failure",
            self.failed_runs, self.runs
        )
    }
}

/// What runs how often.
#[derive(Debug)]
pub(super) struct Runs {
    pub(super) times: u32,
    /// Whether it runs beside as many loops as the machine has cores.
    pub(super) busy: bool,
    /// How the names of the tests begin; all of them where there is none.
    pub(super) names: Vec<String>,
}

impl Runs {
    fn choices(&self) -> Vec<Choice> {
        if self.names.is_empty() {
            vec![Choice::EndToEnd, Choice::Pages]
        } else {
            vec![Choice::Named(self.names.clone())]
        }
    }
}

/// Runs the tests again and again.
pub(super) fn run(environment: &Environment, runs: &Runs, to: &mut dyn Write) -> Result<()> {
    let mut flakes = Flakes::default();
    let done = AtomicBool::new(false);
    thread::scope(|scope| -> Result<()> {
        let _stop = Stop(&done);
        if runs.busy {
            let cores = thread::available_parallelism().map_or(2, usize::from);
            for _ in 0..cores {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
        }
        for turn in 1..=runs.times {
            let watch = Stopwatch::start();
            let mut output = Tee::new(to);
            let mut bench = Workbench::of(Step::EndToEnd, &mut output)?;
            let mut run = |choice| end_to_end::run(&mut bench, environment, choice, Retries::None);
            let choices = runs.choices();
            let results: Vec<_> = choices.iter().map(&mut run).collect();
            let result = results.into_iter().collect();
            drop(bench);
            flakes.add(&result, &String::from_utf8_lossy(&output.kept));
            let Elapsed(time) = watch.elapsed();
            writeln!(to, "run {turn} of {}: {}", runs.times, Elapsed(time))?;
        }
        Ok(())
    })?;
    write!(to, "\n{flakes}")?;
    if flakes.failed_runs > 0 {
        bail!(
            "{} of {} runs had a failure",
            flakes.failed_runs,
            flakes.runs
        );
    }
    Ok(())
}

/// Shows what is written, and keeps it.
struct Tee<'a> {
    kept: Vec<u8>,
    to: &'a mut dyn Write,
}

impl<'a> Tee<'a> {
    fn new(to: &'a mut dyn Write) -> Self {
        Self {
            kept: Vec::new(),
            to,
        }
    }
}

impl Write for Tee<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.kept.extend_from_slice(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Ends the loops, also when a run cannot begin.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    const OUTPUT: &str = "
        PASS [   0.234s] (1/3) weir-tests::e2e check::budget::last_unit
        FAIL [   1.234s] (2/3) weir-tests::e2e shares::kills::cap_holds
     TIMEOUT [ 300.000s] (3/3) weir-tests::e2e outage::closed::closes
     Summary [ 301.000s] 3 tests run: 1 passed, 1 failed, 1 timed out, 0 skipped
        FAIL [   1.234s] (2/3) weir-tests::e2e shares::kills::cap_holds";

    #[test]
    fn each_test_that_failed_is_counted_once_a_run() {
        let mut flakes = Flakes::default();
        flakes.add(&Err(anyhow!("failed")), OUTPUT);
        flakes.add(&Ok(()), "");
        assert_eq!(
            flakes.to_string(),
            "failed 1 of 2 times: outage::closed::closes\n\
             failed 1 of 2 times: shares::kills::cap_holds\n\
             1 of 2 runs had a failure\n"
        );
    }
}
