//! The format and the lints.

use anyhow::Result;

use super::workbench::Workbench;
use crate::environment::Environment;
use crate::rust::WASM_TARGET;

/// What is compiled as wasm alone. What runs natively is linted as it is compiled ([`super::compiled`]).
const WASM: [&str; 2] = ["weir-edge", CONSOLE];

const CONSOLE: &str = "weir-console";

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
        // The console's program exists in parts alone.
        targets.extend(["--features", "weir-console/split"]);
    }
    let mut cargo = environment.command("cargo")?;
    cargo.arg("clippy").args(targets).args(selected(&packages));
    cargo.args(["--", "--deny", "warnings"]);
    bench.compile(cargo)
}

/// `--package` for each of them.
pub(super) fn selected<'a>(packages: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    packages.iter().flat_map(|name| ["--package", name])
}
