//! What runs in a browser: the state machines, and the console's components.

use anyhow::Result;

use super::workbench::Workbench;
use crate::environment::Environment;
use crate::rust::WASM_TARGET;

/// The same line that the README gives, less the search for programs: what is missing must fail, not be fetched. And less
/// the unit tests, none of which runs in a browser.
pub(super) fn run(
    bench: &mut Workbench<'_>,
    environment: &Environment,
    (folder, program): (&str, &str),
) -> Result<()> {
    let mut cargo = environment.command("cargo")?;
    // As wasm-pack does it next, to tell building from running.
    cargo.args(["build", "--test", program, "--target", WASM_TARGET]);
    cargo.args(["--package", &format!("weir-{folder}")]);
    bench.compile(cargo)?;
    let mut wasm_pack = environment.command("wasm-pack")?;
    wasm_pack.args([
        "test",
        "--headless",
        "--chrome",
        "--mode",
        "no-install",
        folder,
        "--test",
        program,
    ]);
    bench.test(wasm_pack)
}
