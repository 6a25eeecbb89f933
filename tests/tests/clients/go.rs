//! What only the Go client promises: its own tests, its names, and the example of its README.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use weir_tests::paths;

use super::interface::names_are_those_of_the_interface_and_no_others;
use super::{Deployed, Scripts, asked, example, left, succeed};

const README: &str = include_str!("../../../clients/go/README.md");
const SCRIPTS: &str = include_str!("../../../clients/go/test/e2e/main.go");

/// The client in a program that is built once: the script is its argument.
pub(super) struct Go {
    program: PathBuf,
}

/// Go, in the folder of the client. It fetches nothing, as the client needs nothing.
fn go(arguments: &[&str]) -> Command {
    let mut go = Command::new(paths::go().unwrap());
    go.current_dir(paths::workspace().join("clients/go"));
    go.env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
    go.env("CGO_ENABLED", "0").args(arguments);
    go
}

/// Runs Go alone: whoever comes second finds compiled what the first has compiled.
fn alone(go: &mut Command) -> String {
    let folder = paths::workspace().join("target/go-client");
    fs::create_dir_all(&folder).unwrap();
    let lock = File::create(folder.join(".lock")).unwrap();
    lock.lock().unwrap();
    succeed(go)
}

impl Go {
    pub(super) fn built() -> Self {
        // A program that runs is not written to: each process has its own.
        let name = format!("target/go-client/e2e-{}", std::process::id());
        let program = paths::workspace().join(name);
        alone(go(&["build", "-o"]).arg(&program).arg("./test/e2e"));
        Self { program }
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        // It lies in a folder that is not committed.
        let _gone = fs::remove_file(&self.program);
    }
}

impl Scripts for Go {
    fn program(&self, script: &str) -> Command {
        let mut program = Command::new(&self.program);
        program.arg(script);
        program
    }
}

#[test]
fn what_needs_no_worker_is_as_its_own_tests_say() {
    alone(&mut go(&["vet", "./..."]));
    let told = alone(&mut go(&["test", "-count=1", "-v", "."]));
    assert!(told.matches("--- PASS").count() >= 15, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn its_names_are_those_of_the_interface_and_no_others() {
    names_are_those_of_the_interface_and_no_others(&Go::built()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_the_readme_runs() {
    // It is what the program compiles.
    let example = example(README, "go");
    let words = |code: &str| code.split_whitespace().collect::<String>();
    let compiled = SCRIPTS.split("// README").nth(1).unwrap();
    assert_eq!(words(compiled), words(&example));
    let go = Go::built();
    let (deployed, told) = asked(Deployed::start, |origin| go.script("readme", origin)).await;
    assert_eq!(told, "true 997 admitted <nil>\n");
    assert_eq!(left(&deployed.client).await, 997);
}
