//! Bad input: every case is answered with a problem that names the field, and changes nothing.

mod bodies;
mod calls;
mod checks;
mod policies;
mod preconditions;
mod regions;
mod routes;
mod shares;

use std::time::Duration;

use serde_json::Value;
use weir_tests::client::{Client, Policy};
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, LIMIT, gcra, policy, with};
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, Workerd};

const CHECK: &str = "/v1/check";
const BATCH: &str = "/v1/check/batch";
const RESERVE: &str = "/v1/reserve";
const SETTLE: &str = "/v1/settle";
const POLICY: &str = "/operator/v1/policy";
const SESSION: &str = "/operator/v1/session";

/// Thirty days. Windows begin at multiples of their length, so a test almost never straddles one.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// How long an answer may take on a busy machine.
const ANSWERED: Duration = Duration::from_secs(30);

/// A budget of 100 and a limit with a burst of 20, neither of which refills while a test runs.
fn still() -> Value {
    with(
        policy(100, LONG_MS),
        "/limits/per_ip",
        gcra(6, 3_600_000, 20),
    )
}

async fn deployment() -> (Workerd, Client) {
    let workerd = Setup::isolates(&["weur"])
        .start()
        .await
        .expect("workerd starts");
    workerd.apply(&still()).await.expect("the policy is saved");
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

/// What a refused request must not move: the policy, and what is left of the limit.
#[derive(Debug, PartialEq)]
struct State {
    policy: Policy,
    left_of_limit: u64,
}

async fn state(client: &Client) -> State {
    let look = client
        .check_limit_once_there(LIMIT, "kept", 0)
        .await
        .decision;
    State {
        policy: policy_in_force(client).await,
        left_of_limit: look.remaining,
    }
}

/// The policy, once a busy machine has time for it.
async fn policy_in_force(client: &Client) -> Policy {
    let begun = now();
    loop {
        match client.policy().await {
            Ok(policy) => return policy,
            Err(error) => assert!(begun.elapsed() < ANSWERED, "{error:#}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// So much of the budget is left, to the unit: asked last, as it takes it.
async fn assert_left_of_budget(client: &Client, units: u64) {
    let rest = client
        .check_budget_once_there("pro:last", BUDGET, units)
        .await
        .decision;
    assert!(
        rest.allowed,
        "more was charged than should have been: {rest:?}"
    );
    let beyond = client
        .check_budget("pro:last", BUDGET, 1)
        .await
        .unwrap()
        .decision;
    assert!(
        !beyond.allowed,
        "less was charged than should have been: {beyond:?}"
    );
}

#[track_caller]
fn assert_problem(case: &str, reply: &Reply, status: u16, field: Option<&str>) {
    let problem = reply
        .problem()
        .unwrap_or_else(|error| panic!("{case}: {error:#}"));
    assert_eq!(problem.status, status, "{case}: {problem:?}");
    if field.is_some() {
        assert_eq!(problem.field.as_deref(), field, "{case}: {problem:?}");
    }
}
