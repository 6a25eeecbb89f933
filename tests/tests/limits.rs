//! Limits, end to end: every algorithm at every scope, alone and together with others, settled, shaped, in shadow.

mod accounting;
mod algorithms;
mod batch;
mod bounded;
mod calendar;
mod composite;
mod damage;
mod flood;
mod headers;
mod hints;
mod holds;
mod hostile;
mod kills;
mod mixed;
mod owners;
mod parts;
mod policy;
mod question;
mod reservation;
mod rolling;
mod scopes;
mod settlement;
mod shadow;
mod shaper;
mod storm;
mod tenants;
mod unreachable;

use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use weir_shared::limiting::key::shard;
use weir_shared::limits::CALL_MS_MAX;
use weir_shared::wire::check::{DecisionBody, Reason};
use weir_shared::wire::reserve::ReservationBody;
use weir_shared::wire::settle::SettledBody;
use weir_shared::wire::shard_key::ShardKey;
use weir_tests::again;
use weir_tests::calls::charge;
use weir_tests::client::{Checked, Client};
use weir_tests::clock::now;
use weir_tests::fixtures::{policy, with};
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, Workerd};

/// Far longer than a test: nothing comes back while it runs.
const HOUR_MS: u64 = 3_600_000;

/// Thirty days. Windows begin at multiples of their length, so a test almost never straddles one.
const LONG_MS: u64 = 30 * 24 * HOUR_MS;

/// How long what is on its way between holders may take to arrive on a busy machine.
const SETTLING: Duration = Duration::from_secs(20);

/// How often something is begun anew whose holders were out of reach in the middle of it.
const TRIES: usize = 5;

/// The budget of [`document`].
const BUDGET_LIMIT: u64 = 1_000;

/// A policy with these limits, and a budget that lasts.
fn document(limits: Value) -> Value {
    with(policy(BUDGET_LIMIT, LONG_MS), "/limits", limits)
}

/// A deployment with these limits in force.
async fn start(setup: Setup, limits: Value) -> Workerd {
    let workerd = setup.start().await.expect("workerd starts");
    workerd
        .apply(&document(limits))
        .await
        .expect("the policy is saved");
    learn_shards(&workerd);
    workerd
}

/// The secret of the deployment that the test started last: each test has a process of its own.
static SHARDS: Mutex<Option<ShardKey>> = Mutex::new(None);

/// Learns which keys lie together in a deployment.
fn learn_shards(workerd: &Workerd) {
    let secret = workerd.shard_key().expect("the registry has a secret");
    *SHARDS.lock().unwrap() = Some(secret);
}

/// The shard that keeps a key.
fn shard_of(key: &str) -> u32 {
    shard(key, *SHARDS.lock().unwrap())
}

/// One isolate in one region.
fn alone() -> Setup {
    Setup::isolates(&["weur"])
}

/// So many units in thirty days, kept by each region.
fn still(limit: u64) -> Value {
    fixed(limit, LONG_MS, "region")
}

/// So many units in each window.
fn fixed(limit: u64, window_ms: u64, scope: &str) -> Value {
    json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": window_ms, "scope": scope })
}

/// The `nth` of the keys that a shard keeps.
fn key_in(wanted: u32, nth: usize) -> String {
    let keys = (0..).map(|number| format!("key{number}"));
    let mut inside = keys.filter(|key| shard_of(key) == wanted);
    inside.nth(nth).expect("keys have no end")
}

/// The answer, once the holders answer: on a busy machine they may be out of reach for a moment. An isolate that waited for its
/// region in vain goes by the shipped policy, which has none of these limits.
async fn ask(client: &Client, question: &Value) -> Checked {
    let start = now();
    loop {
        let asked = now();
        let late = start.elapsed() >= SETTLING;
        match client.decide(question).await {
            Ok(checked) if late || checked.decision.reason != Reason::Unavailable => {
                return checked;
            }
            Ok(_) => {}
            Err(error) => {
                let waited = asked.elapsed() >= Duration::from_millis(CALL_MS_MAX);
                assert!(waited && !late, "{error:#}");
            }
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

async fn decide(client: &Client, question: &Value) -> DecisionBody {
    ask(client, question).await.decision
}

/// The decisions of a batch of which no two questions are of one key: see [`ask_open`].
async fn ask_all(client: &Client, questions: &[Value]) -> Vec<DecisionBody> {
    let decisions = client.batch(questions).await.unwrap();
    ask_open(client, questions, decisions).await
}

/// Asks those questions of a batch again whose holders were out of reach; all decisions.
async fn ask_open(
    client: &Client,
    questions: &[Value],
    mut decisions: Vec<DecisionBody>,
) -> Vec<DecisionBody> {
    let start = now();
    loop {
        let open = |nth: &usize| decisions[*nth].reason == Reason::Unavailable;
        let open: Vec<usize> = (0..decisions.len()).filter(open).collect();
        if open.is_empty() || start.elapsed() >= SETTLING {
            return decisions;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
        let again: Vec<Value> = open.iter().map(|nth| questions[*nth].clone()).collect();
        let answers = client.batch(&again).await.unwrap();
        for (nth, answer) in open.into_iter().zip(answers) {
            decisions[nth] = answer;
        }
    }
}

/// Settles, again where a holder was out of reach: the first settlement counts, whether its answer came or not.
async fn settle(client: &Client, reservation: &str, actual: u64) -> SettledBody {
    let request = client.request(Method::POST, "/v1/settle");
    let request = request.json(&json!({ "reservation": reservation, "actual": actual }));
    answered(client, &request).await.ok().unwrap()
}

/// A place in the queue of a shaper, or none; `None` where its holder is out of reach, and may have given one.
async fn place_once(
    client: &Client,
    limit: &str,
    key: &str,
    units: u64,
) -> Option<ReservationBody> {
    let asked = charge(limit, key, units);
    let reply = client.post("/v1/reserve", &asked).await.unwrap();
    (reply.status != 503).then(|| reply.ok().unwrap())
}

/// The same, asked for again where its holder is out of reach: nobody may mind a place that nobody takes.
async fn place(client: &Client, limit: &str, key: &str, cost: u64) -> ReservationBody {
    let start = now();
    loop {
        if let Some(place) = place_once(client, limit, key, cost).await {
            return place;
        }
        assert!(start.elapsed() < SETTLING, "{limit} {key} is out of reach");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What a request is answered, sent again where the holders were out of reach: it may have been done before.
async fn answered(client: &Client, request: &RequestBuilder) -> Reply {
    let again = || request.try_clone().expect("a request without a stream");
    let ask = async || client.send(again()).await;
    again::answered(ask).await
}

/// The status of a request on a gateway's route. An isolate that waited for its region in vain knows no route.
async fn status_of(client: &Client, request: &RequestBuilder) -> u16 {
    let start = now();
    loop {
        let status = answered(client, request).await.status;
        if status != 404 || start.elapsed() >= SETTLING {
            return status;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What a question comes to; `None` where a holder was out of reach: that is counted like every answer.
async fn heard(client: &Client, question: &Value) -> Option<Checked> {
    let checked = client.decide(question).await.unwrap();
    (checked.decision.reason != Reason::Unavailable).then_some(checked)
}

/// The decision of one question, also where a holder is out of reach.
async fn decide_once(client: &Client, question: &Value) -> DecisionBody {
    client.decide(question).await.unwrap().decision
}

async fn take(client: &Client, limit: &str, key: &str, cost: u64) -> DecisionBody {
    decide(client, &charge(limit, key, cost)).await
}

/// What is left of a key, as far as the isolate knows.
async fn left(client: &Client, limit: &str, key: &str) -> u64 {
    take(client, limit, key, 0).await.remaining
}

/// Waits until so much is left of a key. An isolate that has drawn units ahead may know of more for half a second; what
/// was given back once too often stays.
async fn await_left(client: &Client, limit: &str, key: &str, expected: u64) {
    let start = now();
    loop {
        let left = left(client, limit, key).await;
        if left == expected {
            return;
        }
        assert!(
            start.elapsed() < SETTLING,
            "{left} are left of {limit} {key}, not {expected}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Takes single units until so many came, or none for a while, and one more; how many came.
async fn take_the_rest(client: &Client, limit: &str, key: &str, expected: u64) -> u64 {
    let (mut taken, mut last) = (0, now());
    while taken < expected && last.elapsed() < SETTLING {
        if take(client, limit, key, 1).await.allowed {
            (taken, last) = (taken + 1, now());
        } else {
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    }
    taken + u64::from(take(client, limit, key, 1).await.allowed)
}

/// Asks again until it is admitted: what other holders do not need comes back.
async fn await_allowed(client: &Client, question: &Value) -> DecisionBody {
    let start = now();
    loop {
        let decision = decide(client, question).await;
        if decision.allowed {
            return decision;
        }
        assert!(
            start.elapsed() < SETTLING,
            "{question} is not admitted: {decision:?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Questions sent at the same time, each once and in turn from every client; the decisions in the order of the questions.
async fn storm(
    clients: &[Client],
    count: usize,
    question: impl Fn(usize) -> Value,
) -> Vec<DecisionBody> {
    let asked = (0..count).map(|index| {
        let (client, question) = (clients[index % clients.len()].clone(), question(index));
        async move { decide_once(&client, &question).await }
    });
    join_all(asked).await
}

fn admitted(decisions: &[DecisionBody]) -> u64 {
    decisions.iter().filter(|decision| decision.allowed).count() as u64
}
