//! The repository that the commands are about, as git knows it.

use std::process::Command;

use anyhow::{Context, Result};

use crate::{paths, process};

/// git, at the root.
pub(crate) fn git() -> Command {
    let mut git = Command::new("git");
    git.current_dir(paths::root());
    git
}

/// Its files, from its root: those that are tracked, and new ones that are not ignored. One that was removed is among them
/// until that is committed.
pub(crate) fn files() -> Result<Vec<String>> {
    let mut git = git();
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let list = process::capture(&mut git).context("git lists no files")?;
    Ok(list.split_terminator('\0').map(str::to_owned).collect())
}
