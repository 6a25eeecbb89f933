//! The command lines of a page.

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

use crate::markdown::events;

/// Languages of blocks that a shell reads.
const SHELL: [&str; 4] = ["sh", "bash", "shell", "console"];

/// What a command within a sentence begins with; another span may be anything.
const PROGRAMS: [&str; 10] = [
    "cargo",
    "npx",
    "npm",
    "weir",
    "weir-agent",
    "wrangler",
    "pip",
    "docker",
    "podman",
    "kubectl",
];

/// What ends a command.
const ENDS: [&str; 6] = [";", "&&", "||", "|", "&", ";;"];

/// A command of a page.
pub(super) struct Typed {
    /// Where it stands, for people.
    pub(super) place: String,
    /// The program, and what follows it.
    pub(super) words: Vec<String>,
    /// Whether it is to be typed as it stands: one within a sentence may leave out what another one has, or stand for several.
    pub(super) whole: bool,
}

/// The commands of a line, without the variables that are set before them and without what they read and write.
fn commands(line: &str) -> Option<Vec<Vec<String>>> {
    // A command within another one is one of its own, quoted or not.
    let mut apart = line.to_owned();
    for (from, to) in [("\"$(", " ; "), (")\"", " ; "), ("$(", " ; ")] {
        apart = apart.replace(from, to);
    }
    let words = shlex::split(&apart)?;
    let words = words
        .iter()
        .map(|word| word.trim_start_matches('(').trim_end_matches(')'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    for command in words.split(|word| ENDS.contains(word)) {
        let redirected = command.iter().position(|word| word.starts_with(['>', '<']));
        let command = &command[..redirected.unwrap_or(command.len())];
        let own = command.iter().skip_while(|word| is_variable(word));
        let own: Vec<String> = own.map(|word| (*word).to_owned()).collect();
        if !own.is_empty() {
            found.push(own);
        }
    }
    Some(found)
}

fn is_variable(word: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    word.split_once('=')
        .is_some_and(|(name, _)| name.bytes().all(fits))
}

/// All commands of a page.
pub(super) fn typed(page: &str, text: &str) -> Vec<Typed> {
    let mut found = Vec::new();
    let mut shell = false;
    for (event, at) in events(text) {
        let line = || format!("{page}:{}", text[..at.start].lines().count().max(1));
        let (lines, whole) = match &event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                shell = SHELL.contains(&language.as_ref());
                continue;
            }
            Event::End(TagEnd::CodeBlock) => {
                shell = false;
                continue;
            }
            Event::Text(block) if shell => (block.replace("\\\n", " "), true),
            Event::Code(span) => (span.to_string(), false),
            _ => continue,
        };
        for one in lines.lines() {
            let commands = commands(one);
            assert!(
                commands.is_some() || !whole,
                "{}: no shell reads {one}",
                line()
            );
            let commands = commands.unwrap_or_default().into_iter();
            found.extend(
                commands
                    .filter(|words| whole || is_spoken(words))
                    .map(|words| Typed {
                        place: line(),
                        words,
                        whole,
                    }),
            );
        }
    }
    found
}

/// The comments of a configuration as a page: a line that is a command is a block of it.
pub(super) fn commented(text: &str) -> String {
    let comments = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix('#'));
    let lines = comments.map(|comment| {
        let line = comment.trim();
        let program = line.split(' ').next().unwrap_or_default();
        match PROGRAMS.contains(&program) {
            true => format!("\n```sh\n{line}\n```\n\n"),
            false => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// Whether a span within a sentence is a command.
fn is_spoken(words: &[String]) -> bool {
    words.len() > 1 && PROGRAMS.contains(&words[0].as_str())
}
