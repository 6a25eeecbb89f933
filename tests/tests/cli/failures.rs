//! What goes wrong is told in one line.

use weir_tests::ports;

use crate::cli::{Weir, deployment};

/// Everything that asks a deployment.
const ASKING: [&[&str]; 9] = [
    &["plan", "policy.json"],
    &["apply", "policy.json", "--yes"],
    &["drift", "policy.json"],
    &["export"],
    &["replay", "policy.json", "--from", "0", "--to", "1"],
    &["tail"],
    &["top", "--once"],
    &["token", "list"],
    &["token", "revoke", "abc"],
];

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_is_told_in_a_line() {
    let deployed = deployment().await;
    let stranger = deployed.weir.by("a-token-that-nobody-has-made-12345678");
    stranger.write("policy.json", &crate::cli::document());
    for words in ASKING {
        let error = stranger.fails(words);
        assert!(
            error.starts_with("weir: The deployment does not know this token (401): "),
            "{words:?}: {error}"
        );
    }
}

#[test]
fn a_deployment_that_is_out_of_reach_is_told_in_a_line() {
    let url = format!("http://127.0.0.1:{}", ports::free().unwrap());
    let weir = Weir::at(&url);
    weir.write("policy.json", &crate::cli::document());
    for words in ASKING {
        let error = weir.fails(words);
        assert!(
            error.starts_with(&format!("weir: {url} is out of reach: ")),
            "{words:?}: {error}"
        );
    }
}
