//! What is refused, and where the fault is.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::role::Role;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::workerd::Setup;

use super::{ORIGIN, THERE, document, start};

async fn refused(client: &Client, path: &str, body: &Value) -> (u16, Option<String>) {
    let reply = client.post(path, body).await.unwrap();
    let problem = reply.problem().unwrap();
    (problem.status, problem.field)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_is_not_one_is_refused_with_its_fault() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    let good = json!({ "resource": ORIGIN, "tenant": "acme", "outcome": "failure" });
    let cases = [
        ("/resource", Value::Null, 400),
        ("/tenant", Value::Null, 400),
        ("/outcome", Value::Null, 400),
        ("/resource", json!("none"), 404),
        ("/resource", json!(7), 400),
        ("/tenant", json!(""), 400),
        ("/tenant", json!("x".repeat(129)), 400),
        ("/tenant", json!("a\u{0}b"), 400),
        ("/outcome", json!("maybe"), 400),
        ("/cost", json!(1), 400),
    ];
    for (field, value, status) in cases {
        let body = with(good.clone(), field, value.clone());
        let found = refused(&client, "/v1/report", &body).await;
        assert_eq!(found, (status, Some(field.to_owned())), "{value}");
    }
    let large = with(good.clone(), "/tenant", json!("x".repeat(70_000)));
    assert_eq!(refused(&client, "/v1/report", &large).await.0, 413);
    let reply = client.get("/v1/report").await.unwrap();
    assert_eq!(reply.status, 405);
    assert_eq!(reply.header("allow"), Some("POST"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_of_a_resource_needs_a_tenant_and_a_name_of_the_policy() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    let cases = [
        (json!({ "overload": ORIGIN }), 400, "/tenant"),
        (
            json!({ "tenant": "acme", "overload": "none" }),
            404,
            "/overload",
        ),
        (
            json!({ "tenant": "acme", "overload": ORIGIN, "key": "k" }),
            400,
            "/key",
        ),
        (
            json!({ "tenant": "acme", "overload": ORIGIN, "cost": -1 }),
            400,
            "/cost",
        ),
        (
            json!({ "tenant": "acme", "overload": ORIGIN, "budget": "tokens" }),
            400,
            "/overload",
        ),
        (
            json!({ "tenant": "acme", "checks": [{ "overload": ORIGIN }, { "overload": ORIGIN }] }),
            400,
            "/checks/1/overload",
        ),
    ];
    for (body, status, field) in cases {
        let found = refused(&client, "/v1/check", &body).await;
        assert_eq!(found, (status, Some(field.to_owned())), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_services_and_admins_report() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let admin = workerd.client(0).unwrap();
    let body = |tenant: &str| json!({ "resource": ORIGIN, "tenant": tenant, "outcome": "failure" });
    let roles = [
        (Role::Service, None, Some("eu:"), "eu:acme", 200),
        (Role::Service, None, Some("eu:"), "us:acme", 403),
        (Role::Service, None, None, "us:acme", 200),
        (Role::Tenant, Some("acme"), None, "acme", 403),
        (Role::Viewer, None, None, "acme", 403),
        (Role::Editor, None, None, "acme", 403),
    ];
    for (index, (role, tenant, prefix, named, status)) in roles.into_iter().enumerate() {
        let request = TokenRequest {
            name: format!("token{index}"),
            role,
            tenant: tenant.map(str::to_owned),
            prefix: prefix.map(str::to_owned),
            expires_at: None,
        };
        let token = admin.make_token(&request).await.unwrap().token;
        let client = admin.with_token(&token);
        let start = now();
        let reply = loop {
            let reply = client.post("/v1/report", &body(named)).await.unwrap();
            // The isolate may hear of a new token late.
            if ![401, 503].contains(&reply.status) || start.elapsed() > THERE {
                break reply;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        assert_eq!(reply.status, status, "{role:?} {named}: {}", reply.text());
    }
    let reply = admin.anonymous().post("/v1/report", &body("acme")).await;
    assert_eq!(reply.unwrap().status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_is_not_valid_is_not_saved() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    let tag = client.policy().await.unwrap().etag;
    let cases = [
        ("buckets", json!(0)),
        ("buckets", json!(4_097)),
        ("levels", json!(0)),
        ("levels", json!(9)),
        ("rotate_ms", json!(9_999)),
        ("increase", json!(0)),
        ("increase", json!(1.5)),
        ("decrease", json!(0.5)),
        ("decay_per_s", json!(-1)),
        ("steering", json!("none")),
        ("final", json!("most")),
        ("more", json!(1)),
    ];
    for (field, value) in cases {
        let body = document(json!({ field: value }));
        let reply = client.put_policy(&body, Some(&tag)).await.unwrap();
        let problem = reply.problem().unwrap();
        assert_eq!(problem.status, 400, "{field} {value}");
        let pointer = format!("/overload/{ORIGIN}/{field}");
        assert_eq!(problem.field.as_deref(), Some(pointer.as_str()), "{value}");
    }
    assert_eq!(
        client.policy().await.unwrap().etag,
        tag,
        "nothing was changed"
    );
}
