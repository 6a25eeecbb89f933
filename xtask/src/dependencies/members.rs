//! What of a build is the workspace's own, by the names that cargo gives it.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{paths, process};

/// How long the hash is at the end of a name.
const HASH_CHARS: usize = 16;

/// The names of the workspace's packages, libraries, programs and tests, with `_` for `-`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Members(BTreeSet<String>);

impl Members {
    pub(super) fn of_workspace() -> Result<Self> {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(paths::root());
        cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
        let metadata: Value = serde_json::from_str(&process::capture(&mut cargo)?)
            .context("reading what cargo says of the workspace")?;
        let packages = metadata["packages"].as_array().context("no packages")?;
        let own = packages.iter().flat_map(|package| {
            let targets = package["targets"].as_array().into_iter().flatten();
            std::iter::once(package).chain(targets)
        });
        let names = own.filter_map(|named| named["name"].as_str());
        Ok(Self::named(&names.collect::<Vec<_>>()))
    }

    pub(super) fn named(names: &[&str]) -> Self {
        Self(names.iter().map(|name| name.replace('-', "_")).collect())
    }

    /// Whether one of them made what has this name. So does whatever has no hash: the last link of a program.
    pub(super) fn made(&self, name: &str) -> bool {
        let Some(crate_name) = without_hash(name) else {
            return true;
        };
        let crate_name = crate_name.replace('-', "_");
        let library = crate_name.strip_prefix("lib").unwrap_or(&crate_name);
        self.0.contains(&crate_name) || self.0.contains(library)
    }
}

/// `libserde-0123456789abcdef.rlib` is `libserde`.
fn without_hash(name: &str) -> Option<&str> {
    let (name, rest) = name.rsplit_once('-')?;
    let hash = rest.split('.').next()?;
    let is_hash = hash.len() == HASH_CHARS && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef";

    #[test]
    fn libraries_programs_and_tests_of_the_workspace_are_known() {
        let members = Members::of_workspace().unwrap();
        for name in [
            format!("weir-shared-{HASH}"),
            format!("libweir_shared-{HASH}.rmeta"),
            format!("weir_shared-{HASH}.d"),
            format!("promises-{HASH}"),
            format!("e2e-{HASH}"),
            format!("xtask-{HASH}"),
            "weir_edge.wasm".to_owned(),
        ] {
            assert!(members.made(&name), "{name}");
        }
    }

    #[test]
    fn dependencies_are_none_of_them() {
        let members = Members::of_workspace().unwrap();
        for name in [
            format!("serde_json-{HASH}"),
            format!("libserde_json-{HASH}.rlib"),
            format!("libm-{HASH}"),
            format!("liblibm-{HASH}.rlib"),
        ] {
            assert!(!members.made(&name), "{name}");
        }
    }

    #[test]
    fn a_hash_is_sixteen_hexadecimal_digits() {
        assert_eq!(without_hash(&format!("a-b-{HASH}.d")), Some("a-b"));
        for name in ["a-b", "a-0123456789abcdeg", "a", "a-0123", ""] {
            assert_eq!(without_hash(name), None, "{name}");
        }
    }
}
