//! `upgrade`: an upgrade from an earlier version of the Worker and its rollback, on the real workerd (`tests/tests/upgrade.rs`).
//!
//! The whole test command does without it: building the earlier version takes as long as a first build of the Worker.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::args::Selection;
use crate::{build, paths, previous, process, progress, setup, test};

/// Names the version that an upgrade starts from: the last release, or a commit before there is one.
const NAMED: &str = "tests/previous-version.txt";

/// Upgrades from `from`, or from the version that the repository names, and back.
pub(crate) fn run(from: Option<&str>) -> Result<ExitCode> {
    let environment = setup::for_worker_tests()?;
    let commit = previous::commit(&named(from)?)?;
    let build = previous::built(&commit)?;
    build::build(Selection::EDGE, &environment)?;
    progress::note(&format!("an upgrade from {commit}, and back"));
    let mut tests = test::end_to_end_of(environment, "upgrade")?;
    tests.env(previous::BUILD, build);
    tests.args(["--success-output", "immediate"]);
    process::end(&mut tests)
}

/// What was asked for, else what the repository names.
fn named(from: Option<&str>) -> Result<String> {
    match from {
        Some(revision) => Ok(revision.to_owned()),
        None => {
            let text = fs::read_to_string(paths::root().join(NAMED));
            Ok(text
                .with_context(|| format!("reading {NAMED}"))?
                .trim()
                .to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_names_a_commit() {
        let named = named(None).unwrap();
        assert_eq!(named.len(), 40, "{named}");
        assert!(
            named.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{named}"
        );
        assert_eq!(super::named(Some("v1.0.0")).unwrap(), "v1.0.0");
    }
}
