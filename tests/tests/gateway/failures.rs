//! Origins that are dead, slow or broken.

use std::slice::from_ref;

use reqwest::Method;
use serde_json::{Value, json};
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::ports;
use weir_tests::watch::Watch;

use crate::gateway::{Gateway, eventually, route};

/// A route with a guard, a settled cost, and an origin that has longer than a busy machine needs for a short answer.
fn watched(document: Value, origin: &str) -> Value {
    let document = with(
        document,
        "/guards",
        json!({ "calls": { "concurrency": 2, "per_minute": "unlimited" } }),
    );
    let checks = json!([
        { "guard": "calls" },
        { "budget": "tokens", "cost": { "response_header": "x-tokens-used", "reserve": 100 } }
    ]);
    let mut route = route(origin, checks);
    route["origin"]["timeout_ms"] = json!(10_000);
    with(document, "/routes", json!([route]))
}

#[tokio::test]
async fn a_dead_origin_is_502_and_charges_nothing_that_is_settled_afterwards() {
    let dead = format!("http://127.0.0.1:{}", ports::free().unwrap());
    let gateway = Gateway::with_policy(|document, _| watched(document, &dead)).await;
    for _ in 0..5 {
        let reply = gateway.get("/x", "pro:a").await;
        assert_eq!(reply.status, 502, "{}", reply.text());
        let problem = reply.problem().unwrap();
        assert!(!problem.detail.contains("127.0.0.1"), "{problem:?}");
        assert!(reply.header("ratelimit").is_some(), "it was decided");
    }
    let posted = gateway
        .request(Method::POST, "/x", "pro:a")
        .body("x".repeat(100_000));
    assert_eq!(gateway.send(posted).await.status, 502);
    gateway.await_left("tokens", "pro:a", 1_000).await;
    // Slots are free again: seven calls have passed a guard of two.
    assert_eq!(gateway.get("/x", "pro:a").await.status, 502);
}

#[tokio::test]
async fn a_slow_origin_is_504_in_time_and_stays_charged() {
    let gateway = Gateway::with_policy(|document, origin| {
        let document = watched(document, origin);
        with(document, "/routes/0/origin/timeout_ms", json!(2_500))
    })
    .await;
    for path in ["/never", "/slow?ms=12000"] {
        let watch = Watch::start(from_ref(&gateway.client));
        let start = now();
        let reply = gateway.get(path, "pro:a").await;
        let (end, stood) = (now(), watch.stop().await);
        assert_eq!(reply.status, 504, "{path}: {}", reply.text());
        assert!(reply.problem().unwrap().detail.contains("2500 ms"));
        let taken = end - start;
        assert!(taken.as_millis() >= 2_450, "{path}: {taken:?}");
        let taken = taken.saturating_sub(stood.during(start, end));
        assert!(taken.as_millis() < 6_000, "{path}: {taken:?}");
    }
    // On a busy machine 100 ms may come too late as well.
    let mut asked = 3;
    while gateway.get("/slow?ms=100", "pro:a").await.status != 200 {
        asked += 1;
        assert!(asked < 8, "no answer in time");
    }
    // What a request that was given up has used, nobody knows.
    let left = 1_000 - 100 * asked;
    gateway.await_left("tokens", "pro:a", left).await;
    eventually("the origin is rid of the requests", async || {
        gateway.origin.in_flight() <= 1
    })
    .await;
    assert_eq!(
        gateway.get("/x", "pro:a").await.status,
        200,
        "slots are free"
    );
}

#[tokio::test]
async fn an_answer_that_breaks_off_breaks_off_for_the_client() {
    let gateway = Gateway::with_policy(watched).await;
    for _ in 0..4 {
        let request = gateway.request(Method::GET, "/break", "pro:a");
        let body = gateway.begin(request).await.bytes().await;
        assert!(body.is_err(), "{body:?}");
    }
    eventually("slots are free", async || {
        gateway.get("/x", "pro:a").await.status == 200
    })
    .await;
    assert_eq!(gateway.client.get("/healthz").await.unwrap().status, 200);
}

#[tokio::test]
async fn a_failure_that_names_no_amount_is_settled_as_nothing() {
    let gateway = Gateway::with_policy(watched).await;
    assert_eq!(gateway.get("/status/503", "pro:a").await.status, 503);
    gateway.await_left("tokens", "pro:a", 1_000).await;
    assert_eq!(
        gateway.get("/status/500?used=40", "pro:a").await.status,
        500
    );
    gateway.await_left("tokens", "pro:a", 960).await;
}

#[tokio::test]
async fn a_client_that_goes_away_gives_its_slot_back_and_settles() {
    let gateway = Gateway::with_policy(watched).await;
    for number in 1..=4_u64 {
        let request = gateway.request(Method::GET, "/hold?used=10", "pro:a");
        let mut reply = gateway.begin(request).await;
        assert_eq!(reply.status(), 200, "{number}");
        reply.chunk().await.unwrap();
        assert_eq!(gateway.origin.in_flight(), 1);
        drop(reply);
        gateway
            .await_left("tokens", "pro:a", 1_000 - 10 * number)
            .await;
        eventually("the origin hears of it", async || {
            gateway.origin.in_flight() == 0
        })
        .await;
    }
}

#[tokio::test]
async fn a_request_that_goes_in_a_circle_ends() {
    let gateway = Gateway::start(json!([])).await;
    let own = gateway.client.origin().to_owned();
    let current = gateway.workerd.client(0).unwrap().policy().await.unwrap();
    let document = with(current.document, "/routes", json!([route(&own, json!([]))]));
    gateway.workerd.apply(&document).await.unwrap();
    let reply = gateway.get("/round", "pro:a").await;
    assert_eq!(reply.status, 508, "{}", reply.text());
    assert_eq!(gateway.origin.served(), 0);
}
