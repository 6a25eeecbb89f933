//! The crates that the core is made of, which the facade in `shared` holds together.

/// Makes both lists of one.
macro_rules! core {
    ($($folder:literal,)+) => {
        /// Their folders in `shared`, each behind all that it needs.
        pub(crate) const FOLDERS: &[&str] = &[$($folder),+];

        /// Their names and the facade's, in the same order.
        pub(crate) const NAMES: &[&str] = &[$(concat!("weir-", $folder),)+ "weir-shared"];
    };
}

core! {
    "core",
    "wire",
    "decision",
    "access",
    "accounting",
    "algorithms",
    "audit",
    "fairness",
    "federation",
    "overload",
    "policy",
    "check",
    "limiting",
    "node",
    "contact",
    "gateway",
    "operations",
}

/// What they are made from, from the root of the repository.
pub(crate) fn inputs() -> impl Iterator<Item = String> {
    let made_from = |folder: &str| [format!("{folder}/Cargo.toml"), format!("{folder}/src")];
    let crates = FOLDERS.iter().map(|name| format!("shared/{name}"));
    let folders = crates.chain(["shared".to_owned()]);
    folders.flat_map(move |folder| made_from(&folder))
}

/// The crate of a file of `shared`, by its folder, and its path in the crate's sources: `gateway` and `head.rs`.
pub(crate) fn source(path: &str) -> Option<(&str, &str)> {
    let (folder, rest) = path.strip_prefix("shared/")?.split_once('/')?;
    let file = rest.strip_prefix("src/")?;
    FOLDERS.contains(&folder).then_some((folder, file))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;
    use crate::paths;

    #[test]
    fn every_crate_in_shared_is_listed_with_its_name() {
        let folders = fs::read_dir(paths::root().join("shared")).unwrap();
        let folders = folders.map(|entry| entry.unwrap().path());
        let crates = folders.filter(|folder| folder.join("Cargo.toml").is_file());
        let found: BTreeSet<_> = crates
            .map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            found,
            FOLDERS.iter().map(|name| (*name).to_owned()).collect()
        );
        let manifest = |folder: &str| paths::root().join("shared").join(folder).join("Cargo.toml");
        for (folder, name) in FOLDERS.iter().chain([&"."]).zip(NAMES) {
            let manifest = fs::read_to_string(manifest(folder)).unwrap();
            assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        }
    }

    #[test]
    fn a_source_is_found_in_its_crate() {
        assert_eq!(
            source("shared/gateway/src/head.rs"),
            Some(("gateway", "head.rs"))
        );
        assert_eq!(
            source("shared/node/src/lease/a.rs"),
            Some(("node", "lease/a.rs"))
        );
        for path in [
            "shared/src/lib.rs",
            "shared/tests/src/a.rs",
            "edge/src/lib.rs",
            "shared/gateway/Cargo.toml",
        ] {
            assert_eq!(source(path), None, "{path}");
        }
    }
}
