//! Traces of what this instance of the module does: which span is at work, and the spans that wait to be sent. What is decided
//! about them is `weir_shared::trace`'s. Without a collector nothing of this is done.

use std::cell::{Cell, OnceCell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use weir_shared::limits::{SPANS_DELAY_MS, SPANS_SEND_MS_MAX};
use weir_shared::trace::parent;
use weir_shared::trace::queue::Queue;
use weir_shared::trace::sampling::{Begun, DRAWN_BYTES, Headers, Share};
use weir_shared::trace::settings::{ENDPOINT, HEADERS, SAMPLE, Settings};
use weir_shared::trace::span::{Said, Side, Span, message};
use weir_shared::trace::state;
use weir_shared::units::EpochMs;
use worker::{Date, Env, Fetch, Method, Request, RequestInit, console_error};

use super::deadline::{sleep, within};

thread_local! {
    /// The variables of a version stay as they are.
    static SETTINGS: OnceCell<Option<Rc<Settings>>> = const { OnceCell::new() };
    static QUEUE: RefCell<Queue> = RefCell::default();
    /// The span whose work is done at this instant.
    static CURRENT: RefCell<Option<Rc<Active>>> = const { RefCell::new(None) };
}

/// A span that is not over.
struct Active {
    begun: Begun,
    name: RefCell<String>,
    said: RefCell<Vec<(&'static str, Said)>>,
}

/// A span that is not over, for whoever ends it: it ends when this is dropped.
pub struct Open {
    active: Rc<Active>,
    side: Side,
    started: EpochMs,
    status: Cell<Option<u16>>,
}

fn now() -> EpochMs {
    EpochMs(Date::now().as_millis())
}

/// Where traces go; `None` where nothing is traced.
fn settings(env: &Env) -> Option<Rc<Settings>> {
    SETTINGS.with(|kept| kept.get_or_init(|| read(env).map(Rc::new)).clone())
}

fn known() -> Option<Rc<Settings>> {
    SETTINGS.with(|kept| kept.get().cloned().flatten())
}

fn read(env: &Env) -> Option<Settings> {
    let variable = |name: &str| env.var(name).ok().map(|value| value.to_string());
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let endpoint = set(ENDPOINT)?;
    let read = Settings::read(&endpoint, set(HEADERS).as_deref(), set(SAMPLE).as_deref());
    read.map_err(|misset| console_error!("{}", misset.words()))
        .ok()
}

fn drawn() -> [u8; DRAWN_BYTES] {
    let mut bytes = [0; DRAWN_BYTES];
    // Without random numbers there is no span of its own: zeros are replaced.
    let _none = getrandom::fill(&mut bytes);
    bytes
}

fn current() -> Option<Rc<Active>> {
    CURRENT.with(|current| current.try_borrow().ok()?.clone())
}

/// Whether what runs at this instant is traced.
pub fn is_traced() -> bool {
    CURRENT.with(|current| current.try_borrow().is_ok_and(|current| current.is_some()))
}

/// Whether a request is traced, and as which span.
pub fn begun(env: &Env, headers: &worker::Headers) -> Option<Begun> {
    let settings = settings(env)?;
    of(headers, settings.share)
}

/// The same of the two headers as text.
pub fn begun_by(env: &Env, headers: Headers<'_>) -> Option<Begun> {
    Begun::of(headers, settings(env)?.share, drawn())
}

/// Reads the variables for an object, whose calls bring no environment.
pub fn learn(env: &Env) {
    let _known = settings(env);
}

/// Whether a call of an object is traced, and as which span: a trace begins where a request does, and nowhere else.
pub fn joined(headers: &worker::Headers) -> Option<Begun> {
    known()?;
    of(headers, Share::default())
}

fn of(headers: &worker::Headers, share: Share) -> Option<Begun> {
    let value = |name: &str| headers.get(name).ok().flatten();
    let (parent, state) = (value(parent::HEADER), value(state::HEADER));
    let headers = Headers {
        parent: parent.as_deref(),
        state: state.as_deref(),
    };
    Begun::of(headers, share, drawn())
}

/// Begins to ask somebody, in the interest of what is traced; `None` where nothing is.
pub fn ask(name: impl FnOnce() -> String) -> Option<Open> {
    let below = current()?.begun.below(drawn());
    Some(Open::new(below, name(), Side::Client))
}

/// Says something of the span at work, if there is one.
pub fn say<const N: usize>(said: impl FnOnce() -> [(&'static str, Said); N]) {
    if let Some(active) = current() {
        active.say(said());
    }
}

/// Names the span at work.
pub fn name(name: impl FnOnce() -> String) {
    if let Some(active) = current()
        && let Ok(mut known) = active.name.try_borrow_mut()
    {
        *known = name();
    }
}

/// What is done for the span at work, and goes on after it.
pub fn carried<'a, T: 'a>(future: LocalBoxFuture<'a, T>) -> LocalBoxFuture<'a, T> {
    match current() {
        None => future,
        active => Box::pin(at_work(active, future)),
    }
}

/// The work of a span, if there is one.
pub async fn around<F: Future>(span: Option<&Open>, future: F) -> F::Output {
    at_work(span.map(|span| Rc::clone(&span.active)), future).await
}

async fn at_work<F: Future>(active: Option<Rc<Active>>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|polling| {
        let before = active.as_ref().map(|active| enter(Some(Rc::clone(active))));
        let polled = future.as_mut().poll(polling);
        if let Some(before) = before {
            enter(before);
        }
        polled
    })
    .await
}

/// The span at work from now on; the one before.
fn enter(active: Option<Rc<Active>>) -> Option<Rc<Active>> {
    CURRENT.with(|current| std::mem::replace(&mut *current.try_borrow_mut().ok()?, active))
}

impl Active {
    fn say<const N: usize>(&self, said: [(&'static str, Said); N]) {
        if let Ok(mut known) = self.said.try_borrow_mut() {
            // A name stands once: of a batch the last decision is told.
            known.retain(|(name, _)| said.iter().all(|(other, _)| other != name));
            known.extend(said);
        }
    }
}

impl Open {
    /// A span that begins now.
    #[must_use]
    pub fn new(begun: Begun, name: String, side: Side) -> Self {
        Self {
            active: Rc::new(Active {
                begun,
                name: RefCell::new(name),
                said: RefCell::default(),
            }),
            side,
            started: now(),
            status: Cell::new(None),
        }
    }

    /// Says something of it.
    pub fn say<const N: usize>(&self, said: [(&'static str, Said); N]) {
        self.active.say(said);
    }

    /// How it was answered.
    pub fn answered(&self, status: u16) {
        self.status.set(Some(status));
    }

    /// The two headers that whoever is asked gets: `tracestate` may be absent.
    #[must_use]
    pub fn headers(&self) -> (String, Option<&str>) {
        let begun = &self.active.begun;
        (begun.as_parent().text(), begun.state.as_deref())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let status = self.status.get();
        let bad_from = match self.side {
            Side::Server => 500,
            Side::Client => 400,
        };
        let Active { begun, name, said } = &*self.active;
        let mut said = said.take();
        let told = |status: u16| ("http.response.status_code", Said::Number(status.into()));
        said.extend(status.map(told));
        let span = Span {
            begun: begun.clone(),
            name: name.take(),
            side: self.side,
            started: self.started,
            ended: now(),
            said,
            // Who gets no answer has failed.
            failed: status.is_none_or(|status| status >= bad_from),
        };
        with_queue(|queue| queue.push(span));
    }
}

fn with_queue<R>(step: impl FnOnce(&mut Queue) -> R) -> Option<R> {
    QUEUE.with(|queue| Some(step(&mut *queue.try_borrow_mut().ok()?)))
}

/// Sends what waits, unless somebody does.
pub async fn send() {
    let Some(settings) = known() else {
        return;
    };
    if with_queue(|queue| queue.claim(now())) != Some(true) {
        return;
    }
    sleep(SPANS_DELAY_MS).await;
    while let Some((spans, dropped)) = with_queue(|queue| queue.next(now())).flatten() {
        if dropped > 0 {
            console_error!("traces: {dropped} spans were dropped, as too many waited");
        }
        let posted = within(SPANS_SEND_MS_MAX, post(&settings, message(&spans))).await;
        match posted {
            Some(Ok(200..=299)) => {}
            Some(Ok(status)) => console_error!("traces: the collector answered {status}"),
            Some(Err(error)) => console_error!("traces: {error}"),
            None => console_error!("traces: no answer within {SPANS_SEND_MS_MAX} ms"),
        }
    }
}

async fn post(settings: &Settings, body: String) -> worker::Result<u16> {
    let headers = worker::Headers::new();
    headers.set("content-type", "application/json")?;
    for (name, value) in &settings.headers {
        headers.set(name, value)?;
    }
    let mut init = RequestInit::new();
    init.with_method(Method::Post)
        .with_headers(headers)
        .with_body(Some(body.into()));
    let request = Request::new_with_init(&settings.url, &init)?;
    Ok(Fetch::Request(request).send().await?.status_code())
}
