//! Tests in a process of their own, with an end: a mutant may loop, or ask for all memory there is.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::tree;
use crate::clock::Stopwatch;

/// Address space of a process. The largest test takes a few hundred MiB.
const MEMORY_MAX_KIB: u64 = 4 << 20;

/// How the tests ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    Passed,
    /// One failed, or the process was ended by what it did.
    Failed,
    /// They were stopped.
    TooLong,
}

/// Runs these tests of a program one after the other until one fails, for as long as this at most.
pub(super) fn run(
    program: &Path,
    tests: &[&str],
    variables: &[(&str, &str)],
    limit: Duration,
) -> Result<Ended> {
    // A limit that a shell sets for itself holds for what takes its place.
    let script = format!("ulimit -c 0; ulimit -v {MEMORY_MAX_KIB}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).arg(program);
    command.args(["--exact", "--test-threads", "1"]).args(tests);
    let package = tree::root().join("shared");
    if package.is_dir() {
        command
            .current_dir(&package)
            .env("CARGO_MANIFEST_DIR", &package);
    }
    // A case that fails is enough: the smallest one is not looked for.
    command
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .env("RUST_BACKTRACE", "0");
    command.envs(variables.iter().copied());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let child = command
        .spawn()
        .with_context(|| format!("starting {}", program.display()))?;
    watched(child, limit)
}

/// Reads what a process says until a test fails, it ends, or the time is over. It has ended afterwards.
fn watched(mut child: Child, limit: Duration) -> Result<Ended> {
    let watch = Stopwatch::start();
    let output = child.stdout.take().context("the output is not there")?;
    let (failed, says) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(output)
            .split(b'\n')
            .map_while(|line| line.ok());
        for line in lines.filter(|line| line.ends_with(b" ... FAILED")) {
            if failed.send(line).is_err() {
                return;
            }
        }
    });
    let left = limit.saturating_sub(watch.elapsed().0);
    let ended = match says.recv_timeout(left) {
        Ok(_) => Ended::Failed,
        Err(RecvTimeoutError::Timeout) => Ended::TooLong,
        Err(RecvTimeoutError::Disconnected) => {
            let status = child.wait().context("waiting for tests")?;
            return Ok(if status.success() {
                Ended::Passed
            } else {
                Ended::Failed
            });
        }
    };
    // It may have ended by itself meanwhile.
    let _ = child.kill();
    child.wait().context("waiting for tests")?;
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a script ends that stands for a program with tests.
    fn ended(script: &str, limit_ms: u64) -> Ended {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tests.sh");
        std::fs::write(&file, script).unwrap();
        let mut command = Command::new("sh");
        command.arg(&file).stdout(Stdio::piped());
        watched(command.spawn().unwrap(), Duration::from_millis(limit_ms)).unwrap()
    }

    #[test]
    fn the_first_test_that_fails_ends_the_process() {
        assert_eq!(ended("echo test a ... ok", 60_000), Ended::Passed);
        let watch = Stopwatch::start();
        assert_eq!(
            ended("echo test a ... FAILED; exec sleep 600", 60_000),
            Ended::Failed
        );
        assert!(watch.elapsed().0 < Duration::from_secs(50));
    }

    #[test]
    fn a_process_that_breaks_off_has_failed() {
        assert_eq!(ended("kill -ABRT $$", 60_000), Ended::Failed);
        assert_eq!(ended("exit 101", 60_000), Ended::Failed);
    }

    #[test]
    fn a_process_that_does_not_end_is_stopped() {
        assert_eq!(ended("exec sleep 600", 100), Ended::TooLong);
    }
}
