//! The Worker: `edge/build` is the complete one.

use anyhow::Result;

use super::{Artifact, names};
use crate::environment::Environment;
use crate::tools::{WASM_BINDGEN, WORKER_BUILD};
use crate::{paths, process};

pub(super) const ARTIFACT: Artifact = Artifact {
    name: "edge",
    title: "the Worker",
    inputs: &["edge", "policy.json"],
    skip: &["edge/build", "edge/tests"],
    output: "edge/build",
    essential: &["index.js", "index_bg.wasm"],
    tools: &[&WASM_BINDGEN, &WORKER_BUILD],
    make,
};

fn make(environment: &Environment) -> Result<()> {
    let mut build = environment.command("worker-build")?;
    build
        .arg("--release")
        .current_dir(paths::root().join("edge"));
    process::run(&mut build)?;
    names::strip(&paths::root().join("edge/build/index_bg.wasm"))
}
