//! Schemathesis asks the Worker whatever the document allows and forbids, and holds the answers against it.

use std::env;

use tokio::task::spawn_blocking;
use weir_shared::wire::role::Role;
use weir_tests::fixtures::token_request;

use super::{document, parts, python};
use crate::clients::{start, succeed};

/// How many questions of each operation are drawn.
const EXAMPLES: &str = "8";

/// How many questions there are at least: with fewer, something was left out.
const QUESTIONS_MIN: u64 = 200;

/// The number before a word.
fn number_before(text: &str, word: &str) -> Option<u64> {
    let (before, _) = text.split_once(word)?;
    before.split_whitespace().last()?.parse().ok()
}

/// `WEIR_EXAMPLES` draws as many as it says, and has each keyword of the document covered and operations follow each other.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_document_allows_or_forbids_is_answered_as_it_says() {
    let (_workerd, client) = start().await;
    let folder = tempfile::tempdir().unwrap();
    let document = document(&client, folder.path()).await;
    // The bootstrap token ends when an admin's token is made, which may well be asked for.
    let admin = token_request("schemathesis", Role::Admin);
    let token = client.make_token(&admin).await.unwrap().token;
    let mut program = python(folder.path());
    program.args(["-m", "schemathesis.cli", "--config-file"]);
    program.arg(parts().join("schemathesis.toml"));
    program.args(["run", "--url", client.origin(), "--no-color"]);
    program.args(["--header", &format!("Authorization: Bearer {token}")]);
    let long = env::var("WEIR_EXAMPLES").ok();
    if long.is_none() {
        program.args(["--phases", "fuzzing"]);
    }
    let examples = long.as_deref().unwrap_or(EXAMPLES);
    program.args(["--max-examples", examples, "--seed", "1"]);
    program.arg(document);
    // It ends well if no answer broke a rule.
    let said = spawn_blocking(move || succeed(&mut program)).await.unwrap();
    let asked = number_before(&said, " generated,");
    assert!(asked.is_some_and(|asked| asked >= QUESTIONS_MIN), "{said}");
    let policy = client.with_token(&token).get("/operator/v1/policy").await;
    assert_eq!(policy.unwrap().status, 200, "it was let in to the end");
    println!("{} questions", asked.unwrap_or_default());
}
