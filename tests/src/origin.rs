//! A real HTTP server of this machine to stand behind the gateway: it can be overloaded, slow, broken, and it remembers
//! what reached it.
//!
//! | path | what it does |
//! | --- | --- |
//! | `/echo` | reads the whole body and answers what it received as JSON ([`Echo`]) |
//! | `/back` | answers the bytes of the body as they come |
//! | `/stream?chunks=8&bytes=1024&gap_ms=50` | answers chunks with a pause before each but the first |
//! | `/hold` | answers the head at once, and the end of the body when it is told to ([`Origin::let_go`]) |
//! | `/status/418` | that status |
//! | `/slow?ms=500` | answers after a while |
//! | `/never` | never answers |
//! | `/break` | declares more than it sends, and closes the connection |
//! | `/packed` | `packed`, compressed |
//! | `/odd` | headers that a proxy has to treat with care |
//! | `/v1/..` | a provider of language models ([`model_provider`]) |
//! | anything else | `ok` |
//!
//! `used=N` in the query answers the header `x-tokens-used: N`. What comes beyond the capacity is answered with 503,
//! whatever its path is, and so is all while it is told to do otherwise ([`Origin::instead`]). With slots
//! ([`Origin::slots`]) it serves so many at once, and refuses the rest or has it stand in line.

mod capacity;
mod media;
mod model_provider;
mod slots;
pub mod sockets;

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::BodyExt;
use http_body_util::channel::{Channel, Sender};
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderMap;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use weir_shared::ordered::OrderedMap;

use crate::{clock, ports};
use capacity::Capacity;
use model_provider::{Counted, model};
use slots::Slots;
pub use slots::{Beyond, Served};

/// Requests that are remembered one by one.
const SEEN_MAX: usize = 1_000;

type Body = Channel<Bytes, std::io::Error>;
type Answer = Response<Body>;

/// What `/echo` answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Echo {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers; values of one name are joined by `, `.
    pub headers: OrderedMap<String, String>,
    /// Bytes of the body.
    pub bytes: u64,
    /// The sum of the bytes of the body.
    pub sum: u64,
}

/// What reached an origin.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers.
    pub headers: HeaderMap,
}

/// A server on a port of its own. It ends when it is dropped.
#[derive(Debug)]
pub struct Origin {
    port: u16,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

/// What a server does whatever it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instead {
    /// It answers with this status at once.
    Status(u16),
    /// It never answers.
    Silence,
}

#[derive(Debug)]
struct State {
    slots: Slots,
    instead: Mutex<Option<Instead>>,
    capacity: Mutex<Capacity>,
    seen: Mutex<Vec<Seen>>,
    served: AtomicU64,
    refused: AtomicU64,
    in_flight: AtomicU64,
    in_flight_max: AtomicU64,
    bytes: AtomicU64,
    gone: watch::Sender<bool>,
    tokens: Counted,
}

impl Origin {
    /// Starts a server without a bound.
    pub async fn start() -> Result<Self> {
        let port = ports::free()?;
        let listener = TcpListener::bind(("127.0.0.1", port))
            .await
            .context("listen")?;
        let state = Arc::new(State {
            slots: Slots::default(),
            instead: Mutex::default(),
            capacity: Mutex::new(Capacity {
                per_s: None,
                left: 0.0,
                at: clock::now(),
                quota: None,
            }),
            seen: Mutex::default(),
            served: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            in_flight_max: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            gone: watch::channel(false).0,
            tokens: Counted::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self {
            port,
            state,
            accepting,
        })
    }

    /// Where it is, such as `http://127.0.0.1:20001`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Serves at most so many requests a second from now on; the rest is answered with 503.
    pub fn limit_to(&self, per_s: Option<f64>) {
        let mut capacity = locked(&self.state.capacity);
        capacity.per_s = per_s;
        capacity.at = clock::now();
    }

    /// Does this from now on, whatever it is asked; what its paths say again with `None`.
    pub fn instead(&self, does: Option<Instead>) {
        *locked(&self.state.instead) = does;
    }

    /// Ends the bodies of `/hold`, also of those that come later.
    pub fn let_go(&self) {
        self.state.gone.send_replace(true);
    }

    /// The requests that reached it, the first thousand.
    pub fn seen(&self) -> Vec<Seen> {
        locked(&self.state.seen).clone()
    }

    /// Requests within the capacity.
    pub fn served(&self) -> u64 {
        self.state.served.load(Ordering::SeqCst)
    }

    /// Requests beyond the capacity.
    pub fn refused(&self) -> u64 {
        self.state.refused.load(Ordering::SeqCst)
    }

    /// Requests whose answer is not complete.
    pub fn in_flight(&self) -> u64 {
        self.state.in_flight.load(Ordering::SeqCst)
    }

    /// The most requests whose answers were not complete at the same time.
    pub fn in_flight_max(&self) -> u64 {
        self.state.in_flight_max.load(Ordering::SeqCst)
    }

    /// Tokens of prompts and of answers that it has counted as a provider of models.
    pub fn tokens(&self) -> (u64, u64) {
        let Counted { input, output } = &self.state.tokens;
        (input.load(Ordering::SeqCst), output.load(Ordering::SeqCst))
    }

    /// Bytes of bodies that have come.
    pub fn bytes(&self) -> u64 {
        self.state.bytes.load(Ordering::SeqCst)
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Counts an answer that is not complete.
struct InFlight(Arc<State>);

impl InFlight {
    fn new(state: &Arc<State>) -> Self {
        let now = state.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        state.in_flight_max.fetch_max(now, Ordering::SeqCst);
        Self(Arc::clone(state))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    // Connections end with the server: who drops it has it dead at once.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            // As servers of streams do: a small part of an answer does not wait for the one before to be acknowledged.
            let _set = stream.set_nodelay(true);
            connections.spawn(connection(stream, Arc::clone(&state)));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, state: Arc<State>) {
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(capacity::within_quota(request, &state).await) }
    });
    // Who closes a connection in the middle of an answer is not of interest here.
    let _closed = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(request: Request<Incoming>, state: &Arc<State>) -> Answer {
    let in_flight = InFlight::new(state);
    remember(&request, state);
    let instead = *locked(&state.instead);
    match instead {
        Some(Instead::Status(status)) => return text(status, "as told"),
        Some(Instead::Silence) => return std::future::pending().await,
        None => {}
    }
    if !locked(&state.capacity).take(clock::now()) {
        state.refused.fetch_add(1, Ordering::SeqCst);
        return text(503, "overloaded");
    }
    let Ok(slot) = state.slots.take().await else {
        state.refused.fetch_add(1, Ordering::SeqCst);
        return text(503, "all slots are taken");
    };
    let answer = served(request, state, in_flight).await;
    state.slots.served(slot);
    answer
}

async fn served(request: Request<Incoming>, state: &Arc<State>, in_flight: InFlight) -> Answer {
    state.served.fetch_add(1, Ordering::SeqCst);
    let query = Query::of(&request);
    let path = request.uri().path().to_owned();
    let mut answer = match path.as_str() {
        "/echo" => echo(request, state).await,
        "/back" => back(request, state, in_flight),
        "/stream" => stream(&query, in_flight),
        "/hold" => hold(state, in_flight),
        "/slow" => {
            tokio::time::sleep(Duration::from_millis(query.number("ms").unwrap_or(0))).await;
            text(200, "slow")
        }
        "/never" => std::future::pending().await,
        "/break" => broken(),
        "/packed" => packed(),
        "/odd" => odd(),
        path if path.starts_with("/v1") => model(request, state, in_flight).await,
        path => match path.strip_prefix("/status/").map(str::parse) {
            Some(Ok(status)) => text(status, "as asked"),
            _ => text(200, "ok"),
        },
    };
    if let Some(used) = query.number("used") {
        answer.headers_mut().insert("x-tokens-used", used.into());
    }
    answer
}

fn remember(request: &Request<Incoming>, state: &State) {
    let mut seen = locked(&state.seen);
    if seen.len() < SEEN_MAX {
        seen.push(Seen {
            method: request.method().to_string(),
            target: request.uri().to_string(),
            headers: request.headers().clone(),
        });
    }
}

struct Query(OrderedMap<String, String>);

impl Query {
    fn of(request: &Request<Incoming>) -> Self {
        let pairs = request.uri().query().unwrap_or_default().split('&');
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        Self(
            pairs
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        )
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.parse().ok()
    }
}

/// An answer whose body comes through a channel.
fn open(status: u16) -> (Sender<Bytes, std::io::Error>, Answer) {
    let (sender, body) = Channel::new(4);
    let mut answer = Response::new(body);
    *answer.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    (sender, answer)
}

fn text(status: u16, text: &str) -> Answer {
    let (mut sender, mut answer) = open(status);
    let length = text.len().into();
    let headers = answer.headers_mut();
    headers.insert("content-length", length);
    headers.insert(
        "content-type",
        hyper::header::HeaderValue::from_static("text/plain"),
    );
    let bytes = Bytes::copy_from_slice(text.as_bytes());
    tokio::spawn(async move { sender.send_data(bytes).await });
    answer
}

async fn echo(request: Request<Incoming>, state: &State) -> Answer {
    let mut headers: OrderedMap<String, String> = OrderedMap::new();
    for (name, value) in request.headers() {
        let value = String::from_utf8_lossy(value.as_bytes());
        headers
            .entry(name.to_string())
            .and_modify(|joined| *joined = format!("{joined}, {value}"))
            .or_insert_with(|| value.into_owned());
    }
    let (method, target) = (request.method().to_string(), request.uri().to_string());
    let mut body = request.into_body();
    let (mut bytes, mut sum) = (0, 0);
    while let Some(Ok(frame)) = body.frame().await {
        if let Some(data) = frame.data_ref() {
            bytes += data.len() as u64;
            sum += data.iter().map(|byte| u64::from(*byte)).sum::<u64>();
            state.bytes.fetch_add(data.len() as u64, Ordering::SeqCst);
        }
    }
    let echo = Echo {
        method,
        target,
        headers,
        bytes,
        sum,
    };
    text(200, &serde_json::to_string(&echo).unwrap_or_default())
}

fn back(request: Request<Incoming>, state: &Arc<State>, in_flight: InFlight) -> Answer {
    let (mut sender, answer) = open(200);
    let state = Arc::clone(state);
    tokio::spawn(async move {
        let _in_flight = in_flight;
        let mut body = request.into_body();
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(data) = frame.into_data() else {
                continue;
            };
            state.bytes.fetch_add(data.len() as u64, Ordering::SeqCst);
            if sender.send_data(data).await.is_err() {
                return;
            }
        }
    });
    answer
}

fn stream(query: &Query, in_flight: InFlight) -> Answer {
    let chunks = query.number("chunks").unwrap_or(4);
    let bytes = query.number("bytes").unwrap_or(1_024);
    let gap = Duration::from_millis(query.number("gap_ms").unwrap_or(0));
    let (mut sender, answer) = open(200);
    tokio::spawn(async move {
        let _in_flight = in_flight;
        let chunk = Bytes::from(vec![b'x'; usize::try_from(bytes).unwrap_or(0)]);
        for number in 0..chunks {
            if number > 0 {
                tokio::time::sleep(gap).await;
            }
            if sender.send_data(chunk.clone()).await.is_err() {
                return;
            }
        }
    });
    answer
}

fn hold(state: &State, in_flight: InFlight) -> Answer {
    let (mut sender, answer) = open(200);
    let mut gone = state.gone.subscribe();
    tokio::spawn(async move {
        let _in_flight = in_flight;
        let first = sender.send_data(Bytes::from_static(b"held")).await;
        let mut alive = first.is_ok();
        // A client that goes away is noticed when something is sent.
        while alive && !*gone.borrow_and_update() {
            let told = tokio::time::timeout(Duration::from_millis(100), gone.changed());
            if told.await.is_err() {
                alive = sender.send_data(Bytes::from_static(b".")).await.is_ok();
            }
        }
    });
    answer
}

fn broken() -> Answer {
    let (mut sender, mut answer) = open(200);
    answer
        .headers_mut()
        .insert("content-length", 1_000_000.into());
    tokio::spawn(async move {
        if sender.send_data(Bytes::from_static(b"begun")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
            sender.abort(std::io::Error::other("broken"));
        }
    });
    answer
}

/// `packed` as gzip writes it.
pub const PACKED: &[u8] = &[
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 43, 72, 76, 206, 78, 77, 1, 0, 16, 180, 246, 33, 6, 0, 0, 0,
];

fn packed() -> Answer {
    let (mut sender, mut answer) = open(200);
    let headers = answer.headers_mut();
    headers.insert("content-length", PACKED.len().into());
    let gzip = hyper::header::HeaderValue::from_static("gzip");
    headers.insert("content-encoding", gzip);
    tokio::spawn(async move { sender.send_data(Bytes::from_static(PACKED)).await });
    answer
}

fn odd() -> Answer {
    let mut answer = text(200, "odd");
    let headers = answer.headers_mut();
    for (name, value) in [
        ("set-cookie", "a=1; Path=/"),
        ("set-cookie", "b=2; Path=/"),
        ("keep-alive", "timeout=5"),
        ("set-cookie", "weir_session=forged; Path=/"),
        ("set-cookie", "__Host-weir_session=forged; Path=/; Secure"),
        ("set-cookie", "=weir_session=forged; Path=/"),
        ("set-cookie", " = __Host-weir_session = forged"),
        ("set-cookie", "CF_Authorization=forged"),
        ("clear-site-data", "\"*\""),
        ("service-worker-allowed", "/"),
        ("x-origin", "yes"),
        ("ratelimit", "\"theirs\";r=1;t=1"),
    ] {
        headers.append(name, hyper::header::HeaderValue::from_static(value));
    }
    answer
}
