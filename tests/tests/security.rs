//! Who may do what, and what is exported at all.

mod attendance;
mod cookies;
mod doors;
mod endings;
mod expiry;
mod exports;
mod framing;
mod keys;
mod live;
mod logins;
mod provider;
mod retired;
mod roles;
mod sessions;
mod shipped;
mod sniffing;
mod tenants;
mod tokens;

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::access::{TokenReply, TokenRequest};
use weir_shared::wire::role::Role;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{self, token_request as request, with};
use weir_tests::reply::Reply;
use weir_tests::within::until;
use weir_tests::workerd::{Setup, Workerd};

const SESSION: &str = "/operator/v1/session";
const POLICY: &str = "/operator/v1/policy";
const FAIRNESS: &str = "/operator/v1/fairness";
const TOKENS: &str = "/operator/v1/tokens";
const CHECK: &str = "/v1/check";
const BATCH: &str = "/v1/check/batch";
const SETTLE: &str = "/v1/settle";

/// The guard of [`policy`].
const GUARD: &str = "queries";

/// A change is in force everywhere within so long after the answer to it.
const IN_FORCE: Duration = Duration::from_secs(1);

/// For how long a request is made again that is answered with 503: on a busy machine a call between objects may be late.
const ANSWERED: Duration = Duration::from_secs(20);

/// The audit log tells what was refused and what was used after it has been passed on: nobody is promised how soon.
const RECORDED: Duration = Duration::from_secs(10);

async fn one_isolate() -> (Workerd, Client) {
    let workerd = Setup::isolates(&["weur"])
        .start()
        .await
        .expect("workerd starts");
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

/// One budget, one limit and one guard.
fn policy() -> Value {
    // No slot lapses while a test runs.
    let guard = json!({ GUARD: { "concurrency": 20, "per_minute": 120, "lease_ms": 3_600_000 } });
    with(fixtures::policy(100_000, 24 * 3_600_000), "/guards", guard)
}

fn of_tenant(tenant: &str) -> TokenRequest {
    TokenRequest {
        tenant: Some(tenant.to_owned()),
        ..request(&format!("tenant-{tenant}"), Role::Tenant)
    }
}

fn by_prefix(prefix: &str) -> TokenRequest {
    TokenRequest {
        prefix: Some(prefix.to_owned()),
        ..request("bound", Role::Service)
    }
}

/// Makes a token; a client with it, once the isolate knows it.
async fn employ(client: &Client, token: &TokenRequest) -> (Client, TokenReply) {
    let made = client.make_token(token).await.expect("a token is made");
    let employed = client.with_token(&made.token);
    await_status(&employed, |status| ![401, 503].contains(&status)).await;
    (employed, made)
}

/// What is answered once it can be known: 503 says nothing of who may do what.
async fn answered(ask: impl AsyncFn() -> Reply) -> Reply {
    let start = now();
    loop {
        let reply = ask().await;
        if reply.status != 503 || start.elapsed() > ANSWERED {
            return reply;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The reservation that a check is given, once the holders of its budget find each other.
async fn reserved(client: &Client, check: &Value) -> Value {
    let start = now();
    loop {
        let mut decided: Value = client.post(CHECK, check).await.unwrap().ok().unwrap();
        if decided["reservation"].is_string() {
            return decided["reservation"].take();
        }
        let late = decided["reason"] == "unavailable" && start.elapsed() < ANSWERED;
        assert!(late, "{decided}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until the policy is answered with such a status: who may not read it is refused by role.
async fn await_status(client: &Client, wanted: impl Fn(u16) -> bool) {
    until(IN_FORCE, async || {
        wanted(client.get(POLICY).await.unwrap().status)
    })
    .await;
}
