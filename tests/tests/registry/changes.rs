//! Changes by several at a time: who saw another state changes nothing, and is told so.

use anyhow::Result;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use weir_tests::client::Client;
use weir_tests::reply::Reply;

use super::{TRIES, answered, read, records, refused, start};

const TENANTS: &str = "/operator/v1/tenants";

async fn patch(client: &Client, tenant: &str, tag: &str, body: &Value) -> Result<Reply> {
    let request = client
        .request(Method::PATCH, &format!("{TENANTS}/{tenant}"))
        .header("if-match", tag)
        .header("content-type", "application/json")
        .body(body.to_string());
    client.send(request).await
}

async fn delete(client: &Client, tenant: &str, tag: &str) -> Result<Reply> {
    let request = client
        .request(Method::DELETE, &format!("{TENANTS}/{tenant}"))
        .header("if-match", tag);
    client.send(request).await
}

/// The tag of a tenant.
async fn tag(client: &Client, tenant: &str) -> String {
    let reply = read(client, &format!("{TENANTS}/{tenant}")).await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.header("etag").unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_changes_that_saw_the_same_tenant_one_is_made() {
    let workerd = start().await;
    let clients = workerd.clients().unwrap();
    let mut attempt = 0;
    while !is_changed_once(&clients, &format!("acme-{attempt}")).await {
        attempt += 1;
        assert!(attempt < TRIES, "the registry was too busy each time");
    }
}

/// Changes a tenant nine times at a time; false where a busy machine had no time for one of them.
async fn is_changed_once(clients: &[Client], tenant: &str) -> bool {
    let seen = tag(&clients[0], tenant).await;
    let changes = (0..9).map(async |number: usize| {
        let body = json!({ "weight": number + 1 });
        patch(&clients[number % 3], tenant, &seen, &body)
            .await
            .unwrap()
            .status
    });
    let mut statuses = join_all(changes).await;
    if statuses.contains(&503) {
        return false;
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412, 412, 412, 412, 412, 412]);
    let policy = clients[0].policy().await.unwrap();
    let weight = &policy.document["tenants"][tenant]["weight"];
    assert!(weight.as_f64().is_some(), "{weight}");
    let query = format!("&action=tenant.patch&target={tenant}");
    let done = format!("{query}&outcome=done");
    let made = records(&clients[0], &done).await.unwrap();
    assert_eq!(made.len(), 1);
    let refused = refused(&clients[0], &query, 8).await;
    assert_eq!(refused.len(), 8);
    true
}

/// Each tenant has a tag of its own, so that work on one does not stop work on another.
#[tokio::test(flavor = "multi_thread")]
async fn changes_of_different_tenants_do_not_hinder_each_other() {
    let workerd = start().await;
    let clients = workerd.clients().unwrap();
    let names: Vec<String> = (0..12).map(|number| format!("tenant-{number}")).collect();
    let changes = names.iter().enumerate().map(async |(number, name)| {
        let client = &clients[number % 3];
        let body = json!({ "weight": number + 1 });
        let change = async || {
            let seen = tag(client, name).await;
            patch(client, name, &seen, &body).await
        };
        answered(change).await.status
    });
    assert!(join_all(changes).await.iter().all(|status| *status == 200));
    let policy = clients[0].policy().await.unwrap();
    for (number, name) in names.iter().enumerate() {
        let weight = policy.document["tenants"][name]["weight"].as_f64();
        assert_eq!(weight, Some(number as f64 + 1.0), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_is_removed_is_gone_and_its_old_tag_with_it() {
    let workerd = start().await;
    let client = workerd.client(0).unwrap();
    let absent = tag(&client, "acme").await;
    let body = json!({ "weight": 3 });
    let made = patch(&client, "acme", &absent, &body);
    assert_eq!(made.await.unwrap().status, 200);
    assert_eq!(delete(&client, "acme", &absent).await.unwrap().status, 412);
    let seen = tag(&client, "acme").await;
    let gone = delete(&client, "acme", &seen).await.unwrap();
    assert!([200, 204].contains(&gone.status), "{}", gone.text());
    assert_eq!(tag(&client, "acme").await, absent);
    assert_eq!(delete(&client, "acme", "*").await.unwrap().status, 404);
    let stale = patch(&client, "acme", &seen, &body);
    assert_eq!(stale.await.unwrap().status, 412);
    let policy = client.policy().await.unwrap();
    assert!(policy.document["tenants"].get("acme").is_none());
}

/// What would not be a valid policy as a whole is refused as the policy would be.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_no_policy_allows_changes_nothing() {
    let workerd = start().await;
    let client = workerd.client(0).unwrap();
    let before = client.policy().await.unwrap();
    for body in [
        json!({ "weight": 0 }),
        json!({ "weight": -1 }),
        json!({ "tier": "no-such-tier" }),
        json!({ "parent": "acme" }),
        json!({ "surprise": 1 }),
    ] {
        let refused = answered(async || patch(&client, "acme", "*", &body).await);
        let refused = refused.await;
        assert_eq!(refused.status, 400, "{body}: {}", refused.text());
        assert!(refused.problem().unwrap().field.is_some(), "{body}");
    }
    assert_eq!(client.policy().await.unwrap(), before);
    let refused = refused(&client, "&action=tenant.patch", 5).await;
    assert_eq!(refused.len(), 5);
}
