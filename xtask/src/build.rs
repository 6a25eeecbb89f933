//! Builds the Worker and the console for release, only what changed.
//!
//! Both are built by one profile, so that what they share is compiled once.

mod console;
mod edge;
mod headers;

use std::fs::{self, File};
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, bail};

use crate::args::Selection;
use crate::environment::Environment;
use crate::stamp::{Fingerprint, Stamp};
use crate::{crates, paths, process, progress, rust, setup, tools};

/// Sets up and builds what is selected.
pub(crate) fn run(selection: Selection) -> Result<()> {
    build(selection, &setup::for_builds()?)
}

/// Builds what is selected.
pub(crate) fn build(selection: Selection, environment: &Environment) -> Result<()> {
    let toolchain = rust::version()?;
    let make = |artifact: &Artifact| artifact.build(&toolchain, environment);
    // Beside each other: cargo compiles one after the other, as they share a profile; what follows, on one core, overlaps.
    thread::scope(|scope| {
        let edge = selection
            .edge
            .then(|| scope.spawn(|| make(&edge::ARTIFACT)));
        let console = selection.console.then(|| make(&console::ARTIFACT));
        let edge = edge.map(|edge| edge.join().unwrap_or_else(|panic| resume_unwind(panic)));
        edge.into_iter().chain(console).collect()
    })
}

/// What changes when a source of the artefacts is written, at a glance: by times and sizes, not by content.
///
/// # Errors
/// When a source cannot be looked at.
pub(crate) fn sources_print() -> Result<String> {
    let mut fingerprint = Fingerprint::new();
    for artifact in [&edge::ARTIFACT, &console::ARTIFACT] {
        for path in artifact.made_from() {
            fingerprint.glance(paths::root(), &path, artifact.skip)?;
        }
    }
    Ok(fingerprint.finish())
}

/// Digits of the hash in the name of a file that browsers keep for good: 64 bits.
const HASH_DIGITS: usize = 16;

/// Files and folders that both artefacts are made from, beside the crates of the core.
const COMMON_INPUTS: [&str; 6] = [
    "Cargo.toml",
    "Cargo.lock",
    "package-lock.json",
    "rust-toolchain.toml",
    ".cargo/config.toml",
    "xtask/src/build",
];

/// Variables by which a user changes what the compiler makes.
const COMPILER_VARIABLES: [&str; 4] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
];

/// Has `wasm-opt` rewrite a module by its passes, without what only people read of it.
fn rewrite(environment: &Environment, passes: &[&str], module: &Path, made: &Path) -> Result<()> {
    let mut rewrite = environment.command("wasm-opt")?;
    rewrite.args(passes);
    rewrite.args(["--strip-debug", "--strip-producers", "--quiet"]);
    rewrite.arg("--output").arg(made).arg(module);
    process::run(&mut rewrite)
}

/// One thing that is built.
struct Artifact {
    name: &'static str,
    title: &'static str,
    /// What it is made from, besides the common inputs.
    inputs: &'static [&'static str],
    /// Folders among the inputs that are no inputs.
    skip: &'static [&'static str],
    output: &'static str,
    /// Files without which the output is not complete.
    essential: &'static [&'static str],
    tools: &'static [&'static tools::Tool],
    make: fn(&Environment) -> Result<()>,
}

impl Artifact {
    fn build(&self, toolchain: &str, environment: &Environment) -> Result<()> {
        let _lock = self.lock()?;
        let stamp = Stamp::at(paths::local("stamps").join(self.name));
        // Taken before the build: an edit during the build makes the next one run again.
        let inputs = self.inputs_digest(toolchain)?;
        if self.is_complete() && stamp.matches(&inputs, &self.output_digest()?) {
            return Ok(());
        }
        tools::ensure(self.tools)?;
        progress::step(&format!("building {}", self.title), || {
            (self.make)(environment)
        })?;
        if !self.is_complete() {
            bail!(
                "the build of {} left {} incomplete",
                self.title,
                self.output
            );
        }
        stamp.write(&inputs, &self.output_digest()?)
    }

    /// One build of it at a time: a second one would see half of the first one's output.
    fn lock(&self) -> Result<File> {
        fs::create_dir_all(paths::local("")).context("creating the folder of local state")?;
        let file = paths::local(&format!("build-{}.lock", self.name));
        let file = File::create(file).context("creating the build lock")?;
        file.lock().context("locking the build")?;
        Ok(file)
    }

    fn inputs_digest(&self, toolchain: &str) -> Result<String> {
        let mut fingerprint = Fingerprint::new();
        fingerprint.text("rustc", toolchain);
        for tool in self.tools {
            fingerprint.text(tool.name, tool.version);
        }
        for name in COMPILER_VARIABLES {
            let value = std::env::var_os(name).unwrap_or_default();
            fingerprint.text(name, &value.to_string_lossy());
        }
        for path in self.made_from() {
            fingerprint.tree(paths::root(), &path, self.skip)?;
        }
        Ok(fingerprint.finish())
    }

    /// All that it is made from.
    fn made_from(&self) -> impl Iterator<Item = String> {
        let named = COMMON_INPUTS.iter().chain(self.inputs);
        named.map(|path| (*path).to_owned()).chain(crates::inputs())
    }

    fn output_digest(&self) -> Result<String> {
        let mut fingerprint = Fingerprint::new();
        fingerprint.tree(paths::root(), self.output, &[])?;
        Ok(fingerprint.finish())
    }

    fn is_complete(&self) -> bool {
        let output = paths::root().join(self.output);
        self.essential
            .iter()
            .all(|file| is_filled(&output.join(file)))
    }
}

fn is_filled(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|data| data.is_file() && data.len() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inputs_exist() {
        for artifact in [&edge::ARTIFACT, &console::ARTIFACT] {
            for path in artifact.made_from() {
                assert!(paths::root().join(&path).exists(), "{path}");
            }
        }
    }

    #[test]
    fn another_compiler_gives_another_digest() {
        let digest = |version| edge::ARTIFACT.inputs_digest(version).unwrap();
        assert_eq!(digest("rustc 1"), digest("rustc 1"));
        assert_ne!(digest("rustc 1"), digest("rustc 2"));
    }
}
