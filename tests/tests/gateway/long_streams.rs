//! Streams of a model's words, one after another for long: nothing of them stays in memory.

use reqwest::Method;
use serde_json::{Value, json};
use weir_tests::fixtures::with;
use weir_tests::workerd::Setup;

use crate::gateway::{Gateway, LONG_MS, route};

/// Streams in all, how many are open at a time, and in how many parts memory is looked at.
const STREAMS: u64 = 500;
const AT_ONCE: u64 = 10;
const PARTS: u64 = 10;

/// A busy machine may not have collected what is garbage by then: parts at most.
const PARTS_MAX: u64 = 2 * PARTS;

/// Slots of the guard: one comes back a moment after its client has read the last byte, so a client that asks again at once needs
/// one more.
const SLOTS: u64 = 2 * AT_ONCE;

/// The last event of a stream, whole.
const LAST: &[u8] = b"data: [DONE]\n\n";

/// Words of one, an event of some 190 bytes each.
const WORDS: u64 = 480;

/// Tokens, of which a word costs two: more than all parts take.
const LIMIT: u64 = 4 * STREAMS / PARTS * PARTS_MAX * WORDS;

/// What wasm may have more at the end than after the first part: pages that a table took, of the 40 MB that passed between.
const WASM_GROWTH_BYTES_MAX: u64 = 1024 * 1024;

/// A budget by usage, a model's own prices, a guard: each keeps something of a request until its end.
async fn gateway() -> Gateway {
    let usage = json!({ "format": "openai", "reserve": 100, "models": { "gpt-4o*": 2 } });
    let setup = Setup::isolates(&["weur"]).weighed();
    Gateway::of(setup, |document, origin| {
        let tokens = json!({ "limit": LIMIT, "window_ms": LONG_MS, "sharing": "first_come", "scope": "global" });
        let guard = json!({ "concurrency": SLOTS, "per_minute": "unlimited" });
        let document = with(document, "/budgets", json!({ "tokens": tokens }));
        let document = with(document, "/guards", json!({ "calls": guard }));
        let checks = json!([{ "budget": "tokens", "cost": { "usage": usage } }, { "guard": "calls" }]);
        let mut route = route(origin, checks);
        route["inject_usage"] = json!(true);
        route["origin"]["timeout_ms"] = json!(30_000);
        with(document, "/routes", json!([route]))
    })
    .await
}

/// One stream to its end; tells the bytes of its events.
async fn stream(gateway: &Gateway) -> u64 {
    let user = format!("words={WORDS}");
    let body = json!({
        "model": "gpt-4o", "user": user, "stream": true, "messages": [{ "role": "user", "content": "four words of mine" }]
    });
    let path = "/v1/chat/completions";
    let request = gateway.request(Method::POST, path, "pro:a").json(&body);
    let mut reply = gateway.begin(request).await;
    assert_eq!(reply.status(), 200);
    let (mut bytes, mut end) = (0, Vec::new());
    while let Some(chunk) = reply.chunk().await.unwrap() {
        bytes += chunk.len() as u64;
        // An event may come in two chunks.
        end.extend_from_slice(&chunk);
        end.drain(..end.len().saturating_sub(LAST.len()));
    }
    assert_eq!(end, LAST, "{}", String::from_utf8_lossy(&end));
    bytes
}

/// What wasm has, in bytes.
async fn wasm_bytes(gateway: &Gateway) -> u64 {
    let told: Value = gateway.client.get("/weigh").await.unwrap().ok().unwrap();
    told["bytes"].as_u64().expect("a number")
}

/// The streams of one part: their bytes, and the least memory meanwhile, in KiB.
async fn part_of_streams(gateway: &Gateway) -> (u64, u64) {
    let (mut bytes, mut least_kib) = (0, u64::MAX);
    for _ in 0..STREAMS / AT_ONCE / PARTS {
        let streams = (0..AT_ONCE).map(|_| stream(gateway));
        let all = futures_util::future::join_all(streams).await;
        bytes += all.iter().sum::<u64>();
        least_kib = least_kib.min(gateway.workerd.resident_kib().unwrap());
    }
    (bytes, least_kib)
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_long_streams_leave_nothing_in_memory() {
    let gateway = gateway().await;
    let (mut passed, mut least_kib, mut wasm) = (Vec::new(), Vec::new(), Vec::new());
    // V8 takes memory by the step, now and then. What stays of streams is there in each part.
    let mut grows_in_each = true;
    for part in 0..PARTS_MAX {
        if part >= PARTS && !grows_in_each {
            break;
        }
        let (bytes, least) = part_of_streams(&gateway).await;
        let before = least_kib.last().copied().unwrap_or_default();
        grows_in_each &= least.saturating_sub(before) * 1024 > bytes / 4;
        passed.push(bytes);
        least_kib.push(least);
        wasm.push(wasm_bytes(&gateway).await);
    }
    let told = format!(
        "{passed:?} bytes passed; {least_kib:?} KiB at least, of it {wasm:?} bytes of wasm"
    );
    println!("{told}");
    let grown = wasm[wasm.len() - 1] - wasm[0];
    assert!(grown <= WASM_GROWTH_BYTES_MAX, "{told}");
    assert!(!grows_in_each, "{told}");
    // Each costs its four words and those of its answer, by two.
    let spent = 2 * STREAMS / PARTS * passed.len() as u64 * (4 + WORDS);
    gateway.await_left("tokens", "pro:a", LIMIT - spent).await;
    let (input, output) = gateway.origin.tokens();
    assert_eq!(spent, 2 * (input + output), "the origin's own count");
}
