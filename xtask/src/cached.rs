//! What is fetched once a user: a folder of the tool cache that is complete or not there.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, progress};

/// Fills a folder of the cache by way of another one: an interrupted set-up never looks complete. Whatever was there goes.
pub(crate) fn fill(
    home: &Path,
    name: &str,
    unpack: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let staging = home.with_added_extension("part");
    let _ = fs::remove_dir_all(&staging);
    fs::create_dir_all(&staging).with_context(|| format!("creating {}", staging.display()))?;
    progress::step(&format!("unpacking {name}"), || unpack(&staging))?;
    let _ = fs::remove_dir_all(home);
    fs::rename(&staging, home).with_context(|| format!("moving {name} into place"))
}

/// Installs a package of npm at one version into a folder, and what it needs for this platform.
pub(crate) fn npm(package: &str, folder: &Path) -> Result<()> {
    let mut npm = Command::new("npm");
    npm.current_dir(folder).args(["install", package]);
    // Install scripts of what is fetched here only move a program, which is used where it is.
    npm.args(["--ignore-scripts", "--no-audit", "--no-fund"]);
    process::run(npm.arg("--loglevel=error").arg("--prefix").arg(folder))
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn a_folder_is_complete_or_as_before() {
        let cache = tempfile::tempdir().unwrap();
        let home = cache.path().join("tool-1.2.3");
        let put = |text: &str| {
            let text = text.to_owned();
            move |folder: &Path| Ok(fs::write(folder.join("program"), text)?)
        };
        fill(&home, "it", put("one")).unwrap();
        let failed = fill(&home, "it", |folder| {
            put("two")(folder)?;
            bail!("cut off")
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(home.join("program")).unwrap(), "one");
        fill(&home, "it", put("three")).unwrap();
        assert_eq!(fs::read_to_string(home.join("program")).unwrap(), "three");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    }
}
