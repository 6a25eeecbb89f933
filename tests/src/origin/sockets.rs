//! A server of WebSockets, as a provider of realtime models is one.
//!
//! | it hears | it does |
//! | --- | --- |
//! | `close 4001 why` | closes with that code and reason |
//! | `drop` | breaks the connection off |
//! | `{"type":"response.create","words":3}` | says so many words in events, then what they took: four tokens of the prompt, and a token a word |
//! | `{"type":"response.begin","words":3}` | the same, without an end |
//! | anything else | says it again, as text or as bytes |
//!
//! Below `/refuse/503` it answers with that status in place of a socket.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::http::{HeaderMap, HeaderValue, StatusCode};
use tungstenite::protocol::CloseFrame;
use tungstenite::{Message, WebSocket, accept_hdr};

use super::locked;

/// Tokens of a prompt.
const PROMPT: u64 = 4;

/// Where a socket's protocols stand.
const PROTOCOL: &str = "sec-websocket-protocol";

/// A request for a socket.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Path and query.
    pub target: String,
    /// Its headers.
    pub headers: HeaderMap,
}

/// How a socket has ended, as the server heard: by a code and a reason, `None` without a word.
pub type End = Option<(u16, String)>;

/// A server on a port of its own. It ends when it is dropped.
#[derive(Debug)]
pub struct Sockets {
    port: u16,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    stops: AtomicBool,
    asked: Mutex<Vec<Asked>>,
    ends: Mutex<Vec<End>>,
    open: AtomicU64,
    tokens: AtomicU64,
}

impl Sockets {
    /// Starts a server.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("listen")?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(State::default());
        let accepted = Arc::clone(&state);
        let accepting = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepted.stops.load(Ordering::SeqCst) {
                    return;
                }
                let state = Arc::clone(&accepted);
                thread::spawn(move || serve(stream, &state));
            }
        });
        Ok(Self {
            port,
            state,
            accepting: Some(accepting),
        })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests that came.
    pub fn asked(&self) -> Vec<Asked> {
        locked(&self.state.asked).clone()
    }

    /// How sockets have ended, in that order.
    pub fn ends(&self) -> Vec<End> {
        locked(&self.state.ends).clone()
    }

    /// Sockets that are open.
    pub fn open(&self) -> u64 {
        self.state.open.load(Ordering::SeqCst)
    }

    /// Tokens that it has counted itself, of answers that have ended.
    pub fn tokens(&self) -> u64 {
        self.state.tokens.load(Ordering::SeqCst)
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        self.state.stops.store(true, Ordering::SeqCst);
        // It looks when somebody comes.
        let _woken = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(accepting) = self.accepting.take() {
            let _ended = accepting.join();
        }
    }
}

#[expect(
    clippy::result_large_err,
    reason = "tungstenite's signature: a refusal is a whole answer"
)]
fn serve(stream: TcpStream, state: &State) {
    let hears = |request: &Request, response: Response| granted(request, response, state);
    let Ok(mut socket) = accept_hdr(stream, hears) else {
        return;
    };
    state.open.fetch_add(1, Ordering::SeqCst);
    let end = talk(&mut socket, state);
    locked(&state.ends).push(end);
    // Who sees that it is not open finds its end.
    state.open.fetch_sub(1, Ordering::SeqCst);
}

#[expect(
    clippy::result_large_err,
    reason = "tungstenite's signature: a refusal is a whole answer"
)]
fn granted(
    request: &Request,
    response: Response,
    state: &State,
) -> Result<Response, ErrorResponse> {
    locked(&state.asked).push(Asked {
        target: request.uri().to_string(),
        headers: request.headers().clone(),
    });
    let refused = request.uri().path().strip_prefix("/refuse/");
    let status = refused.and_then(|rest| rest.split('/').next());
    if let Some(Ok(status)) = status.map(str::parse::<StatusCode>) {
        let mut refused = ErrorResponse::new(Some("as asked".to_owned()));
        *refused.status_mut() = status;
        return Err(refused);
    }
    let mut response = response;
    let protocols = request.headers().get(PROTOCOL);
    let first = protocols.and_then(|all| all.to_str().ok()?.split(',').next());
    if let Some(Ok(first)) = first.map(|first| HeaderValue::from_str(first.trim())) {
        response.headers_mut().insert(PROTOCOL, first);
    }
    Ok(response)
}

fn talk(socket: &mut WebSocket<TcpStream>, state: &State) -> End {
    loop {
        let said = match socket.read() {
            Ok(Message::Close(frame)) => {
                // The other side waits for the answer to its close, which goes out with the next read.
                while socket.read().is_ok() {}
                return Some(frame.map_or((1005, String::new()), end));
            }
            Ok(said) => said,
            Err(_) => return None,
        };
        match &said {
            Message::Text(text) => {
                if let Some(ended) = answer(socket, state, text.as_str()) {
                    return ended;
                }
            }
            Message::Binary(_) => {
                let _gone = socket.send(said);
            }
            _ => {}
        }
    }
}

/// Answers a text; how the socket ended, if that ended it.
fn answer(socket: &mut WebSocket<TcpStream>, state: &State, text: &str) -> Option<End> {
    if text == "drop" {
        return Some(None);
    }
    if let Some((code, why)) = text
        .strip_prefix("close ")
        .and_then(|rest| rest.split_once(' '))
    {
        let frame = CloseFrame {
            code: code.parse::<u16>().unwrap_or(1000).into(),
            reason: why.to_owned().into(),
        };
        let _gone = socket.close(Some(frame));
        while socket.read().is_ok() {}
        return Some(Some((code.parse().unwrap_or(1000), why.to_owned())));
    }
    let asked: Value = serde_json::from_str(text).unwrap_or_default();
    let words = asked["words"].as_u64().unwrap_or(0);
    let (speaks, ends) = (
        asked["type"] == "response.begin",
        asked["type"] == "response.create",
    );
    if !speaks && !ends {
        let _gone = socket.send(Message::text(text));
        return None;
    }
    for number in 0..words {
        let word =
            json!({ "type": "response.output_text.delta", "delta": format!("word{number:03} ") });
        let _gone = socket.send(Message::text(word.to_string()));
    }
    if ends {
        state.tokens.fetch_add(PROMPT + words, Ordering::SeqCst);
        let usage = json!({ "input_tokens": PROMPT, "output_tokens": words, "total_tokens": PROMPT + words });
        let done = json!({ "type": "response.done", "response": { "usage": usage } });
        let _gone = socket.send(Message::text(done.to_string()));
    }
    None
}

fn end(frame: CloseFrame) -> (u16, String) {
    (frame.code.into(), frame.reason.to_string())
}
