//! Links of the repository as links of the book. Pages link as files of the repository do, and some are copies of files
//! elsewhere in it: in the site a link leads to the page that a file has, and is its bare text where there is none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::markdown::{copied, links, relative, resolved};
use crate::paths;

/// The folder of the pages.
pub(crate) const SOURCES: &str = "docs/src";

/// The book that mdBook gives to a preprocessor (`[context, book]`), with its links rewritten.
pub(super) fn rewritten(input: &str) -> Result<String> {
    let (_, mut book): (Value, Value) =
        serde_json::from_str(input).context("mdBook gives the book as JSON")?;
    let mut pages = Pages::default();
    each_chapter(&mut book, &mut |chapter| pages.add(chapter))?;
    each_chapter(&mut book, &mut |chapter| pages.rewrite(chapter))?;
    Ok(book.to_string())
}

/// Calls with each chapter, in whatever it is nested.
fn each_chapter(value: &mut Value, call: &mut dyn FnMut(&mut Value) -> Result<()>) -> Result<()> {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                if name == "Chapter" {
                    call(inner)?;
                }
                each_chapter(inner, call)?;
            }
        }
        Value::Array(items) => {
            for item in items {
                each_chapter(item, call)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The pages by the files that they show.
#[derive(Default)]
struct Pages {
    page_of: BTreeMap<PathBuf, PathBuf>,
    /// The file that a page is a copy of.
    copy_of: BTreeMap<PathBuf, PathBuf>,
}

fn page(chapter: &Value) -> Option<PathBuf> {
    let path = chapter["source_path"].as_str()?;
    Some(Path::new(SOURCES).join(path))
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

impl Pages {
    fn add(&mut self, chapter: &Value) -> Result<()> {
        let Some(page) = page(chapter) else {
            return Ok(());
        };
        let text = fs::read_to_string(paths::root().join(&page))
            .with_context(|| format!("reading {}", page.display()))?;
        if let Some(file) = copied(&text).and_then(|file| resolved(folder(&page), file)) {
            self.page_of.insert(file.clone(), page.clone());
            self.copy_of.insert(page.clone(), file);
        }
        self.page_of.insert(page.clone(), page);
        Ok(())
    }

    fn rewrite(&self, chapter: &mut Value) -> Result<()> {
        let Some(page) = page(chapter) else {
            return Ok(());
        };
        let content = chapter["content"].as_str().context("a chapter is text")?;
        chapter["content"] = self.text(&page, content).into();
        Ok(())
    }

    fn text(&self, page: &Path, content: &str) -> String {
        // What a copy says is said from where the file is.
        let from = folder(self.copy_of.get(page).map_or(page, PathBuf::as_path));
        let mut text = content.to_owned();
        for link in links(content)
            .iter()
            .rev()
            .filter(|link| !link.path.is_empty())
        {
            let Some(file) = resolved(from, &link.path) else {
                continue;
            };
            let anchor = link.anchor.as_ref().map(|anchor| format!("#{anchor}"));
            match self.page_of.get(&file) {
                Some(other) => {
                    let target = relative(folder(page), other) + &anchor.unwrap_or_default();
                    text.replace_range(link.at.clone(), &target);
                }
                None if file.starts_with(SOURCES) => {
                    let target = relative(folder(page), &file) + &anchor.unwrap_or_default();
                    text.replace_range(link.at.clone(), &target);
                }
                None => {
                    let bare = &content[link.whole.start + 1..link.at.start - 2];
                    text.replace_range(link.whole.clone(), bare);
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Pages {
        let pair = |one: &str, other: &str| (PathBuf::from(one), PathBuf::from(other));
        let security = "docs/src/project/security.md";
        let gateway = "docs/src/reference/gateway.md";
        Pages {
            page_of: BTreeMap::from([
                pair("SECURITY.md", security),
                pair(security, security),
                pair(gateway, gateway),
            ]),
            copy_of: BTreeMap::from([pair(security, "SECURITY.md")]),
        }
    }

    fn check(page: &str, text: &str, expected: &str) {
        assert_eq!(pages().text(Path::new(page), text), expected);
    }

    #[test]
    fn a_link_leads_to_the_page_that_shows_the_file() {
        let page = "docs/src/reference/gateway.md";
        check(
            page,
            "[a](../../../SECURITY.md#b)",
            "[a](../project/security.md#b)",
        );
        check(
            page,
            "[a](#b) ![p](../img/p.svg)",
            "[a](#b) ![p](../img/p.svg)",
        );
    }

    #[test]
    fn a_copy_links_from_where_its_file_is() {
        let page = "docs/src/project/security.md";
        check(
            page,
            "[a](docs/src/reference/gateway.md)",
            "[a](../reference/gateway.md)",
        );
    }

    #[test]
    fn a_file_without_a_page_is_told_by_its_text() {
        let page = "docs/src/reference/gateway.md";
        check(
            page,
            "see [`policy.json`](../../../policy.json).",
            "see `policy.json`.",
        );
    }

    #[test]
    fn chapters_are_found_in_chapters() {
        let book = serde_json::json!({ "items": [{ "Chapter": {
            "content": "", "source_path": null, "sub_items": [{ "Chapter": { "content": "", "source_path": null } }],
        } }] });
        let mut found = 0;
        let mut count = |_: &mut Value| {
            found += 1;
            Ok(())
        };
        each_chapter(&mut book.clone(), &mut count).unwrap();
        assert_eq!(found, 2);
        let input = serde_json::json!([{}, book]).to_string();
        assert_eq!(rewritten(&input).unwrap(), book.to_string());
    }
}
