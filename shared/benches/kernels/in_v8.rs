//! The kernels in V8: built by the profile that ships, run by node.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use weir_shared::ordered::OrderedMap;

use super::turns::Spread;

const TARGET: &str = "wasm32-unknown-unknown";
const EXAMPLE: &str = "kernels_wasm";

#[derive(Deserialize)]
struct Timed {
    name: String,
    ns: Vec<f64>,
}

/// Nanoseconds of each kernel by name.
///
/// # Errors
/// What could not be built or run.
pub fn time(turns: usize, runs: u64) -> Result<OrderedMap<String, Spread>, String> {
    let module = built()?;
    let script = Path::new("benches/kernels/time.cjs");
    let mut node = Command::new("node");
    node.arg("--max-old-space-size=4096")
        .arg(script)
        .arg(module);
    let output = printed(node.args([turns.to_string(), runs.to_string()]))?;
    let timed = output.lines().map(|line| {
        let timed: Timed = serde_json::from_str(line).map_err(|err| format!("{line}: {err}"))?;
        Ok((timed.name, Spread::of(timed.ns)))
    });
    timed.collect()
}

/// Builds the module and answers where it is.
fn built() -> Result<PathBuf, String> {
    let manifest = Path::new("Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "build",
        "--release",
        "--target",
        TARGET,
        "--example",
        EXAMPLE,
    ]);
    cargo.arg("--manifest-path").arg(manifest);
    // The timer of the build that runs this is of no use there.
    cargo.arg("--target-dir").arg(target_dir());
    printed(&mut cargo)?;
    let wasm = target_dir().join(TARGET).join("release/examples");
    let wasm = wasm.join(EXAMPLE).with_extension("wasm");
    let out = target_dir().join("kernels");
    let mut bindgen = Command::new("wasm-bindgen");
    bindgen.args(["--target", "nodejs", "--no-typescript", "--out-dir"]);
    printed(bindgen.arg(&out).arg(wasm))?;
    Ok(out.join(EXAMPLE).with_extension("js"))
}

/// Where cargo builds: this runs from `TARGET/release/deps`.
fn target_dir() -> PathBuf {
    let own = env::current_exe().unwrap_or_default();
    let target = own.ancestors().nth(3).map(Path::to_path_buf);
    target.unwrap_or_else(|| PathBuf::from("target"))
}

/// Runs a command whose messages go on to stderr, and answers what it prints.
fn printed(command: &mut Command) -> Result<String, String> {
    let named = command.get_program().to_string_lossy().into_owned();
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|err| format!("{named}: {err}"))?;
    if !output.status.success() {
        return Err(format!("{named}: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|err| format!("{named}: {err}"))
}
