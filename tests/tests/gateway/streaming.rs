//! Bodies pass as streams: neither is collected, and neither waits for its end.

use reqwest::{Body, Method};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use weir_tests::fixtures::with;
use weir_tests::origin::PACKED;

use crate::gateway::{Gateway, one_token, route};

/// A body that is sent as it is told to.
fn told() -> (mpsc::Sender<Vec<u8>>, Body) {
    let (sender, receiver) = mpsc::channel::<Vec<u8>>(1);
    let stream = futures_util::stream::unfold(receiver, |mut receiver| async {
        let chunk = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(chunk), receiver))
    });
    (sender, Body::wrap_stream(stream))
}

/// Routes that treat bodies in each of the ways that there are: handed on, watched to the end, counted.
fn ways() -> Vec<(&'static str, Value)> {
    vec![
        ("handed on", one_token()),
        ("watched", json!([{ "guard": "calls" }])),
        (
            "counted",
            json!([{ "guard": "calls" }, { "meter": "bytes", "cost": { "body_bytes": { "per": 1_000_000, "reserve": 10 } } }]),
        ),
    ]
}

async fn gateway(checks: Value) -> Gateway {
    Gateway::with_policy(|document, origin| {
        let guard = json!({ "concurrency": 4, "per_minute": "unlimited" });
        let meter = json!({ "per_sec": 1_000, "burst_seconds": 60, "max_debt_ms": 60_000 });
        let document = with(document, "/guards", json!({ "calls": guard }));
        let document = with(document, "/meters", json!({ "bytes": meter }));
        with(document, "/routes", json!([route(origin, checks)]))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_byte_arrives_before_the_last_is_sent_in_both_directions() {
    for (way, checks) in ways() {
        let gateway = gateway(checks).await;
        // A body that is told cannot be sent again: who decides is there before.
        assert_eq!(gateway.get("/x", "pro:a").await.status, 200, "{way}");
        let (sender, body) = told();
        sender.send(vec![b'a'; 10]).await.unwrap();
        let request = gateway.request(Method::POST, "/back", "pro:a").body(body);
        // The head of the answer is there while the request is not complete, and so is each byte.
        let mut reply = request.send().await.unwrap();
        assert_eq!(reply.status(), 200, "{way}");
        for letter in *b"abcdef" {
            if letter > b'a' {
                sender.send(vec![letter; 10]).await.unwrap();
            }
            let mut got = Vec::new();
            while got.len() < 10 {
                got.extend(reply.chunk().await.unwrap().expect("it goes on"));
            }
            assert_eq!(got, vec![letter; 10], "{way}");
        }
        drop(sender);
        assert_eq!(reply.chunk().await.unwrap(), None, "{way}");
        assert_eq!(gateway.origin.bytes(), 60, "{way}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_arrives_as_the_origin_sends_it() {
    for (way, checks) in ways() {
        let gateway = gateway(checks).await;
        let request = gateway.request(Method::GET, "/hold", "pro:a");
        let mut reply = gateway.begin(request).await;
        // The origin does not end its answer before it is told to.
        let mut got = Vec::<u8>::new();
        for _ in 0..4 {
            got.extend(reply.chunk().await.unwrap().expect("it goes on"));
        }
        gateway.origin.let_go();
        while let Some(chunk) = reply.chunk().await.unwrap() {
            got.extend(chunk);
        }
        let rest = got.strip_prefix(b"held").expect("what came first");
        assert!(rest.iter().all(|byte| *byte == b'.'), "{way}: {rest:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_answer_stays_as_it_is() {
    for (way, checks) in ways() {
        let gateway = gateway(checks).await;
        let request = gateway.request(Method::GET, "/packed", "pro:a");
        let reply = gateway
            .send(request.header("accept-encoding", "gzip"))
            .await;
        assert_eq!(reply.header("content-encoding"), Some("gzip"), "{way}");
        let length = PACKED.len().to_string();
        assert_eq!(reply.header("content-length"), Some(&*length), "{way}");
        assert_eq!(reply.body, PACKED, "{way}");
    }
}

/// More than an isolate may have.
const LARGE_MB: u64 = 512;

/// What a body may take of memory on its way, with what the runtime takes for itself: a quarter of the body.
const GROWTH_KIB_MAX: u64 = 128 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_passes_in_bounded_memory_in_both_directions() {
    for (way, checks) in ways() {
        let gateway = gateway(checks).await;
        assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
        let before = gateway.workerd.resident_kib().unwrap();
        let (sender, body) = told();
        let sending = tokio::spawn(async move {
            for _ in 0..LARGE_MB {
                sender.send(vec![b'x'; 1_000_000]).await.unwrap();
            }
        });
        let client = reqwest::Client::new();
        let request = client
            .post(format!("{}/back", gateway.client.origin()))
            .header("x-tenant", "pro:a")
            .body(body);
        let mut reply = request.send().await.unwrap();
        assert_eq!(reply.status().as_u16(), 200, "{way}");
        let (mut bytes, mut most) = (0, before);
        let mut next = 0;
        while let Some(chunk) = reply.chunk().await.unwrap() {
            bytes += chunk.len() as u64;
            if bytes >= next {
                next += 32_000_000;
                most = most.max(gateway.workerd.resident_kib().unwrap());
            }
        }
        sending.await.unwrap();
        assert_eq!(bytes, LARGE_MB * 1_000_000, "{way}");
        assert_eq!(gateway.origin.bytes(), bytes, "{way}");
        let growth = most - before;
        println!("{way}: {LARGE_MB} MB in {growth} KiB more than {before}");
        assert!(
            growth < GROWTH_KIB_MAX,
            "{way}: {growth} KiB more than {before}"
        );
    }
}
