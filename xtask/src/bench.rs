//! `bench`: measures, and writes what was measured into BENCHMARKS.md.

mod machine;
mod marked;
mod section;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::args::Selection;
use crate::clock::Stopwatch;
use crate::environment::Environment;
use crate::package::NATIVE_PROFILE;
use crate::{build, paths, previous, process, progress, setup};

pub(crate) use self::section::Section;

/// The part of BENCHMARKS.md that says where and with what it was measured.
const MACHINE: &str = "machine";

/// The variables that name a program and what asks it for what drives both.
const PROGRAM: &str = "WEIR_AGENT";
const LOAD: &str = "WEIR_GRPC_LOAD";

/// The variable that names a build of the Worker: that one is measured as it is.
const EDGE_BUILD: &str = "WEIR_EDGE_BUILD";

/// Runs all sections or one, beside the Worker of the revision `from` where that section can. A failing section leaves its
/// figures as they were and does not keep the later ones from running.
pub(crate) fn run(only: Option<Section>, from: Option<&str>) -> Result<ExitCode> {
    let sections = only.map_or_else(|| Section::ALL.to_vec(), |section| vec![section]);
    let environment = setup::for_builds()?;
    let before = from.map(previous::commit).transpose()?;
    let is_built = env::var_os(EDGE_BUILD).is_some();
    if !is_built && sections.iter().any(|section| section.needs_build()) {
        build::build(Selection::BOTH, &environment)?;
    }
    // Before the first section changes a file of the repository.
    let commit = machine::commit()?;
    write(MACHINE, &machine::describe()?)?;
    let mut is_success = true;
    for section in sections {
        let watch = Stopwatch::start();
        progress::note(&format!(
            "section {}: {}",
            section.name(),
            section.purpose()
        ));
        match measure(section, &commit, before.as_deref(), &environment) {
            Ok(()) => progress::note(&format!("section {}: {}", section.name(), watch.elapsed())),
            Err(error) => {
                progress::note(&format!("section {} failed: {error:#}", section.name()));
                is_success = false;
            }
        }
    }
    Ok(if is_success {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn measure(
    section: Section,
    commit: &str,
    before: Option<&str>,
    environment: &Environment,
) -> Result<()> {
    let mut cargo = environment.command("cargo")?;
    cargo.args(section.arguments());
    let mut command = format!("`cargo xtask bench --only {}", section.name());
    if let Some(before) = before {
        cargo.env(previous::BUILD, previous::built(before)?);
        command.push_str(&format!(" --from {before:.10}"));
    }
    if let Some((program, load)) = section.program() {
        let mut build = environment.command("cargo")?;
        build.args(["build", "--profile", NATIVE_PROFILE, "--package", program]);
        process::run(build.args(["--bins", "--example", load]))?;
        // Beside this program, which is in the folder of its profile.
        let built = Path::new(paths::program()?).ancestors().nth(2);
        let built = built.context("this program is in no folder of builds")?;
        let built = built.join(NATIVE_PROFILE);
        cargo.env(PROGRAM, built.join(program));
        cargo.env(LOAD, built.join("examples").join(load));
    }
    let figures = process::capture(&mut cargo)?;
    println!("{figures}\n");
    write(
        section.name(),
        &format!("{command}`, at commit {commit}.\n\n{figures}"),
    )
}

fn write(name: &str, text: &str) -> Result<()> {
    let path = file();
    let old = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let new = marked::replace(&old, name, text)
        .with_context(|| format!("{} takes no figures", path.display()))?;
    fs::write(&path, new).with_context(|| format!("writing {}", path.display()))
}

fn file() -> PathBuf {
    paths::root().join("BENCHMARKS.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_has_its_place_in_the_file() {
        let text = fs::read_to_string(file()).unwrap();
        for name in Section::ALL.map(Section::name).into_iter().chain([MACHINE]) {
            marked::replace(&text, name, "figures").unwrap_or_else(|error| panic!("{error:#}"));
        }
    }
}
