//! What a Markdown page refers to, and what can be referred to in it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// How a page takes in a file, by mdBook's own preprocessor.
const INCLUDE: &str = "{{#include ";

/// A link or a picture.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The bytes of the whole: `[text](target)`.
    pub(crate) whole: Range<usize>,
    /// The bytes of its target.
    pub(crate) at: Range<usize>,
    /// The path before the first `#`, empty where the page itself is meant.
    pub(crate) path: String,
    /// What follows it.
    pub(crate) anchor: Option<String>,
}

/// What a page consists of, each part with its bytes.
pub(crate) fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter()
}

/// The links and pictures whose targets are no addresses of another place, those of HTML included.
pub(crate) fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for (event, whole) in events(text) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                // The last one: a picture may be the text of a link.
                let start = text[whole.clone()].rfind(&format!("]({dest_url}"));
                found.extend(start.map(|start| link(&dest_url, whole.start + start + 2, &whole)));
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                for (start, target) in sources(&html) {
                    found.push(link(target, whole.start + start, &whole));
                }
            }
            _ => {}
        }
    }
    found.retain(|link| !is_elsewhere(&text[link.at.clone()]));
    found
}

/// What HTML shows: the values of `src` and `srcset`, with their places.
fn sources(html: &str) -> impl Iterator<Item = (usize, &str)> {
    ["src=\"", "srcset=\""]
        .into_iter()
        .flat_map(move |attribute| {
            let values = html
                .match_indices(attribute)
                .map(move |(at, _)| at + attribute.len());
            values.map(|start| (start, html[start..].split('"').next().unwrap_or_default()))
        })
}

fn link(target: &str, start: usize, whole: &Range<usize>) -> Link {
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (target, None),
    };
    Link {
        at: start..start + target.len(),
        whole: whole.clone(),
        path: path.to_owned(),
        anchor,
    }
}

/// Whether a target has a scheme: `https:`, `mailto:`.
fn is_elsewhere(target: &str) -> bool {
    let scheme = target.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// The anchors of the headings, as mdBook and code hosts make them.
pub(crate) fn anchors(text: &str) -> Vec<String> {
    let (mut anchors, mut seen) = (Vec::new(), BTreeMap::<String, u32>::new());
    let mut heading: Option<String> = None;
    for (event, _) in events(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(words) = &mut heading {
                    words.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                let times = seen.entry(anchor.clone()).or_default();
                anchors.push(match *times {
                    0 => anchor,
                    times => format!("{anchor}-{times}"),
                });
                *times += 1;
            }
            _ => {}
        }
    }
    anchors
}

/// The anchor of one heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        _ if c.is_alphanumeric() || c == '_' || c == '-' => Some(c),
        _ if c.is_whitespace() => Some('-'),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// The files that a page takes in, each relative to its own folder.
pub(crate) fn includes(text: &str) -> Vec<&str> {
    let included = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix(INCLUDE));
    included
        .filter_map(|rest| rest.strip_suffix("}}"))
        .map(|named| named.split(':').next().unwrap_or(named).trim())
        .collect()
}

/// The file that a page is nothing but a copy of.
pub(crate) fn copied(text: &str) -> Option<&str> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let one = lines.next()?;
    match lines.next() {
        None => includes(one).first().copied(),
        Some(_) => None,
    }
}

/// A path as it is without `.` and `..`; `None` where it leads out of the repository.
pub(crate) fn resolved(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut whole = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::Normal(name) => whole.push(name),
            Component::ParentDir if whole.pop() => {}
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(whole)
}

/// How to get from a folder to a path, both from the root of the repository.
pub(crate) fn relative(folder: &Path, path: &Path) -> String {
    let common = folder
        .components()
        .zip(path.components())
        .take_while(|(one, other)| one == other)
        .count();
    let up = folder.components().skip(common).map(|_| "..".into());
    let down = path.components().skip(common);
    let down = down.map(|part| part.as_os_str().to_string_lossy());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_with_their_places_and_addresses_elsewhere_are_not() {
        let text =
            "| a | [b `c`](d/e.md#f-g) [x](https://example.com/#y) |\n\n![p](q.svg) [s](#t)\n";
        let found = links(text);
        let told: Vec<_> = found
            .iter()
            .map(|link| {
                (
                    &text[link.at.clone()],
                    link.path.as_str(),
                    link.anchor.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("d/e.md#f-g", "d/e.md", Some("f-g")),
                ("q.svg", "q.svg", None),
                ("#t", "", Some("t"))
            ]
        );
        assert_eq!(&text[found[1].whole.clone()], "![p](q.svg)");
    }

    #[test]
    fn pictures_of_html_are_links() {
        let text = "<picture>\n  <source srcset=\"a.png\">\n  <img alt=\"x\" src=\"b/c.png\">\n</picture>\n";
        let paths: Vec<_> = links(text).into_iter().map(|link| link.path).collect();
        assert_eq!(paths, ["a.png", "b/c.png"]);
    }

    #[test]
    fn what_is_code_is_no_link() {
        assert_eq!(links("`[a](b.md)`\n\n```\n[a](b.md)\n```\n"), []);
    }

    #[test]
    fn headings_have_the_anchors_that_readers_are_sent_to() {
        let text = "# The gateway\n## What is `L`, here?\n### gcra\n## gcra\n## 429 & 503\n";
        assert_eq!(
            anchors(text),
            [
                "the-gateway",
                "what-is-l-here",
                "gcra",
                "gcra-1",
                "429--503"
            ]
        );
    }

    #[test]
    fn a_page_that_takes_in_a_file_and_nothing_else_is_its_copy() {
        assert_eq!(copied("{{#include ../../A.md}}\n"), Some("../../A.md"));
        assert_eq!(copied("# A\n\n{{#include a.conf:3:9}}\n"), None);
        assert_eq!(includes("# A\n\n{{#include a.conf:3:9}}\n"), ["a.conf"]);
    }

    #[test]
    fn paths_are_resolved_within_the_repository_and_told_from_a_folder() {
        let folder = Path::new("docs/src/guides");
        let found = resolved(folder, "../../../SECURITY.md").unwrap();
        assert_eq!(found, Path::new("SECURITY.md"));
        assert_eq!(resolved(folder, "../../../../other"), None);
        assert_eq!(
            relative(folder, Path::new("docs/src/reference/a.md")),
            "../reference/a.md"
        );
        assert_eq!(relative(folder, &found), "../../../SECURITY.md");
        assert_eq!(relative(folder, Path::new("docs/src/guides/b.md")), "b.md");
    }
}
