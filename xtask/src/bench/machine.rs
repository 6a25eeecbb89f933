//! Where and with what it is measured.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{paths, process, rust};

const KIB_PER_GIB: f64 = 1_048_576.0;

/// A table of the machine, the versions and the command.
pub(super) fn describe() -> Result<String> {
    let rows = [
        ("command", "`cargo xtask bench`".to_owned()),
        ("processor", processor()),
        ("memory", memory()),
        ("kernel", kernel()?),
        ("Rust", rust::version()?),
        (
            "Node",
            process::capture(Command::new("node").arg("--version"))?,
        ),
        ("workerd", workerd()?),
    ];
    let rows = rows.map(|(name, value)| format!("| {name} | {} |", one_line(&value)));
    Ok(format!("| what | |\n| --- | --- |\n{}", rows.join("\n")))
}

/// The commit that is measured, and whether it is measured as it was committed.
pub(super) fn commit() -> Result<String> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        process::capture(git.current_dir(paths::root()).args(arguments))
    };
    let commit = git(&["rev-parse", "--short=10", "HEAD"])?;
    // The figures of an earlier run are no change of what is measured.
    let changed = git(&["status", "--porcelain", "--", ".", ":!BENCHMARKS.md"])?;
    Ok(if changed.is_empty() {
        commit
    } else {
        format!("{commit} with changes")
    })
}

fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name| field(&text, name).unwrap_or("unknown");
    format!(
        "{cores} cores of {} (family {}, model {})",
        field("model name"),
        field("cpu family"),
        field("model")
    )
}

fn memory() -> String {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = field(&text, "MemTotal").and_then(|value| value.trim_end_matches(" kB").parse().ok());
    kib.map_or_else(
        || "unknown".to_owned(),
        |kib: f64| format!("{:.0} GiB", kib / KIB_PER_GIB),
    )
}

fn kernel() -> Result<String> {
    process::capture(Command::new("uname").args(["-s", "-r", "-m"]))
}

fn workerd() -> Result<String> {
    let path = paths::node_modules().join("workerd/package.json");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let package: Value = serde_json::from_str(&text)?;
    let version = package["version"].as_str();
    Ok(version.context("workerd has no version")?.to_owned())
}

/// The value of `name : value` in a file of `/proc`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    let mut pairs = pairs.map(|(name, value)| (name.trim(), value.trim()));
    pairs
        .find(|(other, _)| *other == name)
        .map(|(_, value)| value)
}

/// The first line, which a table can hold.
fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().replace('|', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_system_are_found() {
        let text = "processor\t: 0\nmodel\t\t: 207\nmodel name\t: Some CPU\n\nMemTotal:  1024 kB\n";
        assert_eq!(field(text, "model"), Some("207"));
        assert_eq!(field(text, "model name"), Some("Some CPU"));
        assert_eq!(field(text, "MemTotal"), Some("1024 kB"));
        assert_eq!(field(text, "cache"), None);
    }

    #[test]
    fn a_value_fits_a_cell() {
        assert_eq!(one_line("a | b\nc"), "a / b");
        assert_eq!(one_line(""), "");
    }
}
