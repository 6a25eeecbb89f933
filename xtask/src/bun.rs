//! Bun, one of the runtimes of the TypeScript client: the one on PATH, else the one that is published for npm, unpacked into
//! the tool cache. It is none of the packages that every clone installs: it takes 100 MB, and only the tests run it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cached::Published;
use crate::{node, paths, process};

const BUN: Published<'_> = Published {
    package: "bun@1.4.5",
    scope: "@oven",
    program: "bin/bun",
    does,
};

/// The oldest that the tests take: none older was tried.
const OLDEST: (u32, u32) = (1, 4);

/// Finds Bun or unpacks it: the variable that tells the tests where it is.
pub(crate) fn ensure() -> Result<Vec<(&'static str, PathBuf)>> {
    let program = match process::find("bun").filter(|program| does(program)) {
        Some(program) => program,
        None => BUN
            .ensure(&paths::tools()?)
            .context("the tests of the TypeScript client need `bun` on PATH")?,
    };
    Ok(vec![("WEIR_BUN", program)])
}

fn does(program: &Path) -> bool {
    process::version(program).is_some_and(|told| node::version(&told) >= Some(OLDEST))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn put(home: &Path, platform: &str, script: &str) {
        let bin = home.join("node_modules/@oven").join(platform).join("bin");
        fs::create_dir_all(&bin).unwrap();
        let program = bin.join("bun");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn the_program_that_runs_is_taken() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(BUN.within(home.path()), None);
        put(home.path(), "bun-a-musl", "#!/nowhere/sh\n");
        put(home.path(), "bun-b-old", "#!/bin/sh\necho 1.1.9\n");
        assert_eq!(BUN.within(home.path()), None);
        put(home.path(), "bun-c", "#!/bin/sh\necho 1.4.5\n");
        assert!(BUN.within(home.path()).unwrap().ends_with("bun-c/bin/bun"));
    }

    #[test]
    fn the_pinned_version_is_one_that_does() {
        let (_, pinned) = BUN.package.split_once('@').unwrap();
        assert!(node::version(pinned) >= Some(OLDEST));
        assert!(!does(Path::new("/nowhere/bun")));
    }
}
