//! The layer before a service on a real server: who visits is told in the fields of requests.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::HeaderMap;
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::sleep;
use weir_client::{Decision, Fail, Item, Options, Question, Weir, WeirLayer};

use weir_shared::ordered::OrderedSet;

use super::shared::{TENANT, client, gone, left, next_line, options, tell, token};

/// A body of one piece, or of several that take their time.
struct PacedBody(http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>);

impl From<String> for PacedBody {
    fn from(text: String) -> Self {
        Self(Full::from(text).boxed_unsync())
    }
}

impl Body for PacedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        std::pin::Pin::new(&mut self.0).poll_frame(context)
    }
}

fn slowly() -> PacedBody {
    let parts = stream::iter(0..60).then(|_| async {
        sleep(Duration::from_millis(100)).await;
        Ok(Frame::data(Bytes::from_static(b"part")))
    });
    PacedBody(BodyExt::boxed_unsync(StreamBody::new(parts)))
}

/// One limit for visitors, a budget by the tenant, a guard for what takes long; health is nobody's.
fn asks(head: &Parts) -> Option<Question> {
    let who = head.headers.get("who")?.to_str().ok()?;
    match head.uri.path() {
        "/plain" => Some(Item::limit("hits").key(who).into()),
        "/budget" => Some(Item::budget("tokens").cost(400).tenant(who)),
        "/tokens" => Some(Item::budget("tokens").tenant(who)),
        "/never" => Some(Item::budget("tokens").cost(5_000).tenant(who)),
        "/slow" => Some(Item::guard("calls").tenant(who)),
        _ => None,
    }
}

async fn application(request: Request<Incoming>) -> Result<Response<PacedBody>, hyper::Error> {
    if request.uri().path() == "/slow" {
        return Ok(Response::new(slowly()));
    }
    let decided = request.extensions().get::<Decision>().is_some();
    // The body is the application's: nobody has read it before.
    let body = request.into_body().collect().await?.to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    let mut response = Response::new(PacedBody::from(if text.is_empty() {
        "ok".to_owned()
    } else {
        text
    }));
    for (name, value) in [("ratelimit", "forged"), ("x-own", "kept")] {
        response
            .headers_mut()
            .insert(name, hyper::header::HeaderValue::from_static(value));
    }
    let decided = hyper::header::HeaderValue::from(u16::from(decided));
    response.headers_mut().insert("x-decided", decided);
    Ok(response)
}

/// An application behind the layer, on a port of its own.
struct Serving {
    http: reqwest::Client,
    origin: String,
}

impl Serving {
    async fn start(weir: Weir) -> Result<Self> {
        let layer = WeirLayer::new(weir, asks);
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listen")?;
        let origin = format!("http://{}", listener.local_addr().context("an address")?);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let layer = layer.clone();
                tokio::spawn(async move {
                    let service = tower_layer::Layer::layer(&layer, Plain);
                    let service = service_fn(move |request| {
                        tower_service::Service::call(&mut service.clone(), request)
                    });
                    http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await
                });
            }
        });
        Ok(Self {
            http: reqwest::Client::new(),
            origin,
        })
    }

    async fn visit(&self, path: &str, who: &str, body: Option<&'static str>) -> Result<Value> {
        let method = if body.is_some() {
            Method::POST
        } else {
            Method::GET
        };
        let request = self.http.request(method, format!("{}{path}", self.origin));
        let answer = request
            .header("who", who)
            .body(body.unwrap_or_default())
            .send()
            .await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Ok(told(status, &headers, &answer.text().await?))
    }

    async fn statuses(&self, path: &str, who: &str, count: usize) -> Result<Vec<Value>> {
        let mut statuses = Vec::new();
        for _ in 0..count {
            statuses.push(self.visit(path, who, None).await?["status"].clone());
        }
        Ok(statuses)
    }
}

/// The application as a service of tower.
#[derive(Clone)]
struct Plain;

type Answering =
    std::pin::Pin<Box<dyn Future<Output = Result<Response<PacedBody>, hyper::Error>> + Send>>;

impl tower_service::Service<Request<Incoming>> for Plain {
    type Response = Response<PacedBody>;
    type Error = hyper::Error;
    type Future = Answering;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), hyper::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Answering {
        Box::pin(application(request))
    }
}

fn told(status: u16, headers: &HeaderMap, body: &str) -> Value {
    let mut told = json!({ "status": status, "body": body });
    for name in [
        "content-type",
        "retry-after",
        "ratelimit",
        "ratelimit-policy",
        "x-own",
        "x-decided",
    ] {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        told[name] = json!(value);
    }
    told
}

fn problem(told: &Value) -> Value {
    serde_json::from_str(told["body"].as_str().unwrap_or_default()).unwrap_or_default()
}

pub async fn run() -> Result<()> {
    let weir = client()?;
    let server = Serving::start(weir.clone()).await?;
    let first = server.visit("/plain", "ann", Some("a body")).await?;
    let more = server.statuses("/plain", "ann", 4).await?;
    let mut denied = server.visit("/plain", "ann", None).await?;
    denied["problem"] = problem(&denied);
    let other = server.statuses("/plain", "bob", 1).await?;
    let budget = server.statuses("/budget", TENANT, 3).await?;
    let never = server.visit("/never", TENANT, None).await?;
    let unasked = server.visit("/health", "ann", None).await?;
    // A slot is kept while the answer streams, and given back once it is complete.
    let (one, two) = tokio::join!(
        server.visit("/slow", TENANT, None),
        server.visit("/slow", TENANT, None)
    );
    let mut slow = [one?["status"].as_u64(), two?["status"].as_u64()];
    slow.sort_unstable();
    let mut slower = server.statuses("/slow", TENANT, 1).await?;
    while slower != [json!(200)] {
        sleep(Duration::from_millis(20)).await;
        slower = server.statuses("/slow", TENANT, 1).await?;
    }
    // A question that is wrong is the application's fault, and told as such.
    let wrong = server.statuses("/budget", "", 1).await?;
    let batching = Serving::start(Weir::new(options(Fail::Closed).batch_ms(10))?).await?;
    let later = batching.visit("/plain", "cid", None).await?;
    let gone = |fail| Weir::new(Options::new(gone(), token(), fail).timeout_ms(5_000));
    let closed = Serving::start(gone(Fail::Closed)?)
        .await?
        .visit("/plain", "ann", None)
        .await?;
    let open = Serving::start(gone(Fail::Open)?)
        .await?
        .visit("/plain", "ann", None)
        .await?;
    tell(&json!({
        "first": first, "more": more, "denied": denied, "other": other, "budget": budget, "never": never,
        "unasked": unasked, "slow": slow, "slower": slower, "wrong": wrong, "later": later, "closed": closed,
        "open": open, "left": left(&weir).await?,
    }));
    Ok(())
}

/// How often is asked whether Weir is back.
const AGAIN_TRIES_MAX: usize = 600;

async fn status(server: &Serving) -> Result<Value> {
    Ok(server.visit("/tokens", TENANT, None).await?["status"].clone())
}

/// The first status that is 200, or the last of many.
async fn again(server: &Serving) -> Result<Value> {
    let mut seen = status(server).await?;
    for _ in 1..AGAIN_TRIES_MAX {
        if seen == 200 {
            break;
        }
        sleep(Duration::from_millis(50)).await;
        seen = status(server).await?;
    }
    Ok(seen)
}

/// Weir is killed in the middle of visits, and comes back.
pub async fn killed() -> Result<()> {
    let open = Serving::start(Weir::new(options(Fail::Open))?).await?;
    let closed = Arc::new(Serving::start(Weir::new(options(Fail::Closed))?).await?);
    tell(&json!([status(&open).await?, status(&closed).await?]));
    let running = Arc::new(AtomicBool::new(true));
    let visitors: Vec<_> = (0..4)
        .map(|_| {
            let (server, running) = (Arc::clone(&closed), Arc::clone(&running));
            tokio::spawn(async move {
                let mut seen = OrderedSet::new();
                while running.load(Ordering::Relaxed) {
                    seen.insert(status(&server).await?.as_u64());
                }
                anyhow::Ok(seen)
            })
        })
        .collect();
    next_line().await;
    tell(&json!([status(&open).await?, status(&closed).await?]));
    next_line().await;
    let after = [again(&open).await?, again(&closed).await?];
    running.store(false, Ordering::Relaxed);
    let mut seen = OrderedSet::new();
    for one in visitors {
        seen.extend(one.await??);
    }
    tell(&json!({ "after": after, "seen": seen }));
    Ok(())
}
