//! The tests of the built Worker and its console, by nextest: `.config/nextest.toml` says which of them want the machine
//! for themselves.

use anyhow::{Result, bail};

use super::native::{Choice, chosen};
use super::workbench::Workbench;
use crate::args::Selection;
use crate::build;
use crate::environment::Environment;

/// What happens to a test that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retries {
    /// What the profile says: a load that judges how far windows are used has a second try, and is told as flaky.
    AsConfigured,
    /// Each failure counts.
    None,
}

/// All of them, once.
pub(super) fn run(bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    prepare(bench, environment)?;
    once(bench, environment, Retries::AsConfigured)
}

/// Builds what is tested, and the tests.
pub(super) fn prepare(bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    // Alone, this step must not test what an older build left.
    if let Err(error) = bench.build(|| build::build(Selection::BOTH, environment)) {
        bail!("there is nothing to test: {error:#}");
    }
    bench.compile(chosen(environment, Choice::EndToEnd, &["--no-run"])?)
}

/// All of them, on what is built.
pub(super) fn once(
    bench: &mut Workbench<'_>,
    environment: &Environment,
    retries: Retries,
) -> Result<()> {
    let more: &[&str] = match retries {
        Retries::AsConfigured => &[],
        Retries::None => &["--retries", "0"],
    };
    bench.test(chosen(environment, Choice::EndToEnd, more)?)
}
