//! What is malformed, unknown, oversized or forged: a problem with its pointer, and nothing is changed.

use serde_json::{Value, json};
use weir_shared::limits::{CHECK_BODY_BYTES_MAX, SLOT_BYTES_MAX};
use weir_tests::client::Client;
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, Workerd};

use crate::metering::{acquire, acquired, decide, left, slot_call, start, still};

async fn deployment() -> (Workerd, Client) {
    let meters = json!({ "rows": still(10), "bytes": still(10) });
    let guard = json!({ "concurrency": 2, "per_minute": 100, "lease_ms": 60_000 });
    let guards = json!({ "queries": guard, "others": guard });
    let workerd = start(Setup::isolates(&["weur"]), meters, guards).await;
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

fn is_refused(reply: &Reply, status: u16, field: Option<&str>, what: &str) {
    assert_eq!(reply.status, status, "{what}: {}", reply.text());
    let problem = reply.problem().unwrap();
    assert_eq!(problem.field.as_deref(), field, "{what}: {}", reply.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_is_wrong_anywhere_charges_nothing() {
    let (_workerd, client) = deployment().await;
    let cases: [(Value, u16, &str); 22] = [
        (json!({ "tenant": "pro:a", "meter": "none" }), 404, "/meter"),
        (
            json!({ "tenant": "pro:a", "meters": { "rows": 1, "none": 1 } }),
            404,
            "/meters/none",
        ),
        (json!({ "tenant": "pro:a", "guard": "none" }), 404, "/guard"),
        (
            json!({ "tenant": "pro:a", "checks": [{ "meter": "rows" }, { "meter": "none" }] }),
            404,
            "/checks/1/meter",
        ),
        (
            json!({ "tenant": "pro:a", "checks": [{ "meter": "rows" }, { "guard": "none" }] }),
            404,
            "/checks/1/guard",
        ),
        (
            json!({ "tenant": "pro:a", "checks": [{ "meters": { "rows": 1, "a/b": 1 } }] }),
            404,
            "/checks/0/meters/a~1b",
        ),
        (json!({ "meter": "rows" }), 400, "/tenant"),
        (json!({ "guard": "queries" }), 400, "/tenant"),
        (json!({ "tenant": "", "meter": "rows" }), 400, "/tenant"),
        (
            json!({ "tenant": "a\u{1}", "meter": "rows" }),
            400,
            "/tenant",
        ),
        (
            json!({ "tenant": "a".repeat(129), "guard": "queries" }),
            400,
            "/tenant",
        ),
        (
            json!({ "tenant": "pro:a", "meter": "rows", "cost": -1 }),
            400,
            "/cost",
        ),
        (
            json!({ "tenant": "pro:a", "meter": "rows", "cost": 1.5 }),
            400,
            "/cost",
        ),
        (
            json!({ "tenant": "pro:a", "meter": "rows", "cost": 9_007_199_254_740_992_u64 }),
            400,
            "/cost",
        ),
        (
            json!({ "tenant": "pro:a", "meters": { "rows": -1 } }),
            400,
            "/meters/rows",
        ),
        (
            json!({ "tenant": "pro:a", "meters": { "rows": "1" } }),
            400,
            "/meters/rows",
        ),
        (json!({ "tenant": "pro:a", "meters": {} }), 400, "/meters"),
        (
            json!({ "tenant": "pro:a", "guard": "queries", "cost": 2 }),
            400,
            "/cost",
        ),
        (
            json!({ "tenant": "pro:a", "meter": "rows", "guard": "queries" }),
            400,
            "/guard",
        ),
        (
            json!({ "tenant": "pro:a", "checks": [{ "meter": "rows" }, { "meters": { "rows": 1 } }] }),
            400,
            "/checks/1/meters/rows",
        ),
        (
            json!({ "tenant": "pro:a", "checks": [{ "guard": "queries" }, { "guard": "others" }] }),
            400,
            "/checks/1/guard",
        ),
        (
            json!({ "tenant": "pro:a", "guard": "queries", "reserve": true }),
            400,
            "/reserve",
        ),
    ];
    for (question, status, field) in cases {
        let reply = client.post("/v1/check", &question).await.unwrap();
        is_refused(&reply, status, Some(field), &question.to_string());
        let batch = json!({ "requests": [{ "tenant": "pro:a", "meter": "rows" }, question] });
        let reply = client.post("/v1/check/batch", &batch).await.unwrap();
        is_refused(
            &reply,
            status,
            Some(&format!("/requests/1{field}")),
            &batch.to_string(),
        );
    }
    for meter in ["rows", "bytes"] {
        assert_eq!(
            left(&client, "pro:a", meter).await,
            10,
            "{meter} was charged"
        );
    }
    for _ in 0..2 {
        assert_eq!(
            acquire(&client, "queries", "pro:a").await.status,
            200,
            "a slot was taken"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_was_not_given_changes_nothing() {
    let (_workerd, client) = deployment().await;
    let (first, second) = (
        acquired(&client, "queries", "pro:a").await.slot,
        acquired(&client, "queries", "pro:a").await.slot,
    );
    let other = acquired(&client, "others", "pro:a").await.slot;
    let (body, mac) = first.rsplit_once('.').unwrap();
    let (_, mac_of_second) = second.rsplit_once('.').unwrap();
    let flipped: String = body.chars().rev().collect();
    let reservation = json!({ "tenant": "pro:a", "meter": "rows", "reserve": true });
    let reservation = decide(&client, &reservation).await.reservation.unwrap();
    let forged = [
        "x".to_owned(),
        "x.y".to_owned(),
        ".".to_owned(),
        "é.é".to_owned(),
        body.to_owned(),
        format!("{body}."),
        format!("{body}.{mac_of_second}"),
        format!("{flipped}.{mac}"),
        format!("{first}A"),
        first.to_uppercase(),
        // Genuine, of another guard or of another kind.
        other.clone(),
        reservation,
        "y".repeat(SLOT_BYTES_MAX + 1),
    ];
    for action in ["renew", "release"] {
        let path = format!("/v1/guards/queries/{action}");
        for slot in &forged {
            let reply = client.post(&path, &json!({ "slot": slot })).await.unwrap();
            is_refused(&reply, 400, Some("/slot"), slot);
        }
        for (wrong, field) in [
            (json!({}), "/slot"),
            (json!({ "slot": "" }), "/slot"),
            (json!({ "slot": 7 }), "/slot"),
            (json!({ "slot": first, "tenant": "pro:a" }), "/tenant"),
        ] {
            let reply = client.post(&path, &wrong).await.unwrap();
            is_refused(&reply, 400, Some(field), &wrong.to_string());
        }
    }
    assert_eq!(
        acquire(&client, "queries", "pro:a").await.status,
        429,
        "both are still held"
    );
    for slot in [&first, &second] {
        assert!(slot_call(&client, "queries", "renew", slot).await.held);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_for_a_slot_that_is_wrong_takes_none() {
    let (_workerd, client) = deployment().await;
    let path = "/v1/guards/queries/acquire";
    for (question, field) in [
        (json!({}), "/tenant"),
        (json!({ "tenant": null }), "/tenant"),
        (json!({ "tenant": "" }), "/tenant"),
        (json!({ "tenant": "a\nb" }), "/tenant"),
        (json!({ "tenant": "a".repeat(129) }), "/tenant"),
        (json!({ "tenant": "pro:a", "cost": 1 }), "/cost"),
        (json!({ "tenant": ["pro:a"] }), "/tenant"),
    ] {
        let reply = client.post(path, &question).await.unwrap();
        is_refused(&reply, 400, Some(field), &question.to_string());
    }
    let tenant = json!({ "tenant": "pro:a" });
    let unknown = client
        .post("/v1/guards/none/acquire", &tenant)
        .await
        .unwrap();
    is_refused(&unknown, 404, None, "an unknown guard");
    for wrong in [
        "/v1/guards/queries",
        "/v1/guards/queries/steal",
        "/v1/guards//acquire",
    ] {
        let reply = client.post(wrong, &tenant).await.unwrap();
        assert!(
            (400..=404).contains(&reply.status),
            "{wrong}: {}",
            reply.text()
        );
    }
    let got = client.get(path).await.unwrap();
    assert_eq!((got.status, got.header("allow")), (405, Some("POST")));
    let anonymous = client.anonymous().post(path, &tenant).await.unwrap();
    is_refused(&anonymous, 401, None, "nobody");
    assert_eq!(client.post_bytes(path, "{").await.unwrap().status, 400);
    let text = client.request(reqwest::Method::POST, path).body("{}");
    assert_eq!(client.send(text).await.unwrap().status, 415);
    for _ in 0..2 {
        assert_eq!(
            acquire(&client, "queries", "pro:a").await.status,
            200,
            "none was taken"
        );
    }
    // The last: what is not read of a body ends its connection.
    let huge = vec![b' '; CHECK_BODY_BYTES_MAX + 1];
    assert_eq!(client.post_bytes(path, huge).await.unwrap().status, 413);
}
