//! The audit log: every change and every refused one, verified, paged, exported.

use serde_json::{Value, json};
use weir_shared::audit::export::verify;

use crate::operator::{AUDIT, assert_problem, await_records, deployment, get, patch};

#[tokio::test]
async fn a_refused_change_is_in_the_log_and_changes_nothing() {
    let (_workerd, client) = deployment().await;
    let before = client.policy().await.unwrap();
    let refused = [
        (
            "a field that there is not",
            json!({ "colour": "red" }),
            Some("*"),
            400,
        ),
        (
            "a weight of nothing",
            json!({ "weight": 0 }),
            Some("*"),
            400,
        ),
        ("no If-Match", json!({ "weight": 2 }), None, 428),
        (
            "another If-Match",
            json!({ "weight": 2 }),
            Some("\"1\""),
            412,
        ),
    ];
    for (case, body, tag, status) in &refused {
        let reply = patch(&client, "acme", body, *tag).await;
        assert_problem(case, &reply, *status, None);
    }
    let found = await_records(&client, "tenant.patch", refused.len()).await;
    assert_eq!(found.len(), refused.len(), "{found:?}");
    for record in &found {
        assert_eq!(
            (&record["outcome"], &record["target"]),
            (&json!("refused"), &json!("acme"))
        );
        assert_eq!(record["actor"], "bootstrap");
    }
    assert_eq!(client.policy().await.unwrap(), before);
}

#[tokio::test]
async fn the_log_is_paged_by_number_verified_and_exported_whole() {
    let (_workerd, client) = deployment().await;
    for weight in 1..=7 {
        let reply = patch(&client, "acme", &json!({ "weight": weight }), Some("*")).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    let mut numbers: Vec<u64> = Vec::new();
    let mut path = format!("{AUDIT}?limit=3");
    loop {
        let page = get(&client, &path).await;
        let records = page["records"].as_array().unwrap();
        numbers.extend(
            records
                .iter()
                .map(|record| record["sequence"].as_u64().unwrap()),
        );
        let Some(next) = page["next"].as_u64() else {
            break;
        };
        path = format!("{AUDIT}?limit=3&before={next}");
    }
    let newest = numbers[0];
    assert!(newest >= 8, "{numbers:?}");
    let expected: Vec<u64> = (1..=newest).rev().collect();
    assert_eq!(numbers, expected, "every record once, newest first");
    let forward = get(&client, &format!("{AUDIT}?after=2&limit=1")).await;
    assert_eq!(forward["records"][0]["sequence"], 3);

    let verdict = get(&client, &format!("{AUDIT}/verify")).await;
    assert_eq!(
        (&verdict["intact"], &verdict["fault"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(verdict["checked"].as_u64(), Some(newest));

    let export = client.get(&format!("{AUDIT}/export")).await.unwrap();
    assert_eq!(
        (export.status, export.header("content-type")),
        (200, Some("application/x-ndjson"))
    );
    let text = export.text();
    let records = verify(text.lines(), (0, "")).expect("the export verifies");
    assert_eq!(records.len() as u64, newest);
    let forged = text.replacen("tenant.patch", "tenant.delete", 1);
    assert_ne!(forged, text, "the test changes something");
    assert!(verify(forged.lines(), (0, "")).is_err());
    let part = client
        .get(&format!("{AUDIT}/export?after=5"))
        .await
        .unwrap();
    assert_eq!(part.text().lines().count() as u64, newest - 5);
}

#[tokio::test]
async fn records_are_found_by_actor_action_target_and_outcome() {
    let (_workerd, client) = deployment().await;
    patch(&client, "acme", &json!({ "weight": 2 }), Some("*")).await;
    patch(&client, "hooli", &json!({ "weight": 3 }), Some("*")).await;
    for (query, count) in [
        ("action=tenant.patch", 2),
        ("action=tenant.patch&target=acme", 1),
        ("action=tenant.patch&outcome=refused", 0),
        ("action=tenant.patch&actor=nobody", 0),
        ("action=tenant.patch&actor=bootstrap", 2),
        ("action=tenant.patch&to=1", 0),
    ] {
        let found = get(&client, &format!("{AUDIT}?{query}")).await;
        assert_eq!(
            found["records"].as_array().unwrap().len(),
            count,
            "{query}: {found}"
        );
    }
}

#[tokio::test]
async fn a_tenant_as_the_target_finds_what_changed_it_in_a_whole_policy() {
    let (_workerd, client) = deployment().await;
    let before = client.policy().await.unwrap();
    patch(&client, "acme", &json!({ "weight": 2 }), Some("*")).await;
    patch(&client, "hooli", &json!({ "weight": 3 }), Some("*")).await;
    client.save_policy(&before.document).await.unwrap();
    for tenant in ["acme", "hooli"] {
        let found = get(&client, &format!("{AUDIT}?target={tenant}")).await;
        let records = found["records"].as_array().unwrap().iter();
        let newest: Vec<_> = records.take(2).map(|record| &record["action"]).collect();
        assert_eq!(newest, ["policy.save", "tenant.patch"], "{tenant}: {found}");
    }
    let found = get(&client, &format!("{AUDIT}?target=acm")).await;
    assert_eq!(found["records"], json!([]));
}

#[tokio::test]
async fn the_log_is_exported_as_comma_separated_values_with_the_filters_of_the_list() {
    let (_workerd, client) = deployment().await;
    patch(&client, "acme", &json!({ "weight": 2 }), Some("*")).await;
    patch(&client, "=hooli", &json!({ "weight": 3 }), Some("*")).await;
    let address = format!("{AUDIT}/export?format=csv&action=tenant.patch");
    let export = client.get(&address).await.unwrap();
    assert_eq!(
        (export.status, export.header("content-type")),
        (200, Some("text/csv; charset=utf-8"))
    );
    let text = export.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "a header and two records: {text}");
    assert!(lines[0].starts_with("sequence,time,actor,"), "{text}");
    assert!(lines[1].contains(",tenant.patch,acme,done,"), "{text}");
    // A name that a spreadsheet would take for a formula is a text.
    assert!(lines[2].contains(",'=hooli,"), "{text}");
    let other = client
        .get(&format!("{AUDIT}/export?format=xml"))
        .await
        .unwrap();
    assert_problem("another format", &other, 400, Some("/format"));
    let unfiltered = client
        .get(&format!("{AUDIT}/export?action=tenant.patch"))
        .await
        .unwrap();
    assert_problem("a chain with gaps", &unfiltered, 400, Some("/action"));
}
