//! Overloaded resources, end to end: who is denied while an origin fails, and who else learns of it.

mod bad_input;
mod decisions;
mod durability;
mod fairness;
mod shadow;
mod sharing;

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::check::{DecisionBody, Reason};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{policy, with};
use weir_tests::workerd::{Setup, Workerd};

const HOUR_MS: u64 = 3_600_000;

/// By when what is on its way has arrived, on a machine that may be slow.
const THERE: Duration = Duration::from_secs(60);

/// The resource of [`document`].
const ORIGIN: &str = "origin";

/// A policy with one resource.
fn document(resource: Value) -> Value {
    with(
        policy(1_000, HOUR_MS),
        "/overload",
        json!({ ORIGIN: resource }),
    )
}

/// A deployment with one resource, by defaults.
async fn start(setup: Setup) -> Workerd {
    start_with(setup, document(json!({}))).await
}

async fn start_with(setup: Setup, document: Value) -> Workerd {
    let workerd = setup.start().await.expect("workerd starts");
    workerd.apply(&document).await.expect("the policy is saved");
    workerd
}

fn question(tenant: &str, cost: u64) -> Value {
    json!({ "tenant": tenant, "overload": ORIGIN, "cost": cost })
}

async fn check(client: &Client, tenant: &str) -> DecisionBody {
    client.decide(&question(tenant, 1)).await.unwrap().decision
}

/// The decision of a question that asks others as well, once they answer. What was charged for an answer that came too late
/// comes back meanwhile.
async fn decided(client: &Client, question: &Value) -> DecisionBody {
    let start = now();
    loop {
        let decision = client.decide(question).await.unwrap().decision;
        if decision.reason != Reason::Unavailable || start.elapsed() > THERE {
            return decision;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn report(client: &Client, tenant: &str, outcome: &str) {
    let body = json!({ "resource": ORIGIN, "tenant": tenant, "outcome": outcome });
    let reply = client.post("/v1/report", &body).await.unwrap();
    let said: Value = reply.ok().unwrap();
    assert_eq!(said, json!({ "reported": true }));
}

/// An origin that fails under one client: so many requests, as fast as they are answered, each admitted one of which is
/// reported as failed. How many were admitted.
async fn fail_under(client: &Client, tenant: &str, count: u32) -> u32 {
    let mut admitted = 0;
    for _ in 0..count {
        if check(client, tenant).await.allowed {
            admitted += 1;
            report(client, tenant, "failure").await;
        }
    }
    admitted
}

/// How many of `count` checks, as fast as they are answered, are denied. Each denial says why.
async fn denied_of(client: &Client, tenant: &str, count: u32) -> u32 {
    let mut denied = 0;
    for _ in 0..count {
        let decision = check(client, tenant).await;
        if !decision.allowed {
            assert_eq!(decision.reason, Reason::Overloaded, "{decision:?}");
            assert_eq!(decision.binding, ORIGIN, "{decision:?}");
            denied += 1;
        }
    }
    denied
}

/// Waits until most checks of a client are denied here.
async fn await_denied(client: &Client, tenant: &str, within: Duration) -> Duration {
    let start = now();
    loop {
        let denied = denied_of(client, tenant, 20).await;
        if denied >= 10 {
            return start.elapsed();
        }
        assert!(
            start.elapsed() < within,
            "{tenant} is not denied: {denied} of 20"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
