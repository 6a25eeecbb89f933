//! Which room of a crate may import which: each only those that stand before it in the table of ARCHITECTURE.md, so that
//! no two ever need each other.

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
        let room = rest.split('/').next().unwrap_or_default();
        let room = room.strip_suffix(".rs").unwrap_or(room);
        // They lead into the rooms, and nothing leads into them.
        if ["lib", "main"].contains(&room) {
            return Vec::new();
        }
        let place = |name: &str| rooms.iter().position(|room| room == name);
        let Some(own) = place(room) else {
            return vec![format!(
                "{path}: `{room}` has no place among the rooms of {DOCUMENT}"
            )];
        };
        let mut offences = Vec::new();
        for (index, line) in text.lines().enumerate() {
            for other in imported(line) {
                if other != room && place(other).is_none_or(|other| other > own) {
                    let line = index + 1;
                    offences.push(format!(
                        "{path}:{line}: `{room}` stands before `{other}` in {DOCUMENT}"
                    ));
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

/// The rooms that a line names, without those that a comment or documentation names.
fn imported(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split("crate::").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_');
        // What is named in the crate's root itself, as a type, is in no room.
        rest.get(..end.unwrap_or(rest.len()))
            .filter(|name| !name.is_empty())
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
}
