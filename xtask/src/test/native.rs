//! The native tests: unit, property and integration tests by nextest, then the examples of the documentation.

use std::process::Command;

use anyhow::Result;

use super::compiled::{self, Choice, PROGRAM, packages};
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
    let all = packages();
    let tested = all.iter().filter(|name| changed.contains(name));
    let tested: Vec<_> = tested.map(|name| format!("package({name})")).collect();
    if tested.is_empty() {
        bench.say("nothing of this has changed");
        return Ok(());
    }
    let mut compile = quick(environment)?;
    compile.arg("--no-run");
    bench.compile(compile)?;
    let mut tests = quick(environment)?;
    let filter = format!("({}) and not {PROGRAM}", tested.join(" or "));
    tests.args(["--filterset", &filter]);
    bench.test(tests)
}

/// Of all packages, whichever have changed: cargo compiles what they share anew for another choice.
fn quick(environment: &Environment) -> Result<Command> {
    let mut cargo = environment.command("cargo")?;
    cargo.args(["nextest", "run", "--profile", "quick"]);
    cargo.args(selected(&packages()));
    Ok(cargo)
}
