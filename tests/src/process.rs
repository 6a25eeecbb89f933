//! A child process and everything that it started, ended together and never left behind.

use std::fs::File;
use std::io::{self, PipeReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Runs the program beside a shell that waits for the end of its own input and then kills its process group. The
/// input ends when the owner closes it and also when the owner dies by whatever means. When the program ends by
/// itself, the group ends too.
const GUARD: &str = r#"( "$@"; kill -KILL 0 ) & read -r _; kill -KILL 0"#;

/// A running process tree with its output in a file.
pub struct ProcessTree {
    name: String,
    guard: Option<ChildStdin>,
    shell: Child,
    output: Option<JoinHandle<()>>,
    log: PathBuf,
}

impl ProcessTree {
    /// Starts `command` with its output appended to `log`. Program, arguments, environment and folder are taken
    /// from `command`; its input and output are not.
    pub fn spawn(command: &Command, log: &Path) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| format!("open {}", log.display()))?;
        let (reader, writer) = io::pipe().context("make a pipe")?;
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(GUARD)
            .arg("sh")
            .arg(command.get_program())
            .args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(key, value),
                None => shell.env_remove(key),
            };
        }
        if let Some(dir) = command.get_current_dir() {
            shell.current_dir(dir);
        }
        shell
            .stdin(Stdio::piped())
            .stderr(writer.try_clone().context("share a pipe")?)
            .stdout(writer)
            .process_group(0);
        let mut child = shell.spawn().with_context(|| format!("start {name}"))?;
        // The command holds the writing ends until it is dropped: the end of the output would never be seen.
        drop(shell);
        let guard = child.stdin.take();
        Ok(Self {
            name,
            guard,
            shell: child,
            output: Some(copy(reader, file)),
            log: log.to_path_buf(),
        })
    }

    /// Whether the program is still running.
    pub fn is_running(&mut self) -> bool {
        matches!(self.shell.try_wait(), Ok(None))
    }

    /// Memory in use by the whole tree, in KiB: the sum of what is resident.
    pub fn resident_kib(&self) -> Result<u64> {
        let output = Command::new("ps")
            .args(["-A", "-o", "pgid=,rss="])
            .output()
            .context("run ps")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let group = self.shell.id().to_string();
        let rows = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let ours = words.next()? == group;
            words.next()?.parse::<u64>().ok().filter(|_| ours)
        });
        let resident = rows.sum();
        ensure!(resident > 0, "ps does not show the process group {group}");
        Ok(resident)
    }

    /// The processor time that the threads of the whole tree have used, of those that still run. To the nanosecond
    /// where the system counts so; Linux only.
    pub fn cpu_time(&self) -> Result<Duration> {
        let group = self.shell.id();
        let (mut total_ns, mut found) = (0, false);
        let entries = std::fs::read_dir("/proc").context("the system has no /proc")?;
        for entry in entries {
            let folder = entry.context("list the processes")?.path();
            if process_group(&folder) == Some(group) {
                found = true;
                total_ns += threads_ns(&folder);
            }
        }
        ensure!(found, "nothing of the process group {group} runs");
        Ok(Duration::from_nanos(total_ns))
    }

    /// SIGKILL to the whole tree; returns when the last process of it is gone, its ports and files closed.
    pub fn kill_hard(&mut self) {
        drop(self.guard.take());
        // A wait fails only for a child that was already waited for.
        let _ = self.shell.wait();
        if let Some(output) = self.output.take() {
            // The output ends with the last process that could write to it.
            let _ = output.join();
        }
    }

    /// SIGTERM to the whole tree; returns when the last process of it has ended by itself.
    pub fn end(&mut self) -> Result<()> {
        let group = i32::try_from(self.shell.id()).context("the number of a process")?;
        kill(Pid::from_raw(-group), Signal::SIGTERM).context("tell it to end")?;
        if let Some(output) = self.output.take() {
            // The output ends with the last process that could write to it.
            let _ = output.join();
        }
        self.kill_hard();
        Ok(())
    }

    /// Everything written so far.
    pub fn log(&self) -> String {
        std::fs::read(&self.log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// The last lines written.
    pub fn log_tail(&self, lines: usize) -> String {
        let log = self.log();
        let all: Vec<&str> = log.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if self.guard.is_none() {
            // Killed on purpose: there is more to come, and its output goes to the same file.
            return;
        }
        self.kill_hard();
        // The test runner shows what a test printed only when the test failed.
        println!(
            "--- last output of {} ---\n{}\n---",
            self.name,
            self.log_tail(100)
        );
    }
}

/// The process group of a process, by its folder in `/proc`. The name of a program may hold anything, also a bracket.
fn process_group(folder: &Path) -> Option<u32> {
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(2)?.parse().ok()
}

/// What the scheduler gave to the threads of a process, in nanoseconds. A thread that ends meanwhile has no file any more.
fn threads_ns(folder: &Path) -> u64 {
    let threads = std::fs::read_dir(folder.join("task"));
    let threads = threads.into_iter().flatten().flatten();
    threads
        .filter_map(|thread| {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        })
        .sum()
}

fn copy(mut from: PipeReader, mut to: File) -> JoinHandle<()> {
    std::thread::spawn(move || {
        if let Err(error) = io::copy(&mut from, &mut to) {
            println!("the output of a child process was lost: {error}");
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> (ProcessTree, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        (
            ProcessTree::spawn(&command, &folder.path().join("log")).unwrap(),
            folder,
        )
    }

    fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
        (0..2_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            condition()
        })
    }

    #[test]
    fn a_kill_ends_the_children_of_children_too() {
        let folder = tempfile::tempdir().unwrap();
        let beats = folder.path().join("beats");
        let beat = format!("while :; do echo >> {}; sleep 0.01; done", beats.display());
        // The grandchild writes elsewhere than to the pipe, so that the end of the pipe does not stand for its own.
        let (mut tree, _folder) = shell(&format!("( ( {beat} ) >/dev/null 2>&1 & ); sleep 600"));
        let count = || std::fs::metadata(&beats).map_or(0, |data| data.len());
        assert!(wait_until(|| count() > 3));
        assert!(tree.is_running());
        tree.kill_hard();
        assert!(!tree.is_running());
        std::thread::sleep(Duration::from_millis(50));
        let after = count();
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(count(), after, "the grandchild is alive");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_time_of_children_counts() {
        let (tree, _folder) = shell("( while :; do :; done )");
        let start = tree.cpu_time().unwrap();
        let used = || tree.cpu_time().unwrap() - start;
        assert!(wait_until(|| used() > Duration::from_millis(20)));
    }

    #[test]
    fn a_program_that_ends_by_itself_is_seen_and_its_output_kept() {
        let (mut tree, _folder) = shell("echo out; echo err >&2; exit 3");
        assert!(wait_until(|| !tree.is_running()));
        tree.kill_hard();
        assert_eq!(tree.log_tail(5), "out\nerr");
    }
}
