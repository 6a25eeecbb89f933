//! The programs that hold the tests, compiled once with all mutants in them.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::tree;
use crate::{crates, process};

/// Builds them, and returns where they are.
pub(super) fn build() -> Result<Vec<PathBuf>> {
    let mut cargo = tree::cargo(false);
    cargo.args(["test", "--no-run", "--quiet", "--message-format", "json"]);
    cargo.args(crates::NAMES.iter().flat_map(|name| ["--package", name]));
    cargo.arg("--lib");
    cargo.args(["--test", "promises", "--test", "examples"]);
    let programs = executables(&process::capture(&mut cargo)?);
    if programs.is_empty() {
        bail!("cargo names no program that holds tests");
    }
    Ok(programs)
}

fn executables(output: &str) -> Vec<PathBuf> {
    let lines = output
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let tests = lines.filter(|line: &Value| line["profile"]["test"] == true);
    let paths = tests.filter_map(|line| line["executable"].as_str().map(PathBuf::from));
    paths.collect()
}

/// The names of the tests in a program's list that run where nobody asks for others.
pub(super) fn tests(program: &PathBuf) -> Result<Vec<String>> {
    let list = |more: &[&str]| -> Result<Vec<String>> {
        let mut command = std::process::Command::new(program);
        command.args(["--list", "--format", "terse"]).args(more);
        let text = process::capture(&mut command).context("listing tests")?;
        Ok(names(&text))
    };
    let ignored = list(&["--ignored"])?;
    let mut tests = list(&[])?;
    tests.retain(|test| !ignored.contains(test));
    Ok(tests)
}

fn names(list: &str) -> Vec<String> {
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_those_that_cargo_says_hold_tests() {
        let lines = [
            r#"{"reason": "compiler-artifact", "profile": {"test": false}, "executable": "/a"}"#,
            r#"{"reason": "compiler-artifact", "profile": {"test": true}, "executable": "/b"}"#,
            r#"{"reason": "compiler-artifact", "profile": {"test": true}, "executable": null}"#,
            r#"{"reason": "build-finished", "success": true}"#,
        ];
        assert_eq!(executables(&lines.join("\n")), [PathBuf::from("/b")]);
    }

    #[test]
    fn tests_are_listed_without_benchmarks() {
        assert_eq!(names("a::b: test\nc: benchmark\nd: test"), ["a::b", "d"]);
    }
}
