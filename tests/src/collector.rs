//! A collector of traces: a real HTTP server of this machine that takes OTLP's JSON at `/v1/traces`, holds it to its form, and
//! remembers the spans.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use weir_shared::ordered::OrderedMap;

use crate::ports;

/// A span, as it came.
#[derive(Debug, Clone)]
pub struct Collected {
    /// Its trace, in hexadecimal.
    pub trace: String,
    /// Its name in the trace.
    pub id: String,
    /// The span that asks; empty where the trace begins.
    pub parent: String,
    /// What was done.
    pub name: String,
    /// 2 for who answers, 3 for who asks.
    pub kind: u64,
    /// What is said of it.
    pub said: OrderedMap<String, String>,
    /// Nanoseconds.
    pub began_ns: u64,
    /// Nanoseconds.
    pub ended_ns: u64,
    /// Whether it failed.
    pub failed: bool,
    /// The header fields of the message that brought it.
    pub headers: OrderedMap<String, String>,
}

#[derive(Debug, Default)]
struct State {
    spans: Vec<Collected>,
    messages: usize,
    faults: Vec<String>,
}

/// A collector on a port of its own. It ends when it is dropped.
#[derive(Debug)]
pub struct Collector {
    port: u16,
    state: Arc<Mutex<State>>,
    accepting: JoinHandle<()>,
}

impl Collector {
    /// Starts one.
    pub async fn start() -> Result<Self> {
        let port = ports::free()?;
        let listener = TcpListener::bind(("127.0.0.1", port))
            .await
            .context("listen")?;
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                tokio::spawn(async move {
                    let serve = service_fn(|request| take(request, &state));
                    let served =
                        http1::Builder::new().serve_connection(TokioIo::new(stream), serve);
                    // Whoever breaks off has sent nothing more.
                    let _ended = served.await;
                });
            }
        });
        Ok(Self {
            port,
            state,
            accepting,
        })
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The spans that came, in their order.
    ///
    /// # Panics
    /// When a message was not of the form.
    pub fn spans(&self) -> Vec<Collected> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(state.faults.is_empty(), "{:?}", state.faults);
        state.spans.clone()
    }

    /// How many messages came.
    pub fn messages(&self) -> usize {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .messages
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn take(
    request: Request<Incoming>,
    state: &Mutex<State>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let asked = format!("{} {}", request.method(), request.uri().path());
    let headers = request.headers().iter().map(|(name, value)| {
        (
            name.to_string(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        )
    });
    let headers: OrderedMap<String, String> = headers.collect();
    let body = request.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let read = spans(&asked, &headers, &body);
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.messages += 1;
    let status = match read {
        Ok(spans) => {
            state.spans.extend(spans);
            200
        }
        Err(fault) => {
            state.faults.push(format!("{asked}: {fault:#}"));
            400
        }
    };
    let mut answer = Response::new(Full::new(Bytes::from_static(b"{}")));
    *answer.status_mut() = status.try_into().unwrap_or_default();
    Ok(answer)
}

fn spans(asked: &str, headers: &OrderedMap<String, String>, body: &[u8]) -> Result<Vec<Collected>> {
    ensure!(asked == "POST /v1/traces", "nothing is there");
    let kind = headers.get("content-type").map(String::as_str);
    ensure!(kind == Some("application/json"), "{kind:?}");
    let message: Value = serde_json::from_slice(body)?;
    let mut all = Vec::new();
    for resource in list(&message, "resourceSpans")? {
        for scope in list(resource, "scopeSpans")? {
            for span in list(scope, "spans")? {
                all.push(collected(span, headers).with_context(|| span.to_string())?);
            }
        }
    }
    Ok(all)
}

fn list<'a>(value: &'a Value, name: &str) -> Result<&'a Vec<Value>> {
    value[name].as_array().with_context(|| format!("no {name}"))
}

fn collected(span: &Value, headers: &OrderedMap<String, String>) -> Result<Collected> {
    let text = |name: &str| span[name].as_str().unwrap_or_default().to_owned();
    let hex = |text: &str, digits: usize| {
        text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let (trace, id, parent) = (text("traceId"), text("spanId"), text("parentSpanId"));
    ensure!(hex(&trace, 32) && hex(&id, 16), "identifiers");
    ensure!(parent.is_empty() || hex(&parent, 16), "parentSpanId");
    let said = list(span, "attributes")?.iter().map(|one| {
        let value = &one["value"];
        let value = value["stringValue"].as_str().or(value["intValue"].as_str());
        let name = one["key"].as_str().context("key")?;
        Ok((name.to_owned(), value.context("value")?.to_owned()))
    });
    Ok(Collected {
        trace,
        id,
        parent,
        name: text("name"),
        kind: span["kind"].as_u64().context("kind")?,
        said: said.collect::<Result<_>>()?,
        began_ns: text("startTimeUnixNano").parse()?,
        ended_ns: text("endTimeUnixNano").parse()?,
        failed: span["status"]["code"] == 2,
        headers: headers.clone(),
    })
}
