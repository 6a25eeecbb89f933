//! A request that may be sent to several origins: its body, kept so that it can be sent again, and which of them is next.

use std::cell::{Cell, RefCell};

use futures_util::StreamExt;
use futures_util::stream::iter;
use wasm_bindgen::{JsCast, JsValue};
use weir_shared::gateway::fallback::{RouteHealth, Tried, is_idempotent};
use weir_shared::gateway::outcome::Ending;
use weir_shared::limits::{
    FALLBACK_BODIES_BYTES_MAX, FALLBACK_BODY_BYTES_MAX, ORIGIN_TIMEOUT_MS_MIN,
};
use weir_shared::policy::route::{OriginLimits, Route};
use weir_shared::units::EpochMs;
use worker::js_sys::Uint8Array;

use super::head::Body;
use super::provider::{self, Room};
use super::ticket::Desk;
use crate::http::failure::Failure;
use crate::isolate::{now, with};

thread_local! {
    /// Bytes of bodies that are kept now.
    static KEPT: Cell<usize> = const { Cell::new(0) };
}

/// What a request on a route with several origins needs.
pub struct Fallback {
    route: String,
    origins: usize,
    /// Whether the request may be done twice.
    repeats: bool,
    /// Whether the route denies nobody.
    shadow: bool,
    began: EpochMs,
    /// Within how many milliseconds an answer has to begin, whoever gives it: as long as the most patient of all may take.
    patience_ms: u64,
    /// The body, where it can be sent again.
    kept: RefCell<Option<GatheredBody>>,
    /// How many bytes that were.
    bytes: Cell<Option<u64>>,
    /// Whether the request can be sent again.
    in_hand: Cell<bool>,
    /// Whether an origin that was given up may have done the request.
    may_be_done: Cell<bool>,
}

impl Fallback {
    /// What a request needs; `None` on a route with one origin.
    pub fn of(route: Option<&Route>, method: &str) -> Option<Self> {
        let route = route.filter(|route| !route.fallback.is_empty())?;
        let patience = route.origins().map(|(_, origin)| origin.timeout_ms);
        Some(Self {
            route: route.name.clone(),
            origins: 1 + route.fallback.len(),
            repeats: route.retries_unsafe || is_idempotent(method),
            shadow: route.shadow,
            began: now(),
            patience_ms: patience.max().unwrap_or_default(),
            kept: RefCell::default(),
            bytes: Cell::default(),
            in_hand: Cell::new(false),
            may_be_done: Cell::new(false),
        })
    }

    /// Milliseconds that are left until an answer has to begin.
    pub fn left_ms(&self) -> u64 {
        let past = now().0.saturating_sub(self.began.0);
        self.patience_ms.saturating_sub(past)
    }

    /// Whether an origin that was given up may have done the request.
    pub fn may_be_done(&self) -> bool {
        self.may_be_done.get()
    }

    /// Whether the request can be sent again.
    pub fn in_hand(&self) -> bool {
        self.in_hand.get()
    }

    /// Keeps what is sent, which is nothing for a request without a body.
    pub fn keep(&self, kept: Option<GatheredBody>) {
        self.in_hand.set(true);
        self.bytes.set(kept.as_ref().map(|kept| kept.held.0 as u64));
        self.kept.replace(kept);
    }

    /// The body that is kept.
    pub fn body(&self) -> Option<JsValue> {
        let kept = self.kept.borrow();
        kept.as_ref().map(|kept| kept.bytes.clone().into())
    }

    /// Bytes of the body that was kept.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes.get()
    }

    /// Nothing is sent again.
    pub fn let_go(&self) {
        self.kept.take();
    }

    /// The origin to begin with.
    pub fn first(&self, desk: &Desk) -> usize {
        self.health(desk, |health| health.first(now()))
            .unwrap_or_default()
    }

    /// Remembers what came of a try.
    pub fn record(&self, desk: &Desk, asked: usize, ending: Ending) {
        if let Some(tried) = Tried::of(ending) {
            self.health(desk, |health| health.record(asked, tried, now()));
        }
    }

    /// The origin that is tried after one that ended so; `None` where that was the last try.
    pub fn next(&self, desk: &Desk, asked: usize, ending: Ending) -> Option<usize> {
        let tried = Tried::of(ending).filter(|tried| tried.goes_on(self.repeats))?;
        if !self.in_hand.get() || self.left_ms() < ORIGIN_TIMEOUT_MS_MIN {
            return None;
        }
        let next = self.health(desk, |health| health.next(asked, now()))??;
        if tried == Tried::Silent {
            self.may_be_done.set(true);
        }
        Some(next)
    }

    /// The origin in the place of one that has no room for the request.
    pub fn beyond(&self, desk: &Desk, full: usize) -> Option<usize> {
        self.health(desk, |health| health.beyond(full, now()))?
    }

    /// Asks for room at an origin that tells these limits.
    pub async fn room(&self, desk: &Desk, limits: &OriginLimits, tenant: &str) -> Room {
        match self.shadow || tenant.is_empty() {
            true => Room::Left,
            false => provider::room(desk, &self.route, limits, tenant).await,
        }
    }

    fn health<R>(&self, desk: &Desk, step: impl FnOnce(&mut RouteHealth) -> R) -> Option<R> {
        let revision = desk.loaded.revision;
        let stepped = with(&desk.region, |view| {
            step(view.origins.of(revision, &self.route, self.origins))
        });
        stepped.ok()
    }
}

/// A body in the platform's memory.
pub struct GatheredBody {
    bytes: Uint8Array,
    held: BodyRoom,
}

/// Room that a body takes for as long as it is kept.
#[derive(Default)]
struct BodyRoom(usize);

impl BodyRoom {
    /// Room for so many bytes more, where there is some.
    fn grow(&mut self, bytes: usize) -> bool {
        let all = KEPT.get().saturating_add(bytes);
        let fits = all <= FALLBACK_BODIES_BYTES_MAX && self.0 + bytes <= FALLBACK_BODY_BYTES_MAX;
        if fits {
            KEPT.set(all);
            self.0 += bytes;
        }
        fits
    }
}

impl Drop for BodyRoom {
    fn drop(&mut self) {
        KEPT.set(KEPT.get().saturating_sub(self.0));
    }
}

/// A body that was waited for.
pub enum Gathered {
    /// All of it.
    Whole(GatheredBody),
    /// It is too large to be kept, and goes on as it comes.
    Passing(Body),
}

/// Waits for a body, unless it is too large.
///
/// # Errors
/// When the client breaks off.
pub async fn gather((source, length): Body) -> Result<Gathered, Failure> {
    if length.is_some_and(|bytes| bytes > FALLBACK_BODY_BYTES_MAX as u64) {
        return Ok(Gathered::Passing((source, length)));
    }
    let mut stream = wasm_streams::ReadableStream::from_raw(source.unchecked_into()).into_stream();
    let (mut chunks, mut held) = (Vec::new(), BodyRoom::default());
    while let Some(chunk) = stream.next().await {
        let chunk: Uint8Array = chunk
            .and_then(JsCast::dyn_into)
            .map_err(|error| Failure::Internal(format!("body: {error:?}")))?;
        let fits = held.grow(chunk.length() as usize);
        chunks.push(chunk);
        if !fits {
            let first = iter(chunks).map(|chunk| Ok(chunk.into()));
            let whole = wasm_streams::ReadableStream::from_stream(first.chain(stream));
            return Ok(Gathered::Passing((
                whole.into_raw().unchecked_into(),
                length,
            )));
        }
    }
    let bytes = Uint8Array::new_with_length(held.0 as u32);
    let mut at = 0;
    for chunk in chunks {
        bytes.set(&chunk, at);
        at += chunk.length();
    }
    Ok(Gathered::Whole(GatheredBody { bytes, held }))
}
