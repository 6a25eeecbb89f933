//! What runs in a browser: the state machines, and the console's components.

use std::process::Command;

use anyhow::Result;

use super::workbench::Workbench;
use crate::environment::Environment;
use crate::rust::{self, WASM_TARGET};
use crate::{paths, process};

/// The test programs, by package and name.
const PROGRAMS: [(&str, &str); 2] = [("weir-console", "web"), ("weir-shared", "promises")];

/// How the programs themselves are put together. What they are made of is compiled for the release already; to optimise
/// the programs, or all of it once more as the release does, takes minutes of one core and shows a test nothing.
const QUICKLY: [&str; 6] = [
    "-C",
    "lto=thin",
    "-C",
    "opt-level=0",
    "-C",
    "codegen-units=16",
];

/// As `wasm-pack test --headless --chrome` runs them, less the unit tests that it builds besides, none of which runs in a
/// browser; and as the console is shipped: with its flags and without the time zones.
pub(super) fn run(bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    for program in PROGRAMS {
        bench.compile(compile(environment, program, "human")?)?;
    }
    for program in PROGRAMS {
        let mut told = compile(environment, program, "json-render-diagnostics")?;
        let module = rust::executable(&process::capture(&mut told)?, program.1)?;
        let mut runner = environment.command("wasm-bindgen-test-runner")?;
        runner.current_dir(paths::root().join("console"));
        runner.arg(module).env("WASM_BINDGEN_TEST_ONLY_WEB", "1");
        bench.test(runner)?;
    }
    Ok(())
}

fn compile(
    environment: &Environment,
    (package, program): (&str, &str),
    format: &str,
) -> Result<Command> {
    let mut cargo = environment.command("cargo")?;
    cargo.current_dir(paths::root().join("console"));
    cargo.args(["rustc", "--release", "--target", WASM_TARGET]);
    cargo.args(["--package", package, "--test", program]);
    cargo.args(["--no-default-features", "--message-format", format]);
    cargo.arg("--").args(QUICKLY);
    Ok(cargo)
}
