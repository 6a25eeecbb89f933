//! Requests with an `Idempotency-Key`: asked as often as one likes, charged once.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use weir_shared::wire::role::Role;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, gcra, policy, token_request, with};
use weir_tests::reply::Reply;
use weir_tests::witness::Fault;
use weir_tests::workerd::{Setup, Workerd};

/// How long an answer may take on a busy machine.
const ANSWERED: Duration = Duration::from_secs(30);

/// How often many ask at the same time.
const TRIES: u32 = 5;

const CHECK: &str = "/v1/check";
const SETTLE: &str = "/v1/settle";
const RESERVE: &str = "/v1/reserve";
const ACQUIRE: &str = "/v1/guards/calls/acquire";

/// Thirty days: the budget ends in no test.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// A budget of 1,000, a shaper of one a second, and a guard of two slots.
fn document() -> Value {
    let shaper = json!({
        "algorithm": "leaky_bucket", "rate_per_sec": 1, "max_queue_ms": 600_000, "scope": "region"
    });
    let guard = json!({ "concurrency": 2, "per_minute": "unlimited", "lease_ms": 60_000 });
    let document = with(policy(1_000, LONG_MS), "/limits/shape", shaper);
    let document = with(document, "/limits/per_ip", gcra(6, 3_600_000, 20));
    with(document, "/guards", json!({ "calls": guard }))
}

async fn start(setup: Setup) -> Workerd {
    let workerd = setup.start().await.unwrap();
    workerd.apply(&document()).await.unwrap();
    workerd
}

/// The answer, once a busy machine has time for it, and nobody else is asking.
async fn ask(client: &Client, path: &str, key: &str, body: &Value) -> Reply {
    let begun = now();
    loop {
        let reply = ask_once(client, path, key, body).await;
        if ![409, 503].contains(&reply.status) || begun.elapsed() > ANSWERED {
            return reply;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The answer to a new key, and that key: where holders were out of reach, another is tried, as that is an answer, too.
async fn first(client: &Client, path: &str, key: &str, body: &Value) -> (String, Reply) {
    let begun = now();
    for attempt in 0.. {
        let key = format!("{key}-{attempt}");
        let reply = ask(client, path, &key, body).await;
        if !is_away(&reply) || begun.elapsed() > ANSWERED {
            return (key, reply);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    unreachable!("there is always another key")
}

fn is_away(reply: &Reply) -> bool {
    reply.status == 200 && reply.text().contains("\"unavailable\"")
}

async fn ask_once(client: &Client, path: &str, key: &str, body: &Value) -> Reply {
    let asked = client.request(Method::POST, path).json(body);
    client
        .send(asked.header("idempotency-key", key))
        .await
        .unwrap()
}

fn cost(units: u64) -> Value {
    json!({ "tenant": "pro:a", "budget": BUDGET, "cost": units })
}

async fn left(client: &Client) -> u64 {
    client
        .check_budget_once_there("pro:a", BUDGET, 0)
        .await
        .decision
        .remaining
}

/// What an isolate gives back is in nobody's number for a moment, and what was charged twice stays.
async fn await_left(client: &Client, units: u64) {
    client.await_left("pro:a", BUDGET, units).await;
}

/// The second answer is the first one.
fn assert_again(first: &Reply, again: &Reply) {
    assert_eq!((again.status, again.text()), (first.status, first.text()));
    assert_eq!(first.header("idempotent-replayed"), None);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    for name in [
        "content-type",
        "ratelimit",
        "ratelimit-policy",
        "retry-after",
    ] {
        assert_eq!(again.header(name), first.header(name), "{name}");
    }
}

#[tokio::test]
async fn a_check_that_is_asked_again_is_answered_alike_and_charged_once_in_every_isolate() {
    let workerd = start(Setup::isolates(&["weur", "weur"])).await;
    let clients = workerd.clients().unwrap();
    let (key, answer) = first(&clients[0], CHECK, "order-7", &cost(30)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    for client in [&clients[0], &clients[1], &clients[0]] {
        assert_again(&answer, &ask(client, CHECK, &key, &cost(30)).await);
    }
    await_left(&clients[0], 970).await;
    // A denial is an answer, too.
    let (key, denied) = first(&clients[0], CHECK, "too-much", &cost(971)).await;
    assert!(
        denied.text().contains("\"allowed\":false"),
        "{}",
        denied.text()
    );
    assert_again(&denied, &ask(&clients[1], CHECK, &key, &cost(971)).await);
    // Another key is another request, and so is none.
    let (_, other) = first(&clients[1], CHECK, "order-8", &cost(30)).await;
    assert_eq!(other.status, 200);
    let without = clients[0].check_budget_once_there("pro:a", BUDGET, 30);
    assert!(without.await.decision.allowed);
    await_left(&clients[0], 910).await;
}

#[tokio::test]
async fn a_key_is_one_token_s_one_path_s_and_one_body_s() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let admin = workerd.client(0).unwrap();
    let (key, answer) = first(&admin, CHECK, "k", &cost(10)).await;
    assert_eq!(answer.status, 200);
    let other = ask(&admin, CHECK, &key, &cost(11)).await;
    assert_eq!(other.status, 422, "{}", other.text());
    let field = other.problem().unwrap().field;
    assert_eq!(field.as_deref(), Some("/headers/idempotency-key"));
    let token = token_request("other", Role::Service);
    let made = admin.make_token(&token).await.unwrap();
    let service = admin.with_token(&made.token);
    // On a busy machine its region may hear of the token late.
    service.check_budget_once_there("pro:a", BUDGET, 0).await;
    let reply = ask(&service, CHECK, &key, &cost(11)).await;
    assert_eq!(
        (reply.status, reply.header("idempotent-replayed")),
        (200, None)
    );
    let slot = ask(&admin, ACQUIRE, &key, &json!({ "tenant": "pro:a" })).await;
    assert_eq!(
        (slot.status, slot.header("idempotent-replayed")),
        (200, None)
    );
    await_left(&admin, 979).await;
    for key in ["", "a b", &"k".repeat(129)] {
        let reply = ask(&admin, CHECK, key, &cost(1)).await;
        assert_eq!(reply.status, 400, "{key:?}: {}", reply.text());
    }
    assert_eq!(left(&admin).await, 979, "what was refused cost nothing");
}

#[tokio::test]
async fn reservations_settlements_places_and_slots_are_given_once() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    let reserve = with(cost(100), "/reserve", json!(true));
    let (key, answer) = first(&client, CHECK, "reserve", &reserve).await;
    assert_again(&answer, &ask(&client, CHECK, &key, &reserve).await);
    let told: Value = answer.ok().unwrap();
    let settle = json!({ "reservation": told["reservation"], "actual": 40 });
    let first = ask(&client, SETTLE, "settle", &settle).await;
    assert_eq!(first.status, 200, "{}", first.text());
    assert_again(&first, &ask(&client, SETTLE, "settle", &settle).await);
    await_left(&client, 960).await;

    let place = json!({ "limit": "shape", "key": "k" });
    let first = ask(&client, RESERVE, "place", &place).await;
    assert_eq!(first.status, 200, "{}", first.text());
    assert_again(&first, &ask(&client, RESERVE, "place", &place).await);
    let next: Value = ask(&client, RESERVE, "next", &place).await.ok().unwrap();
    let delay_ms = next["delay_ms"].as_u64().unwrap();
    assert!(
        delay_ms <= 1_000,
        "the second in the queue, not the third: {next}"
    );

    let slot = json!({ "tenant": "pro:a" });
    let first = ask(&client, ACQUIRE, "slot", &slot).await;
    assert_again(&first, &ask(&client, ACQUIRE, "slot", &slot).await);
    assert_eq!(
        ask(&client, ACQUIRE, "slot-2", &slot).await.status,
        200,
        "one of two was taken"
    );
    assert_ne!(
        ask(&client, ACQUIRE, "slot-3", &slot).await.text(),
        first.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_ask_at_the_same_time_one_is_charged() {
    let workerd = start(Setup::isolates(&["weur", "weur"])).await;
    let clients = workerd.clients().unwrap();
    for attempt in 0..TRIES {
        if is_charged_once(&clients, &format!("at-once-{attempt}")).await {
            return;
        }
    }
    panic!("the holders were out of reach each time");
}

/// Many ask with one key; false where who was first was told that the holders are out of reach, which charges nothing.
async fn is_charged_once(clients: &[Client], key: &str) -> bool {
    let body = cost(7);
    let asked = (0..24).map(|index| ask_once(&clients[index % 2], CHECK, key, &body));
    let replies = join_all(asked).await;
    let mut answers: Vec<_> = Vec::new();
    for reply in &replies {
        match reply.status {
            200 => answers.push(reply.text()),
            409 => assert!(reply.header("retry-after").is_some(), "{}", reply.text()),
            // Whether there was an answer could not be said in time.
            503 => {}
            other => panic!("{other}: {}", reply.text()),
        }
    }
    let later = ask(&clients[1], CHECK, key, &body).await;
    if is_away(&later) || replies.iter().any(is_away) {
        return false;
    }
    answers.push(later.text());
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    // Whichever isolate was first knows of the charge.
    let both = [left(&clients[0]).await, left(&clients[1]).await];
    assert_eq!(both.into_iter().min(), Some(993), "{both:?}");
    true
}

#[tokio::test]
async fn what_was_refused_is_not_remembered() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    let unknown = json!({ "tenant": "pro:a", "budget": "none", "cost": 1 });
    assert_eq!(ask(&client, CHECK, "k", &unknown).await.status, 404);
    let mended = ask(&client, CHECK, "k", &cost(5)).await;
    assert_eq!(
        (mended.status, mended.header("idempotent-replayed")),
        (200, None)
    );
    let units = if is_away(&mended) { 1_000 } else { 995 };
    await_left(&client, units).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_outlives_the_death_of_everything() {
    let mut workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    let (key, answer) = first(&client, CHECK, "k", &cost(30)).await;
    workerd.kill_hard();
    workerd.restart().await.unwrap();
    assert_again(&answer, &ask(&client, CHECK, &key, &cost(30)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_nobody_can_say_whether_there_was_an_answer_nothing_is_charged() {
    let workerd = start(Setup::isolates(&["weur"]).witnessed()).await;
    let client = workerd.client(0).unwrap();
    assert_eq!(left(&client).await, 1_000);
    let witness = workerd.witness().unwrap();
    witness
        .fault("Region/claim", Fault::Refuse, 1_000)
        .await
        .unwrap();
    let refused = ask_once(&client, CHECK, "k", &cost(30)).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    witness.calm().await.unwrap();
    assert_eq!(left(&client).await, 1_000);
    // The word that it was kept is lost: it is kept all the same.
    witness.fault("Region/keep", Fault::Lose, 1).await.unwrap();
    let first = ask(&client, CHECK, "k", &cost(30)).await;
    assert_eq!(first.status, 200, "{}", first.text());
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_again(&first, &ask(&client, CHECK, "k", &cost(30)).await);
    await_left(&client, 970).await;
}
