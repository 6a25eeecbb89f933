//! A second origin for what the first does not do.

use std::time::Duration;

use reqwest::{Body, Method};
use serde_json::{Value, json};
use weir_shared::limits::{FALLBACK_BODY_BYTES_MAX, ORIGIN_AWAY_MS, ORIGIN_FAILURES_MAX};
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::origin::{Echo, Instead, Origin};
use weir_tests::ports;
use weir_tests::workerd::Setup;

use crate::gateway::{Gateway, SECRET, one_token, route};

/// What the second provider knows the deployment by.
const SECOND_SECRET: &str = "the-key-that-the-second-gave-us";

/// A gateway before an origin and a second one, by a route that `change` completes.
async fn two(checks: Value, change: impl FnOnce(&mut Value)) -> (Gateway, Origin) {
    let second = Origin::start().await.unwrap();
    let setup = Setup::isolates(&["weur"])
        .variable("FIRST_KEY", SECRET)
        .variable("SECOND_KEY", SECOND_SECRET);
    let gateway = Gateway::of(setup, |document, origin| {
        let mut route = route(origin, checks);
        route["fallback"] = json!([{ "url": second.url(), "timeout_ms": 5_000 }]);
        change(&mut route);
        with(document, "/routes", json!([route]))
    });
    (gateway.await, second)
}

/// Requests that have reached an origin.
fn asked(origin: &Origin) -> usize {
    origin.seen().len()
}

#[tokio::test]
async fn what_the_first_refuses_the_second_does_and_neither_gets_the_other_s_secrets() {
    let secret = |name: &str| json!({ "authorization": { "secret": name, "prefix": "Bearer " } });
    let (gateway, second) = two(one_token(), |route| {
        route["origin"]["headers"] = secret("FIRST_KEY");
        route["origin"]["headers"]["x-first"] = json!({ "secret": "FIRST_KEY" });
        route["fallback"][0]["headers"] = secret("SECOND_KEY");
        route["fallback"][0]["strip_prefix"] = json!("/llm");
    })
    .await;
    let post = || {
        let request = gateway.request(Method::POST, "/llm/echo?a=b", "pro:a");
        gateway.send(request.body("0123456789"))
    };
    for status in [429, 500, 502, 503, 504, 529] {
        gateway.origin.instead(Some(Instead::Status(status)));
        let echo: Echo = post().await.ok().unwrap();
        assert_eq!(
            (echo.method.as_str(), echo.target.as_str()),
            ("POST", "/echo?a=b"),
            "{status}"
        );
        assert_eq!((echo.bytes, echo.sum), (10, 525), "{status}");
        let key = format!("Bearer {SECOND_SECRET}");
        assert_eq!(echo.headers["authorization"], key);
        assert!(!format!("{echo:?}").contains(SECRET), "{echo:?}");
        gateway.origin.instead(None);
        assert_eq!(post().await.text(), "ok", "the first is asked first");
    }
    let first = gateway.origin.seen();
    let (asked_first, asked_second) = (first.len(), asked(&second));
    assert_eq!((asked_first, asked_second), (12, 6));
    assert!(!format!("{first:?}").contains(SECOND_SECRET), "{first:?}");
    let key = format!("Bearer {SECRET}");
    assert!(
        first
            .iter()
            .all(|seen| seen.headers["authorization"] == key)
    );
    // What is the client's to hear goes to the client, and all were charged once.
    for status in [400, 404, 413, 501] {
        gateway.origin.instead(Some(Instead::Status(status)));
        assert_eq!(post().await.status, status);
    }
    assert_eq!(asked(&second), 6);
    gateway.await_left("tokens", "pro:a", 1_000 - 16).await;
}

#[tokio::test]
async fn a_dead_origin_gets_a_few_requests_and_the_second_whole_bodies() {
    let dead = format!("http://127.0.0.1:{}", ports::free().unwrap());
    let (gateway, second) = two(one_token(), |route| route["origin"]["url"] = json!(dead)).await;
    let mut away_from = now();
    for number in 0..2 * ORIGIN_FAILURES_MAX {
        if number + 1 == ORIGIN_FAILURES_MAX {
            away_from = now();
        }
        let megabyte = vec![3; 1_000_000];
        let body = if number % 2 == 0 {
            Body::from(megabyte)
        } else {
            let chunks: Vec<_> = megabyte.chunks(10_000).map(<[u8]>::to_vec).collect();
            let chunks = chunks.into_iter().map(Ok::<_, std::io::Error>);
            Body::wrap_stream(futures_util::stream::iter(chunks))
        };
        let request = gateway.request(Method::POST, "/echo", "pro:a").body(body);
        let echo: Echo = gateway.send(request).await.ok().unwrap();
        assert_eq!((echo.bytes, echo.sum), (1_000_000, 3_000_000), "{number}");
        assert_eq!(echo.headers["content-length"], "1000000");
    }
    let none: Echo = gateway.get("/echo", "pro:a").await.ok().unwrap();
    assert_eq!(none.bytes, 0);
    let tries = gateway.workerd.log().matches(&dead).count();
    let most = ORIGIN_FAILURES_MAX as usize;
    // A slow machine is not done before the origin is looked at again.
    let looks = (away_from.elapsed().as_millis() / u128::from(ORIGIN_AWAY_MS)) as usize;
    assert!(
        (most..=most + looks).contains(&tries),
        "{tries}: it is passed by then"
    );
    assert_eq!(second.served(), u64::from(2 * ORIGIN_FAILURES_MAX) + 1);
}

#[tokio::test]
async fn a_silent_origin_leaves_its_time_and_a_post_is_not_done_twice() {
    for unsafe_too in [false, true] {
        let (gateway, second) = two(one_token(), |route| {
            route["origin"]["timeout_ms"] = json!(300);
            if unsafe_too {
                route["retry_unsafe"] = json!(true);
            }
        })
        .await;
        gateway.origin.instead(Some(Instead::Silence));
        let start = now();
        assert_eq!(gateway.get("/slow?ms=200", "pro:a").await.text(), "slow");
        let taken = start.elapsed();
        assert!((450..15_000).contains(&taken.as_millis()), "{taken:?}");
        let request = gateway.request(Method::POST, "/echo", "pro:a").body("x");
        let reply = gateway.send(request).await;
        if unsafe_too {
            assert_eq!((reply.status, asked(&second)), (200, 2));
        } else {
            assert_eq!((reply.status, asked(&second)), (504, 1));
            assert!(reply.text().contains("300 ms"), "{}", reply.text());
        }
    }
}

#[tokio::test]
async fn an_answer_that_has_begun_is_the_only_one() {
    let (gateway, second) = two(one_token(), |_| {}).await;
    let request = gateway.request(Method::GET, "/break", "pro:a");
    let body = gateway.begin(request).await.bytes().await;
    assert!(body.is_err(), "{body:?}");
    assert_eq!(asked(&second), 0);
}

#[tokio::test]
async fn a_body_above_the_bound_is_sent_once() {
    let (gateway, second) = two(one_token(), |_| {}).await;
    let bytes = FALLBACK_BODY_BYTES_MAX + 1;
    let chunked = || {
        let chunks = vec![vec![1; bytes / 2], vec![1; bytes - bytes / 2]];
        let chunks = chunks.into_iter().map(Ok::<_, std::io::Error>);
        Body::wrap_stream(futures_util::stream::iter(chunks))
    };
    for body in [Body::from(vec![1; bytes]), chunked()] {
        let request = gateway.request(Method::POST, "/echo", "pro:a").body(body);
        let echo: Echo = gateway.send(request).await.ok().unwrap();
        assert_eq!(echo.bytes, bytes as u64);
    }
    let kept = vec![1; bytes - 1];
    gateway.origin.instead(Some(Instead::Status(503)));
    let request = gateway.request(Method::POST, "/echo", "pro:a").body(kept);
    let echo: Echo = gateway.send(request).await.ok().unwrap();
    assert_eq!((echo.bytes, asked(&second)), (bytes as u64 - 1, 1));
    gateway.origin.instead(None);
    assert_eq!(gateway.get("/status/599", "pro:a").await.status, 599);
    let request = gateway.request(Method::POST, "/status/503", "pro:a");
    // An origin that answers before it has read all may close the connection first, and the client's with it.
    if let Ok(reply) = gateway.client.send(request.body(chunked())).await {
        assert!([502, 503].contains(&reply.status), "{}", reply.status);
    }
    assert_eq!(asked(&second), 1);
}

#[tokio::test]
async fn what_the_second_tells_is_charged_once() {
    let usage = json!({ "usage": { "format": "openai", "reserve": 200 } });
    let (gateway, second) = two(json!([{ "budget": "tokens", "cost": usage }]), |route| {
        route["inject_usage"] = json!(true);
    })
    .await;
    gateway.origin.instead(Some(Instead::Status(429)));
    for (streams, left) in [(false, 989), (true, 978)] {
        let chat = json!({
            "model": "gpt-4o", "user": "words=7", "stream": streams,
            "messages": [{ "role": "user", "content": "these are four words" }]
        });
        let request = gateway.request(Method::POST, "/v1/chat/completions", "pro:a");
        let reply = gateway.send(request.json(&chat)).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        gateway.await_left("tokens", "pro:a", left).await;
    }
    assert_eq!((asked(&gateway.origin), asked(&second)), (2, 2));
}

#[tokio::test]
async fn where_all_fail_the_last_answer_is_the_client_s_and_costs_nothing() {
    let cost = json!({ "response_header": "x-tokens-used", "reserve": 100 });
    let dead = format!("http://127.0.0.1:{}", ports::free().unwrap());
    let (gateway, second) = two(json!([{ "budget": "tokens", "cost": cost }]), |route| {
        let second = route["fallback"][0].clone();
        route["fallback"] = json!([{ "url": dead }, second]);
    })
    .await;
    gateway.origin.instead(Some(Instead::Status(429)));
    second.instead(Some(Instead::Status(503)));
    let reply = gateway.get("/x", "pro:a").await;
    assert_eq!((reply.status, reply.text().as_str()), (503, "as told"));
    assert!(reply.header("ratelimit").is_some(), "it was decided");
    gateway.await_left("tokens", "pro:a", 1_000).await;
    assert_eq!((asked(&gateway.origin), asked(&second)), (1, 1));
}

#[tokio::test]
async fn an_origin_that_is_well_again_is_used_again() {
    let (gateway, second) = two(one_token(), |_| {}).await;
    let failures = ORIGIN_FAILURES_MAX as usize;
    gateway.origin.instead(Some(Instead::Status(503)));
    let start = now();
    for _ in 0..failures {
        assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
    }
    gateway.origin.instead(None);
    for _ in 0..10 {
        assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
    }
    let away = Duration::from_millis(ORIGIN_AWAY_MS);
    if start.elapsed() < away {
        assert_eq!(asked(&gateway.origin), failures);
        assert_eq!(asked(&second), failures + 10);
    }
    tokio::time::sleep(away).await;
    let (before, others) = (asked(&gateway.origin), asked(&second));
    for _ in 0..5 {
        assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
    }
    assert_eq!(asked(&gateway.origin), before + 5);
    assert_eq!(asked(&second), others);
}

#[tokio::test]
async fn an_answer_of_the_second_streams_as_it_comes() {
    let (gateway, second) = two(one_token(), |_| {}).await;
    gateway.origin.instead(Some(Instead::Status(503)));
    let request = gateway.request(Method::POST, "/hold", "pro:a").body("x");
    let mut reply = gateway.begin(request).await;
    assert_eq!(reply.status(), 200);
    // The second does not end its answer before it is told to.
    let mut got = Vec::<u8>::new();
    for _ in 0..4 {
        got.extend(reply.chunk().await.unwrap().expect("it goes on"));
    }
    second.let_go();
    while let Some(chunk) = reply.chunk().await.unwrap() {
        got.extend(chunk);
    }
    let rest = got.strip_prefix(b"held").expect("what came first");
    assert!(rest.iter().all(|byte| *byte == b'.'), "{rest:?}");
}
