//! Which requests go where.

use reqwest::Method;
use serde_json::json;
use weir_tests::fixtures::with;
use weir_tests::origin::Echo;

use crate::gateway::{Gateway, one_token, route};

#[tokio::test]
async fn weir_s_own_endpoints_win_over_every_route() {
    let gateway = Gateway::start(one_token()).await;
    for (method, path, due) in [
        (Method::GET, "/healthz", 200),
        (Method::GET, "/openapi.json", 200),
        (Method::GET, "/policy.schema.json", 200),
        (Method::POST, "/v1/check", 401),
        (Method::GET, "/v1/check", 405),
        (Method::GET, "/metrics", 401),
        (Method::GET, "/operator/v1/policy", 401),
    ] {
        let reply = gateway
            .send(gateway.request(method.clone(), path, "pro:a"))
            .await;
        assert_eq!(reply.status, due, "{method} {path}: {}", reply.text());
    }
    assert_eq!(gateway.origin.served(), 0, "none of them is forwarded");
    assert_eq!(gateway.get("/v1/checks", "pro:a").await.status, 200);
    assert_eq!(gateway.origin.served(), 1);
}

#[tokio::test]
async fn the_first_route_that_fits_by_host_path_and_method_takes_the_request() {
    let gateway = Gateway::with_policy(|document, origin| {
        let to = |name: &str, more: serde_json::Value| {
            let mut route = route(&format!("{origin}/echo?"), json!([]));
            route["origin"]["url"] = json!(origin);
            route["name"] = json!(name);
            for (field, value) in more.as_object().unwrap() {
                route[field] = value.clone();
            }
            route
        };
        let routes = json!([
            to("of_host", json!({ "host": "api.example.com", "path": "/*", "checks": [{ "budget": "of_host" }] })),
            to("of_method", json!({ "path": "/things/*", "methods": ["POST"], "checks": [{ "budget": "of_method" }] })),
            to("of_path", json!({ "path": "/things/*", "checks": [{ "budget": "of_path" }] })),
        ]);
        let budget = document["budgets"]["tokens"].clone();
        let document = ["of_host", "of_method", "of_path"]
            .iter()
            .fold(document, |document, name| {
                with(document, &format!("/budgets/{name}"), budget.clone())
            });
        with(document, "/routes", routes)
    })
    .await;
    let ask = |method: Method, path: &str, host: Option<&str>| {
        let mut request = gateway.request(method, path, "pro:a");
        if let Some(host) = host {
            request = request.header("host", host);
        }
        gateway.send(request)
    };
    for (method, path, host, taken) in [
        (Method::GET, "/things/1", Some("api.example.com"), "of_host"),
        (
            Method::GET,
            "/things/1",
            Some("API.example.com:80"),
            "of_host",
        ),
        (Method::POST, "/things/1", None, "of_method"),
        (Method::GET, "/things/1", None, "of_path"),
        (Method::GET, "/things/1?x=/other", None, "of_path"),
    ] {
        let reply = ask(method.clone(), path, host).await;
        assert_eq!(
            reply.status,
            200,
            "{method} {path} {host:?}: {}",
            reply.text()
        );
        let by = reply.header("ratelimit").unwrap();
        assert!(by.starts_with(&format!("\"{taken}\"")), "{path}: {by}");
    }
    for (path, host) in [
        ("/other", None),
        ("/thing", None),
        ("/other", Some("www.example.com")),
    ] {
        let reply = ask(Method::GET, path, host).await;
        assert_eq!(reply.status, 404, "{path}");
        reply.problem().unwrap();
    }
}

#[tokio::test]
async fn what_no_route_takes_is_refused_or_forwarded_as_the_policy_says() {
    let refusing = Gateway::with_policy(|document, origin| {
        let mut only = route(origin, one_token());
        only["path"] = json!("/api/*");
        with(document, "/routes", json!([only]))
    })
    .await;
    let reply = refusing.get("/elsewhere", "pro:a").await;
    assert_eq!(reply.status, 404);
    reply.problem().unwrap();
    assert_eq!(refusing.origin.served(), 0);

    let document = refusing.workerd.client(0).unwrap().policy().await.unwrap();
    let forward = json!({ "forward": { "url": refusing.origin.url(), "timeout_ms": 5_000 } });
    let document = with(document.document, "/unrouted", forward);
    refusing.workerd.apply(&document).await.unwrap();
    let reply = refusing
        .send(refusing.client.request(Method::GET, "/echo?a=b"))
        .await;
    let echo: Echo = reply.ok().unwrap();
    assert_eq!(echo.target, "/echo?a=b");
    assert_eq!(reply.header("ratelimit"), None, "nothing was decided");
}
