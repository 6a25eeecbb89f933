//! What runs in a browser: the state machines, and the console's components.

use std::process::Command;

use anyhow::Result;

use super::workbench::Workbench;
use crate::environment::Environment;
use crate::paths;
use crate::rust::WASM_TARGET;

/// As `wasm-pack test --headless --chrome` runs them, less the unit tests that it builds besides, none of which runs in a
/// browser; and as the console is shipped: optimised, with its flags and without the time zones. All but the tests
/// themselves is then compiled for the release already.
pub(super) fn run(bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    let mut compile = cargo(environment)?;
    compile.arg("--no-run");
    bench.compile(compile)?;
    bench.test(cargo(environment)?)
}

fn cargo(environment: &Environment) -> Result<Command> {
    let mut cargo = environment.command("cargo")?;
    cargo.current_dir(paths::root().join("console"));
    cargo.args(["test", "--release", "--target", WASM_TARGET]);
    cargo.args(["--package", "weir-console", "--test", "web"]);
    cargo.args(["--package", "weir-shared", "--test", "promises"]);
    cargo.arg("--no-default-features");
    cargo.env(
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER",
        "wasm-bindgen-test-runner",
    );
    cargo.env("WASM_BINDGEN_TEST_ONLY_WEB", "1");
    Ok(cargo)
}
