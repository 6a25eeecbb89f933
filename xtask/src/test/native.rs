//! The native tests: unit, property and integration tests by nextest, then the examples of the documentation.

use std::process::Command;

use anyhow::Result;

use super::lints::selected;
use super::workbench::Workbench;
use crate::environment::Environment;

/// What has native tests.
const PACKAGES: [&str; 3] = ["xtask", "weir-shared", "weir-console"];

/// What has tests of the built Worker: compiled with the others, so that they can begin as soon as it is built.
const END_TO_END: &str = "weir-tests";

/// All of them.
pub(super) fn all(bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    let [one, two, three] = PACKAGES;
    let compiled = [one, two, three, END_TO_END];
    bench.compile(nextest(environment, "default", &compiled, &["--no-run"])?)?;
    run(bench, environment, "default", &PACKAGES)?;
    let mut cargo = environment.command("cargo")?;
    cargo
        .args(["test", "--doc"])
        .args(selected(&["weir-shared"]));
    bench.test(cargo)
}

/// Those of the packages that changed, less what plays thousands of runs.
pub(super) fn of_what_changed(
    bench: &mut Workbench<'_>,
    environment: &Environment,
    changed: &[&str],
) -> Result<()> {
    let wanted = |name: &&str| changed.contains(name);
    let packages: Vec<_> = PACKAGES.into_iter().filter(wanted).collect();
    if packages.is_empty() {
        bench.say("nothing of this has changed");
        return Ok(());
    }
    run(bench, environment, "quick", &packages)
}

fn run(
    bench: &mut Workbench<'_>,
    environment: &Environment,
    profile: &str,
    packages: &[&str],
) -> Result<()> {
    bench.compile(nextest(environment, profile, packages, &["--no-run"])?)?;
    bench.test(nextest(environment, profile, packages, &[])?)
}

/// A run of nextest by a profile of `.config/nextest.toml`.
pub(super) fn nextest(
    environment: &Environment,
    profile: &str,
    packages: &[&str],
    more: &[&str],
) -> Result<Command> {
    let mut cargo = environment.command("cargo")?;
    cargo.args(["nextest", "run", "--profile", profile]);
    cargo.args(selected(packages)).args(more);
    Ok(cargo)
}
