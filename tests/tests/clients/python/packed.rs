//! What is installed, and what needs no Worker.

use std::fs;

use weir_tests::workerd::TOKEN;

use super::Python;
use crate::clients::{Deployed, asked, copy, example, left, succeed};

const README: &str = include_str!("../../../../clients/python/README.md");

#[test]
fn what_needs_no_worker_is_as_its_own_tests_say() {
    let mut python = Python::of_sources();
    succeed(python.args(["-m", "unittest", "discover", "-s", "test/unit"]));
    let tests = fs::read_dir(Python::folder().join("test/unit")).unwrap();
    let named = tests.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("test_")
    });
    assert!(named.count() >= 6, "what is not named so is not run");
}

#[test]
fn a_strict_type_checker_takes_it_and_refuses_what_makes_no_sense() {
    let cache = tempfile::tempdir().unwrap();
    let mut python = Python::of_sources();
    python.args(["-m", "mypy", "--config-file", "pyproject.toml"]);
    python
        .args(["--warn-unused-ignores", "--cache-dir"])
        .arg(cache.path());
    succeed(python.args(["src", "test/application.py"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_the_readme_runs_where_the_package_is_installed() {
    let folder = tempfile::tempdir().unwrap();
    let (source, installed) = (
        folder.path().join("source"),
        folder.path().join("installed"),
    );
    // What builds it writes beside it.
    copy(&Python::folder(), &source).unwrap();
    let mut pip = Python::with(&source);
    pip.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]);
    pip.args([
        "--no-build-isolation",
        "--no-cache-dir",
        "--disable-pip-version-check",
    ]);
    succeed(pip.arg("--target").arg(&installed).arg(&source));
    let names = fs::read_dir(&installed).unwrap();
    let mut names: Vec<_> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["weir_client", "weir_client-0.1.0.dist-info"]);
    assert!(installed.join("weir_client/py.typed").is_file());
    let example = example(README, "python");
    assert_eq!(
        example
            .trim()
            .lines()
            .filter(|line| !line.is_empty())
            .count(),
        5
    );
    let program = |origin: &str| {
        let mut python = Python::with(&installed);
        python.current_dir(folder.path()).args(["-c", &example]);
        python.env("WEIR_URL", origin).env("WEIR_TOKEN", TOKEN);
        python
    };
    let (deployed, told) = asked(Deployed::start, program).await;
    assert_eq!(told, "997 left\n");
    assert_eq!(left(&deployed.client).await, 997);
}
