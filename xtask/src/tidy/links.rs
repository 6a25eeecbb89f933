//! What the pages of the repository refer to is there: files, headings, what a page takes in; and every page of the book is
//! in its list.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::markdown::{anchors, includes, links, resolved};

/// The folder of the book's pages, and the list of them.
const BOOK: &str = "docs/src";
const SUMMARY: &str = "docs/src/SUMMARY.md";

/// Every Markdown file, and whatever else there is to refer to.
pub(super) struct Pages<'a> {
    texts: BTreeMap<PathBuf, &'a str>,
    there: BTreeSet<PathBuf>,
}

impl<'a> Pages<'a> {
    /// Of all files with the texts that they have, by their paths.
    pub(super) fn of(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let (mut texts, mut there) = (BTreeMap::new(), BTreeSet::new());
        for (path, text) in files {
            there.extend(Path::new(path).ancestors().map(Path::to_owned));
            if path.ends_with(".md") {
                texts.insert(PathBuf::from(path), text);
            }
        }
        Self { texts, there }
    }

    /// What leads nowhere.
    pub(super) fn check(&self) -> Vec<String> {
        let mut offences = Vec::new();
        for (page, text) in &self.texts {
            let shown = page.display();
            for link in links(text) {
                if let Some(reason) = self.fault(page, &link.path, link.anchor.as_deref()) {
                    let line = text[..link.at.start].lines().count();
                    offences.push(format!("{shown}:{line}: {reason}"));
                }
            }
            for file in includes(text) {
                if self.found(page, file).is_none() {
                    offences.push(format!("{shown}: takes in {file}, which is not there"));
                }
            }
        }
        offences.extend(self.unlisted());
        offences
    }

    fn fault(&self, page: &Path, path: &str, anchor: Option<&str>) -> Option<String> {
        let target = match path {
            "" => page.to_owned(),
            path => match self.found(page, path) {
                Some(target) => target,
                None => return Some(format!("{path} is not there")),
            },
        };
        let anchor = anchor?;
        let known = self.anchors(&target).contains(anchor);
        (!known).then(|| format!("{} has no heading #{anchor}", target.display()))
    }

    fn found(&self, page: &Path, path: &str) -> Option<PathBuf> {
        let target = resolved(page.parent()?, path)?;
        self.there.contains(&target).then_some(target)
    }

    /// The anchors of a page, those of what it takes in included.
    fn anchors(&self, page: &Path) -> BTreeSet<String> {
        let Some(text) = self.texts.get(page) else {
            return BTreeSet::new();
        };
        let included = includes(text).into_iter();
        let included = included.filter_map(|file| self.found(page, file));
        let taken_in = included.flat_map(|file| self.anchors(&file));
        anchors(text).into_iter().chain(taken_in).collect()
    }

    /// Pages of the book that no reader finds.
    fn unlisted(&self) -> Vec<String> {
        let Some(summary) = self.texts.get(Path::new(SUMMARY)) else {
            return Vec::new();
        };
        let links = links(summary);
        let listed: BTreeSet<PathBuf> = links
            .iter()
            .filter_map(|link| resolved(Path::new(BOOK), &link.path))
            .collect();
        let pages = self.texts.keys().filter(|page| page.starts_with(BOOK));
        let unlisted = pages.filter(|page| *page != Path::new(SUMMARY) && !listed.contains(*page));
        unlisted
            .map(|page| format!("{SUMMARY}: {} is not listed", page.display()))
            .collect()
    }
}

/// The pages of the book that comments name.
pub(super) fn named(text: &str) -> impl Iterator<Item = &str> {
    let comments = text
        .lines()
        .filter(|line| line.trim_start().starts_with("//"));
    let words = comments
        .flat_map(|line| line.split(|c: char| !(c.is_ascii_alphanumeric() || "/_.-".contains(c))));
    let pages = words.filter(|word| word.starts_with("docs/src/"));
    pages
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| word.ends_with(".md"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        assert_eq!(Pages::of(files.iter().copied()).check(), expected);
    }

    #[test]
    fn links_to_files_folders_and_headings_that_are_there_pass() {
        check(
            &[
                (
                    "a.md",
                    "# A b\n[x](docs/c.md#c) [y](docs) [z](#a-b)\n[j](docs/d.json)",
                ),
                ("docs/c.md", "# C\n[up](../a.md#a-b)"),
                ("docs/d.json", "{}"),
            ],
            &[],
        );
    }

    #[test]
    fn what_leads_nowhere_is_told_with_its_line() {
        check(
            &[("a.md", "# A\n\n[x](b.md)\n[y](#c)\n[z](../out.md)\n")],
            &[
                "a.md:3: b.md is not there",
                "a.md:4: a.md has no heading #c",
                "a.md:5: ../out.md is not there",
            ],
        );
    }

    #[test]
    fn a_page_has_the_headings_of_what_it_takes_in() {
        let files = [
            ("docs/src/SUMMARY.md", "[s](s.md)"),
            ("docs/src/s.md", "{{#include ../../S.md}}"),
            ("S.md", "# T\n[t](docs/src/s.md#t)\n"),
        ];
        check(&files, &[]);
        check(
            &[("a.md", "{{#include no.md}}")],
            &["a.md: takes in no.md, which is not there"],
        );
    }

    #[test]
    fn every_page_of_the_book_is_listed() {
        check(
            &[
                ("docs/src/SUMMARY.md", "[a](a.md)"),
                ("docs/src/a.md", ""),
                ("docs/src/b.md", ""),
            ],
            &["docs/src/SUMMARY.md: docs/src/b.md is not listed"],
        );
    }

    #[test]
    fn pages_that_comments_name_are_found() {
        let text = "//! See `docs/src/a/b.md`, docs/src/c.md. Not docs/book.toml.\nlet x = \"docs/src/d.md\";";
        assert_eq!(
            named(text).collect::<Vec<_>>(),
            ["docs/src/a/b.md", "docs/src/c.md"]
        );
    }
}
