//! What is fetched once a user: a folder of the tool cache that is complete or not there.

use std::fs;
use std::path::{Path, PathBuf};
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

/// A program that npm publishes with a package of its own for each platform, of which npm chooses.
pub(crate) struct Published<'a> {
    /// The package at one version, such as `bun@1.4.5`: what it needs of npm has the program.
    pub(crate) package: &'a str,
    /// Where the packages of platforms are.
    pub(crate) scope: &'a str,
    /// The program within one of them.
    pub(crate) program: &'a str,
    /// Whether a program is one that does.
    pub(crate) does: fn(&Path) -> bool,
}

impl Published<'_> {
    /// The program, fetched where the cache has none that does.
    pub(crate) fn ensure(&self, cache: &Path) -> Result<PathBuf> {
        let home = cache.join(self.package.replace('@', "-"));
        if let Some(program) = self.within(&home) {
            return Ok(program);
        }
        fill(&home, self.package, |folder| npm(self.package, folder))?;
        let program = self.within(&home);
        program.with_context(|| format!("{} does not run on this machine", self.package))
    }

    /// Where npm cannot tell one C library from another, it installs both, and one of them runs.
    pub(crate) fn within(&self, home: &Path) -> Option<PathBuf> {
        let platforms = fs::read_dir(home.join("node_modules").join(self.scope)).ok()?;
        let programs = platforms.filter_map(|entry| Some(entry.ok()?.path().join(self.program)));
        programs.filter(|program| (self.does)(program)).min()
    }
}

/// Installs a package of npm at one version into a folder, and what it needs for this platform.
fn npm(package: &str, folder: &Path) -> Result<()> {
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
