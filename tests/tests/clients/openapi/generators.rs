//! Two generators, one of types and one of a whole client, and an application by what each of them wrote.

use std::fs;
use std::process::Command;

use serde_json::json;
use tokio::task::spawn_blocking;
use weir_tests::pages::block;

use super::{document, parts, python};
use crate::clients::{start, succeed};

const PAGE: &str = "docs/src/guides/other-languages.md";

/// What a generator says of what it leaves out: JSON Lines, which are read as a file.
const LEFT_OUT: &str = "Unsupported content_type application/x-ndjson";

/// The words of the command that the page shows, behind the name of the program.
fn shown(program: &str) -> Vec<String> {
    let commands = block(PAGE, program).commands();
    let words = commands[0].strip_prefix(program).expect("it begins so");
    words.split_whitespace().map(str::to_owned).collect()
}

async fn run(mut program: Command) -> String {
    spawn_blocking(move || succeed(&mut program)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn by_the_types_of_openapi_typescript_an_application_compiles_and_is_answered() {
    let (_workerd, client) = start().await;
    let folder = tempfile::tempdir().unwrap();
    document(&client, folder.path()).await;
    let program = |path: &str| {
        let mut node = Command::new("node");
        node.current_dir(folder.path())
            .arg(parts().join("node_modules").join(path));
        node
    };
    let mut generator = program("openapi-typescript/bin/cli.js");
    generator.args(shown("npx openapi-typescript "));
    run(generator).await;
    fs::copy(
        parts().join("application.ts"),
        folder.path().join("application.mts"),
    )
    .unwrap();
    let mut compiler = program("typescript/bin/tsc");
    compiler.args(["--strict", "--target", "es2022", "--module", "nodenext"]);
    compiler.args(["--lib", "es2022,dom", "application.mts"]);
    run(compiler).await;
    let application = || {
        let mut node = Command::new("node");
        node.current_dir(folder.path()).arg("application.mjs");
        node
    };
    let said = super::said(application).await;
    assert_eq!(said, json!({ "allowed": true, "remaining": 997 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_openapi_python_client_is_whole_and_is_answered() {
    let (_workerd, client) = start().await;
    let folder = tempfile::tempdir().unwrap();
    document(&client, folder.path()).await;
    let mut generator = python(folder.path());
    generator.args(["-m", "openapi_python_client"]);
    generator.args(shown("openapi-python-client "));
    let said = run(generator).await;
    for warning in said.split("WARNING").skip(1) {
        assert!(warning.contains(LEFT_OUT), "{said}");
    }
    assert!(!said.contains("Unable to process"), "{said}");
    let application = || {
        let mut python = python(folder.path());
        python.arg(parts().join("application.py"));
        python
    };
    let said = super::said(application).await;
    assert_eq!(said, json!({ "allowed": true, "remaining": 997 }));
}
