//! The native tests: unit, property and integration tests by nextest, then the examples of the documentation.

use std::process::Command;

use anyhow::Result;

use super::compiled::{self, Choice, END_TO_END, packages};
use super::lints::selected;
use super::workbench::Workbench;
use crate::environment::Environment;

/// All native tests.
pub(super) fn all(bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    bench.test(compiled::run(environment, &Choice::Native, &[])?)?;
    let mut cargo = environment.command("cargo")?;
    // All of them, as they were compiled: for one alone cargo compiles it anew.
    cargo.args(["test", "--doc"]).args(selected(&packages()));
    bench.test(cargo)
}

/// Lints the packages that changed as they are compiled, and runs their tests, less what plays thousands of runs and what
/// needs the built Worker.
pub(super) fn of_what_changed(
    bench: &mut Workbench<'_>,
    environment: &Environment,
    changed: &[&str],
) -> Result<()> {
    let wanted = |name: &&str| changed.contains(name);
    let packages: Vec<_> = packages().into_iter().filter(wanted).collect();
    if packages.is_empty() {
        bench.say("nothing of this has changed");
        return Ok(());
    }
    let run = || nextest(environment, "quick", &packages);
    let mut compile = run()?;
    compile.arg("--no-run");
    bench.compile(compile)?;
    if packages == [END_TO_END] {
        return Ok(());
    }
    let mut tests = run()?;
    tests.args(["--filterset", &format!("not package({END_TO_END})")]);
    bench.test(tests)
}

/// A run of nextest by a profile of `.config/nextest.toml`.
fn nextest(environment: &Environment, profile: &str, packages: &[&str]) -> Result<Command> {
    let mut cargo = environment.command("cargo")?;
    cargo.args(["nextest", "run", "--profile", profile]);
    cargo.args(selected(packages));
    Ok(cargo)
}
