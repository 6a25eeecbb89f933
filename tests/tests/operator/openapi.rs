//! The OpenAPI document and the JSON Schema of a policy are served to anyone, and real answers keep to the former.

use serde_json::{Value, json};
use weir_shared::access::endpoint::ROUTES;
use weir_tests::client::Client;
use weir_tests::reply::Reply;
use weir_tests::schema::OpenApi;

use crate::operator::{FAIRNESS, await_that, decide_there, deployment, got, patch, posted};

async fn fetched(client: &Client) -> OpenApi {
    OpenApi(
        client
            .anonymous()
            .get("/openapi.json")
            .await
            .unwrap()
            .ok()
            .unwrap(),
    )
}

#[track_caller]
fn assert_keeps_to(openapi: &OpenApi, method: &str, path: &str, reply: &Reply) {
    let what = format!("{method} {path}");
    let schema = openapi.answer(method, path, reply.status);
    let schema = schema.unwrap_or_else(|error| panic!("{what}: {error:#}: {}", reply.text()));
    let value: Value = reply.json().unwrap();
    openapi
        .check(schema, &value)
        .unwrap_or_else(|error| panic!("{what} {}: {error:#}\n{value}", reply.status));
}

#[tokio::test]
async fn what_is_served_is_what_this_version_documents() {
    let (_workerd, client) = deployment().await;
    let openapi = fetched(&client).await;
    assert_eq!(openapi.0, weir_shared::openapi::document().unwrap());
    let schema = client.anonymous().get("/policy.schema.json").await;
    let schema: Value = schema.unwrap().ok().unwrap();
    let written = include_str!("../../../docs/src/reference/policy.schema.json");
    assert_eq!(schema, serde_json::from_str::<Value>(written).unwrap());
}

#[tokio::test]
async fn every_route_is_described() {
    let (_workerd, client) = deployment().await;
    let openapi = fetched(&client).await;
    assert_eq!(openapi.0["openapi"], "3.1.0");
    for route in ROUTES {
        let method = route.method.name().to_lowercase();
        assert!(
            openapi.0["paths"][route.path][&method].is_object(),
            "{method} {}",
            route.path
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn real_answers_keep_to_the_document() {
    let (_workerd, client) = deployment().await;
    let openapi = fetched(&client).await;
    for check in [
        json!({ "tenant": "acme", "meter": "bytes", "cost": 4 }),
        json!({ "tenant": "acme", "guard": "queries" }),
        json!({ "tenant": "acme", "budget": "tokens", "cost": 2, "reserve": true }),
        json!({ "tenant": "acme", "budget": "tokens", "cost": 100_000 }),
        json!({ "limit": "per_ip", "key": "k" }),
        json!({ "tenant": "acme", "overload": "origin" }),
    ] {
        let reply = client.post("/v1/check", &check).await.unwrap();
        assert_keeps_to(&openapi, "POST", "/v1/check", &reply);
    }
    let reserved = json!({ "tenant": "acme", "budget": "tokens", "cost": 2, "reserve": true });
    let reservation = decide_there(&client, reserved).await.reservation;
    let posts = [
        (
            "/v1/check/batch",
            json!({ "requests": [{ "tenant": "a", "budget": "tokens" }] }),
        ),
        (
            "/v1/settle",
            json!({ "reservation": reservation, "actual": 1 }),
        ),
        (
            "/v1/report",
            json!({ "resource": "origin", "tenant": "acme", "outcome": "failure" }),
        ),
        ("/operator/v1/policy/preview", crate::operator::document()),
        (
            "/operator/v1/replay",
            json!({ "policy": crate::operator::document(), "trace": [
                { "at": 0, "tenant": "acme", "budget": "tokens", "cost": 3 },
                { "at": 5, "limit": "per_ip", "key": "k" },
            ] }),
        ),
        ("/operator/v1/replay", json!({ "policy": {} })),
        ("/operator/v1/reset", json!({ "tenant": "acme" })),
        (
            "/operator/v1/tokens",
            json!({ "name": "t", "role": "viewer" }),
        ),
        // Refusals.
        ("/v1/check", json!({ "tenant": "a", "budget": "nope" })),
        ("/v1/check", json!({ "colour": "red" })),
        ("/operator/v1/reset", json!({})),
        ("/operator/v1/tokens", json!({ "name": "t" })),
    ];
    for (path, body) in &posts {
        let reply = posted(&client, path, body).await;
        assert_keeps_to(&openapi, "POST", path, &reply);
    }
    for (path, body) in [
        ("/v1/guards/{guard}/acquire", json!({ "tenant": "hooli" })),
        ("/v1/guards/{guard}/release", json!({ "slot": "x" })),
    ] {
        let reply = client
            .post(&path.replace("{guard}", "queries"), &body)
            .await
            .unwrap();
        assert_keeps_to(&openapi, "POST", path, &reply);
    }
    let changed = patch(
        &client,
        "acme",
        &json!({ "overrides": [{ "weight": 9 }] }),
        Some("*"),
    )
    .await;
    assert_keeps_to(&openapi, "PATCH", "/operator/v1/tenants/{id}", &changed);
    let blind = patch(&client, "acme", &json!({ "weight": 9 }), None).await;
    assert_keeps_to(&openapi, "PATCH", "/operator/v1/tenants/{id}", &blind);
    // What was counted has arrived, so that the reports are not empty.
    await_that(&client, FAIRNESS, |report| {
        !report["tenants"].as_array().unwrap().is_empty()
    })
    .await;
    for (path, query) in [
        ("/healthz", ""),
        ("/v1/fairness", "?tenant=acme"),
        ("/operator/v1/policy", ""),
        ("/operator/v1/tenants", ""),
        ("/operator/v1/tenants", "?page=0"),
        ("/operator/v1/tenants/{id}", ""),
        ("/operator/v1/fairness", ""),
        ("/operator/v1/budgets", ""),
        ("/operator/v1/budgets/{name}/windows", ""),
        ("/operator/v1/regions", ""),
        ("/operator/v1/audit", ""),
        ("/operator/v1/audit/verify", ""),
        ("/operator/v1/series", ""),
        ("/operator/v1/costs", ""),
        ("/operator/v1/decisions", ""),
        ("/operator/v1/decisions/{decision}", ""),
        ("/operator/v1/tokens", ""),
    ] {
        let asked = path.replace("{id}", "acme").replace("{name}", "tokens");
        let id = "17.5a0a02d29c9c2c19.weur.over_share.budget.tokens";
        let asked = asked.replace("{decision}", id);
        let reply = got(&client, &format!("{asked}{query}")).await;
        assert_keeps_to(&openapi, "GET", path, &reply);
    }
    let (session, _) = client
        .anonymous()
        .log_in(weir_tests::workerd::TOKEN)
        .await
        .unwrap();
    let reply = session.get("/operator/v1/session").await.unwrap();
    assert_keeps_to(&openapi, "GET", "/operator/v1/session", &reply);
    let nobody = client.anonymous().get("/operator/v1/policy").await.unwrap();
    assert_keeps_to(&openapi, "GET", "/operator/v1/policy", &nobody);
}

#[test]
fn an_answer_that_strays_from_its_schema_is_found() {
    let openapi = OpenApi(json!({ "components": { "schemas": { "Count": {
        "oneOf": [{ "type": "integer" }, { "type": "string" }]
    } } } }));
    let schema = json!({
        "type": "object", "required": ["n"], "additionalProperties": false,
        "properties": { "n": { "$ref": "#/components/schemas/Count" }, "m": { "type": ["string", "null"] } },
    });
    let check = |value| openapi.check(&schema, &value);
    assert!(check(json!({ "n": 1, "m": null })).is_ok());
    for stray in [
        json!({}),
        json!({ "n": 1.5 }),
        json!({ "n": true }),
        json!({ "n": 1, "m": 2 }),
        json!({ "n": 1, "o": 2 }),
        json!([]),
    ] {
        assert!(check(stray.clone()).is_err(), "{stray}");
    }
    let unknown = openapi.check(&json!({ "minimum": 1 }), &json!(0));
    assert!(unknown.is_err(), "a keyword that is not understood");
}
