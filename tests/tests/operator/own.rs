//! A tenant's own view is its own, and nobody else's.

use serde_json::json;
use weir_tests::fixtures::with;

use crate::operator::{
    TOKENS, assert_problem, await_known, deployment, document, get, got, posted, start,
};

const OWN: &str = "/v1/fairness";

#[tokio::test]
async fn a_tenant_reads_itself_and_no_other() {
    let (_workerd, client) = deployment().await;
    let asked = json!({ "name": "acme", "role": "tenant", "tenant": "acme" });
    let made = posted(&client, TOKENS, &asked).await;
    let made: serde_json::Value = made.json().unwrap();
    let acme = client.with_token(made["token"].as_str().unwrap());
    await_known(&acme, OWN).await;
    let own = get(&acme, OWN).await;
    assert_eq!(own["tenant"], "acme");
    assert_eq!(own["policy"]["tier"]["value"], "enterprise");
    assert_eq!(
        get(&acme, &format!("{OWN}?tenant=acme")).await["tenant"],
        "acme"
    );
    let other = got(&acme, &format!("{OWN}?tenant=hooli")).await;
    assert_problem("another tenant", &other, 403, None);
    let operator = got(&acme, "/operator/v1/fairness").await;
    assert_problem("the operator's report", &operator, 403, None);
}

#[tokio::test]
async fn an_admin_names_the_tenant_and_what_is_no_tenant_is_refused() {
    let (_workerd, client) = deployment().await;
    assert_problem(
        "no tenant",
        &client.get(OWN).await.unwrap(),
        400,
        Some("/tenant"),
    );
    let long = format!("{OWN}?tenant={}", "x".repeat(129));
    assert_problem(
        "a long name",
        &client.get(&long).await.unwrap(),
        400,
        Some("/tenant"),
    );
    let control = format!("{OWN}?tenant=a%0Ab");
    assert_problem(
        "a line break",
        &client.get(&control).await.unwrap(),
        400,
        Some("/tenant"),
    );
    let unknown = format!("{OWN}?colour=red");
    assert_problem(
        "another parameter",
        &client.get(&unknown).await.unwrap(),
        400,
        Some("/colour"),
    );
}

#[tokio::test]
async fn where_nothing_is_enforced_it_says_so_and_nothing_else() {
    let (_workerd, client) = start(&with(document(), "/enforcing", json!(false))).await;
    let own = get(&client, &format!("{OWN}?tenant=acme")).await;
    assert_eq!(own, json!({ "enforcing": false }));
}
