//! The registry: tokens, changes of the policy and their record, and what holds while it is out of reach.

mod audit;
mod changes;
mod crash;
mod evidence;
mod outage;
mod sessions;
mod tokens;

use std::time::Duration;

use anyhow::{Context, Result};
use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};
use weir_shared::wire::access::{TokenReply, TokenView};
use weir_shared::wire::audit::{AuditRecord, AuditVerdict};
use weir_tests::again::{answered, try_answered};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, policy};
use weir_tests::reply::Reply;
use weir_tests::storage::objects;
use weir_tests::workerd::{REGIONS, Setup, Workerd};

const TOKENS: &str = "/operator/v1/tokens";
const AUDIT: &str = "/operator/v1/audit";

/// In how much time a change is to be in force everywhere.
const IN_FORCE: Duration = Duration::from_secs(1);

/// How long what is done in the background may take on a busy machine, and for how long it is asked again what that machine had
/// no time for.
const SETTLING: Duration = Duration::from_secs(30);

/// How often what cannot be asked again is begun anew.
const TRIES: usize = 5;

/// The limit of the budget is out of the way.
fn document() -> Value {
    policy(1_000_000, 60_000)
}

/// An isolate in each of three regions, with a witness.
async fn start() -> Workerd {
    let workerd = Setup::isolates(&REGIONS)
        .witnessed()
        .start()
        .await
        .expect("workerd starts");
    workerd
        .apply(&document())
        .await
        .expect("the policy is saved");
    workerd
}

fn service(name: &str) -> Value {
    json!({ "name": name, "role": "service" })
}

/// What a path is answered, once a busy machine has time for it.
async fn read(client: &Client, path: &str) -> Result<Reply> {
    try_answered(async || client.get(path).await).await
}

/// The same for a new token.
async fn post_token(client: &Client, body: &Value) -> Result<Reply> {
    try_answered(|| client.post(TOKENS, body)).await
}

/// Makes a token.
async fn make_token(client: &Client, body: &Value) -> Result<TokenReply> {
    let reply = post_token(client, body).await?;
    anyhow::ensure!(reply.status == 201, "{}: {}", reply.status, reply.text());
    reply.json()
}

async fn revoke(client: &Client, id: &str) -> Result<Reply> {
    let request = client.request(Method::DELETE, &format!("{TOKENS}/{id}"));
    client.send(request).await
}

/// The token of that id, as it is listed.
async fn listed(client: &Client, id: &str) -> Result<Option<TokenView>> {
    let reply: Value = read(client, TOKENS).await?.ok()?;
    let tokens = reply["tokens"].as_array().context("a list of tokens")?;
    let found = tokens.iter().find(|token| token["id"] == id);
    Ok(found
        .map(|token| serde_json::from_value(token.clone()))
        .transpose()?)
}

/// The status of a check with whatever credential the client has.
async fn status(client: &Client) -> Result<u16> {
    let body = json!({ "tenant": "pro:a", "budget": BUDGET, "cost": 1 });
    Ok(client.post("/v1/check", &body).await?.status)
}

/// Records of the audit log, newest first.
async fn records(client: &Client, query: &str) -> Result<Vec<AuditRecord>> {
    let path = format!("{AUDIT}?limit=500{query}");
    let reply: Value = read(client, &path).await?.ok()?;
    Ok(serde_json::from_value(reply["records"].clone())?)
}

/// A client with a new token of somebody who operates the deployment, once its region knows it.
async fn employed(root: &Client, made: &TokenReply) -> Client {
    let (client, begun) = (root.with_token(&made.token), now());
    while client.policy().await.is_err() {
        assert!(begun.elapsed() < SETTLING, "the token is not known");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    client
}

/// Waits until a new token is known, whatever it may do: on a busy machine a region may hear of it late.
async fn await_known(client: &Client) {
    let begun = now();
    loop {
        let status = status(client).await.unwrap();
        if ![401, 503].contains(&status) {
            return;
        }
        assert!(begun.elapsed() < SETTLING, "the token is not known");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Records of what was refused, once there are so many: those that the registry never sees are recorded in the
/// background.
async fn refused(client: &Client, query: &str, count: usize) -> Vec<AuditRecord> {
    let query = format!("{query}&outcome=refused");
    let begun = now();
    loop {
        let seen = records(client, &query).await.unwrap();
        if seen.len() >= count {
            return seen;
        }
        assert!(
            begun.elapsed() < SETTLING,
            "fewer than {count} were recorded"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Stops the deployment, looks at the registry's rows or changes them as someone with the disk could, and starts it again.
async fn between_runs<R>(workerd: &mut Workerd, look: impl FnOnce(&Connection) -> R) -> R {
    workerd.kill_hard();
    let registry = &objects(&workerd.disk(), "Registry").unwrap()[0];
    let seen = look(&registry.open().unwrap());
    workerd.restart().await.unwrap();
    seen
}

async fn verdict(client: &Client) -> Result<AuditVerdict> {
    read(client, &format!("{AUDIT}/verify")).await?.ok()
}

/// The lines of the exported log.
async fn exported(client: &Client) -> Result<Vec<String>> {
    let reply = read(client, &format!("{AUDIT}/export")).await?;
    anyhow::ensure!(reply.status == 200, "{}", reply.text());
    Ok(reply.text().lines().map(str::to_owned).collect())
}
