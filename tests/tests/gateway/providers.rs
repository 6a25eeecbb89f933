//! Before a provider that knows the deployment by a key of its own, and not its customers.

use reqwest::Method;
use serde_json::{Value, json};
use weir_tests::fixtures::{KEY_OF_ACME, with};
use weir_tests::origin::Echo;
use weir_tests::workerd::Setup;

use crate::gateway::{Gateway, SECRET, route};

/// A route below `/llm` with a budget of 1,000, whose tenants have keys of the deployment's own.
fn provided(document: Value, origin: &str, secret: &str) -> Value {
    let mut chat = route(origin, json!([{ "budget": "tokens", "cost": 600 }]));
    chat["path"] = json!("/llm/*");
    chat["tenant"] = json!({ "api_key": { "header": "authorization" } });
    chat["errors"] = json!("openai");
    chat["origin"] = json!({
        "url": origin, "strip_prefix": "/llm",
        "headers": { "authorization": { "secret": secret, "prefix": "Bearer " } }
    });
    let document = with(document, "/api_keys", json!({ KEY_OF_ACME: "pro:acme" }));
    with(document, "/routes", json!([chat]))
}

#[tokio::test]
async fn the_provider_gets_the_deployment_s_key_and_never_the_customer_s() {
    let setup = Setup::isolates(&["weur"]).variable("PROVIDER_KEY", SECRET);
    let gateway = Gateway::of(setup, |document, origin| {
        provided(document, origin, "PROVIDER_KEY")
    })
    .await;
    let ask = |key: &str| {
        let request = gateway.client.request(Method::GET, "/llm/echo?a=b");
        gateway.send(request.header("authorization", format!("Bearer {key}")))
    };
    let reply = ask("key-of-acme").await;
    assert!(!reply.text().contains("key-of-acme"), "{}", reply.text());
    let echo: Echo = reply.ok().unwrap();
    assert_eq!(echo.target, "/echo?a=b");
    assert_eq!(echo.headers["authorization"], format!("Bearer {SECRET}"));

    let denied = ask("key-of-acme").await;
    assert_eq!(denied.status, 429);
    let told: Value = denied.json().unwrap();
    assert_eq!(told["error"]["type"], "rate_limit_error");
    assert_eq!(denied.header("content-type"), Some("application/json"));
    assert_eq!(denied.header("x-should-retry"), Some("true"));
    assert!(denied.header("retry-after-ms").is_some() && denied.header("retry-after").is_some());
    let unknown = ask("a-key-that-nobody-has").await;
    assert_eq!(unknown.status, 401);
    let told: Value = unknown.json().unwrap();
    assert_eq!(told["error"]["type"], "authentication_error");

    let root = gateway.workerd.client(0).unwrap();
    for path in [
        "/operator/v1/policy",
        "/operator/v1/audit",
        "/operator/v1/decisions",
    ] {
        let told = root.get(path).await.unwrap().text();
        assert!(!told.contains(SECRET), "{path} tells the secret");
    }
    assert!(!gateway.workerd.log().contains(SECRET));
}

#[tokio::test]
async fn a_policy_that_names_a_secret_which_is_not_there_is_refused_and_one_that_is_taken_away_reaches_nobody()
 {
    let setup = Setup::isolates(&["weur"]).variable("PROVIDER_KEY", SECRET);
    let gateway = Gateway::of(setup, |document, origin| {
        provided(document, origin, "PROVIDER_KEY")
    })
    .await;
    let origin = gateway.origin.url();
    for (secret, status) in [("OTHER_KEY", 400), ("WEIR_BOOTSTRAP_TOKEN", 400)] {
        let document = provided(weir_tests::fixtures::policy(1_000, 60_000), &origin, secret);
        let root = gateway.workerd.client(0).unwrap();
        let refused = root
            .post("/operator/v1/policy/preview", &document)
            .await
            .unwrap();
        let problem = refused.problem().unwrap();
        let field = "/routes/0/origin/headers/authorization/secret";
        assert_eq!(
            (problem.status, problem.field.as_deref()),
            (status, Some(field))
        );
    }
}
