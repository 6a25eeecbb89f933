//! The Rust toolchain: the wasm target, clippy and rustfmt.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{paths, process, progress};

/// The target of the Worker, of the console and of the browser tests.
pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// A part of the toolchain, and the file of the sysroot that shows it is there.
struct Part {
    kind: &'static str,
    name: &'static str,
    file: &'static str,
}

const PARTS: [Part; 3] = [
    Part {
        kind: "target",
        name: WASM_TARGET,
        file: "lib/rustlib/wasm32-unknown-unknown/lib",
    },
    Part {
        kind: "component",
        name: "clippy",
        file: "bin/cargo-clippy",
    },
    Part {
        kind: "component",
        name: "rustfmt",
        file: "bin/rustfmt",
    },
];

/// Adds the parts that are missing.
///
/// `rust-toolchain.toml` names them too, but rustup reads it only where installing by itself is switched on.
pub(crate) fn ensure() -> Result<()> {
    let sysroot = sysroot()?;
    for part in &PARTS {
        if !sysroot.join(part.file).exists() {
            add(part)?;
        }
    }
    Ok(())
}

fn add(part: &Part) -> Result<()> {
    let Part { kind, name, .. } = part;
    if process::find("rustup").is_none() {
        bail!("the Rust {kind} {name} is missing, and there is no rustup to add it");
    }
    progress::step(&format!("adding the Rust {kind} {name}"), || {
        let mut rustup = Command::new("rustup");
        rustup.args([kind, "add", name]).current_dir(paths::root());
        process::run(&mut rustup)
    })
}

/// The compiler's full version, as a build depends on it.
pub(crate) fn version() -> Result<String> {
    process::capture(rustc().arg("-vV"))
}

/// The compiler that lints what it compiles, as clippy has it in the place of the usual one.
///
/// # Errors
/// When the compiler does not say where it is.
pub(crate) fn linting_compiler() -> Result<PathBuf> {
    Ok(sysroot()?.join("bin/clippy-driver"))
}

fn sysroot() -> Result<PathBuf> {
    let sysroot = process::capture(rustc().args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(sysroot))
}

fn rustc() -> Command {
    let mut rustc = Command::new("rustc");
    rustc.current_dir(paths::root());
    rustc
}
