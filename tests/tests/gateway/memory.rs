//! What streams leave behind in the memory of workerd.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use weir_tests::fixtures::with;

use crate::gateway::{Gateway, route};

/// Streams of one half, so many at a time; each of 200 pieces with a pause before each.
const STREAMS: usize = 500;
const AT_ONCE: usize = 25;
const PIECES: u64 = 200;

/// Bytes of a piece of those that are no events.
const PIECE_BYTES: u64 = 4_096;

/// What may be more resident after the second half than after the first: garbage of the JavaScript heap. It is a sixth of the
/// 200 MB that pass in a half, which would stay if anything kept them.
const GROWTH_KIB_MAX: u64 = 32 * 1024;

/// Every other stream is one of events that are read for their usage, and the rest are large.
async fn stream(gateway: &Gateway, number: usize) -> usize {
    let request = if number.is_multiple_of(2) {
        let body = json!({
            "model": "gpt-4o", "user": format!("words={PIECES}&gap_ms=2"), "stream": true,
            "messages": [{ "role": "user", "content": "these are four words" }]
        });
        let request = gateway.request(Method::POST, "/v1/chat/completions", "pro:a");
        request.json(&body)
    } else {
        let path = format!("/stream?chunks={PIECES}&bytes={PIECE_BYTES}&gap_ms=2");
        gateway.request(Method::GET, &path, "pro:a")
    };
    let reply = gateway.send(request).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.body.len()
}

/// Half of the streams; what is resident then, in KiB.
async fn half(gateway: &Gateway) -> u64 {
    let mut bytes = 0;
    for _ in 0..STREAMS / AT_ONCE {
        let streams = (0..AT_ONCE).map(|number| stream(gateway, number));
        bytes += join_all(streams).await.iter().sum::<usize>();
    }
    assert!(bytes > 190_000_000, "{bytes} bytes have passed");
    gateway.workerd.resident_kib().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_long_streams_leave_nothing_in_memory() {
    let gateway = Gateway::with_policy(|document, origin| {
        let cost = json!({ "usage": { "format": "openai", "reserve": 1, "reserve_max": 1 } });
        let mut route = route(origin, json!([{ "budget": "tokens", "cost": cost }]));
        route["inject_usage"] = json!(true);
        route["origin"]["timeout_ms"] = json!(30_000);
        let document = with(document, "/budgets/tokens/limit", json!(100_000_000));
        with(document, "/routes", json!([route]))
    })
    .await;
    let (first, second) = (half(&gateway).await, half(&gateway).await);
    println!("{first} KiB after {STREAMS} streams, {second} KiB after twice as many");
    assert!(
        second <= first + GROWTH_KIB_MAX,
        "from {first} to {second} KiB"
    );
    // Thirteen of each 25 are of events. The rest ask without a body and tell nothing, which costs nothing.
    let events = (STREAMS / AT_ONCE * 13 * 2) as u64;
    let due = events * (4 + PIECES);
    gateway
        .await_left("tokens", "pro:a", 100_000_000 - due)
        .await;
}
