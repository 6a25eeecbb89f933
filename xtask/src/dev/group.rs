//! A program with everything it starts, ended as one.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use std::os::unix::process::CommandExt;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::process;

const POLL: Duration = Duration::from_millis(50);

/// How many polls a group has to end by itself: five seconds.
const POLLS_MAX: u32 = 100;

/// The leader of a process group of its own.
///
/// A signal from the terminal does not reach it, so the end has one order: the group is asked to end, then made to.
pub(super) struct Group {
    child: Child,
    name: &'static str,
}

impl Group {
    pub(super) fn spawn(name: &'static str, command: &mut Command) -> Result<Self> {
        // A group in the background must not read from the terminal: it would be stopped.
        command.process_group(0).stdin(Stdio::null());
        let child = command
            .spawn()
            .with_context(|| format!("`{}` could not be started", process::describe(command)))?;
        Ok(Self { child, name })
    }

    /// The leader's status, when it has ended.
    pub(super) fn exited(&mut self) -> Result<Option<ExitStatus>> {
        let status = self.child.try_wait();
        status.with_context(|| format!("waiting for {}", self.name))
    }

    fn id(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Whether any process of the group is left. Asks for the leader first, so that it does not stay as a zombie.
    fn is_alive(&mut self) -> bool {
        let leader_runs = matches!(self.child.try_wait(), Ok(None));
        leader_runs || killpg(self.id(), None).is_ok()
    }

    fn ends_within_limit(&mut self) -> bool {
        for _ in 0..POLLS_MAX {
            if !self.is_alive() {
                return true;
            }
            thread::sleep(POLL);
        }
        false
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Errors mean that nothing of the group is left.
        let _ = killpg(self.id(), Signal::SIGTERM);
        if !self.ends_within_limit() {
            let _ = killpg(self.id(), Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;

    fn runs(pid: i32) -> bool {
        nix::sys::signal::kill(Pid::from_raw(pid), None).is_ok()
    }

    /// Starts a shell that starts another program, and returns the latter's id.
    fn family(script: &str) -> (Group, i32) {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdout(Stdio::piped());
        let mut group = Group::spawn("sh", &mut shell).unwrap();
        let mut line = String::new();
        let out = group.child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        (group, line.trim().parse().unwrap())
    }

    fn ends(pid: i32) -> bool {
        (0..POLLS_MAX).any(|_| {
            thread::sleep(POLL);
            !runs(pid)
        })
    }

    #[test]
    fn children_of_the_program_end_with_it() {
        let (group, child) = family("sleep 600 & echo $!; wait");
        assert!(runs(child));
        drop(group);
        assert!(ends(child));
    }

    #[test]
    fn a_child_ends_after_its_leader_is_gone() {
        let (mut group, child) = family("sleep 600 & echo $!");
        while group.exited().unwrap().is_none() {
            thread::sleep(POLL);
        }
        assert!(runs(child));
        drop(group);
        assert!(ends(child));
    }

    #[test]
    fn the_status_of_the_leader_is_told() {
        let mut group = Group::spawn("sh", Command::new("sh").args(["-c", "exit 3"])).unwrap();
        let status = loop {
            if let Some(status) = group.exited().unwrap() {
                break status;
            }
            thread::sleep(POLL);
        };
        assert_eq!(status.code(), Some(3));
    }
}
