//! Requests that nobody should send.

use reqwest::Method;
use serde_json::json;
use weir_tests::fixtures::with;

use crate::gateway::{Gateway, TENANT, one_token, route};

/// More than the runtime takes of header fields, which is half a MiB.
const HEADERS_BYTES_REFUSED: usize = 1_000_000;

#[tokio::test]
async fn malformed_and_huge_headers_are_refused_and_reach_nobody() {
    let gateway = Gateway::with_policy(|document, origin| {
        let checks = json!([{ "limit": "per_ip", "key": { "header": "x-key" } }]);
        with(document, "/routes", json!([route(origin, checks)]))
    })
    .await;
    let long = "k".repeat(129);
    for (tenant, key, field) in [
        ("pro:a", Some(long.as_str()), "/headers/x-key"),
        ("pro:a", None, "/headers/x-key"),
        (long.as_str(), Some("k"), "/headers/x-tenant"),
        ("pro:a, pro:b", Some("k"), "/headers/x-tenant"),
    ] {
        let mut request = gateway.request(Method::GET, "/x", tenant);
        if let Some(key) = key {
            request = request.header("x-key", key);
        }
        let reply = gateway.send(request).await;
        assert_eq!(reply.status, 400, "{tenant} {key:?}: {}", reply.text());
        assert_eq!(reply.problem().unwrap().field.as_deref(), Some(field));
    }
    // Two fields of one name are two tenants.
    let twice = gateway
        .request(Method::GET, "/x", "pro:a")
        .header(TENANT, "pro:b")
        .header("x-key", "k");
    assert_eq!(gateway.send(twice).await.status, 400);
    let huge = gateway
        .request(Method::GET, "/x", "pro:a")
        .header("x-key", "k")
        .header("x-huge", "x".repeat(HEADERS_BYTES_REFUSED));
    let refused = gateway.client.send(huge).await;
    assert!(refused.is_err() || refused.unwrap().status >= 400);
    assert_eq!(gateway.origin.served(), 0);

    let reply = gateway
        .send(
            gateway
                .request(Method::GET, "/x", "pro:a")
                .header("x-key", "k"),
        )
        .await;
    assert_eq!(reply.status, 200, "and it goes on: {}", reply.text());
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_the_gateway_goes_on() {
    let gateway = Gateway::start(one_token()).await;
    for raw in [
        &b"GET /a b HTTP/1.1\r\nhost: h\r\n\r\n"[..],
        b"GET /x HTTP/1.1\r\nhost: h\r\nx-tenant: pro:a\r\n: empty\r\n\r\n",
        b"POST /x HTTP/1.1\r\nhost: h\r\nx-tenant: pro:a\r\ncontent-length: -1\r\n\r\n",
        b"BREW /x HTTP/1.1\r\nhost: h\r\nx-tenant: pro:a\r\n\r\n",
    ] {
        let text = String::from_utf8_lossy(raw);
        // The runtime closes some of these connections without a word.
        if let Ok(answer) = gateway.client.send_raw(raw).await {
            assert!(
                answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 5"),
                "{text}: {answer}"
            );
        }
    }
    assert_eq!(gateway.origin.served(), 0);
    assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
}

#[tokio::test]
async fn a_path_that_could_mean_two_routes_is_refused() {
    let gateway = Gateway::with_policy(|document, origin| {
        let mut open = route(origin, json!([]));
        open["name"] = json!("open");
        open["path"] = json!("/public/*");
        let closed = route(origin, json!([{ "budget": "tokens" }]));
        with(document, "/routes", json!([open, closed]))
    })
    .await;
    for path in [
        "/public/%2e%2e/private",
        "/public/..%2fprivate",
        "/public%2fprivate",
        "/%zz",
    ] {
        let head = format!("GET {path} HTTP/1.1\r\nhost: h\r\n\r\n");
        let answer = gateway.client.send_raw(head.as_bytes()).await.unwrap();
        let status = &answer[9..12];
        assert!(["400", "401"].contains(&status), "{path}: {answer}");
    }
    assert_eq!(gateway.origin.served(), 0, "nothing gets past the checks");
}

#[tokio::test]
async fn a_body_of_a_request_that_has_none_goes_no_further() {
    let gateway = Gateway::start(one_token()).await;
    let request = gateway
        .request(Method::GET, "/echo", "pro:a")
        .body("smuggled");
    let reply = gateway.send(request).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let echo: weir_tests::origin::Echo = reply.ok().unwrap();
    assert_eq!(echo.bytes, 0);
}

#[tokio::test]
async fn a_body_never_passes_beyond_what_it_is_charged_for() {
    let gateway = Gateway::start(json!([
        { "budget": "tokens", "cost": { "body_bytes": { "per": 1, "reserve": 10 } } }
    ]))
    .await;
    // Two lengths: the runtime goes by the coding, takes the other one away, and reads nothing behind it (RFC 9112, section 6.3).
    let body = "x".repeat(400);
    let raw = format!(
        "POST /echo HTTP/1.1\r\nhost: h\r\n{TENANT}: pro:a\r\ncontent-length: 1\r\n\
         transfer-encoding: chunked\r\n\r\n190\r\n{body}\r\n0\r\n\r\n\
         GET /echo HTTP/1.1\r\nhost: h\r\n{TENANT}: pro:a\r\n\r\n"
    );
    let answer = gateway.send_raw(raw.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    crate::gateway::eventually("all of the body is charged", async || {
        gateway.left("tokens", "pro:a").await == 600
    })
    .await;
    assert_eq!((gateway.origin.served(), gateway.origin.bytes()), (1, 400));
    assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
}
