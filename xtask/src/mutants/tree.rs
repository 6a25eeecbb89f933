//! The copy of the sources that the mutants are written into. A file that stays as it was is not written, so that cargo
//! compiles what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{paths, repository};

/// Where it is.
pub(super) fn root() -> PathBuf {
    folder().join("tree")
}

/// Where everything of these runs is.
pub(super) fn folder() -> PathBuf {
    paths::root().join("target/mutants")
}

/// A command of cargo's over the copy. What is compiled for it stays apart.
pub(super) fn cargo(incremental: bool) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root());
    cargo.env("CARGO_TARGET_DIR", folder().join("build"));
    cargo.env("CARGO_INCREMENTAL", if incremental { "1" } else { "0" });
    // The switch is a constant function that reads a variable while running, for which there is no stable way.
    cargo.env("RUSTC_BOOTSTRAP", "weir_core");
    // Both sides of a switch need not be reached, nor be used.
    cargo.env("RUSTFLAGS", "--cap-lints allow");
    cargo
}

/// Makes the copy what the repository is, but for these files.
pub(super) fn fill(edited: &BTreeMap<String, String>) -> Result<()> {
    let listed = listed()?;
    let mut files: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    files.extend(edited.keys().map(String::as_str));
    for file in &files {
        match edited.get(*file) {
            Some(text) => put(&root().join(file), text.as_bytes())?,
            None => put(&root().join(file), &read(&paths::root().join(file))?)?,
        }
    }
    let list = folder().join("files");
    let before = fs::read_to_string(&list).unwrap_or_default();
    for gone in before.lines().filter(|file| !files.contains(file)) {
        let gone = root().join(gone);
        if gone.is_file() {
            fs::remove_file(&gone).with_context(|| format!("removing {}", gone.display()))?;
        }
    }
    put(&list, Vec::from_iter(files).join("\n").as_bytes())
}

/// The files of the repository, from its root.
pub(super) fn listed() -> Result<Vec<String>> {
    let mut files = repository::files()?;
    files.retain(|file| paths::root().join(file).is_file());
    Ok(files)
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("reading {}", file.display()))
}

/// Writes a file, unless that is what it holds.
pub(super) fn put(file: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(file).is_ok_and(|held| held == bytes) {
        return Ok(());
    }
    let put = || -> std::io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, bytes)
    };
    put().with_context(|| format!("writing {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_stays_as_it_was_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b");
        put(&file, b"one").unwrap();
        let mut permissions = fs::metadata(&file).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&file, permissions).unwrap();
        let before = fs::metadata(&file).unwrap().modified().unwrap();
        put(&file, b"one").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
    }
}
