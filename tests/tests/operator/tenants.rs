//! Tenants: listed, read, changed field by field, taken out.

use reqwest::Method;
use reqwest::header::IF_MATCH;
use serde_json::{Map, Value, json};
use weir_tests::fixtures::with;

use weir_shared::ordered::OrderedSet;

use crate::operator::{
    TENANTS, assert_problem, deployment, document, get, got, patch, records, start,
};

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_tenants_are_paged_sorted_and_searched_by_the_server() {
    let named: Map<String, Value> = (0..9_990)
        .map(|number| (format!("t{number:05}"), json!({ "weight": 1 + number % 9 })))
        .collect();
    let (_workerd, client) = start(&with(document(), "/tenants", Value::Object(named))).await;
    let mut seen = OrderedSet::new();
    for page in 1..=10 {
        let path = format!("{TENANTS}?page={page}&page_size=1000&sort=-weight&named=true");
        let found = get(&client, &path).await;
        assert_eq!(
            (&found["total"], &found["pages"]),
            (&json!(9_990), &json!(10))
        );
        for row in found["tenants"].as_array().unwrap() {
            let name = row["tenant"].as_str().unwrap().to_owned();
            assert!(seen.insert(name), "a tenant is on two pages: {row}");
        }
    }
    assert_eq!(seen.len(), 9_990);
    let first = get(&client, &format!("{TENANTS}?sort=-weight&page_size=3")).await;
    let names: Vec<&Value> = first["tenants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["tenant"])
        .collect();
    assert_eq!(
        names,
        ["t00008", "t00017", "t00026"],
        "the heaviest, by name"
    );
    let found = get(&client, &format!("{TENANTS}?search=T0001")).await;
    assert_eq!(found["total"], 10);
    let beyond = get(&client, &format!("{TENANTS}?page=999")).await;
    assert_eq!(beyond["tenants"], json!([]));
}

#[tokio::test]
async fn a_patch_touches_only_what_it_names_and_only_if_the_tenant_is_as_it_was_seen() {
    let (_workerd, client) = deployment().await;
    let path = format!("{TENANTS}/acme");
    let read = got(&client, &path).await;
    let before: Value = read.ok().unwrap();
    let tag = read.header("etag").unwrap().to_owned();
    assert_eq!(before["effective"]["weight"]["value"], 4.0);
    assert_eq!(before["effective"]["weight"]["origin"], "tier");

    let blind = patch(&client, "acme", &json!({ "weight": 9 }), None).await;
    assert_problem("without If-Match", &blind, 428, None);
    let stale = patch(&client, "acme", &json!({ "weight": 9 }), Some("\"0\"")).await;
    assert_problem("with another tag", &stale, 412, None);
    assert_eq!(
        get(&client, &path).await["body"],
        before["body"],
        "nothing was changed"
    );

    // Another tenant's change moves no tag but its own.
    let other = patch(&client, "hooli", &json!({ "weight": 3 }), Some("*")).await;
    assert_eq!(other.status, 200, "{}", other.text());
    let meters = json!({ "bytes": { "per_sec": "unlimited" } });
    let overrides = json!({ "overrides": [{ "meters": meters }] });
    let changed = patch(&client, "acme", &overrides, Some(&tag)).await;
    let after: Value = changed.ok().unwrap();
    assert_eq!(
        after["body"]["tier"], "enterprise",
        "what it does not name stays"
    );
    assert_eq!(
        after["effective"]["meters"]["bytes"]["per_sec"]["value"],
        "unlimited"
    );
    assert_eq!(
        after["effective"]["meters"]["bytes"]["per_sec"]["origin"],
        "override"
    );
    assert_ne!(changed.header("etag"), Some(tag.as_str()));
    let again = patch(&client, "acme", &json!({ "weight": 5 }), Some(&tag)).await;
    assert_problem("with the tag of before", &again, 412, None);

    // Null takes the tenant's own word away.
    let unset = patch(
        &client,
        "acme",
        &json!({ "overrides": null, "weight": 7 }),
        Some("*"),
    )
    .await;
    let unset: Value = unset.ok().unwrap();
    assert_eq!(unset["body"]["overrides"], json!([]));
    assert_eq!(unset["effective"]["weight"]["origin"], "tenant");
    let unset = patch(&client, "acme", &json!({ "weight": null }), Some("*")).await;
    assert_eq!(
        unset.ok::<Value>().unwrap()["effective"]["weight"]["origin"],
        "tier"
    );
}

#[tokio::test]
async fn the_first_change_names_a_tenant_that_was_resolved_by_rule() {
    let (_workerd, client) = deployment().await;
    let path = format!("{TENANTS}/pro%3Anew%2Fone");
    let read = got(&client, &path).await;
    let before: Value = read.ok().unwrap();
    assert_eq!(
        (&before["named"], &before["tenant"]),
        (&json!(false), &json!("pro:new/one"))
    );
    assert_eq!(before["effective"]["tier"]["value"], "pro");
    let tag = read.header("etag").unwrap().to_owned();
    let named = patch(
        &client,
        "pro%3Anew%2Fone",
        &json!({ "weight": 3 }),
        Some(&tag),
    )
    .await;
    let named: Value = named.ok().unwrap();
    assert_eq!(
        (&named["named"], &named["body"]["weight"]),
        (&json!(true), &json!(3))
    );
    let found = get(&client, &format!("{TENANTS}?search=new/one")).await;
    assert_eq!(found["tenants"][0]["tenant"], "pro:new/one");
}

#[tokio::test]
async fn a_tenant_is_taken_out_once_and_each_change_is_in_the_log_with_its_reason() {
    let (_workerd, client) = deployment().await;
    let path = format!("{TENANTS}/hooli");
    let remove = |tag: Option<&str>| {
        let mut request = client.request(Method::DELETE, &path);
        request = request.header("weir-reason", "they left");
        if let Some(tag) = tag {
            request = request.header(IF_MATCH, tag);
        }
        client.send(request)
    };
    assert_problem("without If-Match", &remove(None).await.unwrap(), 428, None);
    assert_problem(
        "with another tag",
        &remove(Some("\"0\"")).await.unwrap(),
        412,
        None,
    );
    let read = got(&client, &path).await;
    let tag = read.header("etag").unwrap().to_owned();
    assert_eq!(remove(Some(&tag)).await.unwrap().status, 204);
    assert_problem("once more", &remove(Some("*")).await.unwrap(), 404, None);
    let policy = client.policy().await.unwrap().document;
    assert!(policy["tenants"].get("hooli").is_none());
    assert!(policy["tenants"].get("acme").is_some());

    let done: Vec<Value> = records(&client, "tenant.delete")
        .await
        .into_iter()
        .filter(|record| record["outcome"] == "done")
        .collect();
    assert_eq!(done.len(), 1);
    assert_eq!(
        (&done[0]["target"], &done[0]["why"]),
        (&json!("hooli"), &json!("they left"))
    );
    assert_eq!(done[0]["role"], "admin");
}
