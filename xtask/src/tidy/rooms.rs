//! Which room of a crate may import which: each only those that stand before it in the table of ARCHITECTURE.md, so that
//! no two ever need each other. And what a feature shows is worked out without its view.

use std::collections::BTreeMap;

/// The document that has the table.
pub(super) const DOCUMENT: &str = "ARCHITECTURE.md";

/// The heading above the table.
const HEADING: &str = "## Rooms";

/// The rooms of each crate, by its folder, in their order.
pub(super) struct Rooms(BTreeMap<String, Vec<String>>);

impl Rooms {
    /// The table: a row has the crate and some of its rooms, each in backticks.
    pub(super) fn read(document: &str) -> Self {
        let section = document.split_once(HEADING).map_or("", |(_, rest)| rest);
        let section = section.split("\n## ").next().unwrap_or_default();
        let mut rooms: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in section.lines().filter(|line| line.starts_with("| `")) {
            let mut names = line.split('`').skip(1).step_by(2).map(str::to_owned);
            if let Some(name) = names.next() {
                rooms.entry(name).or_default().extend(names);
            }
        }
        Self(rooms)
    }

    /// What is wrong with the imports of a file, each with its line; nothing for files of no crate of the table.
    pub(super) fn check(&self, path: &str, text: &str) -> Vec<String> {
        let Some((folder, rooms)) = self.0.iter().find(|(name, _)| is_source(path, name)) else {
            return Vec::new();
        };
        let rest = &path[folder.len() + "/src/".len()..];
        let rest = rest.strip_suffix(".rs").unwrap_or(rest);
        let segments: Vec<&str> = rest.split('/').collect();
        let room = room_of(rooms, &segments);
        // They lead into the rooms, and nothing leads into them.
        if ["lib", "main"].contains(&&*room) || is_divided(rooms, &room) {
            return Vec::new();
        }
        let place = |name: &str| rooms.iter().position(|room| room == name);
        let Some(own) = place(&room) else {
            return vec![format!(
                "{path}: `{room}` has no place among the rooms of {DOCUMENT}"
            )];
        };
        let code = without_comments(text);
        let mut offences = Vec::new();
        for (line, imported) in imported(&code) {
            let other = room_of(rooms, &imported);
            if other != room && place(&other).is_none_or(|other| other > own) {
                offences.push(format!(
                    "{path}:{line}: `{room}` stands before `{other}` in {DOCUMENT}"
                ));
            }
        }
        // What is shown is worked out without what shows it.
        if room.contains('/') && segments.get(2) == Some(&"model") {
            for (index, line) in code.lines().enumerate() {
                if names(line, "view") {
                    let line = index + 1;
                    offences.push(format!("{path}:{line}: a `model` may not name a `view`"));
                }
            }
        }
        offences
    }
}

fn is_source(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    path.ends_with(".rs") && rest.is_some_and(|rest| rest.starts_with("/src/"))
}

/// Whether the rooms of a folder have places of their own, as `features/tenant` in `features`.
fn is_divided(rooms: &[String], folder: &str) -> bool {
    let mut parts = rooms.iter().filter_map(|room| room.strip_prefix(folder));
    parts.any(|rest| rest.starts_with('/'))
}

/// The room that a path lies in: its first segment, or its first two where the rooms of a folder have places of their own.
fn room_of(rooms: &[String], segments: &[&str]) -> String {
    match *segments {
        [folder, room, ..] if is_divided(rooms, folder) => format!("{folder}/{room}"),
        [room, ..] => room.to_owned(),
        [] => String::new(),
    }
}

/// The text line by line, without what comments and documentation say.
fn without_comments(text: &str) -> String {
    let code = |line: &'_ str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    text.lines().map(code).collect()
}

/// The beginnings of the paths that code names after `crate::`, each with its line: one path, or a group of them, which may
/// go over several lines.
fn imported(code: &str) -> Vec<(usize, Vec<&str>)> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices("crate::") {
        tree(code, start + "crate::".len(), &[], &mut found);
    }
    found.retain(|(_, path)| !path.is_empty());
    found
}

/// Reads a path or a group of paths from a place on, each below `above`; gives the place behind it.
fn tree<'a>(
    code: &'a str,
    mut at: usize,
    above: &[&'a str],
    found: &mut Vec<(usize, Vec<&'a str>)>,
) -> usize {
    let mut path = above.to_vec();
    let begun = at;
    loop {
        let name = name(&code[at..]);
        // What begins with a capital, as a type, is in no room; what is named in the crate's root itself is in none either.
        if name.is_empty() || !name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') {
            at += name.len();
            break;
        }
        path.push(name);
        at += name.len();
        match code[at..].strip_prefix("::") {
            Some(_) => at += "::".len(),
            None => break,
        }
    }
    if !code[at..].starts_with('{') {
        // A group names what it stands in by `self`.
        path.retain(|name| *name != "self");
        found.push((code[..begun].matches('\n').count() + 1, path));
        return at;
    }
    at += 1;
    loop {
        at += spaces(&code[at..]);
        match code[at..].chars().next() {
            None => return at,
            Some('}') => return at + 1,
            Some(c) if c.is_alphabetic() || c == '_' || c == '{' => {
                at = tree(code, at, &path, found);
                // `as` and the other name.
                at += code[at..].find([',', '}']).unwrap_or(code.len() - at);
            }
            Some(c) => at += c.len_utf8(),
        }
    }
}

fn name(code: &str) -> &str {
    let end = code.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &code[..end.unwrap_or(code.len())]
}

fn spaces(code: &str) -> usize {
    code.len() - code.trim_start().len()
}

/// Whether a line has a word as a segment of a path.
fn names(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let (before, after) = (&line[..start], &line[start + word.len()..]);
        let in_path =
            before.ends_with("::") || before.ends_with(['{', ' ', ',']) || before.is_empty();
        let ends = !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        in_path && ends && (before.ends_with("::") || after.starts_with("::"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "## Rooms\n\n| crate | rooms |\n| --- | --- |\n| `shared` | `units` `wire` |\n\
         | `shared` | `policy` |\n\n## Other\n\n| `shared` | `none` |\n";

    #[test]
    fn a_room_imports_only_what_stands_before_it() {
        let rooms = Rooms::read(TABLE);
        let check = |path: &str, text: &str| rooms.check(path, text).len();
        assert_eq!(
            check(
                "shared/src/policy/tenant.rs",
                "use crate::wire::policy::Named;"
            ),
            0
        );
        assert_eq!(
            check("shared/src/policy.rs", "use crate::policy::tenant::Named;"),
            0
        );
        assert_eq!(
            check(
                "shared/src/wire/tenant.rs",
                "use crate::units::EpochMs;\nuse crate::policy::Named;"
            ),
            1
        );
        assert_eq!(
            check(
                "shared/src/units.rs",
                "let one = crate::wire::One(crate::policy::Two);"
            ),
            2
        );
        assert_eq!(
            check("shared/src/units.rs", "/// See [`crate::wire::One`]."),
            0
        );
    }

    #[test]
    fn a_room_without_a_place_is_found() {
        let rooms = Rooms::read(TABLE);
        assert_eq!(rooms.check("shared/src/none/one.rs", "").len(), 1);
        assert_eq!(
            rooms
                .check("shared/src/wire/one.rs", "use crate::none::One;")
                .len(),
            1
        );
        for elsewhere in [
            "shared/src/lib.rs",
            "shared/tests/none.rs",
            "edge/src/none.rs",
        ] {
            assert_eq!(
                rooms.check(elsewhere, "use crate::none::One;").len(),
                0,
                "{elsewhere}"
            );
        }
    }

    const FEATURES: &str =
        "## Rooms\n\n| `console` | `api` `features/one` `features/two` `app` |\n";

    #[test]
    fn a_room_of_a_folder_is_a_room_of_its_own() {
        let rooms = Rooms::read(FEATURES);
        let check = |path: &str, text: &str| rooms.check(path, text).len();
        let (one, two) = (
            "use crate::features::one::model::A;",
            "use crate::features::two::view::A;",
        );
        for (path, text, offences) in [
            ("console/src/features/two.rs", one, 0),
            ("console/src/features/two/view/page.rs", one, 0),
            ("console/src/features/one/view.rs", two, 1),
            ("console/src/features/one/view.rs", one, 0),
            ("console/src/api.rs", one, 1),
            ("console/src/app.rs", two, 0),
            ("console/src/features/one.rs", "use crate::app::A;", 1),
            ("console/src/features.rs", "pub mod one;", 0),
            ("console/src/features/three/view.rs", "", 1),
            (
                "console/src/features/two.rs",
                "use crate::features::three::A;",
                1,
            ),
            (
                "console/src/features/one.rs",
                "use crate::features::{one::A, two::B};",
                1,
            ),
        ] {
            assert_eq!(check(path, text), offences, "{path}: {text}");
        }
    }

    #[test]
    fn imports_in_groups_are_read_over_several_lines() {
        let rooms = Rooms::read(TABLE);
        let check = |text: &str| rooms.check("shared/src/units.rs", text);
        assert_eq!(check("use crate::{units::A, units::{B, C}};").len(), 0);
        assert_eq!(check("use crate::{units::A, wire::B, policy};").len(), 2);
        let lines = "use crate::{\n    units::{self, A as B},\n    // wire::C,\n    wire::{\n        policy::D,\n    },\n};\n";
        let offences = check(lines);
        assert_eq!(offences.len(), 1, "{offences:?}");
        assert!(
            offences[0].starts_with("shared/src/units.rs:5:"),
            "{offences:?}"
        );
        assert_eq!(
            check("use crate::{One, units as two}; use crate::Three;").len(),
            0
        );
    }

    #[test]
    fn a_model_does_not_name_a_view() {
        let rooms = Rooms::read(FEATURES);
        let check = |path: &str, text: &str| rooms.check(path, text).len();
        let model = "console/src/features/two/model/rows.rs";
        for text in [
            "use crate::features::two::view::A;",
            "use super::super::view::A;",
            "use crate::features::one::{model::B, view::A};",
            "use super::super::view;",
        ] {
            assert_eq!(check(model, text), 1, "{text}");
        }
        for text in [
            "let view = 1;",
            "//! Beside `view::A`.",
            "fn preview() {}",
            "view.one::<A>()",
        ] {
            assert_eq!(check(model, text), 0, "{text}");
        }
        assert_eq!(
            check("console/src/features/two/model.rs", "use super::view::A;"),
            1
        );
        assert_eq!(
            check("console/src/features/two/view.rs", "use super::view::A;"),
            0
        );
    }
}
