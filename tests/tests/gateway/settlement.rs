//! Costs that are known afterwards.

use reqwest::{Body, Method};
use serde_json::{Value, json};
use weir_shared::wire::check::DecisionBody;
use weir_tests::fixtures::with;
use weir_tests::origin::Echo;

use crate::gateway::{Gateway, SETTLING, route};

/// A route that reserves 100 of 1,000 tokens and settles by what the answer says.
async fn by_answer() -> Gateway {
    Gateway::start(json!([
        { "budget": "tokens", "cost": { "response_header": "x-tokens-used", "reserve": 100 } }
    ]))
    .await
}

#[tokio::test]
async fn a_cost_that_the_answer_names_replaces_what_was_reserved() {
    let gateway = by_answer().await;
    for (used, left) in [(40, 960), (0, 960), (100, 860), (250, 610)] {
        let reply = gateway.get(&format!("/x?used={used}"), "pro:a").await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("x-tokens-used"), Some(&*used.to_string()));
        gateway.await_left("tokens", "pro:a", left).await;
    }
    // An answer that does not say stays charged as it was reserved.
    assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
    gateway.await_left("tokens", "pro:a", 510).await;
}

#[tokio::test]
async fn several_costs_of_one_request_are_settled_each_by_its_own() {
    let gateway = Gateway::with_policy(|document, origin| {
        let budget = document["budgets"]["tokens"].clone();
        let document = with(document, "/budgets/bytes", budget);
        let checks = json!([
            { "budget": "tokens", "cost": { "response_header": "x-tokens-used", "reserve": 100 } },
            { "budget": "bytes", "cost": { "body_bytes": { "per": 1_000, "reserve": 500 } } },
            { "limit": "per_ip", "key": { "fixed": "all" } }
        ]);
        with(document, "/routes", json!([route(origin, checks)]))
    })
    .await;
    let sent = chunked(vec![vec![1_u8; 3_500]; 3]);
    let request = gateway.request(Method::POST, "/echo?used=7", "pro:a");
    let echo: Echo = gateway.send(request.body(sent)).await.ok().unwrap();
    assert_eq!((echo.bytes, echo.sum), (10_500, 10_500));
    gateway.await_left("tokens", "pro:a", 993).await;
    gateway.await_left("bytes", "pro:a", 989).await;
}

/// A body whose length is not declared.
fn chunked(chunks: Vec<Vec<u8>>) -> Body {
    let chunks = chunks.into_iter().map(Ok::<_, std::io::Error>);
    Body::wrap_stream(futures_util::stream::iter(chunks))
}

async fn meter_left(gateway: &Gateway) -> u64 {
    let question = json!({ "tenant": "pro:a", "meter": "ingest_bytes", "cost": 0 });
    let client = gateway.workerd.client(0).unwrap();
    let looked: DecisionBody = client
        .post("/v1/check", &question)
        .await
        .unwrap()
        .ok()
        .unwrap();
    looked.remaining
}

async fn await_meter(gateway: &Gateway, expected: u64) {
    let start = weir_tests::clock::now();
    loop {
        let left = meter_left(gateway).await;
        // The meter fills by a few units in the time that a test takes.
        if left.abs_diff(expected) <= 2 {
            return;
        }
        assert!(
            start.elapsed() < SETTLING,
            "{left} are left, not {expected}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_body_is_charged_by_its_declared_length_or_by_the_bytes_that_passed() {
    let gateway = Gateway::with_policy(|document, origin| {
        let meter: Value = json!({ "per_sec": 0.0125, "burst_seconds": 80_000, "max_debt_ms": 60_000 });
        let document = with(document, "/meters", json!({ "ingest_bytes": meter }));
        let checks = json!([{ "meter": "ingest_bytes", "cost": { "body_bytes": { "per": 100, "reserve": 300 } } }]);
        with(document, "/routes", json!([route(origin, checks)]))
    })
    .await;
    let post = |body: Body| {
        let request = gateway.request(Method::POST, "/echo", "pro:a");
        gateway.send(request.body(body))
    };
    await_meter(&gateway, 1_000).await;
    let declared: Echo = post(Body::from(vec![7; 10_050])).await.ok().unwrap();
    assert_eq!(declared.headers["content-length"], "10050");
    await_meter(&gateway, 899).await;
    // 300 are reserved for a body of unknown length; 50 have passed.
    let counted: Echo = post(chunked(vec![vec![7; 500]; 10])).await.ok().unwrap();
    assert_eq!((counted.bytes, counted.sum), (5_000, 35_000));
    await_meter(&gateway, 849).await;
    // More than was reserved is charged too.
    let long: Echo = post(chunked(vec![vec![7; 5_000]; 10])).await.ok().unwrap();
    assert_eq!(long.bytes, 50_000);
    await_meter(&gateway, 349).await;
    let none: Echo = gateway.get("/echo", "pro:a").await.ok().unwrap();
    assert_eq!(none.bytes, 0);
    await_meter(&gateway, 349).await;
    let denied = post(Body::from(vec![7; 40_000])).await;
    assert_eq!(denied.status, 429, "400 of 349");
}
