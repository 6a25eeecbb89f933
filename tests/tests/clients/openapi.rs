//! Who has no client of Weir's makes one from the document of the interface: generators take it, and what the Worker
//! answers keeps to it.

mod generators;
mod schemathesis;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_tests::client::Client;
use weir_tests::paths;
use weir_tests::workerd::TOKEN;

use crate::clients::python::Python;

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

/// A program that is told where Weir is.
fn told<'a>(program: &'a mut Command, client: &Client) -> &'a mut Command {
    program.env("BASE", client.origin()).env("TOKEN", TOKEN)
}
