//! Which crate of the core may need which: each only those that stand before it in the table of ARCHITECTURE.md.

/// The heading above the table.
const HEADING: &str = "## Crates of the core";

/// The crates of the core, in the order of the table.
pub(super) struct Order(Vec<String>);

impl Order {
    /// The table: a row begins with the crate's folder, in backticks.
    pub(super) fn read(document: &str) -> Self {
        let section = document.split_once(HEADING).map_or("", |(_, rest)| rest);
        let section = section.split("\n## ").next().unwrap_or_default();
        let rows = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `shared/"));
        let names = rows.filter_map(|row| row.split('`').next());
        Self(names.map(str::to_owned).collect())
    }

    /// What is wrong with what a manifest needs; nothing for others than those of the crates in `shared`.
    pub(super) fn check(&self, path: &str, text: &str) -> Vec<String> {
        let folder = path
            .strip_prefix("shared/")
            .and_then(|rest| rest.strip_suffix("/Cargo.toml"));
        let Some(name) = folder else {
            return Vec::new();
        };
        let Some(own) = self.place(name) else {
            return vec![format!("{path}: `shared/{name}` has no place in the table")];
        };
        let needed = text.lines().enumerate().filter_map(|(index, line)| {
            let rest = line.strip_prefix("weir-")?;
            Some((index + 1, rest.split([' ', '.', '=']).next()?))
        });
        let later = needed.filter(|(_, other)| self.place(other).is_none_or(|other| other >= own));
        let offence = |(line, other)| format!("{path}:{line}: `{name}` stands before `{other}`");
        later.map(offence).collect()
    }

    /// Whether the table has exactly these.
    pub(super) fn has(&self, folders: &[&str]) -> bool {
        self.0 == folders
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|other| other == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "## Crates of the core\n\n| crate | what |\n| --- | --- |\n| `shared/core` | a |\n\
         | `shared/wire` | b |\n| `shared/policy` | c |\n\n## Rooms\n\n| `shared/none` | d |\n";

    #[test]
    fn a_crate_needs_only_what_stands_before_it() {
        let order = Order::read(TABLE);
        assert!(order.has(&["core", "wire", "policy"]));
        let check = |name: &str, needs: &str| {
            let text = format!("[package]\nname = \"weir-{name}\"\n\n[dependencies]\n{needs}\n");
            order
                .check(&format!("shared/{name}/Cargo.toml"), &text)
                .len()
        };
        assert_eq!(check("wire", "weir-core = { workspace = true }"), 0);
        assert_eq!(
            check("policy", "weir-core.workspace = true\nweir-wire = \"1\""),
            0
        );
        for needs in [
            "weir-policy = \"1\"",
            "weir-wire = \"1\"",
            "weir-shared = \"1\"",
        ] {
            assert_eq!(check("wire", needs), 1, "{needs}");
        }
        assert_eq!(check("none", ""), 1);
        assert!(
            order
                .check("edge/Cargo.toml", "weir-none = \"1\"")
                .is_empty()
        );
    }
}
