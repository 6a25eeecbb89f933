//! Schemathesis asks the Worker whatever the document allows and forbids, and holds the answers against it.

use std::env;

use tokio::task::spawn_blocking;
use weir_tests::workerd::TOKEN;

use super::{document, parts, python};
use crate::clients::{start, succeed};

/// Questions of each operation that are drawn, beside those that cover each keyword of the document; `WEIR_EXAMPLES` draws
/// more.
const EXAMPLES: &str = "2";

/// How many questions there are at least: with fewer, something was left out.
const QUESTIONS_MIN: u64 = 2_000;

/// The number before a word.
fn number_before(text: &str, word: &str) -> Option<u64> {
    let (before, _) = text.split_once(word)?;
    before.split_whitespace().last()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_document_allows_or_forbids_is_answered_as_it_says() {
    let (_workerd, client) = start().await;
    let folder = tempfile::tempdir().unwrap();
    let document = document(&client, folder.path()).await;
    let mut program = python(folder.path());
    program.args(["-m", "schemathesis.cli", "--config-file"]);
    program.arg(parts().join("schemathesis.toml"));
    program.args(["run", "--url", client.origin(), "--no-color"]);
    program.args(["--header", &format!("Authorization: Bearer {TOKEN}")]);
    let examples = env::var("WEIR_EXAMPLES").unwrap_or_else(|_| EXAMPLES.to_owned());
    program.args(["--max-examples", &examples, "--seed", "1"]);
    program.arg(document);
    // It ends well if no answer broke a rule.
    let said = spawn_blocking(move || succeed(&mut program)).await.unwrap();
    let asked = number_before(&said, " generated");
    assert!(asked.is_some_and(|asked| asked >= QUESTIONS_MIN), "{said}");
    println!("{} questions", asked.unwrap_or_default());
}
