//! The native tests: unit, property and integration tests by nextest, then the examples of the documentation.

use std::process::Command;

use anyhow::Result;

use super::lints::selected;
use super::workbench::Workbench;
use crate::environment::Environment;

/// Everything that is compiled natively. Always all of it: cargo compiles what they share anew for another choice.
const ALL: [&str; 4] = ["xtask", "weir-shared", "weir-console", END_TO_END];

/// What holds the tests of the built Worker.
const END_TO_END: &str = "weir-tests";

/// Which tests of them run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// Those that need nothing but themselves.
    Native,
    /// Those of the built Worker.
    EndToEnd,
}

impl Choice {
    /// In nextest's language, and the profile of `.config/nextest.toml`.
    fn filter(self) -> (&'static str, &'static str) {
        match self {
            Self::Native => ("not package(weir-tests)", "default"),
            Self::EndToEnd => ("package(weir-tests)", "e2e"),
        }
    }
}

/// All native tests.
pub(super) fn all(bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    bench.compile(chosen(environment, Choice::Native, &["--no-run"])?)?;
    bench.test(chosen(environment, Choice::Native, &[])?)?;
    let mut cargo = environment.command("cargo")?;
    cargo
        .args(["test", "--doc"])
        .args(selected(&["weir-shared"]));
    bench.test(cargo)
}

/// A run of nextest over all that is compiled natively.
pub(super) fn chosen(environment: &Environment, choice: Choice, more: &[&str]) -> Result<Command> {
    let (filter, profile) = choice.filter();
    let mut cargo = nextest(environment, profile, &ALL)?;
    cargo.args(["--filterset", filter]).args(more);
    Ok(cargo)
}

/// Those of the packages that changed, less what plays thousands of runs.
pub(super) fn of_what_changed(
    bench: &mut Workbench<'_>,
    environment: &Environment,
    changed: &[&str],
) -> Result<()> {
    let wanted = |name: &&str| *name != END_TO_END && changed.contains(name);
    let packages: Vec<_> = ALL.into_iter().filter(wanted).collect();
    if packages.is_empty() {
        bench.say("nothing of this has changed");
        return Ok(());
    }
    let run = || nextest(environment, "quick", &packages);
    let mut compile = run()?;
    compile.arg("--no-run");
    bench.compile(compile)?;
    bench.test(run()?)
}

/// A run of nextest by a profile of `.config/nextest.toml`.
fn nextest(environment: &Environment, profile: &str, packages: &[&str]) -> Result<Command> {
    let mut cargo = environment.command("cargo")?;
    cargo.args(["nextest", "run", "--profile", profile]);
    cargo.args(selected(packages));
    Ok(cargo)
}
