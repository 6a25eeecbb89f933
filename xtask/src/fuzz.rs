//! `fuzz`: the long run of what reads input.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::args::FuzzOptions;
use crate::{paths, process};

/// Builds the program of `fuzz/` for speed, with overflows found, and runs it. Fails if anything panicked.
pub(crate) fn run(options: &FuzzOptions) -> Result<ExitCode> {
    process::end(&mut command(options))
}

fn command(options: &FuzzOptions) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(paths::root());
    cargo.args(["run", "--profile", "fuzz", "--package", "weir-fuzz", "--"]);
    if let Some(executions) = options.executions {
        cargo.args(["--executions", &executions.to_string()]);
    }
    if let Some(target) = &options.target {
        cargo.args(["--target", target]);
    }
    cargo
}
