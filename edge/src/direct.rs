//! Decisions in one call from the module entry: a question comes in as text and its answer goes out as text, so that no
//! request, header or response object crosses between JavaScript and wasm.
//!
//! The code that decides is that of every other request. It is polled once where it stands: what this isolate can
//! decide by itself is answered within the call, and what has to ask somebody goes on as a promise.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Polling, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::future_to_promise;
use weir_shared::access::endpoint::{Endpoint, find};
use weir_shared::trace::sampling::{Begun, Headers};
use weir_shared::trace::span::{Said, Side};
use worker::worker_sys::Context as RawContext;
use worker::{Context, Env, console_error};

use crate::auth::admit_bearer;
use crate::auth::bearer::{Tokens, token_of};
use crate::http::failure::Failure;
use crate::http::reply::Reply;
use crate::isolate::place::ClientLocation;
use crate::isolate::request::RequestHandles;
use crate::isolate::{at_one_instant, contact, is_known, prepared, regions};
use crate::objects::trace::{self, Open};
use crate::routes::check::CheckCall;
use crate::routes::held;

/// Whether a token is known, so that its bearer's body may be read: what is not takes the way of all requests, on which
/// nothing is read before that is known.
#[wasm_bindgen]
#[must_use]
pub fn admits(authorization: &str) -> bool {
    token_of(authorization).is_some_and(is_known)
}

/// The answer to a body that is longer than its request says: the text of [`Reply::into_text`].
#[wasm_bindgen]
#[must_use]
pub fn misframed() -> String {
    Failure::Framing.reply().into_text()
}

/// Answers `POST /v1/check` (or its batch) from what this isolate holds: the text of [`held::answer`] (or of
/// [`held::answer_batch`]), or nothing where it takes [`decide`] to answer.
#[wasm_bindgen]
#[must_use]
pub fn held(
    authorization: &str,
    region: Option<String>,
    continent: Option<String>,
    longitude: Option<String>,
    batch: bool,
    body: &[u8],
) -> Option<String> {
    let location = location(region, continent, longitude);
    at_one_instant(|| match batch {
        true => held::answer_batch(authorization, &location, body),
        false => held::answer(authorization, &location, body),
    })
}

/// Keeps a question that [`held`] has answered for the next one in the same words: the number of its slot.
#[wasm_bindgen]
#[must_use]
pub fn prepare(
    authorization: &str,
    region: Option<String>,
    continent: Option<String>,
    longitude: Option<String>,
    body: &[u8],
) -> Option<u32> {
    let location = location(region, continent, longitude);
    at_one_instant(|| held::prepare(authorization, &location, body))
}

/// Decides the question of a slot: see [`prepared::spend`].
#[wasm_bindgen]
#[must_use]
pub fn spend(slot: u32) -> u32 {
    at_one_instant(|| prepared::spend(slot))
}

/// A number of what [`spend`] has decided.
#[wasm_bindgen]
#[must_use]
pub fn number(index: u32) -> f64 {
    prepared::number(index as usize)
}

/// The text that the numbers of a slot's answers go into: see [`prepared::template`].
#[wasm_bindgen]
#[must_use]
pub fn template(slot: u32, shape: u32) -> Option<String> {
    prepared::template(slot, shape)
}

/// Does what answers of [`held`] have left to do.
#[wasm_bindgen]
pub fn flush(env: Env, context: RawContext) {
    let handles = RequestHandles::new(env, Context::new(context));
    for region in regions() {
        if let Err(failure) = contact::flush(&handles, &region) {
            console_error!("flush: {failure:?}");
        }
    }
}

fn location(
    region: Option<String>,
    continent: Option<String>,
    longitude: Option<String>,
) -> ClientLocation {
    ClientLocation {
        region,
        continent,
        longitude: longitude.and_then(|text| text.parse().ok()),
    }
}

/// Whether a question is traced, by its two headers, and as which span: a word for [`decide`]. Nothing where it is not.
#[wasm_bindgen]
#[must_use]
pub fn traced(env: Env, parent: Option<String>, state: Option<String>) -> Option<String> {
    let headers = Headers {
        parent: parent.as_deref(),
        state: state.as_deref(),
    };
    Some(trace::begun_by(&env, headers)?.word())
}

/// Answers `POST path`, one of the two that decide: the text of [`Reply::into_text`], or a promise of it. `region` is
/// what pins the request to one, `continent` and `longitude` are the platform's words on where it arrived; `trace` is the
/// word of [`traced`].
#[wasm_bindgen]
#[expect(
    clippy::too_many_arguments,
    reason = "a text is the cheapest thing to hand over; one object of all would cost a call a field"
)]
pub fn decide(
    env: Env,
    context: RawContext,
    path: String,
    authorization: String,
    region: Option<String>,
    continent: Option<String>,
    longitude: Option<String>,
    body: Vec<u8>,
    trace: Option<String>,
) -> JsValue {
    let question = Question {
        handles: RequestHandles::new(env, Context::new(context)),
        path,
        authorization,
        location: location(region, continent, longitude),
        body,
    };
    let begun = trace.as_deref().and_then(Begun::read);
    at_once(Box::pin(async move {
        let reply = question.traced(begun).await;
        JsValue::from(reply.into_text())
    }))
}

struct Question {
    handles: RequestHandles,
    path: String,
    authorization: String,
    location: ClientLocation,
    body: Vec<u8>,
}

impl Question {
    async fn traced(&self, begun: Option<Begun>) -> Reply {
        let span = begun.map(|begun| {
            let span = Open::new(begun, format!("POST {}", self.path), Side::Server);
            span.say([
                ("http.request.method", Said::Text("POST".to_owned())),
                ("url.path", Said::Text(self.path.clone())),
            ]);
            span
        });
        let answered = trace::around(span.as_ref(), self.answer()).await;
        let reply = answered.unwrap_or_else(Failure::reply);
        if let Some(span) = span {
            span.answered(reply.status);
            drop(span);
            self.handles.detach(trace::send());
        }
        reply
    }

    async fn answer(&self) -> Result<Reply, Failure> {
        let matched = find("POST", &self.path).map_err(|_| Failure::NotFound {
            what: "route",
            field: None,
        })?;
        let tokens = Tokens {
            location: &self.location,
            handles: &self.handles,
            route: matched.route,
            request: None,
        };
        let caller = admit_bearer(&self.authorization, &tokens, &matched).await?;
        let asked = CheckCall {
            handles: &self.handles,
            location: &self.location,
            caller: &caller,
            body: &self.body,
        };
        match matched.route.endpoint {
            Endpoint::CheckBatch => asked.batch().await,
            _ => asked.check().await,
        }
    }
}

/// What a future comes to where nothing has to be waited for, else a promise of it.
fn at_once(mut future: Pin<Box<dyn Future<Output = JsValue>>>) -> JsValue {
    let relay = Arc::new(Relay::default());
    let waker = Waker::from(Arc::clone(&relay));
    let polled = at_one_instant(|| future.as_mut().poll(&mut Polling::from_waker(&waker)));
    if let Poll::Ready(value) = polled {
        return value;
    }
    let rest = poll_fn(move |polling| {
        relay.0.register(polling.waker());
        future.as_mut().poll(&mut Polling::from_waker(&waker))
    });
    future_to_promise(async move { Ok(rest.await) }).into()
}

/// Wakes whoever polls now: some futures keep the first waker that they see.
#[derive(Default)]
struct Relay(AtomicWaker);

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.0.wake();
    }
}
