//! Envoy's question over one connection of HTTP/2, in bytes that are made once.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper::{Method, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use weir_tests::clock;
use weir_tests::load::Round;

use crate::{MEASURED, UNDER_WAY, WARM_UP};

const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// An answer that lets the request pass begins so: its length aside, `overall_code: OK`.
const PASSES: [u8; 2] = [0x08, 0x01];

/// A field of protobuf with bytes in it.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    // Everything here is shorter than 128 bytes.
    [&[number << 3 | 2, bytes.len() as u8][..], bytes].concat()
}

/// The question of a domain, as gRPC frames it.
fn question(domain: &str) -> Bytes {
    let entry = [field(1, b"tenant"), field(2, b"acme")].concat();
    let descriptor = field(1, &entry);
    let message = [field(1, domain.as_bytes()), field(2, &descriptor)].concat();
    let head = [0, 0, 0, 0, message.len() as u8];
    Bytes::from([&head[..], &message].concat())
}

/// Asks again and again, so many at a time.
pub(crate) async fn run(port: u16, domain: &str) -> Result<Round> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let connection = http2::Builder::new(TokioExecutor::new());
    let (sender, connection) = connection.handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let question = question(domain);
    let start = clock::now() + WARM_UP;
    let latencies = Arc::new(Mutex::new(Vec::new()));
    let mut tasks: JoinSet<Result<()>> = JoinSet::new();
    for _ in 0..UNDER_WAY {
        let (mut sender, question) = (sender.clone(), question.clone());
        let latencies = Arc::clone(&latencies);
        tasks.spawn(async move {
            let mut own = Vec::new();
            while clock::now() < start + MEASURED {
                let sent = clock::now();
                let request = Request::builder()
                    .method(Method::POST)
                    .uri(format!("http://127.0.0.1:{port}{PATH}"))
                    .header("content-type", "application/grpc")
                    .header("te", "trailers")
                    .body(Full::new(question.clone()))?;
                let answer = sender.send_request(request).await?;
                let answer = answer.into_body().collect().await?.to_bytes();
                ensure!(answer.get(5..7) == Some(&PASSES[..]), "{answer:?}");
                if sent >= start {
                    own.push(sent.elapsed().as_micros() as u32);
                }
            }
            let mut all = latencies.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(own);
            Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.context("a caller failed")??;
    }
    let mut latencies_us =
        std::mem::take(&mut *latencies.lock().unwrap_or_else(PoisonError::into_inner));
    latencies_us.sort_unstable();
    Ok(Round {
        answers: latencies_us.len() as u64,
        unwanted: 0,
        elapsed: MEASURED,
        latencies_us,
    })
}
