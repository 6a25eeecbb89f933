//! The operator API, end to end: every surface with what it answers, what it refuses, and what then is in the audit log.

mod audit;
mod bad_input;
mod exports;
mod fairness;
mod live;
mod live_lines;
mod openapi;
mod own;
mod preview;
mod reads;
mod replay;
mod reset;
mod tenants;
mod tokens;
mod where_units_are;

use std::time::Duration;

use reqwest::Method;
use reqwest::header::IF_MATCH;
use serde_json::{Value, json};
use weir_shared::wire::check::{CheckRequest, DecisionBody, Reason};
use weir_tests::again;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{policy, with};
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, Workerd};

const TENANTS: &str = "/operator/v1/tenants";
const AUDIT: &str = "/operator/v1/audit";
const TOKENS: &str = "/operator/v1/tokens";
const RESET: &str = "/operator/v1/reset";
const FAIRNESS: &str = "/operator/v1/fairness";

/// Thirty days. Windows begin at multiples of their length, so a test almost never straddles one.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// How long what is on its way between objects may take on a busy machine.
const SETTLING: Duration = Duration::from_secs(30);

/// How often a deployment is begun anew in which a holder was out of reach: that is counted, too.
const TRIES: usize = 5;

/// A shared budget, a limit that each tenant has for itself, a meter and a guard, none of which refills while a test
/// runs.
fn document() -> Value {
    let budgets = json!({ "tokens": {
        "limit": 700, "window_ms": LONG_MS, "sharing": "weighted_fair_escrow", "scope": "global",
        "reserve": "pinned",
    } });
    let limits = json!({
        "per_ip": { "algorithm": "gcra", "limit": 6, "period_ms": 3_600_000, "burst": 20, "scope": "region" },
        "own": { "algorithm": "fixed_window", "limit": 10, "window_ms": LONG_MS, "scope": "region",
                 "per_tenant": true }
    });
    let tenants =
        json!({ "acme": { "tier": "enterprise" }, "hooli": { "weight": 2, "parent": null } });
    let document = with(policy(700, LONG_MS), "/budgets", budgets);
    let document = with(document, "/limits", limits);
    let document = with(document, "/tenants", tenants);
    let document = with(
        document,
        "/meters",
        json!({ "bytes": { "per_sec": 0.001, "burst_seconds": 86400, "max_debt_ms": 1000 } }),
    );
    let document = with(document, "/regions", json!(["weur", "enam"]));
    let document = with(document, "/home", json!("weur"));
    let document = with(document, "/overload", json!({ "origin": {} }));
    with(
        document,
        "/guards",
        json!({ "queries": { "concurrency": 2, "per_minute": "unlimited", "lease_ms": 600_000 } }),
    )
}

/// One isolate in one region, with that policy in force.
async fn deployment() -> (Workerd, Client) {
    start(&document()).await
}

async fn start(document: &Value) -> (Workerd, Client) {
    let workerd = Setup::isolates(&["weur"])
        .start()
        .await
        .expect("workerd starts");
    workerd.apply(document).await.expect("the policy is saved");
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

/// What is answered, once a busy machine has time for it.
async fn answered(ask: impl AsyncFn() -> Reply) -> Reply {
    again::answered(async || Ok(ask().await)).await
}

/// What a path is answered, in the same way.
async fn got(client: &Client, path: &str) -> Reply {
    answered(async || client.get(path).await.unwrap()).await
}

/// What a body is answered, in the same way.
async fn posted(client: &Client, path: &str, body: &Value) -> Reply {
    answered(async || client.post(path, body).await.unwrap()).await
}

async fn get(client: &Client, path: &str) -> Value {
    let reply = got(client, path).await;
    reply
        .ok()
        .unwrap_or_else(|error| panic!("{path}: {error:#}"))
}

async fn decide(client: &Client, check: Value) -> DecisionBody {
    let request: CheckRequest = serde_json::from_value(check).unwrap();
    client.check(&request).await.unwrap().decision
}

/// The same, once the holders answer: on a busy machine they may be out of reach for a moment.
async fn decide_there(client: &Client, check: Value) -> DecisionBody {
    let request: CheckRequest = serde_json::from_value(check).unwrap();
    client.check_once_there(&request).await.decision
}

/// Waits until a path is open to a new token: on a busy machine its region may hear of it late.
async fn await_known(client: &Client, path: &str) {
    let start = now();
    loop {
        let status = got(client, path).await.status;
        if status == 200 {
            return;
        }
        assert!(start.elapsed() < SETTLING, "{path}: {status}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A deployment in which each of these was decided by its holders, in turn, and the decisions.
async fn decided(checks: &[Value]) -> (Workerd, Client, Vec<DecisionBody>) {
    for _ in 0..TRIES {
        let (workerd, client) = deployment().await;
        let mut decisions = Vec::new();
        for check in checks {
            decisions.push(decide(&client, check.clone()).await);
        }
        let away = |decision: &DecisionBody| decision.reason == Reason::Unavailable;
        if !decisions.iter().any(away) {
            return (workerd, client, decisions);
        }
    }
    panic!("somebody was out of reach in each of {TRIES} deployments");
}

/// Changes a tenant, with whatever `If-Match` is given.
async fn patch(client: &Client, tenant: &str, body: &Value, if_match: Option<&str>) -> Reply {
    let ask = async || {
        let mut request = client
            .request(Method::PATCH, &format!("{TENANTS}/{tenant}"))
            .json(body);
        if let Some(tag) = if_match {
            request = request.header(IF_MATCH, tag);
        }
        client.send(request).await.unwrap()
    };
    answered(ask).await
}

/// The newest records of an action.
async fn records(client: &Client, action: &str) -> Vec<Value> {
    let found = get(client, &format!("{AUDIT}?action={action}&limit=100")).await;
    found["records"].as_array().unwrap().clone()
}

/// Waits until there are so many records of an action: refused changes are recorded behind their answer.
async fn await_records(client: &Client, action: &str, count: usize) -> Vec<Value> {
    let start = now();
    loop {
        let found = records(client, action).await;
        if found.len() >= count {
            return found;
        }
        assert!(
            start.elapsed() < SETTLING,
            "{} of {count} records of {action}: {found:?}",
            found.len()
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Reads a path until what it answers is as it should be.
async fn await_that(client: &Client, path: &str, is: impl Fn(&Value) -> bool) -> Value {
    let start = now();
    loop {
        let found = get(client, path).await;
        if is(&found) {
            return found;
        }
        assert!(start.elapsed() < SETTLING, "{path}: {found}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
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
