//! The built program where it asks nobody. What it does at a deployment, the end-to-end tests of the workspace hold it to;
//! this program is named as theirs is, so that one build makes the program for both.

mod deciding;

use std::path::PathBuf;
use std::process::{Command, Output};

/// Beside this test's own folder: it may have been built in another clone, of which a path in here would be.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let built = tests.ancestors().nth(2).unwrap();
    built.join(format!("weir-agent{}", std::env::consts::EXE_SUFFIX))
}

fn agent(words: &[&str]) -> Output {
    let mut agent = Command::new(program());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WEIR_")) {
        agent.env_remove(name);
    }
    agent.args(words).output().unwrap()
}

#[test]
fn what_it_cannot_start_with_is_named() {
    for (words, named) in [
        (&["--url", "https://weir.example"][..], "--token"),
        (&["--url", "weir.example", "--token", "t"], "--url"),
        (&["--url", "ftp://weir.example", "--token", "t"], "https://"),
        (
            &["--url", "https://weir.example", "--token-file", "/nowhere"],
            "/nowhere",
        ),
        (
            &[
                "--url",
                "https://weir.example",
                "--token",
                "t",
                "--listen",
                "somewhere",
            ],
            "unix:PATH",
        ),
        (
            &[
                "--url",
                "https://weir.example",
                "--token",
                "t",
                "--listen",
                "unix:/nowhere/s",
            ],
            "/nowhere/s",
        ),
    ] {
        let output = agent(words);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{words:?}");
        assert!(error.contains(named), "{words:?}: {error}");
    }
    assert!(agent(&["--help"]).status.success());
}
