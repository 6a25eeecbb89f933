//! The script of the documentation, in the place of a pipeline.

use serde_json::json;
use weir_tests::fixtures::with;
use weir_tests::pages::block;
use weir_tests::paths::{cli, workspace};

use crate::cli::{Ended, Weir, deployment, document};

const PAGE: &str = "docs/src/guides/policy-as-code.md";
const SCRIPT: &str = "examples/policy-as-code/check.sh";

fn check(weir: &Weir, file: &str) -> Ended {
    let mut script = weir.command(&[]);
    let environment: Vec<_> = script
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
        .collect();
    script = std::process::Command::new("sh");
    script.arg(workspace().join(SCRIPT)).arg(file);
    script.current_dir(weir.folder.path());
    for (name, value) in environment {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    let command = cli().expect("the command is built");
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&folders);
    let folders = std::iter::once(command.parent().unwrap().to_owned()).chain(folders);
    script.env("PATH", std::env::join_paths(folders).unwrap());
    Ended::from(script.output().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_starves_a_tenant_is_blocked_and_another_one_passes() {
    let script = std::fs::read_to_string(workspace().join(SCRIPT)).unwrap();
    let shown = block(PAGE, "policy=${1:-policy.json}").text;
    assert!(script.ends_with(&shown), "the page shows another script");
    let deployed = deployment().await;
    let weir = &deployed.weir;
    let budget = |field: &str, value| with(document(), &format!("/budgets/tokens/{field}"), value);
    for (candidate, status, said) in [
        (
            document(),
            0,
            "### Nothing changes: the file equals revision ",
        ),
        (
            budget("limit", json!(900)),
            0,
            "| /budgets/tokens/limit | 700 | 900 |",
        ),
        (
            budget("sharing", json!("first_come")),
            1,
            "**This starves 2 tenants: ",
        ),
    ] {
        weir.write("policy.json", &candidate);
        let ended = check(weir, "policy.json");
        assert_eq!(ended.status, status, "{said}: {ended:?}");
        assert!(ended.out.contains(said), "{ended:?}");
    }
    weir.write("policy.json", &budget("limit", json!(0)));
    let ended = check(weir, "policy.json");
    assert!(ended.status == 1 && ended.out.is_empty(), "{ended:?}");
}
