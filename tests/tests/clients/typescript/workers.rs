//! The client within a Worker, on the runtime of Workers.

use std::process::Command;

use serde_json::{Value, json};
use weir_tests::paths;
use weir_tests::workerd::Setup;

use super::Package;
use crate::clients::{document, succeed};

/// The Worker and the client in one file.
fn bundle() -> String {
    let package = Package::built();
    let mut esbuild = Command::new(paths::esbuild().unwrap());
    esbuild.current_dir(package.folder()).args([
        "test/e2e/worker.mjs",
        "--bundle",
        "--format=esm",
        "--log-level=error",
    ]);
    succeed(&mut esbuild)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_asks_over_its_service_binding() {
    let setup = Setup::isolates(&["weur"]).probe(&bundle());
    let workerd = setup.start().await.unwrap();
    workerd.apply(&document()).await.unwrap();
    let worker = workerd.probe().unwrap();
    let told: Value = worker.get("/").await.unwrap().ok().unwrap();
    assert_eq!(told["together"], json!([990, 980]));
    assert_eq!(told["batch"], json!(["/v1/check/batch"]));
    assert_eq!(told["again"], 970);
    assert_eq!(told["reserved"]["allowed"], true);
    assert_eq!(
        (&told["slot"], &told["left"]),
        (&Value::Bool(false), &Value::from(966))
    );
}
