//! Rules about the text of the repository that no compiler checks.

mod circles;
mod links;
mod order;
mod rooms;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Result, bail};

use crate::{crates, paths, repository};
use links::Pages;
use order::Order;
use rooms::Rooms;

const LINES_MAX: usize = 500;

/// A rule that a line of a file may break.
struct Rule {
    /// Whether the file is under the rule.
    covers: fn(&str) -> bool,
    /// What the line must not hold. In two parts, so that this file does not break its own rules.
    parts: [&'static str; 2],
    /// Whether the text counts only where a path or a word starts.
    at_start: bool,
    reason: &'static str,
}

const RULES: [Rule; 12] = [
    folder(["/home", "/"]),
    folder(["/root", "/"]),
    folder(["/work", "/"]),
    folder(["/Users", "/"]),
    unfinished(["todo", "!("]),
    unfinished(["unimplemented", "!("]),
    unfinished(["#[", "ignore"]),
    heavy(["BTree", "Map"]),
    heavy(["BTree", "Set"]),
    of_one_clone(["env!(\"CARGO_MANIFEST", "_DIR"]),
    of_one_clone(["env!(\"CARGO_BIN", "_EXE"]),
    Rule {
        covers: |path| path == "package-lock.json",
        parts: ["\"resolved\": ", "\"http"],
        at_start: false,
        reason: "the lock file holds a download address: make it with omit-lockfile-registry-resolved",
    },
];

const fn folder(parts: [&'static str; 2]) -> Rule {
    Rule {
        covers: |_| true,
        parts,
        at_start: true,
        reason: "a path of one machine",
    }
}

const fn unfinished(parts: [&'static str; 2]) -> Rule {
    Rule {
        covers: is_rust,
        parts,
        at_start: true,
        reason: "unfinished or switched off",
    }
}

const fn heavy(parts: [&'static str; 2]) -> Rule {
    Rule {
        covers: becomes_wasm,
        parts,
        at_start: true,
        reason: "becomes a lot of wasm: take the one of `ordered`",
    }
}

const fn of_one_clone(parts: [&'static str; 2]) -> Rule {
    Rule {
        covers: is_kept,
        parts,
        at_start: true,
        reason: "puts a path of this clone into a program that other clones take over",
    }
}

/// Checks each file that is or would be committed.
pub(crate) fn run() -> Result<()> {
    let mut offences = Vec::new();
    let document = fs::read_to_string(paths::root().join(rooms::DOCUMENT))?;
    let rooms = Rooms::read(&document);
    let order = Order::read(&document);
    if !order.has(crates::FOLDERS) {
        offences.push(format!("{}: not the crates of `shared`", rooms::DOCUMENT));
    }
    let texts = texts()?;
    for (path, text) in &texts {
        offences.extend(check(path, text));
        offences.extend(rooms.check(path, text));
        offences.extend(order.check(path, text));
        let missing = links::named(text).filter(|page| !texts.contains_key(*page));
        offences.extend(missing.map(|page| format!("{path}: {page} is not there")));
    }
    let files = texts
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    offences.extend(Pages::of(files.clone()).check());
    for room in circles::ROOMS {
        offences.extend(circles::check(room, files.clone()));
    }
    if !offences.is_empty() {
        bail!(
            "{} lines break a rule:\n{}",
            offences.len(),
            offences.join("\n")
        );
    }
    Ok(())
}

/// Every file that there is, by its path, with its text: none where it is no text.
fn texts() -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for path in repository::files()? {
        let file = paths::root().join(&path);
        if file.exists() {
            texts.insert(path, fs::read_to_string(file).unwrap_or_default());
        }
    }
    Ok(texts)
}

fn check(path: &str, text: &str) -> Vec<String> {
    let mut offences = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for rule in RULES.iter().filter(|rule| (rule.covers)(path)) {
            if breaks(rule, line) {
                offences.push(format!("{path}:{}: {}", index + 1, rule.reason));
            }
        }
    }
    if is_rust(path) && text.lines().count() > LINES_MAX {
        offences.push(format!("{path}: longer than {LINES_MAX} lines"));
    }
    offences
}

fn breaks(rule: &Rule, line: &str) -> bool {
    let pattern = rule.parts.concat();
    line.match_indices(&pattern).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !rule.at_start || before.is_none_or(|before| !continues(before))
    })
}

/// Whether a word or path that holds this character goes on after it.
fn continues(character: char) -> bool {
    character.is_alphanumeric() || "._-~/}".contains(character)
}

fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

/// Whether what is compiled of it is kept for other clones: all but this program.
fn is_kept(path: &str) -> bool {
    is_rust(path) && !path.starts_with("xtask/")
}

/// Whether it is part of what the Worker or the console is made of. `ordered` itself names what it stands in for.
fn becomes_wasm(path: &str) -> bool {
    let sources = ["edge/src/", "console/src/"];
    (crates::source(path).is_some() || sources.iter().any(|folder| path.starts_with(folder)))
        && !path.starts_with("shared/core/src/ordered/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offends(path: &str, parts: [&str; 2]) {
        let text = format!("fine\n{}", parts.concat());
        let offences = check(path, &text);
        assert_eq!(offences.len(), 1, "{path}: {text}: {offences:?}");
        assert!(offences[0].starts_with(path), "{offences:?}");
    }

    fn passes(path: &str, text: &str) {
        assert_eq!(check(path, text), Vec::<String>::new(), "{path}: {text}");
    }

    #[test]
    fn what_becomes_wasm_keeps_its_maps_in_runs() {
        offends(
            "shared/wire/src/a.rs",
            ["use std::collections::BTree", "Map;"],
        );
        offends("edge/src/a.rs", ["use std::collections::BTree", "Set;"]);
        passes("shared/tests/a.rs", "use std::collections::BTreeMap;");
    }

    #[test]
    fn no_program_that_other_clones_take_over_has_a_path_of_this_one() {
        offends(
            "tests/src/a.rs",
            ["Path::new(env!(\"CARGO_MANIFEST", "_DIR\"))"],
        );
        offends("cli/tests/e2e.rs", ["env!(\"CARGO_BIN", "_EXE_weir\")"]);
        passes("xtask/src/a.rs", "env!(\"CARGO_MANIFEST_DIR\")");
    }

    #[test]
    fn paths_of_a_machine_are_found_in_any_text() {
        offends("README.md", ["see `/home", "/me/weir`"]);
        offends("a.toml", ["dir = \"/root", "/weir\""]);
        offends(".ci/run", ["cd /work", "/weir"]);
        offends("a.rs", ["// /Users", "/me"]);
    }

    #[test]
    fn parts_of_other_paths_are_no_machine_paths() {
        passes(
            "README.md",
            "https://example.org/home/page and src/root/mod.rs",
        );
        passes("a.ts", "`${base}/work/list` ../work/x");
    }

    #[test]
    fn unfinished_code_is_found() {
        offends("a.rs", ["    todo", "!()"]);
        offends("a.rs", ["unimplemented", "!(\"later\")"]);
        offends("a.rs", ["    #[", "ignore]"]);
        offends("a.rs", ["#[", "ignore = \"slow\"]"]);
        passes("a.md", &["todo", "!()"].concat());
    }

    #[test]
    fn download_addresses_are_found_in_the_npm_lock() {
        offends(
            "package-lock.json",
            ["  \"resolved\": ", "\"https://registry.example\""],
        );
        passes("package-lock.json", "  \"version\": \"1.0.0\"");
    }

    #[test]
    fn long_sources_are_found() {
        passes("a.rs", &"\n".repeat(LINES_MAX));
        assert_eq!(check("a.rs", &"\n".repeat(LINES_MAX + 1)).len(), 1);
        passes("a.json", &"\n".repeat(LINES_MAX + 1));
    }
}
