//! The documentation is true: every block of commands or code on a page is run by a test, or stands in a table with the
//! reason why it cannot be. Of what is not run, `xtask/src/documented.rs` reads each command line by the parser of its program.

mod agent;
mod examples;
mod here;
mod table;
mod wrangler;

use weir_tests::pages::{Block, blocks, blocks_of};
use weir_tests::paths::workspace;

use table::{Kept, TABLE};

/// What needs no row: policies, questions and answers are validated by `shared/tests/book/snippets.rs`; text is not run.
const NO_CODE: [&str; 5] = ["", "text", "json", "json question", "json answer"];

/// How a line begins that somebody is to type.
const PROGRAMS: [&str; 12] = [
    "cargo ",
    "npm ",
    "npx ",
    "node ",
    "weir ",
    "weir-agent ",
    "wrangler ",
    "curl ",
    "docker ",
    "podman ",
    "kubectl ",
    "pip ",
];

fn rows(block: &Block) -> impl Iterator<Item = &'static Kept> {
    let fits =
        |page: &str, beginning: &str| block.page == page && block.text.starts_with(beginning);
    TABLE
        .iter()
        .filter(move |(page, beginning, _)| fits(page, beginning))
        .map(|(_, _, kept)| kept)
}

/// What is wrong with a row: a test that is not there, or knows nothing of the page.
fn fault(page: &str, kept: &Kept) -> Option<String> {
    let (file, test) = match kept {
        Kept::By { file, test } => (file, test),
        Kept::Here { .. } => return None,
        Kept::Read(why) => {
            println!("not run: {page}: {why}");
            return None;
        }
    };
    let Ok(source) = std::fs::read_to_string(workspace().join(file)) else {
        return Some(format!("there is no {file}"));
    };
    if !source.contains(&format!("fn {test}(")) {
        return Some(format!("{file} has no test {test}"));
    }
    let takes_it = source.contains(page);
    (!takes_it).then(|| format!("{file} does not read {page}"))
}

#[test]
fn every_block_of_commands_or_code_is_run_or_says_why_it_cannot_be() {
    let code = blocks();
    let code: Vec<_> = code
        .iter()
        .filter(|block| !NO_CODE.contains(&block.language.as_str()))
        .collect();
    assert!(code.len() > 50, "{} were found", code.len());
    let mut faults = Vec::new();
    for block in &code {
        match rows(block).count() {
            1 => {}
            count => faults.push(format!(
                "{}: {count} rows of the table are about:\n{}",
                block.place(),
                block.text
            )),
        }
    }
    for (page, beginning, kept) in TABLE {
        let shown = code
            .iter()
            .filter(|block| block.page == page && block.text.starts_with(beginning));
        if shown.count() != 1 {
            faults.push(format!(
                "{page} shows no block that begins with {beginning:?}"
            ));
        }
        faults.extend(fault(page, &kept));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The control: such a block would need no row.
#[test]
fn what_is_said_to_be_text_is_nothing_to_type() {
    let typed = |line: &&str| PROGRAMS.iter().any(|program| line.starts_with(program));
    for block in blocks() {
        if NO_CODE.contains(&block.language.as_str()) {
            let line = block.text.lines().find(typed);
            assert_eq!(line, None, "{}", block.place());
        }
    }
}

#[test]
fn a_command_is_what_a_shell_would_run_without_comments_and_in_one_line() {
    let page = "text\n```sh\n# both\nnpm ci   # once\ncurl a \\\n  -d '#1'\n```\n";
    let blocks = blocks_of("a.md", page);
    assert_eq!(blocks.len(), 1);
    assert_eq!((blocks[0].line, blocks[0].language.as_str()), (2, "sh"));
    assert_eq!(blocks[0].commands(), ["npm ci", "curl a   -d '#1'"]);
}
