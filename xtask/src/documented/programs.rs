//! The commands of Weir's own programs, by their own parsers.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, Parser};

use super::read;
use crate::args;

/// `cargo xtask`: parsed, or looked for in its usage where a sentence names it.
pub(super) fn xtask(words: &[&str], whole: bool) -> Option<String> {
    if whole {
        let parsed = args::parse(words.iter().map(OsString::from));
        return parsed.err().map(|why| why.to_string());
    }
    used(args::USAGE, "cargo xtask", words)
}

/// The npm package's `weir`, whose own commands are run by the end-to-end tests; the others are the native program's.
pub(super) fn package(words: &[&str]) -> Option<String> {
    let main = read("package/lib/main.js");
    let (_, list) = main.split_once("const NATIVE = new Set(").expect("a list");
    let list = list.split(");").next().unwrap_or_default();
    let is_native = |word: &&str| list.contains(&format!("\"{word}\""));
    if words.first().is_some_and(is_native) {
        return weir(words, true);
    }
    let usage = main.split('`').nth(1).expect("its usage");
    used(usage, "weir", words)
}

/// What a usage does not have: the command, or a flag of it.
fn used(usage: &str, program: &str, words: &[&str]) -> Option<String> {
    let (name, rest) = words.split_first()?;
    let start = format!("{program} {name}");
    let follows = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    let lines = usage
        .lines()
        .filter(|line| line.strip_prefix(&start).is_some_and(follows));
    let lines: Vec<&str> = lines.collect();
    if lines.is_empty() {
        return Some(format!("{program} has no {name}"));
    }
    let bare = |word: &&str| word.trim_matches(['[', ']']).to_owned();
    let flags = rest.iter().map(bare).filter(|word| word.starts_with("--"));
    let unknown = flags
        .into_iter()
        .find(|flag| !lines.iter().any(|line| line.contains(flag.as_str())));
    unknown.map(|flag| format!("{start} has no {flag}"))
}

/// The native `weir`.
pub(super) fn weir(words: &[&str], whole: bool) -> Option<String> {
    if !whole {
        return named(weir_cli::options::Options::command(), words);
    }
    let typed = std::iter::once(&"weir").chain(words);
    refused(weir_cli::options::Options::try_parse_from(typed).err())
}

/// The agent; where its deployment is may stand in its environment.
pub(super) fn agent(words: &[&str]) -> Option<String> {
    let typed = ["weir-agent", "--url", "https://weir.example.com"];
    let typed = typed.iter().chain(words);
    refused(weir_agent::options::Options::try_parse_from(typed).err())
}

fn refused(error: Option<clap::Error>) -> Option<String> {
    let error = error.filter(|error| error.kind() != ErrorKind::DisplayHelp);
    error.map(|error| error.to_string())
}

/// What a sentence names that a command does not have: a command of it, or a flag.
fn named(mut command: Command, words: &[&str]) -> Option<String> {
    command.build();
    let mut within = &command;
    for word in words {
        let has = |flag: &str| {
            within
                .get_arguments()
                .any(|argument| argument.get_long() == Some(flag))
        };
        match (word.strip_prefix("--"), within.find_subcommand(word)) {
            (Some(flag), _) if !has(flag) => {
                return Some(format!("{} has no {word}", within.get_name()));
            }
            (None, Some(next)) => within = next,
            (None, None) if within.has_subcommands() => {
                return Some(format!("{} has no {word}", within.get_name()));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_hands_every_command_of_the_native_program_on_to_it() {
        let commands = weir_cli::options::Options::command();
        let names = commands.get_subcommands().map(Command::get_name);
        let names: Vec<&str> = names.filter(|name| *name != "help").collect();
        assert!(names.len() > 10, "{names:?}");
        let main = read("package/lib/main.js");
        let usage = main.split('`').nth(1).expect("its usage");
        for name in names {
            assert!(main.contains(&format!("\"{name}\"")), "{name}");
            let is_shown = |line: &str| line.split([' ', ',']).any(|word| word == name);
            assert!(usage.lines().any(is_shown), "{name} is not in the usage");
        }
    }

    #[test]
    fn a_command_of_the_package_is_its_own_or_the_native_program_s() {
        for words in [
            &["dev", "--demo"][..],
            &["validate", "policy.json"],
            &["plan", "policy.json", "--markdown"],
        ] {
            assert_eq!(package(words), None, "{words:?}");
        }
        for words in [
            &["devv"][..],
            &["dev", "--port-number"],
            &["plan", "policy.json", "--none"],
            &["validate"],
        ] {
            assert!(package(words).is_some(), "{words:?}");
        }
    }
}
