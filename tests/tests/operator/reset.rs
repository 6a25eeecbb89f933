//! Resets: a key, a meter, a guard, a tenant; recorded; never a window of a budget; and void what was charged before.

use serde_json::{Value, json};
use weir_shared::ordered::OrderedSet;
use weir_tests::client::Client;

use crate::operator::{
    RESET, assert_problem, await_records, decide, decide_there, deployment, posted, records,
};

async fn reset(client: &Client, body: Value) -> Value {
    let reply = posted(client, RESET, &body).await;
    reply
        .ok()
        .unwrap_or_else(|error| panic!("{body}: {error:#}"))
}

/// Single units until one is denied, and a second later, too; how many were admitted. A denial stands for less than a
/// second in an isolate, and units that it drew and did not use come back in that time.
async fn drain(client: &Client, check: Value) -> u64 {
    let mut taken = 0;
    loop {
        tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
        let before = taken;
        while decide_there(client, check.clone()).await.allowed {
            taken += 1;
            assert!(taken < 1_000, "{check} is never denied");
        }
        if taken == before {
            return taken;
        }
    }
}

#[tokio::test]
async fn a_key_a_meter_and_a_guard_start_anew_and_each_reset_is_recorded() {
    let (_workerd, client) = deployment().await;
    let key = json!({ "limit": "per_ip", "key": "203.0.113.9" });
    let other = json!({ "limit": "per_ip", "key": "203.0.113.10" });
    let meter = json!({ "tenant": "acme", "meter": "bytes" });
    let guard = json!({ "tenant": "acme", "guard": "queries" });
    let before = [
        drain(&client, key.clone()).await,
        drain(&client, meter.clone()).await,
        drain(&client, guard.clone()).await,
    ];
    assert_eq!((before[0], before[2]), (20, 2));
    drain(&client, other.clone()).await;
    let told = reset(
        &client,
        json!({ "limit": "per_ip", "key": "203.0.113.9", "why": "a mistake" }),
    )
    .await;
    assert_eq!(told["keys"], 1);
    reset(&client, json!({ "meter": "bytes", "tenant": "acme" })).await;
    reset(&client, json!({ "guard": "queries", "tenant": "acme" })).await;
    assert_eq!(drain(&client, key).await, before[0]);
    assert_eq!(drain(&client, other).await, 0, "another key stays as it is");
    assert_eq!(drain(&client, meter).await, before[1]);
    assert_eq!(drain(&client, guard).await, before[2]);
    let found = records(&client, "state.reset").await;
    // What a busy machine had no time for is recorded, and so is that it was asked for again.
    let targets: OrderedSet<String> = found.iter().map(|one| one["target"].to_string()).collect();
    assert_eq!(targets.len(), 3, "{found:?}");
    let first = found.iter().find(|one| one["sequence"] == told["audit"]);
    assert_eq!(first.unwrap()["why"], "a mistake");
}

#[tokio::test]
async fn a_tenant_starts_anew_as_a_whole_and_its_share_of_a_budget_does_not() {
    let (_workerd, client) = deployment().await;
    let own = |key: &str| json!({ "tenant": "acme", "limit": "own", "key": key });
    let budget = json!({ "tenant": "acme", "budget": "tokens", "cost": 700 });
    assert!(decide_there(&client, budget.clone()).await.allowed);
    for key in ["a", "b"] {
        assert_eq!(drain(&client, own(key)).await, 10);
    }
    let neighbour = json!({ "tenant": "hooli", "limit": "own", "key": "a" });
    assert_eq!(drain(&client, neighbour.clone()).await, 10);
    let told = reset(&client, json!({ "tenant": "acme" })).await;
    assert_eq!(told["keys"], 2);
    for key in ["a", "b"] {
        assert_eq!(drain(&client, own(key)).await, 10, "{key}");
    }
    assert_eq!(
        drain(&client, neighbour).await,
        0,
        "a neighbour stays as it is"
    );
    let one = json!({ "tenant": "acme", "budget": "tokens", "cost": 1 });
    assert!(
        !decide(&client, one).await.allowed,
        "a window's units do not come back"
    );
}

#[tokio::test]
async fn what_was_reserved_before_a_reset_gives_nothing_back_after_it() {
    let (_workerd, client) = deployment().await;
    let reserved =
        json!({ "tenant": "acme", "limit": "own", "key": "k", "cost": 8, "reserve": true });
    let reservation = decide_there(&client, reserved)
        .await
        .reservation
        .expect("it is reserved");
    reset(
        &client,
        json!({ "limit": "own", "tenant": "acme", "key": "k" }),
    )
    .await;
    let check = json!({ "tenant": "acme", "limit": "own", "key": "k" });
    assert_eq!(drain(&client, check.clone()).await, 10);
    let settled = client
        .post(
            "/v1/settle",
            &json!({ "reservation": reservation, "actual": 0 }),
        )
        .await
        .unwrap();
    let settled: Value = settled.ok().unwrap();
    assert_eq!(settled["refunded"], 0);
    assert_eq!(
        drain(&client, check).await,
        0,
        "not one unit more than the limit"
    );
}

#[tokio::test]
async fn what_cannot_be_put_back_is_refused_recorded_and_changes_nothing() {
    let (_workerd, client) = deployment().await;
    let meter = json!({ "tenant": "acme", "meter": "bytes" });
    drain(&client, meter.clone()).await;
    let cases = [
        (json!({}), 400, "/tenant"),
        (json!({ "meter": "nope", "tenant": "acme" }), 404, "/meter"),
        (json!({ "limit": "nope", "key": "k" }), 404, "/limit"),
        (json!({ "meter": "bytes" }), 400, "/tenant"),
        (
            json!({ "budget": "tokens", "tenant": "acme" }),
            400,
            "/budget",
        ),
        (json!({ "limit": "per_ip", "key": "" }), 400, "/key"),
        (
            json!({ "meter": "bytes", "tenant": "acme", "why": "x".repeat(501) }),
            400,
            "/why",
        ),
    ];
    for (body, status, field) in &cases {
        let reply = posted(&client, RESET, body).await;
        assert_problem(&body.to_string(), &reply, *status, Some(field));
    }
    assert_eq!(drain(&client, meter).await, 0, "nothing was put back");
    let found = await_records(&client, "state.reset", cases.len()).await;
    assert!(
        found.iter().all(|record| record["outcome"] == "refused"),
        "{found:?}"
    );
}
