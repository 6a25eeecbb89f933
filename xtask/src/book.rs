//! `book`: the documentation as a site, by mdBook; `book-check` looks at it in a browser (`tests/tests/book.rs`).

mod pages;

use std::io::{Write, stdin, stdout};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::{paths, process, progress, setup, test, tools};

/// The folder with the settings of the book.
const BOOK: &str = "docs";

/// Where the site is made, as those settings say.
const SITE: &str = "target/book";

/// Makes the site. Fails if mdBook warns of anything.
pub(crate) fn run() -> Result<()> {
    tools::ensure(&[&tools::MDBOOK])?;
    let mut mdbook = Command::new(tools::MDBOOK.bin()?.join("mdbook"));
    mdbook.current_dir(paths::root()).args(["build", BOOK]);
    let output = mdbook.output().context("running mdbook")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let faults: Vec<&str> = said.lines().filter(|line| is_a_fault(line)).collect();
    if !output.status.success() || !faults.is_empty() {
        bail!("the book has faults:\n{said}");
    }
    progress::note(&format!("made {SITE}/index.html"));
    Ok(())
}

/// Makes the site and looks at each of its pages.
pub(crate) fn check() -> Result<ExitCode> {
    run()?;
    let mut tests = test::end_to_end_of(setup::for_pages()?, "book")?;
    tests.arg("--ignore-default-filter");
    process::end(&mut tests)
}

fn is_a_fault(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.any(|word| matches!(word, "WARN" | "ERROR"))
}

/// What mdBook calls: links to files of the repository become links to pages of the book.
pub(crate) fn preprocess() -> Result<()> {
    let book = pages::rewritten(&std::io::read_to_string(stdin())?)?;
    stdout().write_all(book.as_bytes())?;
    Ok(())
}

/// What is written in the settings, for mdBook to call.
#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> toml::Table {
        let text = std::fs::read_to_string(paths::root().join(BOOK).join("book.toml")).unwrap();
        text.parse().unwrap()
    }

    #[test]
    fn mdbook_calls_what_rewrites_the_links_and_makes_the_site_where_it_is_told() {
        let settings = settings();
        let called = settings["preprocessor"]["pages"]["command"].as_str();
        assert_eq!(called, Some("cargo xtask book-pages"));
        let place = settings["build"]["build-dir"].as_str().unwrap();
        assert_eq!(format!("../{SITE}"), place);
    }

    #[test]
    fn warnings_of_mdbook_are_faults() {
        assert!(is_a_fault(" WARN unclosed HTML tag `<b>` found"));
        assert!(!is_a_fault(" INFO Running the html backend"));
    }
}
