//! The format and the lints.

use std::process::Command;

use anyhow::Result;

use super::workbench::Workbench;
use crate::environment::Environment;
use crate::rust::WASM_TARGET;

/// What is linted where.
const NATIVE: [&str; 8] = [
    "xtask",
    "weir-shared",
    "weir-reference",
    "weir-fuzz",
    "weir-console",
    "weir-cli",
    "weir-client",
    "weir-tests",
];
/// `weir-shared` is a part of both, and linted as such.
const WASM: [&str; 2] = ["weir-edge", CONSOLE];

const CONSOLE: &str = "weir-console";

pub(super) fn fmt(bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    // The names of the files: what is to change in them, `cargo fmt` knows.
    let mut cargo = environment.command("cargo")?;
    cargo.args(["fmt", "--all", "--check", "--", "-l"]);
    bench.compile(cargo)
}

pub(super) fn clippy_native(bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    let cargo = environment.command("cargo")?;
    clippy(bench, cargo, &["--all-targets"], &NATIVE)
}

pub(super) fn clippy_wasm(
    bench: &mut Workbench<'_>,
    environment: &Environment,
    only: Option<&[&str]>,
) -> Result<()> {
    let wanted = |name: &&str| only.is_none_or(|only| only.contains(name));
    let packages: Vec<_> = WASM.into_iter().filter(wanted).collect();
    if packages.is_empty() {
        bench.say("nothing of this has changed");
        return Ok(());
    }
    // As the release is built: its macros and build scripts are there already.
    let mut targets = vec!["--release", "--target", WASM_TARGET, "--lib", "--bins"];
    if packages.contains(&CONSOLE) {
        // Unit tests do not run as wasm.
        targets.extend(["--test", "web"]);
    }
    clippy(bench, environment.command("cargo")?, &targets, &packages)
}

fn clippy(
    bench: &mut Workbench<'_>,
    mut cargo: Command,
    targets: &[&str],
    packages: &[&str],
) -> Result<()> {
    cargo.arg("clippy").args(targets);
    cargo.args(selected(packages));
    cargo.args(["--", "--deny", "warnings"]);
    bench.compile(cargo)
}

/// `--package` for each of them.
pub(super) fn selected<'a>(packages: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    packages.iter().flat_map(|name| ["--package", name])
}
