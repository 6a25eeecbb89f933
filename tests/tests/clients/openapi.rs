//! Who has no client of Weir's makes one from the document of the interface: generators take it, and what the Worker
//! answers keeps to it.

mod generators;
mod schemathesis;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use weir_tests::client::Client;
use weir_tests::paths;
use weir_tests::workerd::TOKEN;

use crate::clients::python::Python;
use crate::clients::{Deployed, asked};

/// What the tests of the document are made of.
fn parts() -> PathBuf {
    paths::workspace().join("tests/openapi")
}

/// The document of a deployment, as a file.
async fn document(client: &Client, folder: &Path) -> PathBuf {
    let reply = client.anonymous().get("/openapi.json").await.unwrap();
    let file = folder.join("openapi.json");
    fs::write(&file, reply.text()).unwrap();
    file
}

/// Python with the packages of the tests, and what is in `folder`.
fn python(folder: &Path) -> Command {
    let mut python = Python::with(folder);
    python.current_dir(folder);
    python
}

/// What an application says that is told where Weir is.
async fn said(application: impl Fn() -> Command) -> Value {
    let program = |origin: &str| {
        let mut program = application();
        program.env("BASE", origin).env("TOKEN", TOKEN);
        program
    };
    let (_deployed, said) = asked(Deployed::start, program).await;
    serde_json::from_str(&said).expect("one JSON text")
}
