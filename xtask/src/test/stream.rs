//! Runs a program, shows what it writes as it comes, and counts its tests.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::named::Named;
use super::totals::Totals;
use crate::process;
use crate::processor;

/// What a program said of its tests.
#[derive(Debug, Default)]
pub(super) struct TestReport {
    pub(super) totals: Totals,
    pub(super) named: Named,
    /// Time of the processor that it and what it started took.
    pub(super) processor: Duration,
}

/// What became of the program, and what it said of its tests even when it failed.
///
/// Both of its outputs go the same way: some runners report on the one, some on the other.
pub(super) fn run(command: &mut Command, to: impl Write) -> (TestReport, Result<()>) {
    let mut told = TestReport::default();
    let result = run_counted(command, to, &mut told);
    (told, result)
}

fn run_counted(command: &mut Command, to: impl Write, told: &mut TestReport) -> Result<()> {
    let name = process::describe(command);
    let (output, writer) = io::pipe().context("making a pipe")?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(writer.try_clone().context("sharing a pipe")?)
        .stderr(writer)
        .spawn()
        .with_context(|| format!("`{name}` could not be started"))?;
    // The command holds the writing ends: as long as it does, the output does not end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    *told = copy(output, to).context("passing the output on")?;
    // It has closed its output and has not been waited for: the system still keeps its account.
    told.processor = processor::used_by(child.id());
    let status = child
        .wait()
        .with_context(|| format!("waiting for `{name}`"))?;
    if !status.success() {
        bail!("`{name}` failed ({status})");
    }
    Ok(())
}

/// Copies line by line; what is no text is passed on as it is.
fn copy(from: impl Read, mut to: impl Write) -> io::Result<TestReport> {
    let mut from = BufReader::new(from);
    let mut told = TestReport::default();
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        to.flush()?;
        let text = String::from_utf8_lossy(&line);
        told.named.read(&text);
        if let Some(more) = Totals::parse(&text) {
            told.totals += more;
        }
        line.clear();
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &[u8] =
        b"running 2 tests\n\xff\ntest result: ok. 2 passed; 0 failed; 0 ignored\n\
        test result: FAILED. 1 passed; 3 failed; 0 ignored";

    #[test]
    fn all_output_passes_and_is_counted() {
        let mut copied = Vec::new();
        let told = copy(OUTPUT, &mut copied).unwrap();
        assert_eq!(copied, OUTPUT);
        assert_eq!(
            told.totals,
            Totals {
                passed: 3,
                failed: 3
            }
        );
    }

    #[test]
    fn a_failing_program_keeps_its_counts() {
        let script = "echo 'test a::b ... FAILED'; \
            echo 'test result: FAILED. 4 passed; 1 failed; 0 ignored' >&2; exit 101";
        let (told, result) = run(Command::new("sh").args(["-c", script]), io::sink());
        assert_eq!(
            told.totals,
            Totals {
                passed: 4,
                failed: 1
            }
        );
        assert!(told.named.failed.contains("a::b"));
        assert!(result.is_err());
    }
}
