//! A version of the Worker before the one in this folder, to upgrade from and to measure beside.
//!
//! It is built from its own sources by its own command, once: a commit never changes. That takes as long as a first build of the
//! Worker.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{paths, process, progress, repository};

/// The variable that names its folder to what runs it.
pub(crate) const BUILD: &str = "WEIR_PREVIOUS_BUILD";

/// What a built Worker is made of.
const MODULES: [&str; 2] = ["index.js", "index_bg.wasm"];

/// The whole name of the commit of a revision: a tag, a branch, or the beginning of a commit's name.
pub(crate) fn commit(revision: &str) -> Result<String> {
    if revision.is_empty() || revision.starts_with('-') {
        bail!("`{revision}` is no revision");
    }
    let mut git = repository::git();
    git.args(["rev-parse", "--verify", "--quiet"]);
    git.arg(format!("{revision}^{{commit}}"));
    process::capture(&mut git)
        .with_context(|| format!("{revision} is not in the history of this clone"))
}

/// The folder of the Worker of a commit, which is built where it was not yet.
pub(crate) fn built(commit: &str) -> Result<PathBuf> {
    let folder = paths::workers()?.join(commit);
    if MODULES.iter().all(|module| folder.join(module).is_file()) {
        return Ok(folder);
    }
    progress::step(&format!("building the Worker of {commit}"), || {
        make(commit, &folder)
    })?;
    Ok(folder)
}

fn make(commit: &str, folder: &Path) -> Result<()> {
    let source = folder.with_extension("source");
    unpack(commit, &source)?;
    let mut cargo = Command::new("cargo");
    cargo
        .args(["xtask", "build", "--edge"])
        .current_dir(&source);
    // Its own toolchain and its own folder: what is compiled with other flags would be compiled anew here, too.
    for variable in ["RUSTUP_TOOLCHAIN", "CARGO_TARGET_DIR"] {
        cargo.env_remove(variable);
    }
    process::run(&mut cargo)?;
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    // The wasm last: a copy that was cut off is made again.
    for module in MODULES {
        let from = source.join("edge/build").join(module);
        fs::copy(&from, folder.join(module))
            .with_context(|| format!("copying {}", from.display()))?;
    }
    remove(&source)
}

/// Puts the files of a commit into a folder of their own, whatever was there before.
fn unpack(commit: &str, folder: &Path) -> Result<()> {
    remove(folder)?;
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let archive = folder.join("source.tar");
    let mut git = repository::git();
    git.args(["archive", "--format=tar"]).arg("--output");
    process::run(git.arg(&archive).arg(commit))?;
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(&archive).arg("-C").arg(folder);
    process::run(&mut tar)?;
    fs::remove_file(&archive).with_context(|| format!("removing {}", archive.display()))
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_revision_is_refused_and_reaches_git_as_no_option() {
        for revision in ["", "--output=x", "no-such-revision-anywhere"] {
            let refused = commit(revision).unwrap_err().to_string();
            assert!(refused.contains(revision), "{refused}");
        }
    }

    #[test]
    fn the_files_of_a_commit_are_unpacked_and_nothing_else() {
        let head = commit("HEAD").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("source");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("left-over"), "").unwrap();
        unpack(&head, &folder).unwrap();
        assert!(folder.join("edge/entry.js").is_file());
        assert!(!folder.join("left-over").exists());
        assert!(!folder.join("source.tar").exists());
    }
}
