//! The console: `console/dist` is the folder of static assets.

use std::env;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Artifact, headers};
use crate::environment::Environment;
use crate::tools::{TRUNK, WASM_BINDGEN};
use crate::{paths, process};

pub(super) const ARTIFACT: Artifact = Artifact {
    name: "console",
    title: "the console",
    inputs: &["console"],
    skip: &["console/dist", "console/tests"],
    output: "console/dist",
    essential: &["index.html", "console/index.html", "_headers"],
    tools: &[&WASM_BINDGEN, &TRUNK],
    make,
};

/// Where the console is served, as its Trunk.toml says. The Worker hands on requests below this prefix alone.
const PREFIX: &str = "console";

fn make(environment: &Environment) -> Result<()> {
    let console = paths::root().join("console");
    let dist = console.join("dist");
    let pages = dist.join(PREFIX);
    trunk(environment, &console)?;
    let index = pages.join("index.html");
    let html =
        fs::read_to_string(&index).with_context(|| format!("reading {}", index.display()))?;
    // The asset server answers a path that is no file with the index at the root of the assets.
    write(&dist.join("index.html"), &html)?;
    let files = file_names(&pages)?;
    write(
        &dist.join("_headers"),
        &headers::file(PREFIX, &html, &files),
    )
}

fn trunk(environment: &Environment, console: &Path) -> Result<()> {
    let mut trunk = environment.command("trunk")?;
    trunk.current_dir(console);
    trunk.args(["build", "--release", "--skip-version-check"]);
    // trunk reads NO_COLOR as a boolean flag and refuses any other value; empty means unset.
    match env::var_os("NO_COLOR") {
        Some(value) if !value.is_empty() => trunk.env("NO_COLOR", "true"),
        _ => trunk.env_remove("NO_COLOR"),
    };
    process::run(&mut trunk)
}

fn file_names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry.with_context(|| format!("reading {}", folder.display()))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

fn write(file: &Path, content: &str) -> Result<()> {
    fs::write(file, content).with_context(|| format!("writing {}", file.display()))
}
