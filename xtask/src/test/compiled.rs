//! The tests that run natively, compiled once. What runs them asks cargo nothing, so that it waits for no other build.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::lints::selected;
use super::workbench::Workbench;
use crate::environment::Environment;
use crate::{crates, paths, process};

/// What is compiled natively beside the crates of the core. Always all of it: cargo compiles what they share anew for
/// another choice.
const BESIDE_THE_CORE: [&str; 8] = [
    "xtask",
    "weir-reference",
    "weir-fuzz",
    "weir-console",
    // Their own tests are named as those of the Worker are, so that the programs are built with them: they run them.
    "weir-agent",
    "weir-cli",
    "weir-client",
    "weir-tests",
];

/// All of them, the core's first.
pub(super) fn packages() -> Vec<&'static str> {
    crates::NAMES
        .iter()
        .copied()
        .chain(BESIDE_THE_CORE)
        .collect()
}

/// The program that they are, in nextest's language. What it is made of has unit tests, which run natively.
pub(super) const PROGRAM: &str = "binary_id(weir-tests::e2e)";

/// Those of them that need the console, and others in a browser, which takes all cores.
const OF_CONSOLE: &str =
    "test(/^(console|package|clients::typescript::pages|prometheus::alerts)::/)";

/// Which tests of them run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// Those that need nothing but themselves.
    Native,
    /// Those of the built Worker.
    EndToEnd,
    /// Those that need the console, too: its pages, and the package that holds it.
    Pages,
    /// Of both those whose names begin so.
    Named(Vec<String>),
}

impl Choice {
    /// In nextest's language, and the profile of `.config/nextest.toml`.
    fn filter(&self) -> (String, &'static str) {
        match self {
            Self::Native => (format!("not {PROGRAM}"), "default"),
            Self::EndToEnd => (of_end_to_end(&format!("not {OF_CONSOLE}")), "e2e"),
            Self::Pages => (of_end_to_end(OF_CONSOLE), "e2e"),
            Self::Named(names) => {
                let begins = format!("test(/^({})/)", names.join("|"));
                (of_end_to_end(&begins), "e2e")
            }
        }
    }

    /// Which programs are compiled: first those that the longest way leads through, then all.
    fn programs(&self) -> &'static [&'static str] {
        match self {
            Self::Native => &[],
            Self::EndToEnd | Self::Pages | Self::Named(_) => &["--test", "e2e"],
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::EndToEnd | Self::Pages | Self::Named(_) => "e2e",
        }
    }
}

fn of_end_to_end(filter: &str) -> String {
    format!("{PROGRAM} and {filter}")
}

/// Compiles them, and notes what was made. Where the environment says so they are linted by the way.
pub(super) fn compile(
    bench: &mut Workbench<'_>,
    environment: &Environment,
    choice: &Choice,
) -> Result<()> {
    let nextest = |words: &[&str]| -> Result<Command> {
        let mut cargo = environment.command("cargo")?;
        cargo.arg("nextest").args(words).args(selected(&packages()));
        cargo.args(choice.programs());
        Ok(cargo)
    };
    bench.compile(nextest(&["run", "--no-run"])?)?;
    if *choice == Choice::Native {
        // No test runs them; they are linted as they are compiled.
        let mut benches = environment.command("cargo")?;
        benches
            .args(["build", "--benches"])
            .args(selected(&packages()));
        bench.compile(benches)?;
    }
    let made = [
        "list",
        "--list-type",
        "binaries-only",
        "--message-format",
        "json",
    ];
    note(binaries(choice), &mut nextest(&made)?)?;
    let mut metadata = environment.command("cargo")?;
    note(
        workspace(choice),
        metadata.args(["metadata", "--format-version", "1"]),
    )
}

/// Compiles and runs one suite of the end-to-end tests, each test once.
pub(super) fn suite(environment: &Environment, suite: &str) -> Result<Command> {
    let (filter, profile) = Choice::Named(vec![format!("{suite}::")]).filter();
    let mut cargo = environment.command("cargo")?;
    cargo.args(["nextest", "run", "--profile", profile, "--retries", "0"]);
    cargo.args(selected(&packages())).args(["--test", "e2e"]);
    cargo.args(["--filterset", &filter]);
    Ok(cargo)
}

fn note(file: PathBuf, command: &mut Command) -> Result<()> {
    let text = process::capture(command)?;
    fs::create_dir_all(paths::local("")).context("creating the folder of local state")?;
    fs::write(&file, text).with_context(|| format!("writing {}", file.display()))
}

fn binaries(choice: &Choice) -> PathBuf {
    paths::local(&format!("{}-binaries.json", choice.name()))
}

fn workspace(choice: &Choice) -> PathBuf {
    paths::local(&format!("{}-workspace.json", choice.name()))
}

/// A run of those tests, as they were compiled.
pub(super) fn run(environment: &Environment, choice: &Choice, more: &[&str]) -> Result<Command> {
    let (filter, profile) = choice.filter();
    let mut cargo = environment.command("cargo")?;
    cargo.args(["nextest", "run", "--profile", profile]);
    cargo.arg("--binaries-metadata").arg(binaries(choice));
    cargo.arg("--cargo-metadata").arg(workspace(choice));
    cargo.args(["--filterset", &filter]).args(more);
    Ok(cargo)
}
