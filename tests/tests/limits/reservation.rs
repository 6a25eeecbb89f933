//! What is reserved can be settled: what was not used goes back into its own window, once.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::limits::COORDINATOR_CALL_MS_MAX;
use weir_shared::wire::check::Reason;
use weir_shared::wire::settle::SettledBody;
use weir_tests::calls::{charge, charge_keys, reserved, together};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::BUDGET;
use weir_tests::workerd::Workerd;

use crate::limits::{
    BUDGET_LIMIT, HOUR_MS, LONG_MS, TRIES, alone, await_allowed, await_left, decide, fixed, key_in,
    left, settle, start, still, take,
};

const BOUND: u64 = 20;

/// For how long a settlement waits for the coordinator to charge what was used beyond. What takes longer is not charged, and
/// tried again.
const COORDINATOR_WAITED: Duration = Duration::from_millis(COORDINATOR_CALL_MS_MAX);

fn limits() -> Value {
    json!({
        "gcra": { "algorithm": "gcra", "limit": 1, "period_ms": HOUR_MS, "burst": BOUND, "scope": "region" },
        "bucket": { "algorithm": "token_bucket", "capacity": BOUND, "refill_per_sec": 0.0001, "scope": "region" },
        "fixed": still(BOUND),
        "sliding": { "algorithm": "sliding_window", "limit": BOUND, "window_ms": LONG_MS, "scope": "region" },
        "log": { "algorithm": "sliding_log", "limit": BOUND, "window_ms": HOUR_MS, "scope": "region" },
        "monthly": { "algorithm": "quota", "limit": BOUND, "cadence": "calendar_month", "scope": "region" },
        "planet": fixed(BOUND, LONG_MS, "global"),
        "rolling": { "algorithm": "sliding_window", "limit": BOUND, "window_ms": LONG_MS, "scope": "global" },
        "own": fixed(BOUND, LONG_MS, "isolate"),
        "pair": { "all": [{ "name": "a", "limit": "fixed", "weight": 2 }, { "name": "b", "limit": "gcra", "weight": 0.5 }] },
        "mixed": { "all": ["fixed", "own"] },
    })
}

/// Those that a reservation can be made of.
const NAMES: [&str; 8] = [
    "gcra", "bucket", "fixed", "sliding", "log", "monthly", "planet", "rolling",
];

async fn deployment() -> (Workerd, Client) {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

/// Reserves, and is admitted.
async fn reserve(client: &Client, question: Value) -> String {
    let decision = decide(client, &reserved(question)).await;
    assert!(decision.allowed, "{decision:?}");
    decision.reservation.expect("a reservation")
}

fn settled(reserved: u64, actual: u64, refunded: u64, debt: u64) -> SettledBody {
    SettledBody {
        reserved,
        actual,
        refunded,
        debt,
    }
}

/// To the unit so much can be had, once what is on its way has arrived.
async fn assert_rest(client: &Client, limit: &str, key: &str, rest: u64) {
    await_allowed(client, &charge(limit, key, rest)).await;
    let over = take(client, limit, key, 1).await;
    assert!(!over.allowed, "{limit} {key}: more than {rest}: {over:?}");
}

#[tokio::test]
async fn what_was_reserved_and_not_used_is_given_back() {
    let (_workerd, client) = deployment().await;
    for limit in NAMES {
        let cases = [
            ("released", 12, 0, 12),
            ("partly used", 12, 5, 7),
            ("used", 12, 12, 0),
        ];
        for (key, cost, actual, refunded) in cases {
            let reservation = reserve(&client, charge(limit, key, cost)).await;
            assert!(
                !take(&client, limit, key, BOUND - cost + 1).await.allowed,
                "{limit}: it is charged in full"
            );
            let result = settle(&client, &reservation, actual).await;
            assert_eq!(result, settled(cost, actual, refunded, 0), "{limit}, {key}");
            assert_rest(&client, limit, key, BOUND - actual).await;
        }
    }
}

#[tokio::test]
async fn what_was_used_beyond_is_charged_as_far_as_the_limit_goes() {
    let (_workerd, client) = deployment().await;
    for limit in NAMES {
        for attempt in 1.. {
            let key = format!("within {attempt}");
            let reservation = reserve(&client, charge(limit, &key, 8)).await;
            let asked = now();
            let result = settle(&client, &reservation, 13).await;
            if result.debt < 5 && asked.elapsed() >= COORDINATOR_WAITED && attempt < TRIES {
                continue;
            }
            assert_eq!(result, settled(8, 13, 0, 5), "{limit}");
            assert_rest(&client, limit, &key, BOUND - 13).await;
            break;
        }

        let reservation = reserve(&client, charge(limit, "beyond", 8)).await;
        assert!(take(&client, limit, "beyond", 9).await.allowed);
        let result = settle(&client, &reservation, 1_000).await;
        assert_eq!(
            (result.reserved, result.actual, result.refunded),
            (8, 1_000, 0),
            "{limit}"
        );
        // What the isolate holds ahead cannot be charged from elsewhere; what can be had afterwards is the rest.
        assert!(result.debt <= BOUND - 17, "{limit}: {result:?}");
        let rest = BOUND - 17 - result.debt;
        if rest > 0 {
            await_allowed(&client, &charge(limit, "beyond", rest)).await;
        }
        assert!(
            !take(&client, limit, "beyond", 1).await.allowed,
            "{limit}: {result:?}"
        );
    }
}

#[tokio::test]
async fn a_budget_is_reserved_and_settled_like_a_limit() {
    for attempt in 1.. {
        let charged_late = settle_of_budget().await;
        if !charged_late {
            return;
        }
        assert!(attempt < TRIES, "the coordinator never answers in time");
    }
}

/// Whether the coordinator was too late to charge what was used beyond; if not, all of it is as with a limit.
async fn settle_of_budget() -> bool {
    let (_workerd, client) = deployment().await;
    let of = |cost: u64| json!({ "tenant": "pro:a", "budget": BUDGET, "cost": cost });
    let first = reserve(&client, of(600)).await;
    let second = reserve(&client, of(300)).await;
    assert!(!decide(&client, &of(101)).await.allowed);
    let result = settle(&client, &first, 100).await;
    assert_eq!(result, settled(600, 100, 500, 0));
    let third = decide(&client, &reserved(of(BUDGET_LIMIT))).await;
    assert_eq!(
        (third.allowed, third.reservation),
        (false, None),
        "what is denied reserves nothing"
    );
    let asked = now();
    let result = settle(&client, &second, 350).await;
    if result.debt < 50 && asked.elapsed() >= COORDINATOR_WAITED {
        return true;
    }
    assert_eq!(result, settled(300, 350, 0, 50));
    await_allowed(&client, &of(BUDGET_LIMIT - 450)).await;
    assert!(!decide(&client, &of(1)).await.allowed);
    false
}

#[tokio::test]
async fn every_part_of_a_question_is_settled_in_its_own_measure() {
    let (_workerd, client) = deployment().await;
    let (a, b) = (key_in(0, 0), key_in(3, 0));
    // Twice and half of the cost: 8 of 20 and 2 of 20.
    let question = charge_keys("pair", &[("a", &a), ("b", &b)], 4);
    let released = reserve(&client, question.clone()).await;
    let result = settle(&client, &released, 0).await;
    assert_eq!(result, settled(4, 0, 4, 0));
    await_left(&client, "fixed", &a, BOUND).await;
    await_left(&client, "gcra", &b, BOUND).await;
    let partly = reserve(&client, question).await;
    let result = settle(&client, &partly, 3).await;
    assert_eq!(result, settled(4, 3, 1, 0));
    await_left(&client, "fixed", &a, BOUND - 6).await;
    await_left(&client, "gcra", &b, BOUND - 2).await;

    let checks = [
        json!({ "budget": BUDGET, "cost": 100 }),
        charge("log", "k", 1),
        charge("planet", "k", 10),
    ];
    let several = reserve(&client, together("pro:a", &checks)).await;
    let result = settle(&client, &several, 40).await;
    assert_eq!(result, settled(100, 40, 60, 0));
    await_left(&client, "log", "k", BOUND - 1).await;
    // One request was made, whatever it cost; of the ten, four in ten were used.
    assert_rest(&client, "planet", "k", BOUND - 4).await;
    await_allowed(
        &client,
        &json!({ "tenant": "pro:a", "budget": BUDGET, "cost": BUDGET_LIMIT - 40 }),
    )
    .await;
}

#[tokio::test]
async fn only_what_can_be_settled_anywhere_is_reserved() {
    let (_workerd, client) = deployment().await;
    let cases = [
        reserved(charge("own", "k", 1)),
        reserved(charge_keys("mixed", &[("fixed", "k"), ("own", "k")], 1)),
        reserved(together(
            "pro:a",
            &[charge("fixed", "k", 1), charge("own", "k", 1)],
        )),
        reserved(charge("fixed", "k", 0)),
    ];
    for question in cases {
        let reply = client.post("/v1/check", &question).await.unwrap();
        let problem = reply.problem().unwrap();
        assert_eq!(
            (problem.status, problem.field.as_deref()),
            (400, Some("/reserve")),
            "{question}"
        );
    }
    assert_eq!(
        left(&client, "fixed", "k").await,
        BOUND,
        "nothing was charged"
    );
    assert_eq!(left(&client, "own", "k").await, BOUND);
    let plain = decide(&client, &charge("fixed", "k", BOUND)).await;
    assert_eq!(
        (plain.allowed, plain.reservation),
        (true, None),
        "nobody asked for one"
    );
    let denied = decide(&client, &reserved(charge("fixed", "k", 1))).await;
    assert_eq!(
        (denied.reason, denied.reservation),
        (Reason::LimitExceeded, None)
    );
}
