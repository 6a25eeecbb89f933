//! Node.js and the npm packages of the committed lock file.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::{paths, process, progress};

const MAJOR_MIN: u32 = 20;

/// Installs the packages of the lock file when those in `node_modules` differ.
pub(crate) fn ensure() -> Result<()> {
    check_version()?;
    if is_current(paths::root()) {
        return Ok(());
    }
    // The command that runs a build from inside wrangler would remove the program that waits for it.
    if env::var_os("WRANGLER_COMMAND").is_some() {
        bail!("the npm packages differ from package-lock.json: run `npm ci` first");
    }
    progress::step("installing the npm packages", || {
        let mut npm = Command::new("npm");
        npm.current_dir(paths::root());
        // No package that is used here needs its install script: they only look for a binary that the lock names.
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        npm.arg("--loglevel=error");
        process::run(&mut npm)
    })
}

/// Refuses a machine without Node.js, or with one that is too old.
pub(crate) fn check_version() -> Result<()> {
    let wanted = format!("Node.js {MAJOR_MIN} or newer is needed");
    for program in ["node", "npm"] {
        if process::find(program).is_none() {
            bail!("{wanted}, and `{program}` is not on PATH");
        }
    }
    let version = process::capture(Command::new("node").arg("--version"))?;
    match major(&version) {
        Some(major) if major >= MAJOR_MIN => Ok(()),
        _ => bail!("{wanted}, and `node` here is {version}"),
    }
}

fn major(version: &str) -> Option<u32> {
    Some(self::version(version.strip_prefix('v')?)?.0)
}

/// The first two numbers of `20.20.2`.
pub(crate) fn version(told: &str) -> Option<(u32, u32)> {
    let mut numbers = told.split('.');
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

/// Whether `node_modules` holds what the lock file names.
///
/// npm writes its own record of a finished install there; that record is compared, so packages that somebody installed
/// with npm by hand count as well.
fn is_current(root: &Path) -> bool {
    let packages = |file: &str| packages(&root.join(file));
    match (
        packages("package-lock.json"),
        packages("node_modules/.package-lock.json"),
    ) {
        (Ok(locked), Ok(installed)) => agree(&locked, &installed),
        _ => false,
    }
}

fn packages(lock_file: &Path) -> Result<Map<String, Value>> {
    let text = fs::read_to_string(lock_file)?;
    let mut lock: Value = serde_json::from_str(&text)?;
    match lock["packages"].take() {
        Value::Object(packages) => Ok(packages),
        _ => bail!("{} names no packages", lock_file.display()),
    }
}

/// The installed packages are the locked ones, less those for other platforms.
fn agree(locked: &Map<String, Value>, installed: &Map<String, Value>) -> bool {
    let is_optional = |package: &Value| package["optional"] == Value::Bool(true);
    let all_wanted = installed.iter().all(|(path, package)| {
        let entry = locked.get(path);
        entry.is_some_and(|entry| same(entry, package))
    });
    let all_present = locked
        .iter()
        .filter(|(path, package)| !path.is_empty() && !is_optional(package))
        .all(|(path, _)| installed.contains_key(path));
    all_wanted && all_present
}

fn same(one: &Value, other: &Value) -> bool {
    one["version"] == other["version"] && one["integrity"] == other["integrity"]
}

/// A program of the installed packages.
pub(crate) fn program(name: &str) -> Result<PathBuf> {
    let path = paths::node_modules().join(".bin").join(name);
    fs::metadata(&path).with_context(|| format!("the npm package of `{name}`"))?;
    Ok(path)
}

/// A file of an installed package.
pub(crate) fn script(package: &str, file: &str) -> Result<PathBuf> {
    let path = paths::node_modules().join(package).join(file);
    fs::metadata(&path).with_context(|| format!("the npm package `{package}`"))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lock(packages: Value) -> Map<String, Value> {
        packages.as_object().unwrap().clone()
    }

    fn locked() -> Map<String, Value> {
        lock(json!({
            "": { "name": "weir" },
            "node_modules/tool": { "version": "1.2.3", "integrity": "sha512-a" },
            "node_modules/tool-linux": { "version": "1.2.3", "integrity": "sha512-b", "optional": true },
            "node_modules/tool-darwin": { "version": "1.2.3", "integrity": "sha512-c", "optional": true },
        }))
    }

    #[test]
    fn packages_for_other_platforms_may_be_absent() {
        let mut installed = locked();
        installed.remove("");
        installed.remove("node_modules/tool-darwin");
        assert!(agree(&locked(), &installed));
    }

    #[test]
    fn a_missing_package_differs() {
        let mut installed = locked();
        installed.remove("");
        installed.remove("node_modules/tool");
        assert!(!agree(&locked(), &installed));
    }

    #[test]
    fn another_version_or_content_differs() {
        for (field, value) in [("version", "1.2.4"), ("integrity", "sha512-z")] {
            let mut installed = locked();
            installed.remove("");
            installed["node_modules/tool"][field] = json!(value);
            assert!(!agree(&locked(), &installed), "{field}");
        }
    }

    #[test]
    fn a_package_too_many_differs() {
        let mut installed = locked();
        installed.remove("");
        installed.insert(
            "node_modules/other".to_owned(),
            json!({ "version": "1.0.0" }),
        );
        assert!(!agree(&locked(), &installed));
    }

    #[test]
    fn the_major_version_is_read() {
        assert_eq!(major("v20.20.2"), Some(20));
        assert_eq!(major("v9.1.0"), Some(9));
        assert_eq!(major("20"), None);
        assert_eq!(version("22.12.0"), Some((22, 12)));
        assert_eq!(version("unknown"), None);
    }
}
