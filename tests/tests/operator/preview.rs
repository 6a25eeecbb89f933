//! A candidate policy is looked at without being put in force.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::limits::POLICY_CHECKS_MAX;
use weir_tests::clock;
use weir_tests::fixtures::with;

use crate::operator::{assert_problem, await_that, decide, deployment, document, posted};

const PREVIEW: &str = "/operator/v1/policy/preview";

/// How long a preview of 1 MB may take; a busy machine has so many tries.
const BOUND: Duration = Duration::from_secs(5);
const TRIES: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_says_who_gains_and_who_loses_and_changes_nothing() {
    let (_workerd, client) = deployment().await;
    for _ in 0..30 {
        decide(
            &client,
            json!({ "tenant": "acme", "meter": "bytes", "cost": 20 }),
        )
        .await;
    }
    let counted = |series: &Value| {
        let points = series["points"].as_array().unwrap().iter();
        let meters = points.map(|point| &point["meters"]["bytes"]);
        let units = |meter: &Value| {
            meter["admitted_units"].as_u64().unwrap() + meter["shed_units"].as_u64().unwrap()
        };
        meters.map(units).sum::<u64>() == 600
    };
    await_that(
        &client,
        "/operator/v1/series?tenant=acme&meter=bytes",
        counted,
    )
    .await;
    let before = client.policy().await.unwrap();
    let wider = with(document(), "/meters/bytes/per_sec", json!(1_000));
    let preview: Value = posted(&client, PREVIEW, &wider).await.ok().unwrap();
    assert_eq!(preview["gains"], json!(["acme"]), "{preview}");
    assert_eq!(preview["loses"], json!([]));
    let row = &preview["rows"][0];
    assert_eq!(
        (&row["kind"], &row["name"], &row["demand"]),
        (&json!("meter"), &json!("bytes"), &json!(600))
    );
    assert_eq!(row["candidate"], 600);
    let same = posted(&client, PREVIEW, &document()).await;
    let same: Value = same.ok().unwrap();
    assert_eq!((&same["gains"], &same["loses"]), (&json!([]), &json!([])));
    assert_eq!(client.policy().await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_tells_of_limits_and_of_every_tenant() {
    let (_workerd, client) = deployment().await;
    // More tenants than could each be asked for, the last of them with the fewest calls; each has ten of its own.
    let names: Vec<String> = (0..12)
        .map(|number| format!("tenant-{number:02}"))
        .collect();
    for (number, name) in names.iter().enumerate() {
        for _ in 0..14 - number {
            let check = json!({ "tenant": name, "limit": "own" });
            decide(&client, check).await;
        }
    }
    let calls: u64 = (0..12).map(|number| 14 - number).sum();
    let counted = |series: &Value| {
        let points = series["points"].as_array().unwrap().iter();
        let limits = points.map(|point| &point["limits"]["own"]);
        let all = limits.map(|limit| {
            limit["admitted_calls"].as_u64().unwrap() + limit["denied_calls"].as_u64().unwrap()
        });
        all.sum::<u64>() == calls
    };
    await_that(&client, "/operator/v1/series?limit=own", counted).await;
    let narrow = with(document(), "/limits/own/limit", json!(4));
    let preview: Value = posted(&client, PREVIEW, &narrow).await.ok().unwrap();
    let rows = preview["rows"].as_array().unwrap();
    for (number, name) in names.iter().enumerate() {
        let asked = 14 - number as u64;
        let row = rows.iter().find(|row| row["tenant"] == json!(name));
        let row = row.unwrap_or_else(|| panic!("no row of {name}: {preview}"));
        let told = ["kind", "name", "demand", "present", "candidate"].map(|field| &row[field]);
        let expected = [
            json!("limit"),
            json!("own"),
            json!(asked),
            json!(asked.min(10)),
            json!(asked.min(4)),
        ];
        assert_eq!(told, expected.each_ref(), "{name}: {preview}");
    }
    // The last two asked for no more than four.
    assert_eq!(preview["losing"], 10, "{preview}");
    assert_eq!(preview.get("tenants_left_out"), None);
}

/// Almost a megabyte of overrides, each number of which would be checked in 32 spans of time.
fn heavy() -> Value {
    let one = |at: u64| json!({ "starts_at": at, "expires_at": at + 1_000, "meters": { "bytes": { "per_sec": at } } });
    let overrides: Vec<Value> = (1..=16).map(one).collect();
    let mut document = document();
    for tenant in 0..800 {
        document["tenants"][format!("t{tenant}")] = json!({ "overrides": overrides });
    }
    document
}

/// As large as a document may be, and nothing in it that is more than one look at a name.
fn large() -> Value {
    let mut document = document();
    for tenant in 0..9_990 {
        let name = format!("tenant-with-a-name-of-some-length-{tenant}");
        document["tenants"][name] = json!({ "weight": 1.5, "tier": "free", "borrow_max": 12_345 });
    }
    document
}

/// So many bytes, and fewer than a document may have.
#[track_caller]
fn assert_at_least(bytes: usize, document: &Value) {
    let size = document.to_string().len();
    assert!((bytes..1_048_576).contains(&size), "{size}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_is_too_much_work_is_refused_with_the_bound_before_it_is_looked_through() {
    let (workerd, client) = deployment().await;
    let before = client.policy().await.unwrap();
    assert_at_least(500_000, &heavy());
    let started = clock::now();
    let reply = client.post(PREVIEW, &heavy()).await.unwrap();
    let refused_in = started.elapsed();
    assert_problem("too much work", &reply, 413, Some("/tenants"));
    let bound = POLICY_CHECKS_MAX.to_string();
    assert!(reply.text().contains(&bound), "{}", reply.text());
    let saved = client.put_policy(&heavy(), Some("*")).await.unwrap();
    assert_problem("too much work to save", &saved, 413, Some("/tenants"));
    assert_eq!(client.policy().await.unwrap(), before);
    // What is merely long is looked through, in a time that is bounded by its length.
    assert_at_least(850_000, &large());
    let mut taken: Vec<Duration> = Vec::new();
    while taken.last().is_none_or(|last| *last >= BOUND) {
        assert!(taken.len() < TRIES, "{taken:?}\n{}", workerd.log());
        let started = clock::now();
        let reply = client.post(PREVIEW, &large()).await.unwrap();
        taken.push(started.elapsed());
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    println!("refused in {refused_in:?}, a preview of 1 MB in {taken:?}");
}

#[tokio::test]
async fn a_candidate_that_is_no_policy_is_refused_where_the_fault_is() {
    let (_workerd, client) = deployment().await;
    let before = client.policy().await.unwrap();
    let zero = with(document(), "/budgets/tokens/limit", json!(0));
    let reply = client.post(PREVIEW, &zero).await.unwrap();
    assert_problem(
        "a limit of nothing",
        &reply,
        400,
        Some("/budgets/tokens/limit"),
    );
    let reply = client.post_bytes(PREVIEW, "{".as_bytes()).await.unwrap();
    assert_problem("half a document", &reply, 400, None);
    let reply = client
        .post_bytes(PREVIEW, vec![b' '; 1024 * 1024 + 1])
        .await
        .unwrap();
    assert_problem("too long", &reply, 413, None);
    assert_eq!(client.policy().await.unwrap(), before);
}
