//! Python, which runs the tests of its client and the linters of the container files, and from whose index a proxy comes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::apt::Apt;
use crate::{paths, process, progress};

/// The oldest that the client takes.
const OLDEST: (u32, u32) = (3, 10);

/// What the client's tests run with, each package at one version.
const CLIENT: &str = "clients/python/test/requirements.txt";

/// The linters of the container files: a list of its own, whose versions are raised for themselves.
const LINTERS: &str = "tests/containers/requirements.txt";

/// A Python that is new enough and has pip.
#[derive(Debug)]
pub(crate) struct Python {
    program: PathBuf,
    version: (u32, u32),
}

/// Finds Python and the packages of the tests, or installs them: the variables that tell the tests where they are.
pub(crate) fn ensure() -> Result<Vec<(&'static str, PathBuf)>> {
    let python = Python::ensure()?;
    let packages = python.packages(CLIENT)?;
    let linters = python.packages(LINTERS)?;
    Ok(vec![
        ("WEIR_PYTHON", python.program),
        ("WEIR_PYTHON_PACKAGES", packages),
        ("WEIR_PYTHON_LINTERS", linters),
    ])
}

impl Python {
    /// The one on PATH, else Debian's, which is installed where it is missing.
    pub(crate) fn ensure() -> Result<Self> {
        if let Some(python) = Self::found() {
            return Ok(python);
        }
        let (major, minor) = OLDEST;
        let wanted = format!("Python {major}.{minor} or newer with pip is needed");
        let apt = Apt::find()
            .with_context(|| format!("{wanted}, and there is no apt-get to install it"))?;
        progress::step("installing Python", || {
            apt.install(&["python3", "python3-pip"])
        })?;
        Self::found().with_context(|| format!("{wanted}, and Debian's here is older"))
    }

    fn found() -> Option<Self> {
        let on_path = process::find("python3");
        // One that comes first on PATH may be too old, or be without pip; Debian's has a place of its own.
        let candidates = on_path
            .into_iter()
            .chain([PathBuf::from("/usr/bin/python3")]);
        candidates
            .filter_map(|program| Self::at(&program))
            .find(Self::does)
    }

    /// What a program says of itself: it may only stand for another one.
    fn at(program: &Path) -> Option<Self> {
        let script = "import sys; print(sys.executable, *sys.version_info[:2], sep='\\n')";
        let told = Command::new(program).args(["-c", script]).output().ok()?;
        Self::read(&String::from_utf8_lossy(&told.stdout))
    }

    fn read(told: &str) -> Option<Self> {
        let mut lines = told.lines();
        let program = PathBuf::from(lines.next()?);
        let mut number = || lines.next()?.parse().ok();
        let version = (number()?, number()?);
        Some(Self { program, version })
    }

    fn does(&self) -> bool {
        let pip = || {
            let mut pip = Command::new(&self.program);
            let told = pip.args(["-m", "pip", "--version"]).output();
            told.is_ok_and(|told| told.status.success())
        };
        self.version >= OLDEST && pip()
    }

    /// Unpacks packages of the index into a folder, and nothing that they do not name.
    pub(crate) fn unpack(&self, what: &[&str], folder: &Path) -> Result<()> {
        let mut pip = Command::new(&self.program);
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps"]);
        pip.args(["--disable-pip-version-check", "--target"]);
        process::run(pip.arg(folder).args(what))
    }

    /// The folder with the packages of a list.
    fn packages(&self, list: &str) -> Result<PathBuf> {
        let file = paths::root().join(list);
        let list = fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
        let home = paths::tools()?.join(self.folder(&list));
        if home.is_dir() {
            return Ok(home);
        }
        let staging = home.with_extension("part");
        let _ = fs::remove_dir_all(&staging);
        fs::create_dir_all(&staging).with_context(|| format!("creating {}", staging.display()))?;
        let file = file.to_str().context("the repository's path is no text")?;
        progress::step("unpacking the packages of Python", || {
            self.unpack(&["--requirement", file], &staging)
        })?;
        // An interrupted set-up never looks complete.
        match fs::rename(&staging, &home) {
            Err(error) if !home.is_dir() => bail!("moving {} into place: {error}", home.display()),
            _ => Ok(home),
        }
    }

    /// Some packages are compiled for one version; another list is another folder.
    fn folder(&self, list: &[u8]) -> String {
        let digest = Sha256::digest(list);
        let name: String = digest[..6]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let (major, minor) = self.version;
        format!("python-{major}{minor}-{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(version: (u32, u32)) -> Python {
        let program = "/nowhere/python3".into();
        Python { program, version }
    }

    #[test]
    fn a_program_says_what_it_is() {
        let read = Python::read("/usr/bin/python3.11\n3\n11\n").unwrap();
        assert_eq!(read.program, Path::new("/usr/bin/python3.11"));
        assert_eq!(read.version, (3, 11));
        for told in ["", "/usr/bin/python3\n3\n", "3\nx\ny"] {
            assert!(Python::read(told).is_none(), "{told:?}");
        }
        assert!(Python::at(Path::new("false")).is_none());
    }

    #[test]
    fn what_is_too_old_or_does_not_run_is_not_taken() {
        assert!(!python((3, 9)).does());
        assert!(!python((2, 11)).does());
        assert!(!python((3, 12)).does(), "it has no pip");
    }

    #[test]
    fn another_list_or_version_has_another_folder() {
        let of = |minor, list: &str| python((3, minor)).folder(list.as_bytes());
        assert_eq!(of(11, "a"), "python-311-ca978112ca1b");
        assert_ne!(of(11, "a"), of(12, "a"));
        assert_ne!(of(11, "a"), of(11, "b"));
    }

    #[test]
    fn each_package_of_a_list_has_one_version() {
        for list in [CLIENT, LINTERS] {
            let list = fs::read_to_string(paths::root().join(list)).unwrap();
            let lines: Vec<_> = list.lines().filter(|line| !line.starts_with('#')).collect();
            assert!(lines.len() > 10);
            for line in lines {
                assert!(line.contains("=="), "{line}");
            }
        }
    }
}
