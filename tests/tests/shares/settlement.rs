//! What is reserved of a shared budget is settled on its tenant's account.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_shared::wire::settle::SettledBody;
use weir_tests::again::answered;
use weir_tests::calls::reserved;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, with};
use weir_tests::workerd::{Setup, Workerd};

use crate::shares::{
    LONG_MS, SETTLING, await_allowed, budget, document, start, take, take_the_rest, weighing,
    window_start,
};

const LIMIT: u64 = 100;

fn bodies() -> Vec<Value> {
    let pairs = [
        ("fair_share", "region"),
        ("weighted_fair_share", "region"),
        ("weighted_fair_escrow", "region"),
        ("weighted_fair_escrow", "global"),
    ];
    let mut bodies: Vec<Value> = pairs
        .iter()
        .map(|(sharing, scope)| budget(sharing, scope, LIMIT, LONG_MS))
        .collect();
    for scope in ["region", "global"] {
        let body = budget("weighted_fair_escrow", scope, LIMIT, LONG_MS);
        bodies.push(with(body, "/reserve", json!("paced")));
    }
    bodies
}

async fn deployment(body: Value) -> (Workerd, Vec<Client>) {
    let document = document(body, weighing(&[("a", 1), ("b", 1)]));
    let workerd = start(Setup::isolates(&["weur", "weur", "apac"]), &document).await;
    let clients = workerd.clients().unwrap();
    (workerd, clients)
}

async fn reserve(client: &Client, tenant: &str, cost: u64) -> String {
    let question = json!({ "tenant": tenant, "budget": BUDGET, "cost": cost });
    let question = reserved(question);
    let start = now();
    loop {
        let decision = client.decide(&question).await.unwrap().decision;
        if decision.reason == Reason::Unavailable && start.elapsed() < SETTLING {
            continue;
        }
        assert!(decision.allowed, "{decision:?}");
        return decision.reservation.expect("a reservation");
    }
}

/// Settles, again where a busy machine had no answer in time: it is settled once.
async fn settle(client: &Client, reservation: &str, actual: u64) -> SettledBody {
    let body = json!({ "reservation": reservation, "actual": actual });
    let settled = answered(async || client.post("/v1/settle", &body).await);
    settled.await.ok().unwrap()
}

fn settled(reserved: u64, actual: u64, refunded: u64, debt: u64) -> SettledBody {
    SettledBody {
        reserved,
        actual,
        refunded,
        debt,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_used_goes_back_to_the_tenants_account() {
    for body in bodies() {
        let what = body.to_string();
        let (_workerd, clients) = deployment(body).await;
        // Two tenants of equal weight: 50 each.
        await_allowed(&clients[0], "b", 1).await;
        let reservation = reserve(&clients[0], "a", 40).await;
        if !what.contains("paced") {
            let over = take(&clients[0], "a", 30).await;
            assert_eq!(
                (over.allowed, over.reason),
                (false, Reason::OverShare),
                "{what}: {over:?}"
            );
        }
        // From another isolate, and from another region.
        let result = settle(&clients[1], &reservation, 10).await;
        assert_eq!(result, settled(40, 10, 30, 0), "{what}");
        assert_eq!(settle(&clients[2], &reservation, 0).await, result, "{what}");
        if what.contains("paced") {
            // Of a guarantee that is released as time passes more or less than the rest may be had.
            await_allowed(&clients[0], "a", 30).await;
        } else {
            assert_eq!(take_the_rest(&clients[0], "a", 40).await, 40, "{what}");
            assert_eq!(take_the_rest(&clients[0], "b", 49).await, 49, "{what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_used_beyond_is_charged_to_the_tenant() {
    for body in bodies() {
        let what = body.to_string();
        let (_workerd, clients) = deployment(body).await;
        await_allowed(&clients[0], "b", 1).await;
        let reservation = reserve(&clients[0], "a", 20).await;
        let result = settle(&clients[0], &reservation, 35).await;
        assert_eq!(result, settled(20, 35, 0, 15), "{what}");
        if !what.contains("paced") {
            assert_eq!(take_the_rest(&clients[0], "a", 15).await, 15, "{what}");
            assert_eq!(take_the_rest(&clients[0], "b", 49).await, 49, "{what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_debt_never_passes_the_limit() {
    for body in bodies() {
        let what = body.to_string();
        let (_workerd, clients) = deployment(body).await;
        await_allowed(&clients[0], "b", 30).await;
        let reservation = reserve(&clients[0], "a", 20).await;
        let result = settle(&clients[0], &reservation, 1_000_000).await;
        assert_eq!(
            (result.reserved, result.actual, result.refunded),
            (20, 1_000_000, 0),
            "{what}"
        );
        assert!(result.debt <= LIMIT - 50, "{what}: {result:?}");
        let rest = LIMIT - 50 - result.debt;
        let taken = take_the_rest(&clients[0], "b", rest).await;
        assert!(taken <= rest, "{what}: {result:?}, and then {taken}");
        let denied = take(&clients[0], "a", 51).await;
        assert!(!denied.allowed, "{what}: {denied:?}");
    }
}

/// Requests that hold most of a ceiling, one after the other: what an isolate holds of the last one, and gives back as it asks
/// for the next, does not count beside it.
#[tokio::test(flavor = "multi_thread")]
async fn what_requests_held_and_did_not_use_leaves_room_below_a_ceiling() {
    const CEILING: u64 = 2_000;
    for rule in ["paced", "pooled"] {
        let body = budget("weighted_fair_escrow", "global", 30_000, LONG_MS);
        let body = with(body, "/reserve", json!(rule));
        let tenants = json!({ "a": { "budgets": { BUDGET: { "ceiling": CEILING } } } });
        let workerd = start(Setup::isolates(&["weur"]), &document(body, tenants)).await;
        let client = workerd.client(0).unwrap();
        for _ in 0..12 {
            let reservation = reserve(&client, "a", CEILING * 3 / 4).await;
            settle(&client, &reservation, 11).await;
            // Long enough for the isolate to be lent what came back.
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

/// A refund belongs to the window that was charged.
#[tokio::test(flavor = "multi_thread")]
async fn a_refund_does_not_reach_the_next_window() {
    const WINDOW: Duration = Duration::from_secs(3);
    for scope in ["region", "global"] {
        let body = budget(
            "weighted_fair_escrow",
            scope,
            LIMIT,
            WINDOW.as_millis() as u64,
        );
        let (_workerd, clients) = deployment(body).await;
        window_start(WINDOW).await;
        let reservation = reserve(&clients[0], "a", 60).await;
        window_start(WINDOW).await;
        let next = await_allowed(&clients[0], "a", 70).await;
        let result = settle(&clients[0], &reservation, 0).await;
        assert_eq!(result, settled(60, 0, 0, 0), "{scope}");
        let over = take(&clients[0], "a", 31).await;
        assert!(
            !over.allowed || over.window > next.window,
            "{scope}: {over:?}"
        );
    }
}

#[tokio::test]
async fn a_budget_of_an_isolate_cannot_be_reserved() {
    let (_workerd, clients) =
        deployment(budget("weighted_fair_escrow", "isolate", LIMIT, LONG_MS)).await;
    let question = json!({ "tenant": "a", "budget": BUDGET, "cost": 5 });
    let reply = clients[0]
        .post("/v1/check", &reserved(question))
        .await
        .unwrap();
    let problem = reply.problem().unwrap();
    assert_eq!(
        (problem.status, problem.field.as_deref()),
        (400, Some("/reserve"))
    );
    assert!(
        take(&clients[0], "a", LIMIT).await.allowed,
        "it was charged"
    );
}
