//! The pages of the repository, and the blocks of code on them.

use std::fs;
use std::path::Path;

use crate::paths::workspace;

/// Where pages are: folders with all that is below them, and the root with its own alone.
const FOLDERS: [&str; 6] = [
    "docs/src",
    "clients",
    "examples",
    "package",
    "deploy",
    "dashboards",
];

/// What is installed there, or written by a build.
const NOT_OURS: [&str; 5] = ["node_modules", "dist", "build", "target", ".venv"];

/// A block of code as a page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The page, from the root of the repository.
    pub page: String,
    /// The line of its fence.
    pub line: usize,
    /// What follows the fence; empty where nothing does.
    pub language: String,
    /// Its lines, each with its end.
    pub text: String,
}

impl Block {
    /// Commands of a shell: logical lines without comments, each with all that it goes on with.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let whole = self.text.replace("\\\n", "");
        let lines = whole.lines().map(|line| match line.strip_prefix('#') {
            Some(_) => "",
            None => line.split(" #").next().unwrap_or_default().trim(),
        });
        lines
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Where it stands, for people.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }
}

/// The blocks of a page with that text.
#[must_use]
pub fn blocks_of(page: &str, text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        match (open, line.trim_start().strip_prefix("```")) {
            (true, Some(_)) => open = false,
            (false, Some(language)) => {
                open = true;
                found.push(Block {
                    page: page.to_owned(),
                    line: at + 1,
                    language: language.trim().to_owned(),
                    text: String::new(),
                });
            }
            (true, None) => {
                let block = found.last_mut().expect("one is open");
                block.text.push_str(line);
                block.text.push('\n');
            }
            (false, None) => {}
        }
    }
    found
}

/// All blocks of all pages, page by page.
///
/// # Panics
/// When a page cannot be read.
#[must_use]
pub fn blocks() -> Vec<Block> {
    let root = workspace();
    let mut pages = Vec::new();
    collect(&root, &root, false, &mut pages);
    for folder in FOLDERS {
        collect(&root, &root.join(folder), true, &mut pages);
    }
    pages.sort();
    pages
        .iter()
        .flat_map(|page| {
            blocks_of(
                page,
                &fs::read_to_string(root.join(page)).expect("a page is text"),
            )
        })
        .collect()
}

fn collect(root: &Path, folder: &Path, deep: bool, pages: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder of pages") {
        let path = entry.expect("it can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if deep && !NOT_OURS.contains(&name.as_ref()) {
                collect(root, &path, deep, pages);
            }
        } else if name.ends_with(".md") {
            let page = path.strip_prefix(root).expect("it is below the root");
            pages.push(page.display().to_string());
        }
    }
}

/// The block of a page that begins so.
///
/// # Panics
/// When none does, or more than one.
#[must_use]
pub fn block(page: &str, beginning: &str) -> Block {
    let found = blocks();
    let mut found = found
        .into_iter()
        .filter(|block| block.page == page && block.text.starts_with(beginning));
    let only = found
        .next()
        .unwrap_or_else(|| panic!("{page} has no block that begins with {beginning:?}"));
    assert_eq!(found.next(), None, "{page}: two begin with {beginning:?}");
    only
}
