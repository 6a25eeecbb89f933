//! The demo traffic: a program of the `tests` crate.

use anyhow::Result;

use super::group::Group;
use crate::environment::Environment;
use crate::{process, progress};

const PROGRAM: [&str; 4] = ["--package", "weir-tests", "--bin", "traffic"];

/// Builds it, so that it starts at once when the server is ready.
pub(super) fn build(environment: &Environment) -> Result<()> {
    progress::step("building the demo traffic", || {
        let mut cargo = environment.command("cargo")?;
        process::run(cargo.args(["build", "--quiet"]).args(PROGRAM))
    })
}

pub(super) fn start(environment: &Environment, url: &str, token: &str) -> Result<Group> {
    let mut cargo = environment.command("cargo")?;
    cargo.args(["run", "--quiet"]).args(PROGRAM);
    cargo.args(["--", "--url", url, "--token", token]);
    Group::spawn("the demo traffic", &mut cargo)
}
