//! `vectors`: replays a folder of golden vectors through the state machines.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::{paths, process};

/// The test that replays, and the variable that names the folder to it.
const TEST: &str = "vectors::decisions_equal_the_golden_vectors";

/// The program that it is in.
const PROGRAM: &str = "promises";
const FOLDER: &str = "WEIR_VECTORS_DIR";

/// Replays `folder`, relative to where the command was started, and prints what came of each file. Fails if a vector
/// differs or a line is broken.
pub(crate) fn run(folder: &Path) -> Result<ExitCode> {
    process::end(&mut command(&existing(folder)?))
}

fn existing(folder: &Path) -> Result<PathBuf> {
    let found = folder
        .canonicalize()
        .with_context(|| format!("the folder {} cannot be read", folder.display()))?;
    if !found.is_dir() {
        bail!("{} is no folder", folder.display());
    }
    Ok(found)
}

fn command(folder: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(paths::root()).env(FOLDER, folder);
    // A vector that differs is told in the report: where the test stopped says no more.
    cargo.env("RUST_BACKTRACE", "0");
    cargo.args(["test", "--quiet", "--package", "weir-shared"]);
    cargo.args(["--test", PROGRAM, "--", "--nocapture", "--exact", TEST]);
    cargo
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_is_named_by_its_whole_path() {
        let folder = existing(Path::new("src")).unwrap();
        assert!(folder.is_absolute() && folder.ends_with("xtask/src"));
        let cargo = command(&folder);
        let named = cargo.get_envs().find(|(name, _)| *name == FOLDER);
        assert_eq!(named, Some((FOLDER.as_ref(), Some(folder.as_os_str()))));
    }

    #[test]
    fn what_is_no_folder_is_refused() {
        for (path, why) in [
            ("no/such", "cannot be read"),
            ("Cargo.toml", "is no folder"),
        ] {
            let message = existing(Path::new(path)).unwrap_err().to_string();
            assert!(message.contains(path) && message.contains(why), "{message}");
        }
    }

    #[test]
    fn the_test_that_replays_is_there() {
        let read = |path: &str| fs::read_to_string(paths::root().join(path)).unwrap();
        let (module, name) = TEST.split_once("::").unwrap();
        let test = read(&format!("shared/tests/{module}.rs"));
        assert!(test.contains(&format!("fn {name}(")) && test.contains(FOLDER));
        assert!(read("shared/tests/main.rs").contains(&format!("\nmod {module};\n")));
        assert!(read("shared/Cargo.toml").contains(&format!("[[test]]\nname = \"{PROGRAM}\"")));
    }
}
