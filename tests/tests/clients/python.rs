//! What only the Python client promises: its package, its types, its threads, and its middleware.

mod packed;
mod threads;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_tests::paths;

use super::Scripts;

/// The client from its sources.
pub(super) struct Python;

impl Python {
    fn folder() -> PathBuf {
        paths::workspace().join("clients/python")
    }

    /// Python, to which the client is what is in `source`.
    pub(super) fn with(source: &Path) -> Command {
        let mut python = Command::new(paths::python().unwrap());
        let folders = [source.to_owned()]
            .into_iter()
            .chain(paths::python_packages());
        let folders: OsString = env::join_paths(folders).unwrap();
        python.env("PYTHONPATH", folders);
        // Nothing is left beside the sources.
        python.env("PYTHONDONTWRITEBYTECODE", "1");
        python
    }

    /// Python with the client's sources, in the folder of the client.
    fn of_sources() -> Command {
        let mut python = Self::with(&Self::folder().join("src"));
        python.current_dir(Self::folder());
        python
    }
}

impl Scripts for Python {
    fn program(&self, script: &str) -> Command {
        let mut python = Self::of_sources();
        python.arg(format!("test/e2e/{script}.py"));
        python
    }
}
