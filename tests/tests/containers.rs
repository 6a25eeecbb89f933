//! What runs Weir in a container, by the linters of others: `xtask/src/containers.rs` checks what it says of Weir.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use weir_tests::paths;

const CONTAINERFILE: &str = "deploy/Containerfile";
const COMPOSE: [&str; 2] = ["deploy/compose.yaml", "deploy/cluster/compose.yaml"];
const KUBERNETES: [&str; 2] = ["deploy/kubernetes", "deploy/cluster/kubernetes"];

/// No object of a cluster, so there is no schema of it.
const LIST: &str = "kustomization.yaml";

/// The folder with the linters.
fn linters() -> PathBuf {
    paths::python_linters().expect("`cargo xtask env` names the linters' folder")
}

/// A linter that is a module of Python.
fn module(name: &str) -> Command {
    let mut python = Command::new(paths::python().unwrap());
    python.env("PYTHONPATH", linters());
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    python.args(["-m", name]);
    python
}

fn hadolint() -> Command {
    Command::new(linters().join("bin/hadolint"))
}

fn compose_schema() -> Command {
    let mut check = module("check_jsonschema");
    check.args(["--builtin-schema", "vendor.compose-spec"]);
    check
}

fn kubernetes_schemas() -> Command {
    let mut validate = module("kubernetes_validate");
    validate.arg("--strict");
    validate
}

/// Whether the linter found nothing, and what it said.
fn lint(mut linter: Command, file: &Path) -> (bool, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = linter.arg(file).output().unwrap();
    let said = [stdout, stderr].concat();
    (
        status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

fn file(path: &str) -> PathBuf {
    paths::workspace().join(path)
}

/// The control: the file with a fault in the place of a part of it is refused, by the word that names the fault.
fn refused_with(linter: Command, path: &str, (part, fault): (&str, &str), named: &str) {
    let text = fs::read_to_string(file(path)).unwrap();
    assert!(text.contains(part), "{path}: {part}");
    let folder = tempfile::tempdir().unwrap();
    // Linters tell by its name what a file is.
    let faulty = folder.path().join(file(path).file_name().unwrap());
    fs::write(&faulty, text.replacen(part, fault, 1)).unwrap();
    let (passed, said) = lint(linter, &faulty);
    assert!(!passed && said.contains(named), "{path}: {said}");
}

#[test]
fn hadolint_finds_nothing_in_the_containerfile_and_finds_a_root_in_it() {
    let (passed, said) = lint(hadolint(), &file(CONTAINERFILE));
    assert!(passed && said.is_empty(), "{said}");
    let root = ("USER 1000:1000", "USER root");
    refused_with(hadolint(), CONTAINERFILE, root, "DL3002");
}

#[test]
fn the_schema_of_compose_takes_each_compose_file_and_refuses_a_misspelled_field() {
    for path in COMPOSE {
        let (passed, said) = lint(compose_schema(), &file(path));
        assert!(passed, "{path}: {said}");
    }
    let misspelled = ("read_only: true", "read_onyl: true");
    refused_with(compose_schema(), COMPOSE[0], misspelled, "read_onyl");
}

#[test]
fn the_schemas_of_kubernetes_take_each_object_and_refuse_a_misspelled_field() {
    for folder in KUBERNETES {
        let objects = fs::read_dir(file(folder)).unwrap();
        let objects = objects.map(|entry| entry.unwrap().path());
        let objects: Vec<_> = objects.filter(|path| !path.ends_with(LIST)).collect();
        assert!(objects.len() > 3, "{folder}: {objects:?}");
        for object in objects {
            let (passed, said) = lint(kubernetes_schemas(), &object);
            // A kind without a schema passes, too, and is no object that was checked.
            assert!(passed && said.contains(" passed for resource "), "{said}");
        }
    }
    let misspelled = ("readOnlyRootFilesystem", "readOnlyRootFileSystem");
    let set = "deploy/kubernetes/stateful-set.yaml";
    refused_with(
        kubernetes_schemas(),
        set,
        misspelled,
        "readOnlyRootFileSystem",
    );
}
