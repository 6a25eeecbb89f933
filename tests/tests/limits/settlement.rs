//! A reservation is settled once, by whoever asks first, and by nobody who made it up.

use std::time::Duration;

use futures_util::future::join_all;
use rusqlite::Connection;
use serde_json::{Value, json};
use weir_shared::limits::RESERVATION_MS;
use weir_tests::calls::{charge, charge_keys, reserved};
use weir_tests::client::Client;
use weir_tests::clock::epoch_ms;
use weir_tests::fixtures::BUDGET;
use weir_tests::storage::{count, databases};
use weir_tests::witness::Witness;
use weir_tests::workerd::{Setup, Workerd};

use crate::limits::{
    LONG_MS, alone, await_allowed, await_left, decide, fixed, key_in, left, settle, start, still,
    take,
};

const BOUND: u64 = 20;

fn limits() -> Value {
    json!({
        "fixed": still(BOUND),
        "planet": fixed(BOUND, LONG_MS, "global"),
        "pair": { "all": [{ "name": "a", "limit": "fixed" }, { "name": "b", "limit": "fixed" }, "planet"] },
    })
}

async fn reserve(client: &Client, question: Value) -> String {
    let decision = decide(client, &reserved(question)).await;
    assert!(decision.allowed, "{decision:?}");
    decision.reservation.expect("a reservation")
}

fn of_budget(cost: u64) -> Value {
    json!({ "tenant": "pro:a", "budget": BUDGET, "cost": cost })
}

/// One of every kind: a budget, a key of a region, a key of the planet, and all of it in one question.
fn questions(round: usize) -> [Value; 4] {
    let (a, b) = (key_in(0, round), key_in(1, round));
    let all = charge_keys(
        "pair",
        &[("a", &a), ("b", &b), ("planet", &format!("all{round}"))],
        10,
    );
    let key = format!("k{round}");
    [
        of_budget(10),
        charge("fixed", &key, 10),
        charge("planet", &key, 10),
        all,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_settlement_answers_the_first_result_from_anywhere() {
    let workerd = start(Setup::isolates(&["weur", "weur", "apac"]), limits()).await;
    let clients = workerd.clients().unwrap();
    for question in questions(0) {
        let reservation = reserve(&clients[0], question.clone()).await;
        // The first comes from another region than the one that was charged.
        let first = settle(&clients[2], &reservation, 4).await;
        assert_eq!(
            (first.reserved, first.actual, first.refunded, first.debt),
            (10, 4, 6, 0),
            "{question}"
        );
        for (client, actual) in clients.iter().zip([0, 10, 15]) {
            let again = settle(client, &reservation, actual).await;
            assert_eq!(again, first, "{question}: settled again with {actual}");
        }
    }
    // What was given back was given back once.
    await_left(&clients[0], "fixed", "k0", BOUND - 4).await;
    await_allowed(&clients[1], &charge("planet", "k0", BOUND - 4)).await;
    assert!(!take(&clients[1], "planet", "k0", 1).await.allowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_settlements_one_counts_and_all_are_told_the_same() {
    let workerd = start(Setup::isolates(&["weur", "weur", "apac"]), limits()).await;
    let clients = workerd.clients().unwrap();
    for question in questions(0) {
        let reservation = reserve(&clients[0], question.clone()).await;
        let settling = (0..12_u64).map(|index| {
            let (client, reservation) = (clients[index as usize % 3].clone(), reservation.clone());
            async move { settle(&client, &reservation, index).await }
        });
        let results = join_all(settling).await;
        assert!(
            results.iter().all(|result| *result == results[0]),
            "{question}: {results:?}"
        );
    }
}

/// What regions keep their settlements in.
fn settling(workerd: &Workerd) -> Vec<Connection> {
    databases(&workerd.disk(), "Region", "settlements").unwrap()
}

/// The settlements that are kept, those from long ago or all others.
fn kept(workerd: &Workerd, old: bool) -> usize {
    let sql = "SELECT COUNT(*) FROM settlements WHERE (op LIKE 'old%') = ?1";
    let regions = settling(workerd);
    regions
        .iter()
        .map(|region| count(region, sql, [old]).unwrap())
        .sum()
}

/// What a region keeps of settlements ends with the reservations, also where nothing is leased.
#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_is_forgotten_when_nobody_can_repeat_it() {
    let mut workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    let reservation = reserve(&client, charge("fixed", "k", 10)).await;
    settle(&client, &reservation, 4).await;
    workerd.kill_hard();
    for region in settling(&workerd) {
        let sql = "INSERT INTO settlements (op, expires_at, body) SELECT 'old' || op, 1, body FROM settlements";
        region.execute(sql, []).unwrap();
    }
    assert_eq!((kept(&workerd, false), kept(&workerd, true)), (1, 1));
    workerd.restart().await.unwrap();
    let reservation = reserve(&client, charge("fixed", "other", 10)).await;
    settle(&client, &reservation, 4).await;
    workerd.kill_hard();
    assert_eq!((kept(&workerd, false), kept(&workerd, true)), (2, 0));
}

/// Kept by the objects: it outlasts every isolate.
#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_is_remembered_across_a_kill() {
    let mut workerd = start(Setup::isolates(&["weur", "apac"]), limits()).await;
    let clients = workerd.clients().unwrap();
    let mut settled = Vec::new();
    let mut open = Vec::new();
    for question in questions(0) {
        let reservation = reserve(&clients[0], question).await;
        settled.push((settle(&clients[0], &reservation, 4).await, reservation));
    }
    for question in questions(1) {
        open.push(reserve(&clients[0], question).await);
    }
    workerd.restart().await.unwrap();
    for (first, reservation) in &settled {
        assert_eq!(settle(&clients[1], reservation, 9).await, *first);
    }
    for reservation in &open {
        let late = settle(&clients[1], reservation, 4).await;
        assert_eq!((late.reserved, late.actual, late.debt), (10, 4, 0));
        assert!(late.refunded <= 6, "{late:?}");
    }
    await_left(&clients[0], "fixed", "k0", BOUND - 4).await;
    await_left(&clients[0], "fixed", "k1", BOUND - 4).await;
}

/// A refund into a window that is over would be units of the next.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_given_back_into_another_window() {
    const WINDOW_MS: u64 = 2_000;
    let mut document = crate::limits::document(json!({
        "fixed": fixed(BOUND, WINDOW_MS, "region"),
        "planet": fixed(BOUND, WINDOW_MS, "global"),
        "log": { "algorithm": "sliding_log", "limit": BOUND, "window_ms": WINDOW_MS, "scope": "region" },
    }));
    document["budgets"][BUDGET]["limit"] = json!(BOUND);
    document["budgets"][BUDGET]["window_ms"] = json!(WINDOW_MS);
    let workerd = alone().start().await.unwrap();
    workerd.apply(&document).await.unwrap();
    let client = workerd.client(0).unwrap();
    let questions = [
        of_budget(BOUND),
        charge("fixed", "k", BOUND),
        charge("planet", "k", BOUND),
        charge("log", "k", BOUND),
    ];
    for question in questions {
        let decision = await_allowed(&client, &reserved(question.clone())).await;
        let reservation = decision.reservation.expect("a reservation");
        let window_is_over = decision.reset_at.saturating_sub(epoch_ms()) + 300;
        tokio::time::sleep(Duration::from_millis(window_is_over)).await;
        // The next window is used up, then the reservation of the one before is released.
        let all = await_allowed(&client, &question).await;
        let result = settle(&client, &reservation, 0).await;
        assert_eq!(
            (result.reserved, result.refunded, result.debt),
            (BOUND, 0, 0),
            "{question}"
        );
        let over = decide(&client, &question).await;
        assert!(
            !over.allowed || epoch_ms() >= all.reset_at,
            "{question}: the window was given what another had: {over:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsettled_reservation_expires_and_stays_charged() {
    let workerd = start(Setup::isolates(&["weur", "apac"]).witnessed(), limits()).await;
    let clients = workerd.clients().unwrap();
    let reservation = reserve(&clients[0], charge("fixed", "k", 10)).await;
    let early = reserve(&clients[0], charge("fixed", "early", 10)).await;
    for client in &clients {
        let witness = Witness::of(client);
        witness
            .ahead(Duration::from_millis(RESERVATION_MS - 60_000))
            .await
            .unwrap();
    }
    assert_eq!(
        settle(&clients[1], &early, 0).await.refunded,
        10,
        "it is not over yet"
    );
    for client in &clients {
        let witness = Witness::of(client);
        witness
            .ahead(Duration::from_millis(RESERVATION_MS + 1_000))
            .await
            .unwrap();
    }
    for client in &clients {
        let body = json!({ "reservation": reservation, "actual": 0 });
        let reply = client.post("/v1/settle", &body).await.unwrap();
        let problem = reply.problem().unwrap();
        assert_eq!(
            (problem.status, problem.field.as_deref()),
            (409, Some("/reservation"))
        );
    }
    assert_eq!(left(&clients[0], "fixed", "k").await, BOUND - 10);
    assert_eq!(left(&clients[0], "fixed", "early").await, BOUND);
}

#[tokio::test]
async fn a_reservation_that_was_made_up_is_refused() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    let genuine = reserve(&client, charge("fixed", "k", 10)).await;
    let other = reserve(&client, charge("fixed", "other", 1)).await;
    let elsewhere = start(
        alone().token(Some("another-token-of-the-tests-7654321")),
        limits(),
    )
    .await;
    let foreign = reserve(&elsewhere.client(0).unwrap(), charge("fixed", "k", 10)).await;
    let (body, mac) = genuine.rsplit_once('.').expect("a body and its code");
    let (other_body, other_mac) = other.rsplit_once('.').expect("a body and its code");
    let mut forged = vec![
        foreign,
        format!("{body}.{other_mac}"),
        format!("{other_body}.{mac}"),
        format!("{genuine}A"),
        format!("{genuine}."),
        format!(" {genuine}"),
        genuine[..genuine.len() - 1].to_owned(),
        body.to_owned(),
        format!("{body}."),
        format!(".{mac}"),
        "x".to_owned(),
        "x".repeat(4_096),
        "é\u{0}\n".to_owned(),
    ];
    forged.extend((0..genuine.len()).step_by(3).filter_map(|at| {
        let mut bytes = genuine.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).expect("ASCII");
        // The last character of base64 may have bits that say nothing.
        (at + 1 < genuine.len()).then_some(changed)
    }));
    for text in &forged {
        let body = json!({ "reservation": text, "actual": 0 });
        let reply = client.post("/v1/settle", &body).await.unwrap();
        let problem = reply.problem().unwrap();
        assert_eq!(
            (problem.status, problem.field.as_deref()),
            (400, Some("/reservation")),
            "{text}"
        );
    }
    assert_eq!(
        left(&client, "fixed", "k").await,
        BOUND - 10,
        "nothing was given back"
    );
    assert_eq!(settle(&client, &genuine, 0).await.refunded, 10);
}

/// The region's object does not answer: the settlement fails as a whole and can be tried again.
#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_that_failed_half_way_can_be_tried_again() {
    use weir_tests::witness::Fault::{Lose, Refuse};
    let workerd = start(alone().witnessed(), limits()).await;
    let (client, witness) = (workerd.client(0).unwrap(), workerd.witness().unwrap());
    let faults = [
        ("Region/settle", Refuse),
        ("Region/settle", Lose),
        ("Region/settle-keys", Refuse),
        ("Region/settle-keys", Lose),
    ];
    for (round, (call, kind)) in faults.into_iter().enumerate() {
        let [_, _, _, all] = questions(round);
        let reservation = reserve(&client, all).await;
        witness.fault(call, kind, 1).await.unwrap();
        let body = json!({ "reservation": reservation, "actual": 4 });
        let failed = client.post("/v1/settle", &body).await.unwrap();
        assert_eq!(failed.status, 503, "{call} {kind:?}: {}", failed.text());
        witness.calm().await.unwrap();
        // The first settlement said what was used; a later one cannot say otherwise where that was heard.
        let result = settle(&client, &reservation, 4).await;
        assert_eq!(
            (result.reserved, result.actual, result.debt),
            (10, 4, 0),
            "{call} {kind:?}"
        );
        await_left(&client, "fixed", &key_in(0, round), BOUND - 4).await;
        await_left(&client, "fixed", &key_in(1, round), BOUND - 4).await;
        await_allowed(
            &client,
            &charge("planet", &format!("all{round}"), BOUND - 4),
        )
        .await;
        assert!(
            !take(&client, "planet", &format!("all{round}"), 1)
                .await
                .allowed
        );
    }
}
