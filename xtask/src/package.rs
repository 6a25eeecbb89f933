//! `package`: the npm package of what is built, with the native programs for this machine.

use std::process::Command;

use anyhow::{Context, Result};

use crate::args::Selection;
use crate::{build, paths, process, progress, setup};

/// How programs for this machine are compiled.
pub(crate) const NATIVE_PROFILE: &str = "native";

/// The packages whose programs are in it.
const NATIVE: [&str; 2] = ["weir-cli", "weir-agent"];

/// Builds the Worker, the console and the native programs, and makes the package of them.
pub(crate) fn run() -> Result<()> {
    let environment = setup::for_builds()?;
    build::build(Selection::BOTH, &environment)?;
    let target = paths::root().join("target");
    progress::step("building the native programs", || {
        let mut cargo = environment.command("cargo")?;
        cargo
            .args(["build", "--profile", NATIVE_PROFILE, "--target-dir"])
            .arg(&target);
        cargo.args(NATIVE.iter().flat_map(|name| ["--package", name]));
        process::run(&mut cargo)
    })?;
    let mut node = Command::new("node");
    node.arg(paths::root().join("package/pack.mjs"));
    node.args([target.join("package"), target.join(NATIVE_PROFILE)]);
    let file = process::capture(&mut node).context("making the package")?;
    progress::note(&format!("made {}", file.trim()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;

    fn read(path: &str) -> String {
        fs::read_to_string(paths::root().join(path)).unwrap()
    }

    fn json(path: &str) -> Value {
        serde_json::from_str(&read(path)).unwrap()
    }

    /// JSON whose comments are whole lines.
    fn jsonc(path: &str) -> Value {
        let text = read(path);
        let lines = text.lines().filter(|line| !line.trim().starts_with("//"));
        serde_json::from_str(&lines.collect::<Vec<_>>().join("\n")).unwrap()
    }

    #[test]
    fn the_settings_of_a_folder_to_deploy_from_are_those_of_the_repository() {
        let mut shipped: Value = toml::from_str(&read("wrangler.toml")).unwrap();
        let of_a_folder = jsonc("package/template/wrangler.jsonc");
        // Where its parts are, and what is run before, is the folder's own.
        shipped["main"] = json!("worker.js");
        shipped["assets"]["directory"] = json!("node_modules/weir/dist/console");
        shipped["build"] = json!({ "command": "npx --no weir check" });
        assert_eq!(of_a_folder, shipped);
    }

    /// The versions of the changelog with their dates, the newest first.
    fn released() -> Vec<(String, String)> {
        let text = read("CHANGELOG.md");
        let mut headings = text.lines().filter_map(|line| line.strip_prefix("## "));
        assert_eq!(headings.next(), Some("[Unreleased]"));
        let parts = headings.map(|heading| {
            let (version, date) = heading.split_once("] - ").expect(heading);
            (version.trim_start_matches('[').to_owned(), date.to_owned())
        });
        parts.collect()
    }

    #[test]
    fn the_newest_version_of_the_changelog_is_that_of_the_package() {
        let released = released();
        assert_eq!(released[0].0, env!("CARGO_PKG_VERSION"));
        let dates: Vec<&str> = released.iter().map(|(_, date)| date.as_str()).collect();
        assert!(
            dates.is_sorted_by(|newer, older| newer >= older),
            "{dates:?}"
        );
        for date in dates {
            let lengths: Vec<usize> = date.split('-').map(str::len).collect();
            assert_eq!(lengths, [4, 2, 2], "{date}");
            assert!(
                date.bytes()
                    .all(|byte| byte == b'-' || byte.is_ascii_digit())
            );
        }
    }

    #[test]
    fn the_package_runs_what_was_tested() {
        let package = json("package/package.json");
        assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
        let locked = json("package-lock.json");
        let version = |name: &str| &locked["packages"][format!("node_modules/{name}")]["version"];
        assert_eq!(&package["dependencies"]["workerd"], version("workerd"));
        let versions = json("package/template/versions.json");
        assert_eq!(&versions["wrangler"], version("wrangler"));
        assert_eq!(package["engines"], json("package.json")["engines"]);
        let template = jsonc("package/template/wrangler.jsonc");
        let line = format!("COMPATIBILITY_DATE = {};", template["compatibility_date"]);
        assert!(
            read("package/lib/configuration.js").contains(&line),
            "{line}"
        );
        assert!(
            template.get("compatibility_flags").is_none(),
            "the package's own configuration has none"
        );
    }
}
