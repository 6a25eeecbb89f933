//! What only the Rust client promises: its layer, its names, and the example of its README.

use std::process::Command;

use serde_json::json;
use weir_tests::fixtures::with;
use weir_tests::paths;

use super::interface::names_are_those_of_the_interface_and_no_others;
use super::lost::visits_go_on_while_weir_is_killed_in_the_middle;
use super::middleware::an_application_is_asked_for_and_its_visitors_are_told;
use super::{Deployed, Scripts, asked, document, example, left, run, start};

const README: &str = include_str!("../../../clients/rust/README.md");
const SCRIPTS: &str = include_str!("../../src/bin/rust_client.rs");

/// The client in a program that is compiled with the tests: the script is its argument.
pub(super) struct Rust;

impl Scripts for Rust {
    fn program(&self, script: &str) -> Command {
        let mut program = Command::new(paths::rust_client().unwrap());
        program.arg(script);
        program
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_layer_asks_for_a_service() {
    an_application_is_asked_for_and_its_visitors_are_told(&Rust, "layer").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn visits_behind_the_layer_go_on_while_weir_is_killed() {
    visits_go_on_while_weir_is_killed_in_the_middle(&Rust, "layer-killed", 503).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_names_are_those_of_the_interface_and_no_others() {
    names_are_those_of_the_interface_and_no_others(&Rust).await;
}

/// Words, however they are broken into lines.
fn words(code: &str) -> String {
    code.split_whitespace().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_the_readme_runs() {
    // It is what the program compiles.
    let example = example(README, "rust");
    let (uses, lines) = example.split_once("\n\n").unwrap();
    assert_eq!(lines.lines().count() + uses.lines().count(), 5);
    let compiled = SCRIPTS.split("// README").nth(1).unwrap();
    assert_eq!(words(compiled), words(lines));
    let (deployed, told) = asked(Deployed::start, |origin| Rust.script("readme", origin)).await;
    assert_eq!(told, "997 left\n");
    assert_eq!(left(&deployed.client).await, 997);
}

#[tokio::test(flavor = "multi_thread")]
async fn its_scope_settles_what_the_readme_s_model_used() {
    let roomy = with(document(), "/budgets/tokens/limit", json!(5_000));
    let begin = async || {
        let (workerd, client) = start().await;
        workerd.apply(&roomy).await.unwrap();
        Deployed::of(workerd, client).await
    };
    let (_deployed, told) = run(&Rust, "shown", begin).await;
    // The second failed, and used nothing.
    assert_eq!(told, json!({ "answered": [true, false], "left": 4_600 }));
}
