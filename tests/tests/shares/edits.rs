//! A policy that changes in mid-window: a lower limit stops at once, a higher one admits at once, and nothing that was
//! used comes back.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::checker::admitted_by_window;
use weir_tests::client::Client;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::{with, without};
use weir_tests::history::{Operation, outcomes};
use weir_tests::shares::stalls;
use weir_tests::stage::Stage;
use weir_tests::workerd::{REGIONS, Setup, Workerd};

use crate::shares::{
    LONG_MS, alone, await_allowed, budget, document, load, start, take, take_the_rest, weighing,
    window_start,
};

const NAMES: [&str; 2] = ["a", "b"];

fn policy(body: Value) -> Value {
    document(body, weighing(&[("a", 1), ("b", 1)]))
}

fn paced(body: Value) -> Value {
    with(body, "/reserve", json!("paced"))
}

/// Every budget whose limit is one number for all regions, by what is shared how.
fn bodies(limit: u64, window_ms: u64) -> Vec<Value> {
    let pairs = [
        ("first_come", "isolate"),
        ("first_come", "region"),
        ("first_come", "global"),
        ("fair_share", "region"),
        ("weighted_fair_share", "isolate"),
        ("weighted_fair_escrow", "isolate"),
        ("weighted_fair_escrow", "region"),
        ("weighted_fair_escrow", "global"),
    ];
    let mut bodies: Vec<Value> = pairs
        .iter()
        .map(|(sharing, scope)| budget(sharing, scope, limit, window_ms))
        .collect();
    for scope in ["region", "global"] {
        bodies.push(paced(budget(
            "weighted_fair_escrow",
            scope,
            limit,
            window_ms,
        )));
    }
    bodies
}

async fn assert_nothing_left(client: &Client, what: &str) {
    for tenant in NAMES {
        let denied = take(client, tenant, 1).await;
        assert!(!denied.allowed, "{what}: {tenant}: {denied:?}");
    }
}

/// Denied for some time, not just for the moment in which units are on their way.
async fn assert_stays_denied(client: &Client, what: &str) {
    let start = now();
    while start.elapsed() < Duration::from_millis(1_500) {
        assert_nothing_left(client, what).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_higher_limit_admits_at_once_and_a_lower_one_stops_at_once() {
    let runs = bodies(60, LONG_MS).into_iter().map(async |body| {
        let what = body.to_string();
        let workerd = start(alone(), &policy(body.clone())).await;
        let client = workerd.client(0).unwrap();
        assert_eq!(take_the_rest(&client, "a", 60).await, 60, "{what}");
        let window = take(&client, "a", 1).await.window;
        let higher = with(body.clone(), "/limit", json!(100));
        workerd.apply(&policy(higher)).await.unwrap();
        let decision = await_allowed(&client, "a", 1).await;
        assert_eq!(decision.window, window, "{what}");
        assert_eq!(take_the_rest(&client, "a", 39).await, 39, "{what}");
        let lower = with(body, "/limit", json!(30));
        workerd.apply(&policy(lower)).await.unwrap();
        let denied = take(&client, "b", 1).await;
        assert_eq!(
            (denied.allowed, denied.reason, denied.window),
            (false, Reason::CapReached, window),
            "{what}: {denied:?}"
        );
        assert_stays_denied(&client, &what).await;
    });
    join_all(runs).await;
}

/// How often it is tried: a machine that stands still may not be done with all of it in one window.
const TRIES: u32 = 3;

/// A lower limit: no more grants in this window, and all of it in the next.
async fn assert_lowered(reserve: Option<&str>, sharing: &str) {
    for _ in 0..TRIES {
        if is_lowered(reserve, sharing).await {
            return;
        }
    }
    panic!(
        "{sharing}, {reserve:?}: {TRIES} times too little was used before the edit, or it came late"
    );
}

/// Whether enough was used of a window before it was edited; then the rest is judged.
async fn is_lowered(reserve: Option<&str>, sharing: &str) -> bool {
    const WINDOW: Duration = Duration::from_secs(8);
    const LOWER: u64 = 100;
    // What regions and isolates hold is each for a few contacts, of half a second here.
    const LEASES: Duration = Duration::from_millis(3_500);
    let body = |limit: u64, window: Duration| {
        let body = budget(sharing, "global", limit, window.as_millis() as u64);
        match reserve {
            Some(reserve) => with(body, "/reserve", json!(reserve)),
            None => body,
        }
    };
    let what = body(LOWER, WINDOW).to_string();
    let before = |window| policy(body(3_000, window));
    let stage = Stage::new(Setup::isolates(&REGIONS), WINDOW, before).await;
    let (window, tempo) = (stage.window, stage.tempo);
    let leases = tempo.stretched(LEASES);
    window_start(window).await;
    let loads = NAMES.map(|tenant| load(&stage.clients, tenant, 2, 30));
    let running = stage.start(loads.to_vec());
    tokio::time::sleep(tempo.stretched(Duration::from_secs(3))).await;
    let lowered = policy(body(LOWER, window));
    stage.workerd.apply(&lowered).await.unwrap();
    let edited = running.elapsed();
    tokio::time::sleep(2 * window + tempo.stretched(Duration::from_secs(5))).await;
    let operations = running.stop().await.unwrap();
    let windows = admitted_by_window(&operations);
    let labels: Vec<u64> = windows.keys().copied().collect();
    let last = operations
        .iter()
        .filter(|operation| {
            operation.admitted() > 0 && operation.window() == labels.first().copied()
        })
        .map(|operation| operation.sent)
        .max();
    println!(
        "{what}: edited at {edited:?}, the last of its window admitted at {last:?}, {windows:?}, {:?}",
        outcomes(&operations)
    );
    assert!(labels.len() >= 3, "{what}: {windows:?}");
    let came_late = operations
        .iter()
        .any(|operation| operation.window() > Some(labels[0]) && operation.sent <= edited);
    let of_first = |operation: &&Operation| operation.window() == Some(labels[0]);
    let before: u64 = operations
        .iter()
        .filter(|operation| operation.sent <= edited)
        .filter(of_first)
        .map(Operation::admitted)
        .sum();
    if came_late || before <= 2 * LOWER {
        return false;
    }
    // A lease that a holder has no time to give back is spent later.
    let stood = operations
        .iter()
        .filter(of_first)
        .map(Operation::latency)
        .max();
    let leases = leases + stood.unwrap_or_default();
    let late: u64 = operations
        .iter()
        .filter(|operation| operation.sent > edited + leases)
        .filter(of_first)
        .map(Operation::admitted)
        .sum();
    // A tenant of which little is left may spend that for as long as the window lasts.
    assert!(
        late * 20 <= before,
        "{what}: {late} units were lent above a lower limit, {before} before"
    );
    // What holders had when it was lowered: as long a need of theirs at most, and what is late.
    let need = before as f64 * leases.as_secs_f64() / edited.as_secs_f64();
    assert!(
        windows[&labels[0]] as f64 <= before as f64 * 1.05 + need,
        "{what}: {before} before, {windows:?}"
    );
    for label in &labels[1..] {
        assert!(windows[label] <= LOWER, "{what}: {windows:?}");
    }
    let stall = stalls(&operations, window)[&labels[1]];
    assert!(
        windows[&labels[1]] + stall.units(LOWER) >= LOWER * 9 / 10,
        "{what}: {windows:?}, {stall:?}"
    );
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lower_limit_binds_first_come_in_the_next_window() {
    assert_lowered(None, "first_come").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lower_limit_binds_a_pinned_escrow_in_the_next_window() {
    assert_lowered(Some("pinned"), "weighted_fair_escrow").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lower_limit_binds_a_paced_escrow_in_the_next_window() {
    assert_lowered(Some("paced"), "weighted_fair_escrow").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_sharing_refunds_nothing() {
    let runs = ["isolate", "region", "global"].map(async |scope| {
        let with_sharing = |sharing: &str| policy(budget(sharing, scope, 60, LONG_MS));
        let escrow = budget("weighted_fair_escrow", scope, 60, LONG_MS);
        let changes = [
            with_sharing("weighted_fair_escrow"),
            policy(paced(escrow.clone())),
            with_sharing("first_come"),
            policy(escrow),
            with_sharing("first_come"),
        ];
        let workerd = start(alone(), &with_sharing("first_come")).await;
        let client = workerd.client(0).unwrap();
        assert!(take(&client, "a", 41).await.allowed, "{scope}");
        let window = take(&client, "a", 0).await.window;
        for (nth, change) in changes.iter().enumerate() {
            workerd.apply(change).await.unwrap();
            if nth == 2 {
                assert_eq!(
                    take_the_rest(&client, "b", 19).await,
                    19,
                    "{scope}, change {nth}"
                );
            }
            if nth < 2 {
                let over = take(&client, "b", 20).await;
                assert!(
                    !over.allowed,
                    "{scope}, change {nth}: 41 were used: {over:?}"
                );
            } else {
                assert_stays_denied(&client, &format!("{scope}, change {nth}")).await;
            }
            let look = take(&client, "a", 0).await;
            assert_eq!(look.window, window, "{scope}, change {nth}: {look:?}");
        }
    });
    join_all(runs).await;
}

/// A budget that is taken away and comes back in the same window has what was used of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_comes_back_keeps_what_was_used() {
    let runs = bodies(60, LONG_MS).into_iter().map(async |body| {
        let what = body.to_string();
        let there = policy(body);
        let gone = without(there.clone(), "/budgets/tokens");
        let workerd = start(alone(), &there).await;
        let client = workerd.client(0).unwrap();
        assert_eq!(take_the_rest(&client, "a", 60).await, 60, "{what}");
        let window = take(&client, "a", 1).await.window;
        workerd.apply(&gone).await.unwrap();
        assert!(
            client.check_budget("a", "tokens", 1).await.is_err(),
            "{what}"
        );
        workerd.apply(&there).await.unwrap();
        let denied = take(&client, "a", 1).await;
        assert_eq!(
            (denied.allowed, denied.window),
            (false, window),
            "{what}: its removal refunded what was used: {denied:?}"
        );
        assert_stays_denied(&client, &what).await;
    });
    join_all(runs).await;
}

/// A shorter window ends the open one at its own next boundary, and gives nothing of it out again.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_gets_shorter_ends_at_the_next_boundary_of_its_new_length() {
    let pairs = [
        ("first_come", "global"),
        ("weighted_fair_escrow", "global"),
        ("weighted_fair_escrow", "region"),
        ("weighted_fair_escrow", "isolate"),
    ];
    let runs = pairs.map(async |(sharing, scope)| {
        let mut tries = 1;
        while !is_shortened(sharing, scope).await {
            assert!(tries < TRIES, "{sharing} at {scope}: always too late");
            tries += 1;
        }
    });
    join_all(runs).await;
}

/// Whether the edit was in force before the boundary at which the window ends by it; then the rest is judged.
async fn is_shortened(sharing: &str, scope: &str) -> bool {
    const WINDOW: Duration = Duration::from_secs(32);
    const SHORTER_MS: u64 = 8_000;
    let what = format!("{sharing} at {scope}");
    let with_length = |window_ms: u64| policy(budget(sharing, scope, 60, window_ms));
    let workerd: Workerd = start(alone(), &with_length(WINDOW.as_millis() as u64)).await;
    let client = workerd.client(0).unwrap();
    window_start(WINDOW).await;
    let boundary = epoch_ms() / SHORTER_MS + 1;
    let before = await_allowed(&client, "a", 60).await;
    workerd.apply(&with_length(SHORTER_MS)).await.unwrap();
    let denied = take(&client, "a", 1).await;
    if epoch_ms() / SHORTER_MS >= boundary {
        return false;
    }
    assert_eq!(
        (denied.allowed, denied.window),
        (false, before.window),
        "{what}"
    );
    assert!(
        denied.reset_at <= epoch_ms() + SHORTER_MS + 500 && denied.reset_at < before.reset_at,
        "{what}: {before:?}, {denied:?}"
    );
    tokio::time::sleep(Duration::from_millis(SHORTER_MS)).await;
    let after = await_allowed(&client, "a", 1).await;
    assert!(after.window > before.window, "{what}: {after:?}");
    let length_ms = after.reset_at - epoch_ms().min(after.reset_at);
    assert!(
        length_ms <= SHORTER_MS + 100,
        "{what}: {length_ms} ms, {after:?}"
    );
    true
}
