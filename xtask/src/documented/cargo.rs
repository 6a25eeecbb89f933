//! Commands of cargo: the package, the program and the tests that they name are there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{crates, paths};

/// The folders of the packages beside the crates of the core.
const PACKAGES: [&str; 10] = [
    "agent",
    "cli",
    "clients/rust",
    "console",
    "edge",
    "fuzz",
    "reference",
    "shared",
    "tests",
    "xtask",
];

/// Flags that name a program of a package, and the folder that has it where the manifest does not name it.
const TARGETS: [(&str, &str); 3] = [
    ("--test", "tests"),
    ("--bench", "benches"),
    ("--example", "examples"),
];

/// Flags that are followed by nothing that is looked for.
const PLAIN: [&str; 3] = ["--release", "--lib", "--quiet"];

fn manifest(folder: &Path) -> String {
    fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest")
}

fn folder(package: &str) -> Option<PathBuf> {
    let named = format!("name = \"{package}\"");
    let crates = crates::FOLDERS
        .iter()
        .map(|name| paths::root().join("shared").join(name));
    let folders = PACKAGES
        .iter()
        .map(|folder| paths::root().join(folder))
        .chain(crates);
    folders
        .into_iter()
        .find(|folder| manifest(folder).contains(&named))
}

/// What is wrong with what follows `cargo test` and its like.
pub(super) fn fault(words: &[&str]) -> Option<String> {
    let own = words.split(|word| *word == "--").next().unwrap_or_default();
    let mut own = own.iter().copied();
    let (mut package, mut targets, mut filters) = (None, Vec::new(), Vec::new());
    while let Some(word) = own.next() {
        let target = TARGETS.iter().find(|(flag, _)| *flag == word);
        match (word, target) {
            ("-p" | "--package", _) => {
                let name = own.next().unwrap_or_default();
                let Some(found) = folder(name) else {
                    return Some(format!("there is no package {name}"));
                };
                package = Some(found);
            }
            ("--target", _) => drop(own.next()),
            ("--profile", _) => {
                let name = own.next().unwrap_or_default();
                if !manifest(paths::root()).contains(&format!("[profile.{name}]")) {
                    return Some(format!("there is no profile {name}"));
                }
            }
            (_, Some(target)) => targets.push((target, own.next().unwrap_or_default())),
            (flag, None) if flag.starts_with('-') => {
                if !PLAIN.contains(&flag) {
                    return Some(format!("{flag} is not known here"));
                }
            }
            (filter, None) => filters.push(filter),
        }
    }
    let package = package?;
    let missing = targets
        .iter()
        .find(|((_, folder), name)| !has_target(&package, folder, name));
    if let Some(((flag, _), name)) = missing {
        return Some(format!("the package has no {flag} {name}"));
    }
    filters
        .iter()
        .find_map(|filter| unmatched(&package, filter))
}

fn has_target(package: &Path, folder: &str, name: &str) -> bool {
    let within = package.join(folder);
    let named = format!("name = \"{name}\"");
    manifest(package).contains(&named)
        || within.join(name).is_dir()
        || within.join(format!("{name}.rs")).is_file()
}

/// Of names of tests such as `book::every_page`, the first part that no test has. A name in capitals stands for any; without
/// a module it may be of any.
fn unmatched(package: &Path, filter: &str) -> Option<String> {
    let (module, rest) = filter.split_once("::")?;
    if module.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let tests = package.join("tests");
    let places = [tests.clone(), tests.join("tests"), package.join("src")];
    let mut text = String::new();
    for place in places {
        gather(&place.join(format!("{module}.rs")), &mut text);
        gather(&place.join(module), &mut text);
    }
    if text.is_empty() {
        return Some(format!("there are no tests {module}::"));
    }
    let mut parts = rest.split("::").filter(|part| !part.is_empty());
    let missing = parts.find(|part| {
        !text.contains(&format!("fn {part}")) && !text.contains(&format!("mod {part}"))
    });
    missing.map(|part| format!("{module} has no {part}"))
}

/// The text of a file, or of all files of a folder.
fn gather(path: &Path, text: &mut String) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder") {
            gather(&entry.expect("it can be read").path(), text);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        text.push_str(&fs::read_to_string(path).unwrap_or_default());
    }
}
