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
use weir_tests::fixtures::{self, token_request as request, with};
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
    let guard = json!({ GUARD: { "concurrency": 20, "per_minute": 120 } });
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
    await_status(&employed, |status| status != 401).await;
    (employed, made)
}

/// Waits until the policy is answered with such a status: who may not read it is refused by role.
async fn await_status(client: &Client, wanted: impl Fn(u16) -> bool) {
    until(IN_FORCE, async || {
        wanted(client.get(POLICY).await.unwrap().status)
    })
    .await;
}
