//! What changed since the last commit: in the work tree, or, where that is clean, by the last commit itself.

use anyhow::{Context, Result};

use super::compiled;
use crate::{crates, process, repository};

/// A folder, and the packages that are made from what is in it.
const MADE_FROM: [(&str, &[&str]); 10] = [
    ("xtask/", &["xtask"]),
    ("shared/tests/", &[FACADE]),
    ("reference/", &["weir-reference", FACADE]),
    ("fuzz/", &["weir-fuzz"]),
    ("console/", &["weir-console"]),
    ("edge/", &["weir-edge"]),
    ("agent/", &["weir-agent", "weir-tests"]),
    ("cli/", &["weir-cli"]),
    ("clients/rust/", &["weir-client", "weir-tests"]),
    ("tests/", &["weir-tests"]),
];

/// What holds the crates of the core together, and their tests.
const FACADE: &str = "weir-shared";

/// What is made of the core.
const MADE_OF_THE_CORE: [&str; 7] = [
    "weir-reference",
    "weir-fuzz",
    "weir-console",
    "weir-edge",
    "weir-agent",
    "weir-cli",
    "weir-tests",
];

/// Pages, whose commands `xtask` reads.
const PAGES: &str = ".md";

/// Texts that tests of `weir-shared` read.
const READ_BY_SHARED: [&str; 3] = ["policy.json", "docs/", "dashboards/"];

/// What decides about all packages.
const EVERYTHING: [&str; 5] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "clippy.toml",
    ".c",
];

/// The packages to check.
pub(super) fn packages() -> Result<Vec<&'static str>> {
    let tree = files(
        &[
            "status",
            "--porcelain",
            "--no-renames",
            "-z",
            "--untracked-files=all",
        ],
        3,
    )?;
    let changed = if tree.is_empty() {
        files(
            &[
                "diff",
                "--name-only",
                "--no-renames",
                "-z",
                "HEAD~1",
                "HEAD",
            ],
            0,
        )?
    } else {
        tree
    };
    Ok(of_files(&changed))
}

/// The paths that git names, each behind `prefix` bytes of something else.
fn files(arguments: &[&str], prefix: usize) -> Result<Vec<String>> {
    let list =
        process::capture(repository::git().args(arguments)).context("git says what has changed")?;
    let entries = list
        .split_terminator('\0')
        .filter_map(|entry| entry.get(prefix..));
    Ok(entries.map(str::to_owned).collect())
}

fn of_files(files: &[String]) -> Vec<&'static str> {
    let mut packages: Vec<_> = files.iter().flat_map(|file| of_file(file)).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn of_file(file: &str) -> Vec<&'static str> {
    let pages = file.ends_with(PAGES).then_some("xtask");
    made_from(file).into_iter().chain(pages).collect()
}

fn made_from(file: &str) -> Vec<&'static str> {
    if EVERYTHING.iter().any(|start| file.starts_with(start)) {
        return all();
    }
    if READ_BY_SHARED.iter().any(|start| file.starts_with(start)) {
        return vec![FACADE];
    }
    let made = MADE_FROM
        .iter()
        .find(|(folder, _)| file.starts_with(folder));
    match made {
        Some((_, packages)) => packages.to_vec(),
        None => file
            .strip_prefix("shared/")
            .map(of_core)
            .unwrap_or_default(),
    }
}

/// Of a file in `shared`: what is made from its crate, all behind it at the most.
fn of_core(file: &str) -> Vec<&'static str> {
    let folder = file.split('/').next().unwrap_or_default();
    let place = crates::FOLDERS.iter().position(|name| *name == folder);
    let later = &crates::NAMES[place.unwrap_or(crates::FOLDERS.len())..];
    later.iter().copied().chain(MADE_OF_THE_CORE).collect()
}

/// What is compiled natively, and the Worker.
fn all() -> Vec<&'static str> {
    compiled::packages()
        .into_iter()
        .chain(["weir-edge"])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[&str]) -> Vec<&'static str> {
        of_files(
            &files
                .iter()
                .map(|file| (*file).to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn a_change_concerns_what_is_made_from_it() {
        assert_eq!(
            of(&["shared/src/lib.rs"]),
            [
                "weir-agent",
                "weir-cli",
                "weir-console",
                "weir-edge",
                "weir-fuzz",
                "weir-reference",
                "weir-shared",
                "weir-tests"
            ]
        );
        let from_one_crate_on = of(&["shared/contact/src/lib.rs"]);
        assert_eq!(
            from_one_crate_on[1..],
            [
                "weir-cli",
                "weir-console",
                "weir-contact",
                "weir-edge",
                "weir-fuzz",
                "weir-gateway",
                "weir-operations",
                "weir-reference",
                "weir-shared",
                "weir-tests"
            ]
        );
        assert_eq!(
            of(&["shared/tests/cap.rs", "xtask/src/main.rs"]),
            ["weir-shared", "xtask"]
        );
        assert_eq!(of(&["docs/book.toml"]), ["weir-shared"]);
        let page = "docs/src/reference/algorithms.md";
        assert_eq!(of(&[page]), ["weir-shared", "xtask"]);
        assert_eq!(of(&["README.md"]), ["xtask"]);
        assert_eq!(of(&["LICENSE"]), [""; 0]);
        assert_eq!(of(&[".config/nextest.toml"]).len(), all().len());
    }

    #[test]
    fn every_folder_of_a_package_is_known() {
        let manifest = std::fs::read_to_string(crate::paths::root().join("Cargo.toml")).unwrap();
        let (_, rest) = manifest.split_once("\nmembers = [").unwrap();
        let members = rest.split(']').next().unwrap().split(',');
        for member in members.map(|member| member.trim().trim_matches('"')) {
            assert!(
                !of_file(&format!("{member}/src/lib.rs")).is_empty(),
                "{member}"
            );
        }
    }
}
