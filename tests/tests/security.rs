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

use reqwest::Method;
use serde::Serialize;
use serde_json::{Value, json};
use weir_shared::wire::access::{TokenReply, TokenRequest};
use weir_shared::wire::role::Role;
use weir_tests::again::{self, ANSWERED};
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

/// The audit log tells what was refused and what was used after it has been passed on: nobody is promised how soon.
const RECORDED: Duration = Duration::from_secs(60);

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
    again::answered(async || Ok(ask().await)).await
}

/// What a body is answered, in the same way.
async fn posted<T: Serialize + ?Sized>(client: &Client, path: &str, body: &T) -> Reply {
    answered(async || client.post(path, body).await.unwrap()).await
}

/// What a path is answered, in the same way.
async fn got(client: &Client, path: &str) -> Reply {
    answered(async || client.get(path).await.unwrap()).await
}

/// With which status the policy is answered, in the same way.
async fn read(client: &Client) -> u16 {
    got(client, POLICY).await.status
}

/// What a login is answered, in the same way.
async fn login(client: &Client, token: &str) -> Reply {
    answered(async || client.post_session(token).await.unwrap()).await
}

/// Makes a change that is answered with 204. One whose answer was late may have been made when it is asked for again, which is
/// answered with `made` then.
async fn change(made: u16, ask: impl AsyncFn() -> Reply) {
    let first = ask().await;
    let (reply, due) = match first.status {
        503 => (answered(ask).await, [204, made]),
        _ => (first, [204, 204]),
    };
    let status = reply.status;
    assert!(due.contains(&status), "{status}: {}", reply.text());
}

/// Revokes a token.
async fn revoke(client: &Client, id: &str) {
    let path = format!("{TOKENS}/{id}");
    let ask = async || {
        let asked = client.request(Method::DELETE, &path);
        client.send(asked).await.unwrap()
    };
    change(404, ask).await;
}

/// The reservation that a check is given, once the holders of its budget find each other.
async fn reserved(client: &Client, check: &Value) -> Value {
    let start = now();
    loop {
        let mut decided: Value = posted(client, CHECK, check).await.ok().unwrap();
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
