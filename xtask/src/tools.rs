//! The pinned command-line tools, built once per user and version.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{paths, process, progress};

/// A tool from the crate registry.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// Whether the versions of the tool's own lock file are used.
    locked: bool,
    /// What else is said to cargo.
    options: &'static [&'static str],
    binaries: &'static [&'static str],
    /// Which version on PATH does as well as the pinned one.
    accepts: Accepts,
    /// About how long two cores take.
    minutes: u32,
}

/// A version that does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accepts {
    /// That one alone: what it makes is part of the build, or it fits one version of a library.
    Exactly,
    /// Any from that one on: it only runs what others have built.
    From(&'static str),
}

/// Must equal the `wasm-bindgen` of Cargo.lock to the digit. Its own lock file names versions that were withdrawn.
pub(crate) const WASM_BINDGEN: Tool = Tool {
    name: "wasm-bindgen-cli",
    version: "0.2.130",
    locked: false,
    options: &[],
    binaries: &["wasm-bindgen", "wasm-bindgen-test-runner"],
    accepts: Accepts::Exactly,
    minutes: 2,
};

/// Must equal the `worker` of Cargo.lock in its minor version.
pub(crate) const WORKER_BUILD: Tool = Tool {
    name: "worker-build",
    version: "0.8.7",
    locked: true,
    options: &[],
    binaries: &["worker-build"],
    accepts: Accepts::Exactly,
    minutes: 2,
};

/// What cuts the console's code into parts. Fits the `wasm_split_helpers` of Cargo.lock.
pub(crate) const WASM_SPLIT: Tool = Tool {
    name: "wasm_split_cli_support",
    version: "0.2.4",
    locked: true,
    options: &["--features", "build-binary"],
    binaries: &["wasm-split-cli"],
    accepts: Accepts::Exactly,
    minutes: 1,
};

pub(crate) const WASM_PACK: Tool = Tool {
    name: "wasm-pack",
    version: "0.15.1",
    locked: true,
    options: &[],
    binaries: &["wasm-pack"],
    accepts: Accepts::Exactly,
    minutes: 2,
};

pub(crate) const NEXTEST: Tool = Tool {
    name: "cargo-nextest",
    version: "0.9.143",
    locked: true,
    // Without what updates it, a client for the web: a third of what it is built from.
    options: &["--no-default-features", "--features", "default-no-update"],
    binaries: &["cargo-nextest"],
    accepts: Accepts::From("0.9.100"),
    minutes: 2,
};

/// What `mutants` tries.
pub(crate) const MUTANTS: Tool = Tool {
    name: "cargo-mutants",
    version: "27.1.0",
    locked: true,
    options: &[],
    binaries: &["cargo-mutants"],
    accepts: Accepts::Exactly,
    minutes: 3,
};

/// Without its server, which is half of what it is built from.
pub(crate) const MDBOOK: Tool = Tool {
    name: "mdbook",
    version: "0.5.4",
    locked: true,
    options: &["--no-default-features", "--features", "search"],
    binaries: &["mdbook"],
    accepts: Accepts::From("0.5.0"),
    minutes: 2,
};

/// What the tests and builds need; those of the book and of mutation testing are installed where they are used.
const ALL: [&Tool; 5] = [
    &WASM_BINDGEN,
    &WORKER_BUILD,
    &WASM_SPLIT,
    &WASM_PACK,
    &NEXTEST,
];

/// Settings of the caller's own builds that must not reach a tool's build: a different target or flag breaks it,
/// a different target folder would be filled and then removed.
const FOREIGN_SETTINGS: [&str; 6] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
];

/// The tools run for seconds: a quick build beats an optimised one.
const QUICK_BUILD: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
];

/// What reads, changes and writes modules of megabytes: optimised a little, it takes a quarter of the time, and no longer to
/// build.
const OPTIMISED: [&str; 6] = [
    "gimli",
    "walrus",
    "wasm-bindgen-cli-support",
    "wasm-encoder",
    "wasm_split_cli_support",
    "wasmparser",
];

impl Tool {
    /// The folder of the tool's programs: in the cache, else on PATH.
    pub(crate) fn bin(&self) -> Result<PathBuf> {
        let cache = paths::tools()?;
        let bin = self.home(&cache).join("bin");
        if self.is_installed(&cache) {
            return Ok(bin);
        }
        Ok(self.on_path().unwrap_or(bin))
    }

    /// Where on PATH all programs of the tool are, in a version that does.
    fn on_path(&self) -> Option<PathBuf> {
        let (first, rest) = self.binaries.split_first()?;
        let folder = process::find(first)?.parent()?.to_owned();
        let complete = rest
            .iter()
            .all(|name| process::is_executable(&folder.join(name)));
        let version = process::version(&folder.join(first))?;
        (complete && self.does(&version)).then_some(folder)
    }

    /// Whether that version does.
    fn does(&self, version: &str) -> bool {
        match self.accepts {
            Accepts::Exactly => version == self.version,
            Accepts::From(first) => numbers(version) >= numbers(first),
        }
    }

    fn home(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{}-{}", self.name, self.version))
    }

    fn is_there(&self, cache: &Path) -> bool {
        self.is_installed(cache) || self.on_path().is_some()
    }

    fn is_installed(&self, cache: &Path) -> bool {
        let bin = self.home(cache).join("bin");
        self.binaries
            .iter()
            .all(|name| process::is_executable(&bin.join(name)))
    }
}

/// The numbers of a version, to compare.
fn numbers(version: &str) -> Vec<u32> {
    let parts = version.split(['.', '-', '+']);
    parts.map_while(|part| part.parse().ok()).collect()
}

/// Installs the tools that neither the cache nor PATH holds.
pub(crate) fn ensure(tools: &[&Tool]) -> Result<()> {
    let cache = paths::tools()?;
    let missing: Vec<_> = missing(tools, &cache);
    if missing.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(&cache).with_context(|| format!("creating {}", cache.display()))?;
    for (index, tool) in missing.iter().enumerate() {
        // One at a time, and each for itself: who needs one need not wait for all that another set-up installs.
        let _lock = lock(&cache)?;
        // Another set-up may have installed it while this one waited for the lock.
        if tool.is_installed(&cache) {
            continue;
        }
        let Tool { name, version, .. } = tool;
        let place = format!("{} of {}", index + 1, missing.len());
        let about = format!("about {} min, once per user", tool.minutes);
        progress::note(&format!("tool {place}, {about}"));
        progress::step(&format!("installing {name} {version}"), || {
            install(tool, &cache)
        })?;
    }
    let _lock = lock(&cache)?;
    // Kept when an install fails: the next try goes on where this one stopped. Kept, too, while a tool is missing that
    // shares half of what it is built from.
    if ALL.iter().all(|tool| tool.is_there(&cache)) {
        remove(&build_folder(&cache))?;
    }
    Ok(())
}

fn missing<'a>(tools: &[&'a Tool], cache: &Path) -> Vec<&'a Tool> {
    let missing = tools.iter().filter(|tool| !tool.is_there(cache));
    missing.copied().collect()
}

/// Installs into a temporary folder and renames it: an interrupted install never looks complete.
fn install(tool: &Tool, cache: &Path) -> Result<()> {
    let staging = cache.join(format!(".{}-{}", tool.name, tool.version));
    remove(&staging)?;
    let mut cargo = cargo_install(tool, &staging, &build_folder(cache));
    // cargo would advise to put the temporary folder on PATH.
    cargo.env("PATH", path_with(&staging.join("bin"))?);
    process::run(&mut cargo)?;
    let home = tool.home(cache);
    remove(&home)?;
    fs::rename(&staging, &home)
        .with_context(|| format!("moving {name} into place", name = tool.name))
}

fn cargo_install(tool: &Tool, staging: &Path, build: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    // Not in the repository: its cargo settings are for its own crates.
    cargo.current_dir(staging.parent().unwrap_or(staging));
    cargo.args(["install", tool.name, "--version"]);
    cargo.arg(format!("={}", tool.version));
    cargo.arg("--root").arg(staging);
    // One folder for all: the tools share half of what they are built from.
    cargo.arg("--target-dir").arg(build);
    if tool.locked {
        cargo.arg("--locked");
    }
    cargo.args(tool.options);
    for name in OPTIMISED {
        cargo.arg("--config");
        cargo.arg(format!("profile.release.package.{name}.opt-level=1"));
    }
    for name in FOREIGN_SETTINGS {
        cargo.env_remove(name);
    }
    cargo.envs(QUICK_BUILD);
    cargo
}

fn path_with(folder: &Path) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain([folder.to_owned()]);
    env::join_paths(folders).context("the cache's folder cannot be put on PATH")
}

fn build_folder(cache: &Path) -> PathBuf {
    cache.join(".build")
}

/// One set-up at a time: two would build the same tools twice.
fn lock(cache: &Path) -> Result<File> {
    let path = cache.join(".lock");
    let file = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => progress::note("waiting for another set-up to finish"),
        Err(TryLockError::Error(error)) => return Err(error).context("locking the tool cache"),
    }
    file.lock().context("locking the tool cache")?;
    Ok(file)
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    fn put(file: &Path, mode: u32) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let mut options = File::options();
        options.write(true).create(true).mode(mode);
        options.open(file).unwrap();
    }

    #[test]
    fn a_tool_is_installed_when_each_of_its_programs_can_run() {
        let cache = tempfile::tempdir().unwrap();
        let bin = cache.path().join("wasm-bindgen-cli-0.2.130/bin");
        assert!(!WASM_BINDGEN.is_installed(cache.path()));
        put(&bin.join("wasm-bindgen"), 0o755);
        assert!(!WASM_BINDGEN.is_installed(cache.path()));
        put(&bin.join("wasm-bindgen-test-runner"), 0o755);
        assert!(WASM_BINDGEN.is_installed(cache.path()));
    }

    #[test]
    fn an_interrupted_install_is_missing() {
        let cache = tempfile::tempdir().unwrap();
        put(
            &cache
                .path()
                .join(".wasm_split_cli_support-0.2.4/bin/wasm-split-cli"),
            0o755,
        );
        put(&cache.path().join("wasm-pack-0.15.1/bin/wasm-pack"), 0o644);
        assert!(!WASM_SPLIT.is_installed(cache.path()));
        assert!(!WASM_PACK.is_installed(cache.path()));
    }

    #[test]
    fn a_version_on_path_does_where_it_is_the_pinned_one_or_newer_where_that_is_enough() {
        assert!(WASM_BINDGEN.does("0.2.130"));
        assert!(!WASM_BINDGEN.does("0.2.131"));
        assert!(NEXTEST.does("0.9.143") && NEXTEST.does("0.9.100") && NEXTEST.does("1.0.0"));
        assert!(!NEXTEST.does("0.9.99") && !NEXTEST.does("unknown"));
    }

    #[test]
    fn settings_of_the_caller_do_not_reach_a_tool() {
        let command = cargo_install(&WASM_SPLIT, Path::new("c/.split"), Path::new("c/.build"));
        let removed: Vec<_> = command
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .map(|(name, _)| name.to_owned())
            .collect();
        for name in FOREIGN_SETTINGS {
            assert!(removed.iter().any(|other| other == name), "{name}");
        }
        assert_eq!(command.get_current_dir(), Some(Path::new("c")));
    }

    /// The version of a package in Cargo.lock.
    fn locked_version(name: &str) -> String {
        let lock = fs::read_to_string(paths::root().join("Cargo.lock")).unwrap();
        let (_, rest) = lock
            .split_once(&format!("name = \"{name}\"\nversion = \""))
            .unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    #[test]
    fn the_tools_fit_the_libraries() {
        assert_eq!(locked_version("wasm-bindgen"), WASM_BINDGEN.version);
        assert_eq!(locked_version("worker"), WORKER_BUILD.version);
    }
}
