//! Tokens: made, shown once, listed, revoked.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use weir_tests::clock::now;

use crate::operator::{
    FAIRNESS, SETTLING, TOKENS, assert_problem, await_known, await_records, deployment, get, posted,
};

#[tokio::test]
async fn a_token_is_shown_once_opens_what_it_says_and_nothing_after_it_is_revoked() {
    let (_workerd, client) = deployment().await;
    let asked = json!({ "name": "dashboard", "role": "viewer" });
    let made = posted(&client, TOKENS, &asked).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made: Value = made.json().unwrap();
    let text = made["token"].as_str().unwrap().to_owned();
    let listed = get(&client, TOKENS).await;
    assert_eq!(listed["total"], 1);
    assert_eq!(listed["tokens"][0]["id"], made["id"]);
    assert!(
        !listed.to_string().contains(&text),
        "the text is in the list"
    );
    assert!(listed["tokens"][0].get("hash").is_none());

    let viewer = client.with_token(&text);
    await_known(&viewer, FAIRNESS).await;
    assert_problem(
        "a viewer makes no tokens",
        &posted(&viewer, TOKENS, &asked).await,
        403,
        None,
    );

    let path = format!("{TOKENS}/{}", made["id"].as_str().unwrap());
    let revoke = || client.send(client.request(Method::DELETE, &path));
    assert_eq!(revoke().await.unwrap().status, 204);
    assert_problem("once more", &revoke().await.unwrap(), 404, None);
    let start = now();
    while viewer.get(FAIRNESS).await.unwrap().status != 401 {
        assert!(start.elapsed() < SETTLING, "a revoked token still opens");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let created = await_records(&client, "token.create", 2).await;
    assert!(!Value::Array(created.clone()).to_string().contains(&text));
    let outcomes: Vec<&Value> = created.iter().map(|record| &record["outcome"]).collect();
    assert_eq!(
        outcomes,
        ["refused", "done"],
        "the viewer's, and the admin's"
    );
    let revoked = await_records(&client, "token.revoke", 2).await;
    let outcomes: Vec<&Value> = revoked.iter().map(|record| &record["outcome"]).collect();
    assert_eq!(outcomes, ["refused", "done"]);
}

#[tokio::test]
async fn a_token_that_cannot_be_is_refused_where_the_fault_is() {
    let (_workerd, client) = deployment().await;
    let cases = [
        (json!({ "role": "viewer" }), "/name"),
        (json!({ "name": "a b", "role": "viewer" }), "/name"),
        (json!({ "name": "a", "role": "king" }), "/role"),
        (json!({ "name": "a", "role": "tenant" }), "/tenant"),
        (
            json!({ "name": "a", "role": "viewer", "tenant": "acme" }),
            "/tenant",
        ),
        (
            json!({ "name": "a", "role": "admin", "prefix": "eu:" }),
            "/prefix",
        ),
        (
            json!({ "name": "a", "role": "viewer", "colour": "red" }),
            "/colour",
        ),
    ];
    for (body, field) in &cases {
        let reply = posted(&client, TOKENS, body).await;
        // What is missing is named where it should stand, or at the document that lacks it.
        let problem = reply.problem().unwrap();
        assert_eq!(problem.status, 400, "{body}: {problem:?}");
        let at = problem.field.unwrap_or_default();
        assert!(at == *field || at.is_empty(), "{body}: {at}");
    }
    assert_eq!(get(&client, TOKENS).await["tokens"], json!([]));
    let refused = await_records(&client, "token.create", cases.len()).await;
    assert!(refused.iter().all(|record| record["outcome"] == "refused"));
}
