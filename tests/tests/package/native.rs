//! The native programs of the package, by Node alone.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;
use weir_tests::paths::workspace;

use super::{Installed, PLAN, Running, VALIDATE, read, run, succeed};

/// The policy as code by `npx weir`, with the exit statuses that a pipeline asks for, and the agent's command.
pub(super) fn programs_are_the_package_s(installed: &Installed, running: &Running) {
    let folder = installed.folder.path().join("pipeline");
    std::fs::create_dir(&folder).unwrap();
    let policy = folder.join("policy.json");
    let mut document = read(&workspace().join("policy.json"));
    std::fs::write(&policy, document.to_string()).unwrap();
    succeed(&mut installed.shown(&folder, VALIDATE));

    let url = format!("http://127.0.0.1:{}", running.port);
    let token = running.token();
    let asked = |command: &mut Command| {
        command.env("WEIR_URL", &url).env("WEIR_TOKEN", &token);
        let output = run(command);
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let plan = || installed.shown(&folder, PLAN);
    assert_eq!(asked(&mut plan()).0, Some(0), "the policy in force");
    document["budgets"]["tokens"]["limit"] = json!(29_999);
    std::fs::write(&policy, document.to_string()).unwrap();
    let (code, said) = asked(&mut plan());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("29999") || said.contains("29,999"), "{said}");

    // What comes on the standard input reaches it.
    let mut validate = installed.weir(&folder, &["validate", "-"]);
    validate.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = validate.spawn().unwrap();
    let mut into = child.stdin.take().unwrap();
    into.write_all(br#"{"budgets":{"a":{"limit":-1}}}"#)
        .unwrap();
    drop(into);
    let refused = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("/budgets/a/limit"), "{said}");

    let mut npx = Command::new("npx");
    npx.args(["weir-agent", "--version"]);
    let said = succeed(&mut installed.alone(npx, installed.folder.path()));
    assert_eq!(
        said.trim(),
        concat!("weir-agent ", env!("CARGO_PKG_VERSION"))
    );
}
