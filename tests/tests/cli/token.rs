//! Tokens by command.

use std::time::Duration;

use serde_json::Value;
use weir_tests::clock::now;

use crate::cli::{SETTLING, deployment};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_what_it_says_until_it_is_revoked() {
    let deployed = deployment().await;
    // While there is no other admin's, the bootstrap token is one.
    let weir = &deployed.weir;
    let made = weir.run(&["token", "create", "ci", "--role", "viewer", "--days", "30"]);
    assert_eq!(made.status, 0, "{made:?}");
    assert!(made.error.starts_with("ci is created: id "), "{made:?}");
    let viewer = weir.by(made.out.trim());
    viewer.ends(0, &["export"]);
    let error = viewer.fails(&["token", "list"]);
    assert!(
        error.contains("This token does not permit that (403): "),
        "{error}"
    );

    let listed = weir.json(0, &["token", "list"]);
    let [token] = listed.as_array().unwrap().as_slice() else {
        panic!("{listed}");
    };
    assert_eq!(
        (&token["name"], &token["role"]),
        (&Value::from("ci"), &Value::from("viewer"))
    );
    assert!(token["expires_at"].is_u64(), "{listed}");
    let id = token["id"].as_str().unwrap();
    let text = weir.ends(0, &["token", "list"]);
    assert!(text.lines().nth(1).unwrap().starts_with(id), "{text}");
    assert!(!text.contains(made.out.trim()), "{text}");

    weir.ends(0, &["token", "revoke", id]);
    let start = now();
    while viewer.run(&["export"]).status == 0 {
        assert!(start.elapsed() < SETTLING, "a revoked token still opens");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let error = viewer.fails(&["export"]);
    assert!(
        error.contains("The deployment does not know this token (401): "),
        "{error}"
    );
    let error = weir.fails(&["token", "revoke", id]);
    assert!(error.contains("(404): "), "{error}");
    let error = weir.fails(&["token", "revoke", "../policy"]);
    assert!(error.contains("is not the id of a token"), "{error}");
}
