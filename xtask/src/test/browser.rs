//! What runs in a browser: the state machines, and the console's components.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::workbench::Workbench;
use crate::environment::Environment;
use crate::rust::WASM_TARGET;
use crate::{paths, process};

/// The test programs, by package and name.
const PROGRAMS: [(&str, &str); 2] = [("weir-console", "web"), ("weir-shared", "promises")];

/// How the programs themselves are put together. What they are made of is compiled for the release already; to optimise
/// over all of it once more, as the release does, takes minutes of one core and shows a test nothing.
const QUICKLY: [&str; 6] = [
    "-C",
    "lto=thin",
    "-C",
    "opt-level=1",
    "-C",
    "codegen-units=16",
];

/// As `wasm-pack test --headless --chrome` runs them, less the unit tests that it builds besides, none of which runs in a
/// browser; and as the console is shipped: with its flags and without the time zones.
pub(super) fn run(bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    for program in PROGRAMS {
        bench.compile(compile(environment, program, "human")?)?;
    }
    for program in PROGRAMS {
        let mut told = compile(environment, program, "json-render-diagnostics")?;
        let module = executable(&process::capture(&mut told)?, program.1)?;
        let mut runner = environment.command("wasm-bindgen-test-runner")?;
        runner.current_dir(paths::root().join("console"));
        runner.arg(module).env("WASM_BINDGEN_TEST_ONLY_WEB", "1");
        bench.test(runner)?;
    }
    Ok(())
}

fn compile(
    environment: &Environment,
    (package, program): (&str, &str),
    format: &str,
) -> Result<Command> {
    let mut cargo = environment.command("cargo")?;
    cargo.current_dir(paths::root().join("console"));
    cargo.args(["rustc", "--release", "--target", WASM_TARGET]);
    cargo.args(["--package", package, "--test", program]);
    cargo.args(["--no-default-features", "--message-format", format]);
    cargo.arg("--").args(QUICKLY);
    Ok(cargo)
}

/// Where cargo has made the test program of that name, by its messages: the console's own program is made beside it.
fn executable(messages: &str, program: &str) -> Result<PathBuf> {
    let message = |line: &str| serde_json::from_str::<Value>(line).ok();
    let mut made = messages
        .lines()
        .filter_map(message)
        .filter(|message| message["target"]["name"] == program);
    let executable = made.find_map(|message| message["executable"].as_str().map(PathBuf::from));
    executable.with_context(|| format!("cargo made no test program {program}"))
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
