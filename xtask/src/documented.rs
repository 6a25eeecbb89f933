//! What the pages tell readers to type: each command line, in a block or within a sentence, is one that its program takes,
//! and names packages, tests, files and secrets that are there. What can be run, `tests/tests/documented` runs.

mod cargo;
mod programs;
mod typed;

use std::fs;

use crate::{paths, repository, settings};
use typed::{Typed, commented, typed};

/// What was right when it was written.
const HISTORY: &str = "CHANGELOG.md";

/// Folders at the root: a word that begins with one of them is a path.
const FOLDERS: [&str; 14] = [
    "agent",
    "cli",
    "clients",
    "console",
    "dashboards",
    "deploy",
    "docs",
    "edge",
    "examples",
    "fuzz",
    "package",
    "shared",
    "tests",
    "xtask",
];

fn read(path: &str) -> String {
    fs::read_to_string(paths::root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Configurations that say in comments how they are used.
const CONFIGURATIONS: [&str; 2] = ["deploy/", "examples/"];

/// Every page with its text, and every configuration with its comments.
fn pages() -> Vec<(String, String)> {
    let files = repository::files().unwrap().into_iter();
    let there = files.filter(|path| path != HISTORY && paths::root().join(path).is_file());
    let pages = there.filter_map(|path| {
        if path.ends_with(".md") {
            let text = read(&path);
            return Some((path, text));
        }
        let configures = CONFIGURATIONS.iter().any(|folder| path.starts_with(folder));
        configures.then(|| (path.clone(), commented(&read(&path))))
    });
    pages.collect()
}

/// A path of the repository that is not there.
fn missing_path(word: &str) -> Option<String> {
    let path = word.rsplit('=').next().unwrap_or(word);
    let path = path.trim_start_matches("./");
    let (folder, _) = path.split_once('/')?;
    let ours = FOLDERS.contains(&folder) && !path.contains("::");
    (ours && !paths::root().join(path).exists()).then(|| format!("there is no {path}"))
}

/// A file or an image of Weir in another version than this one.
fn other_version(word: &str) -> Option<String> {
    let named = ["weir-", "weir:"]
        .iter()
        .find_map(|name| word.split_once(name));
    let (_, version) = named?;
    let numbered = version.starts_with(|first: char| first.is_ascii_digit());
    let own = version.trim_end_matches(".tgz") == env!("CARGO_PKG_VERSION");
    (numbered && !own).then(|| format!("{word} is not of version {}", env!("CARGO_PKG_VERSION")))
}

/// A secret that nothing asks for: neither the Worker, nor a policy on a page, nor an example.
fn idle_secret(words: &[&str], texts: &[(String, String)]) -> Option<String> {
    let ["wrangler", "secret", "put", name, ..] = words else {
        return None;
    };
    let example = read("examples/service-binding/src/index.ts");
    let by_a_policy = format!("\"secret\": \"{name}\"");
    let known = *name == "NAME"
        || settings::read_by_the_code().contains(*name)
        || texts.iter().any(|(_, text)| text.contains(&by_a_policy))
        || example.contains(*name);
    (!known).then(|| format!("nothing reads the secret {name}"))
}

/// What is wrong with a command.
fn fault(typed: &Typed, texts: &[(String, String)]) -> Option<String> {
    let words: Vec<&str> = typed.words.iter().map(String::as_str).collect();
    let of_npm = words.strip_prefix(&["npx"]).unwrap_or(&words);
    let by_program = match of_npm {
        ["cargo", "xtask", rest @ ..] => programs::xtask(rest, typed.whole),
        ["cargo", "test" | "bench" | "build" | "run", rest @ ..]
        | ["cargo", "nextest", "run", rest @ ..] => cargo::fault(rest),
        ["weir", "dev" | "init" | "serve" | "check" | "--version", ..] => {
            programs::package(&of_npm[1..])
        }
        ["weir", rest @ ..] if of_npm.len() == words.len() => programs::weir(rest, typed.whole),
        ["weir-agent" | "target/native/weir-agent", rest @ ..] => programs::agent(rest),
        _ => None,
    };
    by_program
        .or_else(|| {
            words
                .iter()
                .find_map(|word| missing_path(word).or_else(|| other_version(word)))
        })
        .or_else(|| idle_secret(of_npm, texts))
}

#[test]
fn every_command_that_a_page_shows_is_one_that_its_program_takes() {
    let texts = pages();
    let (mut read, mut faults) = (0, Vec::new());
    for (page, text) in &texts {
        for typed in typed(page, text) {
            read += 1;
            if let Some(why) = fault(&typed, &texts) {
                faults.push(format!("{}: {}: {why}", typed.place, typed.words.join(" ")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(read > 200, "{read} were read");
}

#[test]
fn a_command_in_a_comment_of_a_configuration_is_read_as_one_in_a_block() {
    let text = "# To build:\n#   cargo xtask package\nimage: weir   # `weir plan a`\n";
    let found = typed("compose.yaml", &commented(text));
    let told: Vec<_> = found
        .iter()
        .map(|one| (one.words.join(" "), one.whole))
        .collect();
    assert_eq!(told, [("cargo xtask package".to_owned(), true)]);
}

/// The control: each kind of mistake is found.
#[test]
fn a_command_that_its_program_does_not_take_is_told() {
    for (line, told) in [
        ("cargo xtask tset", "unknown command"),
        ("cargo xtask test --quickly", "--quickly"),
        ("weir plan", "FILE"),
        ("weir plan p.json --markup", "--markup"),
        ("weir token create a --role king", "king"),
        ("weir-agent --port 1", "--port"),
        ("npx weir dev --fast", "--fast"),
        ("cargo test -p weir-none", "weir-none"),
        ("cargo build --profile none -p weir-cli", "none"),
        ("cargo test -p weir-shared --test none", "none"),
        (
            "cargo test -p weir-shared --test promises nowhere::",
            "nowhere",
        ),
        (
            "cargo test -p weir-shared --test promises book::no_such",
            "no_such",
        ),
        (
            "podman build --file deploy/Dockerfile .",
            "deploy/Dockerfile",
        ),
        ("npm install ./weir-9.9.9.tgz", "9.9.9"),
        ("npx wrangler secret put UNREAD_KEY", "UNREAD_KEY"),
        ("A=1 weir plan && b", "FILE"),
        ("echo \"$(cargo xtask tset)\"", "unknown command"),
    ] {
        let page = format!("```sh\n{line}\n```\n");
        let found = typed("page.md", &page).into_iter();
        let faults: Vec<String> = found.filter_map(|typed| fault(&typed, &[])).collect();
        let faults = faults.join("\n");
        assert!(faults.contains(told), "{line}: {faults:?}");
    }
}
