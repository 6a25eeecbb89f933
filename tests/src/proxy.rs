//! What stands between a client and a server on bad days: it can be gone, lose sockets and answers, and change answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::client::IDLE_DEADLINE;
use crate::ports;

type Answer = Response<Full<Bytes>>;

/// Changes the JSON that a path answers.
type Change = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// A server on a port of its own that hands everything on. It ends when it is dropped.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

struct State {
    to: String,
    http: reqwest::Client,
    weather: watch::Sender<Weather>,
    change: Mutex<Option<(String, Change)>>,
    lose: Mutex<Option<(String, u32)>>,
    seen: Mutex<Vec<String>>,
}

/// What gets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weather {
    /// Everything.
    Fair,
    /// No WebSocket: those that are open end, and no other opens.
    NoSockets,
    /// Nothing: every connection ends.
    Gone,
}

impl Proxy {
    /// Starts a proxy to `origin` (such as `http://127.0.0.1:8787`).
    pub async fn start(origin: String) -> Result<Self> {
        let port = ports::free()?;
        let listener = TcpListener::bind(("127.0.0.1", port))
            .await
            .context("listen")?;
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .pool_idle_timeout(IDLE_DEADLINE)
            .build()
            .context("build an HTTP client")?;
        let state = Arc::new(State {
            to: origin,
            http,
            weather: watch::channel(Weather::Fair).0,
            change: Mutex::default(),
            lose: Mutex::default(),
            seen: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self {
            port,
            state,
            accepting,
        })
    }

    /// Where it is.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What gets through from now on.
    pub fn set(&self, weather: Weather) {
        self.state.weather.send_replace(weather);
    }

    /// Changes the JSON that paths with this beginning answer from now on.
    pub fn change(&self, path: &str, change: impl Fn(&mut Value) + Send + Sync + 'static) {
        *locked(&self.state.change) = Some((path.to_owned(), Arc::new(change)));
    }

    /// Loses the next `count` answers of a path: the server does what it is asked, and the connection ends without a word.
    pub fn lose(&self, path: &str, count: u32) {
        *locked(&self.state.lose) = Some((path.to_owned(), count));
    }

    /// How many requests of a path have come.
    pub fn seen(&self, path: &str) -> usize {
        let seen = locked(&self.state.seen);
        seen.iter().filter(|one| *one == path).count()
    }

    /// Changes nothing any more.
    pub fn change_nothing(&self) {
        *locked(&self.state.change) = None;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            connections.spawn(connection(stream, Arc::clone(&state)));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, state: Arc<State>) {
    let mut weather = state.weather.subscribe();
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move {
            let path = request.uri().path().to_owned();
            locked(&state.seen).push(path.clone());
            let answer = answer(request, &state).await;
            match is_lost(&path, &state) {
                true => bail!("the answer is lost"),
                false => Ok(answer),
            }
        }
    });
    let served = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::select! {
        // How a connection ends is not of interest here.
        _ended = served => {}
        _gone = weather.wait_for(|weather| *weather == Weather::Gone) => {}
    }
}

/// Whether this answer of a path is one of those that are to be lost.
fn is_lost(path: &str, state: &State) -> bool {
    match &mut *locked(&state.lose) {
        Some((lossy, count)) if lossy == path && *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    }
}

async fn answer(request: Request<Incoming>, state: &Arc<State>) -> Answer {
    let is_socket = request.headers().contains_key(header::UPGRADE);
    let weather = *state.weather.borrow();
    let answer = match (is_socket, weather) {
        (true, Weather::NoSockets) => return refused("no sockets"),
        (true, _) => socket(request, state).await,
        (false, _) => forward(request, state).await,
    };
    answer.unwrap_or_else(|error| refused(&format!("{error:#}")))
}

fn refused(why: &str) -> Answer {
    let mut answer = Response::new(Full::from(why.to_owned()));
    *answer.status_mut() = StatusCode::BAD_GATEWAY;
    answer
}

async fn forward(request: Request<Incoming>, state: &State) -> Result<Answer> {
    let (mut head, body) = request.into_parts();
    // What is changed has to be read first.
    head.headers.remove(header::ACCEPT_ENCODING);
    let path = head.uri.to_string();
    let body = body.collect().await.context("read a body")?.to_bytes();
    let url = format!("{}{path}", state.to);
    let sent = state
        .http
        .request(head.method, url)
        .headers(head.headers)
        .body(body)
        .send();
    let reply = sent.await.context("hand on a request")?;
    let (status, mut headers) = (reply.status(), reply.headers().clone());
    let bytes = reply.bytes().await.context("read an answer")?;
    let change = locked(&state.change).clone();
    let bytes = match change {
        Some((start, change)) if path.starts_with(&start) => changed(&bytes, &change)?,
        _ => bytes,
    };
    // It is handed on in one piece, whatever the pieces were.
    headers.remove(header::TRANSFER_ENCODING);
    headers.remove(header::CONTENT_LENGTH);
    let mut answer = Response::new(Full::from(bytes));
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    Ok(answer)
}

fn changed(bytes: &[u8], change: &Change) -> Result<Bytes> {
    let mut value = serde_json::from_slice(bytes).context("read an answer as JSON")?;
    change(&mut value);
    Ok(Bytes::from(value.to_string()))
}

/// Opens the socket to the server, and joins the two once the browser has heard that it is open.
async fn socket(mut request: Request<Incoming>, state: &Arc<State>) -> Result<Answer> {
    let address = state.to.trim_start_matches("http://");
    let stream = TcpStream::connect(address).await.context("connect")?;
    let connection = hyper::client::conn::http1::handshake(TokioIo::new(stream));
    let (mut sender, connection) = connection.await.context("shake hands")?;
    tokio::spawn(connection.with_upgrades());
    let mut onward = Request::new(Full::<Bytes>::default());
    *onward.method_mut() = request.method().clone();
    *onward.uri_mut() = request.uri().clone();
    *onward.headers_mut() = request.headers().clone();
    let mut reply = sender.send_request(onward).await.context("ask")?;
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = reply.status();
    *answer.headers_mut() = reply.headers().clone();
    if reply.status() != StatusCode::SWITCHING_PROTOCOLS {
        let body = reply.collect().await.context("read a refusal")?.to_bytes();
        *answer.body_mut() = Full::from(body);
        return Ok(answer);
    }
    let weather = state.weather.subscribe();
    tokio::spawn(async move {
        let ends = tokio::join!(
            hyper::upgrade::on(&mut request),
            hyper::upgrade::on(&mut reply)
        );
        if let (Ok(browser), Ok(server)) = ends {
            join(TokioIo::new(browser), TokioIo::new(server), weather).await;
        }
    });
    Ok(answer)
}

/// Hands on what either says, until one ends or the weather turns.
async fn join<A, B>(mut one: A, mut other: B, mut weather: watch::Receiver<Weather>)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    tokio::select! {
        // How a socket ends is not of interest here.
        _ended = tokio::io::copy_bidirectional(&mut one, &mut other) => {}
        _turned = weather.wait_for(|weather| *weather != Weather::Fair) => {}
    }
    let _closed = (one.shutdown().await, other.shutdown().await);
}
