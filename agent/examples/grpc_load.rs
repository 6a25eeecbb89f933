//! Asks an agent over HTTP/2, on a connection for each of Envoy's workers, and prints how long each answer took. It is compiled as
//! the agent is, so that it asks faster than the agent answers.
//!
//! ```sh
//! cargo run --profile native -p weir-agent --example grpc_load -- 8081 edge 2 16 1000 5000
//! ```

use std::error::Error;
use std::time::{Duration, Instant};

use clap::Parser;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::{Method, Request, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};
use weir_agent::envoy::PATH;
use weir_agent::envoy::message::{Entry, RateLimitDescriptor, RateLimitRequest};

/// An answer that lets the request pass begins so: its length aside, `overall_code: OK`.
const PASSES: [u8; 2] = [0x08, 0x01];

/// What gRPC says before a message: that it is not compressed, and its length.
const FRAME_BYTES: usize = 5;

#[derive(Debug, Parser)]
struct Options {
    /// The port of 127.0.0.1 on which the agent listens
    port: u16,
    /// The domain whose descriptor is asked about
    domain: String,
    /// Connections: Envoy has one for each of its workers
    connections: usize,
    /// Questions that are under way at a time, over all of them
    under_way: usize,
    /// Milliseconds before anything is measured
    warm_up_ms: u64,
    /// Milliseconds that are measured
    measured_ms: u64,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Told {
    count: usize,
    /// Ascending.
    latencies_us: Vec<u32>,
}

/// One of those who ask.
struct Caller {
    sender: SendRequest<Full<Bytes>>,
    uri: Uri,
    question: Bytes,
    start: Instant,
    end: Instant,
}

impl Caller {
    /// Asks again and again until the end, and tells how long each answer took.
    async fn run(mut self) -> Result<Vec<u32>, Box<dyn Error>> {
        let mut latencies_us = Vec::new();
        loop {
            let sent = now();
            if sent >= self.end {
                return Ok(latencies_us);
            }
            let request = Request::builder()
                .method(Method::POST)
                .uri(self.uri.clone())
                .header("content-type", "application/grpc")
                .header("te", "trailers")
                .body(Full::new(self.question.clone()))?;
            let answer = self.sender.send_request(request).await?;
            let answer = answer.into_body().collect().await?.to_bytes();
            if answer.get(FRAME_BYTES..FRAME_BYTES + PASSES.len()) != Some(&PASSES[..]) {
                return Err(format!("the request may not pass: {answer:?}").into());
            }
            if sent >= self.start {
                latencies_us.push(sent.elapsed().as_micros().try_into()?);
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let latencies_us = LocalSet::new().block_on(&runtime, run(Options::parse()))?;
    let told = Told {
        count: latencies_us.len(),
        latencies_us,
    };
    println!("{}", serde_json::to_string(&told)?);
    Ok(())
}

async fn run(options: Options) -> Result<Vec<u32>, Box<dyn Error>> {
    let mut senders = Vec::new();
    for _ in 0..options.connections {
        senders.push(connected(options.port).await?);
    }
    let start = now() + Duration::from_millis(options.warm_up_ms);
    let uri: Uri = format!("http://127.0.0.1:{}{PATH}", options.port).parse()?;
    let question = question(options.domain);
    let each = senders.iter().cycle().take(options.under_way);
    let callers: Vec<_> = each
        .map(|sender| Caller {
            sender: sender.clone(),
            uri: uri.clone(),
            question: question.clone(),
            start,
            end: start + Duration::from_millis(options.measured_ms),
        })
        .map(|caller| spawn_local(caller.run()))
        .collect();
    let mut latencies_us = Vec::new();
    for caller in callers {
        latencies_us.extend(caller.await??);
    }
    latencies_us.sort_unstable();
    Ok(latencies_us)
}

async fn connected(port: u16) -> Result<SendRequest<Full<Bytes>>, Box<dyn Error>> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let connection = Builder::new(TokioExecutor::new());
    let (sender, connection) = connection.handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// The question about one tenant's descriptor, as gRPC frames it.
fn question(domain: String) -> Bytes {
    let entry = Entry {
        key: "tenant".to_owned(),
        value: "acme".to_owned(),
    };
    let request = RateLimitRequest {
        domain,
        descriptors: vec![RateLimitDescriptor {
            entries: vec![entry],
            ..RateLimitDescriptor::default()
        }],
        ..RateLimitRequest::default()
    };
    let mut framed = vec![0; FRAME_BYTES];
    request.encode_raw(&mut framed);
    let length = (framed.len() - FRAME_BYTES) as u32;
    framed[1..FRAME_BYTES].copy_from_slice(&length.to_be_bytes());
    Bytes::from(framed)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a native program, which has a monotonic clock"
)]
fn now() -> Instant {
    Instant::now()
}
