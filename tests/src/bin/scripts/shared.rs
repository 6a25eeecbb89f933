//! What the scripts share: a client of the Worker under test, and how they tell what they saw.

use std::env;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};
use weir_client::{
    Fail, Hooks, Item, Options, Question, RequestEvent, ResponseEvent, Weir, WeirError,
};

pub const TENANT: &str = "acme";

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

pub fn origin() -> String {
    variable("BASE")
}

pub fn token() -> String {
    variable("TOKEN")
}

/// Where nobody listens.
pub fn gone() -> String {
    variable("GONE")
}

/// Options of a client that is patient: the machine may be busy.
pub fn options(fail: Fail) -> Options {
    Options::new(origin(), token(), fail).timeout_ms(20_000)
}

pub fn client() -> Result<Weir> {
    Ok(Weir::new(options(Fail::Closed))?)
}

/// A client, and what its hooks heard.
pub fn heard() -> Result<(Weir, Heard)> {
    let heard = Heard::default();
    let weir = Weir::new(options(Fail::Closed).hooks(heard.clone()))?;
    Ok((weir, heard))
}

pub fn tokens(cost: u64) -> Question {
    Item::budget("tokens").cost(cost).tenant(TENANT)
}

/// Units that are left of the budget of acme.
pub async fn left(weir: &Weir) -> Result<u64> {
    Ok(weir.check(tokens(0)).await?.remaining)
}

/// Asks until `due` units are left, for ten seconds at most: an isolate hears of a settlement only with its next contact.
pub async fn settled_left(weir: &Weir, due: u64) -> Result<u64> {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let units = left(weir).await?;
        if units == due || Instant::now() > end {
            return Ok(units);
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Prints one line of JSON.
pub fn tell(value: &Value) {
    println!("{value}");
}

/// The next line, which the test writes when it has done its part.
pub async fn next_line() {
    // A test that has gone is as good as one that goes on.
    let _read = spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await;
}

/// An answer as the interface words it, or what an error says of itself.
pub fn plain<T: Serialize>(answer: Result<T, WeirError>) -> Value {
    match answer {
        Ok(answer) => json!(answer),
        Err(error) => told(&error),
    }
}

pub fn told(error: &WeirError) -> Value {
    let WeirError {
        status,
        kind,
        title,
        detail,
        field,
        ..
    } = error;
    json!({ "status": status, "type": kind, "title": title, "detail": detail, "field": field })
}

/// A request and what came of it, as hooks hear them.
#[derive(Clone)]
pub struct Note {
    pub path: String,
    pub attempt: u32,
    pub body: String,
    pub sent: Instant,
    /// `None` before the answer.
    pub status: Option<u16>,
}

/// What hooks heard, in its order.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<Vec<Note>>>);

impl Heard {
    /// All of it, which is forgotten.
    pub fn take(&self) -> Vec<Note> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The paths of the requests.
    pub fn paths(&self) -> Vec<String> {
        let requests = self.take().into_iter().filter(|one| one.status.is_none());
        requests.map(|one| one.path).collect()
    }

    /// Path and status of the answers.
    pub fn answered(&self) -> Vec<String> {
        let answers = self.take().into_iter();
        let answers = answers.filter_map(|one| Some(format!("{} {}", one.path, one.status?)));
        answers.collect()
    }

    fn note(&self, event: &RequestEvent, status: Option<u16>) {
        let note = Note {
            path: event.path.clone(),
            attempt: event.attempt,
            body: event.body.clone(),
            sent: Instant::now(),
            status,
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(note);
    }
}

impl Hooks for Heard {
    fn request(&self, event: &mut RequestEvent) {
        self.note(event, None);
    }

    fn response(&self, event: &ResponseEvent<'_>) {
        self.note(event.request, Some(event.status));
    }
}
