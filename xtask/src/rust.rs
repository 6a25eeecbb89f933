//! The Rust toolchain: the wasm target, clippy and rustfmt.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

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

/// Where cargo has made the program of that name, by its messages: other programs may be made beside it.
///
/// # Errors
/// When it has made none.
pub(crate) fn executable(messages: &str, program: &str) -> Result<PathBuf> {
    let message = |line: &str| serde_json::from_str::<Value>(line).ok();
    let mut made = messages
        .lines()
        .filter_map(message)
        .filter(|message| message["target"]["name"] == program);
    let executable = made.find_map(|message| message["executable"].as_str().map(PathBuf::from));
    executable.with_context(|| format!("cargo made no program {program}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_where_cargo_says() {
        let messages = concat!(
            r#"{"target":{"name":"weir-console"},"executable":"/target/console.wasm"}"#,
            "\n",
            r#"{"target":{"name":"web"},"executable":"/target/web-1.wasm"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let web = executable(messages, "web").unwrap();
        assert_eq!(web, PathBuf::from("/target/web-1.wasm"));
        assert!(executable(messages, "promises").is_err());
    }
}
