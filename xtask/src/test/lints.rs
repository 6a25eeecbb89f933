//! The format and the lints.

use anyhow::Result;

use super::workbench::Workbench;
use crate::environment::Environment;
use crate::rust::WASM_TARGET;

/// What is compiled as wasm alone. What runs natively is linted as it is compiled ([`super::compiled`]).
const WASM: [&str; 2] = ["weir-edge", "weir-console"];

pub(super) fn fmt(bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    // The names of the files: what is to change in them, `cargo fmt` knows.
    let mut cargo = environment.command("cargo")?;
    cargo.args(["fmt", "--all", "--check", "--", "-l"]);
    bench.compile(cargo)
}

pub(super) fn clippy_wasm(
    bench: &mut Workbench<'_>,
    environment: &Environment,
    only: Option<&[&str]>,
) -> Result<()> {
    if only.is_some_and(|only| !WASM.iter().any(|name| only.contains(name))) {
        bench.say("nothing of this has changed");
        return Ok(());
    }
    // As the release is built: its macros and build scripts are there already. Both packages, whichever has changed: cargo
    // compiles what they share anew for one alone.
    let mut cargo = environment.command("cargo")?;
    cargo.args(["clippy", "--release", "--target", WASM_TARGET]);
    // Unit tests do not run as wasm.
    cargo.args(["--lib", "--bins", "--test", "web"]);
    // The console's program exists in parts alone.
    cargo.args(["--features", "weir-console/split"]);
    cargo.args(selected(&WASM));
    cargo.args(["--", "--deny", "warnings"]);
    bench.compile(cargo)
}

/// `--package` for each of them.
pub(super) fn selected<'a>(packages: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    packages.iter().flat_map(|name| ["--package", name])
}
