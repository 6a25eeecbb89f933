//! Where a test keeps what it starts: the storage of a deployment, the profile of a browser.

use anyhow::{Context, Result};
use tempfile::TempDir;

/// Names where new folders are made: `cargo xtask test` has them in memory. Folders of benchmarks are on the disk, as
/// those of a deployment are.
const PARENT: &str = "WEIR_FOLDERS";

/// A new folder, named after what it is for. It goes when it is dropped.
pub fn new(purpose: &str) -> Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    let prefix = format!("weir-{purpose}-");
    let made = match std::env::var_os(PARENT) {
        Some(parent) => folder.prefix(&prefix).tempdir_in(parent),
        None => folder.prefix(&prefix).tempdir(),
    };
    made.with_context(|| format!("make a folder for {purpose}"))
}
