//! Wrong routes, methods, tokens and media types.

use reqwest::Method;
use serde_json::json;
use weir_tests::fixtures::BUDGET;
use weir_tests::workerd::TOKEN;

use crate::bad_input::{
    BATCH, CHECK, POLICY, RESERVE, SESSION, SETTLE, assert_left_of_budget, assert_problem,
    deployment, state,
};

const NO_ROUTES: [&str; 12] = [
    "/nope",
    "/v1",
    "/v1/check/",
    "/v1/check/x",
    "/v1/check/batch/",
    "/v1/check/BATCH",
    "/v1/reserve/x",
    "/v1/settle/",
    "/operator/v1/nope",
    "/V1/CHECK",
    "//v1/check",
    "/.git/config",
];

const NO_METHODS: [(Method, &str); 14] = [
    (Method::GET, CHECK),
    (Method::PUT, CHECK),
    (Method::DELETE, CHECK),
    (Method::GET, BATCH),
    (Method::PUT, BATCH),
    (Method::GET, RESERVE),
    (Method::DELETE, RESERVE),
    (Method::GET, SETTLE),
    (Method::PATCH, SETTLE),
    (Method::POST, POLICY),
    (Method::DELETE, POLICY),
    (Method::POST, "/operator/v1/fairness"),
    (Method::PUT, SESSION),
    (Method::POST, "/healthz"),
];

const NO_MEDIA_TYPES: [&str; 5] = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "",
];

#[tokio::test]
async fn wrong_routes_methods_tokens_and_media_types_are_told_apart() {
    let (_workerd, client) = deployment().await;
    let before = state(&client).await;
    let good = json!({ "tenant": "a", "budget": BUDGET, "cost": 1 });
    for path in NO_ROUTES {
        assert_problem(path, &client.post(path, &good).await.unwrap(), 404, None);
    }
    for (method, path) in NO_METHODS {
        let case = format!("{method} {path}");
        let reply = client
            .send(client.request(method, path).json(&good))
            .await
            .unwrap();
        assert_problem(&case, &reply, 405, None);
        assert!(reply.header("allow").is_some(), "{case}: no Allow header");
    }
    let wrong = "x".repeat(TOKEN.len());
    for refused in [
        client.anonymous(),
        client.with_token(&wrong),
        client.with_token(""),
    ] {
        for path in [CHECK, BATCH, RESERVE, SETTLE] {
            let reply = refused.post(path, &good).await.unwrap();
            assert_problem(&format!("a wrong token to {path}"), &reply, 401, None);
            assert!(
                reply.header("www-authenticate").is_some(),
                "{path}: no WWW-Authenticate header"
            );
        }
    }
    for path in [CHECK, BATCH, RESERVE, SETTLE] {
        for media_type in NO_MEDIA_TYPES {
            let request = client
                .request(Method::POST, path)
                .header("content-type", media_type);
            let reply = client.send(request.body(good.to_string())).await.unwrap();
            assert_problem(&format!("{media_type} to {path}"), &reply, 415, None);
        }
    }
    let request = client.request(Method::POST, CHECK);
    let with_charset = request.header("content-type", "application/json; charset=utf-8");
    let reply = client
        .send(with_charset.body(good.to_string()))
        .await
        .unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(state(&client).await, before);
    assert_left_of_budget(&client, 99).await;
}
