//! What is denied, and what a denial says.

use reqwest::Method;
use serde_json::{Value, json};
use weir_tests::clock::now;
use weir_tests::fixtures::{gcra, with};

use crate::gateway::{Gateway, TENANT, one_token, route};

const QUOTA: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// A limit of `burst` a day for each tenant, in a route of everything.
async fn limited(burst: u64, cost: Value) -> Gateway {
    Gateway::with_policy(|document, origin| {
        let limit = with(
            gcra(burst, 24 * 3_600_000, burst),
            "/per_tenant",
            json!(true),
        );
        let document = with(document, "/limits/each", limit);
        let checks = json!([{ "limit": "each", "cost": cost }]);
        with(document, "/routes", json!([route(origin, checks)]))
    })
    .await
}

#[tokio::test]
async fn a_denial_is_a_problem_of_the_draft_s_type_and_says_when_to_come_back() {
    let gateway = limited(2, json!(1)).await;
    for left in [1, 0] {
        let reply = gateway.get("/x", "pro:a").await;
        assert_eq!(reply.status, 200);
        let told = reply.header("ratelimit").unwrap();
        assert!(told.starts_with(&format!("\"each\";r={left};t=")), "{told}");
        assert_eq!(
            reply.header("ratelimit-policy"),
            Some("\"each\";q=2;w=86400"),
            "every answer says it"
        );
    }
    let denied = gateway.get("/x", "pro:a").await;
    assert_eq!(denied.status, 429);
    let problem = denied.problem().unwrap();
    assert_eq!(problem.kind, QUOTA);
    let body: Value = denied.json().unwrap();
    assert_eq!(body["violated-policies"], json!(["each"]));
    let after_ms = problem.retry_after_ms.unwrap();
    assert!((1..=12 * 3_600_000).contains(&after_ms), "{after_ms}");
    let after_s: u64 = denied.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(after_s, after_ms.div_ceil(1_000));
    assert!(denied.header("ratelimit").unwrap().contains(";r=0;"));
    assert_eq!(gateway.origin.served(), 2, "the origin does not hear of it");
    assert_eq!(gateway.get("/x", "pro:b").await.status, 200, "another's");
}

#[tokio::test]
async fn the_body_of_a_denied_request_is_never_read() {
    let gateway = limited(1, json!({ "body_bytes": { "per": 1_000, "reserve": 10 } })).await;
    // The head alone is sent: an answer to it was given without the body.
    let head = format!(
        "POST /echo HTTP/1.1\r\nhost: h\r\n{TENANT}: pro:a\r\ncontent-length: 1000000000\r\n\r\n"
    );
    let start = now();
    let answer = gateway.send_raw(head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    // A request that costs more than there ever is does not pass later.
    assert!(
        !answer.to_ascii_lowercase().contains("retry-after"),
        "{answer}"
    );
    let endless = format!(
        "POST /echo HTTP/1.1\r\nhost: h\r\n{TENANT}: pro:a\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let answer = gateway.send_raw(endless.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    assert_eq!(gateway.origin.served(), 0);
}

#[tokio::test]
async fn all_checks_of_a_route_pass_or_none_is_charged() {
    let gateway = Gateway::with_policy(|document, origin| {
        let limit = with(gcra(1, 24 * 3_600_000, 1), "/per_tenant", json!(true));
        let document = with(document, "/limits/each", limit);
        let checks = json!([{ "budget": "tokens", "cost": 10 }, { "limit": "each" }]);
        with(document, "/routes", json!([route(origin, checks)]))
    })
    .await;
    let first = gateway.get("/x", "pro:a").await;
    assert_eq!(first.status, 200, "{}", first.text());
    for _ in 0..5 {
        let denied = gateway.get("/x", "pro:a").await;
        assert_eq!(denied.status, 429);
        let body: Value = denied.json().unwrap();
        assert_eq!(body["violated-policies"], json!(["each"]));
    }
    gateway.await_left("tokens", "pro:a", 990).await;
}

#[tokio::test]
async fn a_cost_is_what_a_header_says_up_to_its_bound() {
    let gateway = limited(10, json!({ "header": "x-cost", "max": 6 })).await;
    let ask = async |cost: &str| {
        let request = gateway.request(Method::GET, "/x", "pro:a");
        gateway.send(request.header("x-cost", cost)).await
    };
    let left = |reply: &weir_tests::reply::Reply| {
        let told = reply.header("ratelimit").unwrap().to_owned();
        let rest = told.split(";r=").nth(1).unwrap().to_owned();
        rest.split(';').next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(left(&gateway.get("/x", "pro:a").await), 9, "absent is 1");
    assert_eq!(left(&ask("2").await), 7);
    assert_eq!(left(&ask("1000000").await), 1, "at most 6");
    for malformed in ["-1", "1.5", "one", "0x1", "1 2", "1,2"] {
        let reply = ask(malformed).await;
        assert_eq!(reply.status, 400, "{malformed}: {}", reply.text());
        let field = reply.problem().unwrap().field;
        assert_eq!(field.as_deref(), Some("/headers/x-cost"), "{malformed}");
    }
    assert_eq!(left(&ask("1").await), 0, "what was refused cost nothing");
}

#[tokio::test]
async fn other_dialects_of_the_headers_are_spoken_too() {
    for (dialect, header) in [
        ("x_ratelimit", Some("x-ratelimit-remaining")),
        ("none", None),
    ] {
        let gateway = Gateway::with_policy(|document, origin| {
            let document = with(document, "/rate_limit_headers", json!(dialect));
            with(document, "/routes", json!([route(origin, one_token())]))
        })
        .await;
        let reply = gateway.get("/x", "pro:a").await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("ratelimit"), None);
        let names = reply.headers.keys().map(|name| name.as_str());
        let ours: Vec<_> = names
            .filter(|name| name.starts_with("x-ratelimit"))
            .collect();
        match header {
            Some(header) => assert_eq!(reply.header(header), Some("999"), "{ours:?}"),
            None => assert!(ours.is_empty(), "{ours:?}"),
        }
    }
}
