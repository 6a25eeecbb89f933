//! What reaches the origin, and what of its answer reaches the client.

use reqwest::Method;
use serde_json::json;
use weir_tests::fixtures::with;
use weir_tests::origin::Echo;

use crate::gateway::{Gateway, one_token, route};

#[tokio::test]
async fn a_request_reaches_the_origin_as_it_was_sent() {
    let gateway = Gateway::start(one_token()).await;
    let request = gateway
        .request(Method::PUT, "/echo?a=1&b=%2F%20&c", "pro:a")
        .header("x-own", "of the client")
        .header("content-type", "text/plain")
        .body("0123456789");
    let echo: Echo = gateway.send(request).await.ok().unwrap();
    assert_eq!(echo.method, "PUT");
    assert_eq!(echo.target, "/echo?a=1&b=%2F%20&c");
    assert_eq!((echo.bytes, echo.sum), (10, 525));
    assert_eq!(echo.headers["x-own"], "of the client");
    assert_eq!(echo.headers["content-type"], "text/plain");
    assert_eq!(echo.headers["content-length"], "10", "the length is kept");
    assert_eq!(echo.headers["x-tenant"], "pro:a");
    let host = gateway.origin.url().replace("http://", "");
    assert_eq!(echo.headers["host"], host);
}

#[tokio::test]
async fn what_concerns_one_connection_goes_no_further_and_what_weir_reads_is_not_told() {
    let gateway = Gateway::start(one_token()).await;
    let request = gateway
        .request(Method::GET, "/echo", "pro:a")
        .header("weir-region", "weur")
        .header("connection", "x-hop")
        .header("x-hop", "for the next one only")
        .header("te", "trailers")
        .header("proxy-authorization", "Basic eDp5")
        .header("x-forwarded-host", "forged.example.com")
        .header("forwarded", "for=192.0.2.1");
    let echo: Echo = gateway.send(request).await.ok().unwrap();
    for dropped in ["weir-region", "x-hop", "te", "proxy-authorization"] {
        assert!(!echo.headers.contains_key(dropped), "{dropped}: {echo:?}");
    }
    assert_ne!(echo.headers["x-forwarded-host"], "forged.example.com");
    assert!(!echo.headers.contains_key("forwarded"), "{echo:?}");

    let reply = gateway.get("/odd", "pro:a").await;
    let cookies = reply.headers.get_all("set-cookie").iter();
    let cookies: Vec<_> = cookies.map(|value| value.to_str().unwrap()).collect();
    assert_eq!(cookies, ["a=1; Path=/", "b=2; Path=/"]);
    assert_eq!(reply.header("x-origin"), Some("yes"));
    assert_eq!(reply.header("keep-alive"), None);
    let limits: Vec<_> = reply.headers.get_all("ratelimit").iter().collect();
    assert_eq!(limits.len(), 1, "one voice: {limits:?}");
    assert!(reply.header("ratelimit").unwrap().starts_with("\"tokens\""));
}

#[tokio::test]
async fn every_status_and_method_passes_and_redirects_are_the_client_s_to_follow() {
    let gateway = Gateway::start(one_token()).await;
    for status in [200, 201, 204, 205, 301, 302, 304, 400, 404, 418, 500, 599] {
        let reply = gateway.get(&format!("/status/{status}"), "pro:a").await;
        assert_eq!(reply.status, status);
        assert!(reply.header("ratelimit").is_some(), "{status}");
    }
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let reply = gateway
            .send(gateway.request(method.clone(), "/echo", "pro:a"))
            .await;
        let echo: Echo = reply.ok().unwrap();
        assert_eq!(echo.method, method.as_str());
        assert_eq!(echo.bytes, 0);
    }
    let reply = gateway
        .send(gateway.request(Method::HEAD, "/anything", "pro:a"))
        .await;
    assert_eq!((reply.status, reply.body.len()), (200, 0));
    assert_eq!(gateway.origin.seen().last().unwrap().method, "HEAD");
}

#[tokio::test]
async fn the_origin_s_own_path_is_put_before_the_request_s() {
    let gateway = Gateway::with_policy(|document, origin| {
        let route = route(&format!("{origin}/status"), one_token());
        with(document, "/routes", json!([route]))
    })
    .await;
    assert_eq!(gateway.get("/418", "pro:a").await.status, 418);
    let seen = gateway.origin.seen();
    assert_eq!(seen.last().unwrap().target, "/status/418");
    let climbed = gateway.get("/x/%2e%2e/%2e%2e/echo", "pro:a").await;
    let seen = gateway.origin.seen();
    assert!(
        climbed.status == 400 || seen.last().unwrap().target.starts_with("/status/"),
        "{} {seen:?}",
        climbed.status
    );
}
