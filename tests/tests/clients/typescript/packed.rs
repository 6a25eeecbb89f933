//! The file that is installed, and what needs no Worker.

use std::fs;
use std::process::Command;

use weir_tests::workerd::TOKEN;

use super::Package;
use crate::clients::{Deployed, asked, example, left, succeed};

#[test]
fn what_needs_no_worker_is_as_its_own_tests_say() {
    let package = Package::built();
    let tests = fs::read_dir(package.folder().join("test/unit")).unwrap();
    let names = tests.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let paths: Vec<_> = names.map(|name| format!("test/unit/{name}")).collect();
    assert!(paths.len() >= 4, "{paths:?}");
    let mut arguments = vec!["--test"];
    arguments.extend(paths.iter().map(String::as_str));
    let told = package.node(&arguments);
    println!("{told}");
}

const README: &str = include_str!("../../../../clients/typescript/README.md");

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_the_readme_runs_where_the_package_alone_is_installed() {
    let package = Package::built();
    let folder = tempfile::tempdir().unwrap();
    let npm = |arguments: &[&str]| {
        let mut npm = Command::new("npm");
        npm.current_dir(folder.path()).args(arguments);
        npm.args(["--offline", "--no-audit", "--no-fund", "--loglevel=error"]);
        succeed(npm.arg("--cache").arg(folder.path().join("cache")))
    };
    let file = npm(&[
        "pack",
        "--ignore-scripts",
        &package.folder().to_string_lossy(),
    ]);
    npm(&["install", &format!("./{}", file.trim())]);
    let installed = folder.path().join("node_modules");
    assert!(installed.join("@weir/client/dist/index.d.ts").is_file());
    let others = fs::read_dir(&installed).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name != "@weir" && name != ".package-lock.json"
    });
    assert_eq!(others.count(), 0, "it needs nothing else");
    fs::write(folder.path().join("example.mjs"), example(README, "js")).unwrap();
    let program = |origin: &str| {
        let mut node = Command::new("node");
        node.current_dir(folder.path()).arg("example.mjs");
        node.env("WEIR_URL", origin).env("WEIR_TOKEN", TOKEN);
        node
    };
    let (deployed, told) = asked(Deployed::start, program).await;
    assert_eq!(told, "997 left\n");
    assert_eq!(left(&deployed.client).await, 997);
}
