//! The tests of the built Worker and its console, by nextest: `.config/nextest.toml` says which of them want the machine
//! for themselves.

use anyhow::Result;

use super::compiled::{self, Choice};
use super::memory;
use super::workbench::Workbench;
use crate::environment::Environment;

/// What happens to a test that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retries {
    /// What the profile says: each has a second try, and is told as flaky.
    AsConfigured,
    /// Each failure counts.
    None,
}

/// Those of the built Worker or of the console on it, once.
pub(super) fn run(
    bench: &mut Workbench<'_>,
    environment: &Environment,
    choice: &Choice,
    retries: Retries,
) -> Result<()> {
    let more: &[&str] = match retries {
        Retries::AsConfigured => &[],
        Retries::None => &["--retries", "0"],
    };
    let mut command = compiled::run(environment, choice, more)?;
    match memory::folder() {
        Some(folder) => drop(command.env("WEIR_FOLDERS", folder)),
        None => {
            bench.say("weir: what tests start is kept on the disk: there is little room in memory")
        }
    }
    bench.test(command)
}
