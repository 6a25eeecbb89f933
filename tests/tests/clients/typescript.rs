//! What only the TypeScript client promises: its package, its stores, its types, and the runtimes that it is for.

mod packed;
mod pages;
mod runtimes;
mod stores;
mod types;

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use weir_tests::paths::workspace;

use super::{Scripts, copy, succeed};

/// The client, compiled. Each test has a copy of its own: none reads what another one is writing.
pub(super) struct Package {
    folder: TempDir,
}

impl Package {
    pub(super) fn built() -> Self {
        // Within the workspace, so that Node finds the packages that are installed there.
        let target = workspace().join("target");
        fs::create_dir_all(&target).unwrap();
        let folder = tempfile::Builder::new()
            .prefix("client-")
            .tempdir_in(target);
        let folder = folder.unwrap();
        copy(&workspace().join("clients/typescript"), folder.path()).unwrap();
        let package = Self { folder };
        for project in [".", "test"] {
            package.node(&[&tsc(), "--project", project]);
        }
        package
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What Node prints, run in the folder of the client.
    pub(super) fn node(&self, arguments: &[&str]) -> String {
        let mut node = Command::new("node");
        succeed(node.current_dir(self.folder()).args(arguments))
    }
}

impl Scripts for Package {
    fn program(&self, script: &str) -> Command {
        let mut node = Command::new("node");
        node.current_dir(self.folder())
            .arg(format!("test/e2e/{script}.mjs"));
        node
    }
}

fn tsc() -> String {
    let program = workspace().join("node_modules/typescript/bin/tsc");
    program.to_string_lossy().into_owned()
}
