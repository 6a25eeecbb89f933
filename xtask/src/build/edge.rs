//! The Worker: `edge/build` is the complete one.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

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
    let edge = paths::root().join("edge");
    let mut build = environment.command("worker-build")?;
    build.arg("--release").current_dir(&edge);
    process::run(&mut build)?;
    names::strip(&edge.join("build/index_bg.wasm"))?;
    enter(environment, &edge)
}

/// Puts the module entry before what `worker-build` has made, as one module.
fn enter(environment: &Environment, edge: &Path) -> Result<()> {
    let build = edge.join("build");
    let (index, worker) = (build.join("index.js"), build.join("worker.js"));
    fs::rename(&index, &worker).context("setting the built module aside")?;
    let mut parts = vec![worker.clone()];
    for name in ["entry.js", "prepared.js"] {
        let part = build.join(name);
        fs::copy(edge.join(name), &part).with_context(|| format!("copying {name}"))?;
        parts.push(part);
    }
    let mut bundle = environment.command("esbuild")?;
    bundle
        .args([
            "entry.js",
            "--bundle",
            "--format=esm",
            "--minify",
            "--external:cloudflare:workers",
            "--external:./index_bg.wasm",
            "--log-level=warning",
            "--outfile=index.js",
        ])
        .current_dir(&build);
    process::run(&mut bundle)?;
    for part in &parts {
        fs::remove_file(part).context("removing a part of the module")?;
    }
    Ok(())
}
