//! The console: `console/dist` is the folder of static assets. Its code is cut into what the first page needs and a part
//! for each page that comes when it is visited.

mod named;
mod program;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Artifact, headers};
use crate::environment::Environment;
use crate::paths;
use crate::tools::{WASM_BINDGEN, WASM_SPLIT};

pub(super) const ARTIFACT: Artifact = Artifact {
    name: "console",
    title: "the console",
    inputs: &["console"],
    skip: &["console/dist", "console/tests"],
    output: "console/dist",
    essential: &["index.html", "console/index.html", "_headers"],
    tools: &[&WASM_BINDGEN, &WASM_SPLIT],
    make,
};

/// Where the console is served. The Worker hands on requests below this prefix alone.
const PREFIX: &str = "console";

/// What the page names, besides the code.
const STATIC: [&str; 2] = ["style.css", "icon.svg"];

fn make(environment: &Environment) -> Result<()> {
    let source = paths::root().join("console");
    let scratch = paths::local("console");
    clear(&scratch)?;
    let made = scratch.join("made");
    program::make(environment, &source, &scratch, &made)?;
    for name in STATIC {
        let (from, to) = (source.join(name), made.join(name));
        fs::copy(&from, &to).with_context(|| format!("copying {}", from.display()))?;
    }
    program::shorten(environment, &made.join("style.css"))?;
    let dist = source.join("dist");
    clear(&dist)?;
    let pages = dist.join(PREFIX);
    fs::create_dir_all(&pages).with_context(|| format!("creating {}", pages.display()))?;
    let html = named::publish(&made, &source.join("index.html"), &pages, PREFIX)?;
    write(&pages.join("index.html"), &html)?;
    // The asset server answers a path that is no file with the index at the root of the assets.
    write(&dist.join("index.html"), &html)?;
    let files = paths::names_in(&pages)?;
    write(&dist.join("_headers"), &headers::file(PREFIX, &files))
}

/// Leaves an empty folder.
fn clear(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("removing {}", folder.display()));
        }
        _ => {}
    }
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))
}

fn write(file: &Path, content: &str) -> Result<()> {
    fs::write(file, content).with_context(|| format!("writing {}", file.display()))
}
