//! What is no question for a place, and no settlement.

use serde_json::json;
use weir_tests::calls::{charge, reserved};
use weir_tests::clock::now;
use weir_tests::fixtures::{LIMIT, with};

use crate::bad_input::{ANSWERED, RESERVE, SETTLE, assert_problem, deployment, state, still};

const PLACES: &[(&str, &str)] = &[
    ("", ""),
    ("[]", ""),
    ("7", ""),
    ("{}", "/limit"),
    (r#"{"limit":7}"#, "/limit"),
    (r#"{"limit":"shape"}"#, "/key"),
    (r#"{"limit":"shape","key":""}"#, "/key"),
    (r#"{"limit":"shape","key":"a\u0000"}"#, "/key"),
    (r#"{"limit":"shape","key":"k","cost":-1}"#, "/cost"),
    (r#"{"limit":"shape","key":"k","cost":1.5}"#, "/cost"),
    (
        r#"{"limit":"shape","key":"k","cost":9007199254740992}"#,
        "/cost",
    ),
    (r#"{"limit":"shape","key":"k","surprise":1}"#, "/surprise"),
    (r#"{"limit":"shape","key":"k","tenant":""}"#, "/tenant"),
    (
        r#"{"limit":"shape","key":"k","budget":"tokens"}"#,
        "/budget",
    ),
    (r#"{"limit":"per_ip","key":"kept"}"#, "/limit"),
];

/// `$R` stands for a genuine reservation.
const SETTLEMENTS: &[(&str, &str)] = &[
    ("", ""),
    ("[]", ""),
    ("{}", "/reservation"),
    (r#"{"actual":1}"#, "/reservation"),
    (r#"{"reservation":"","actual":1}"#, "/reservation"),
    (r#"{"reservation":7,"actual":1}"#, "/reservation"),
    (r#"{"reservation":null,"actual":1}"#, "/reservation"),
    (r#"{"reservation":"$4097","actual":1}"#, "/reservation"),
    (r#"{"reservation":"made.up","actual":1}"#, "/reservation"),
    (r#"{"reservation":"$R"}"#, "/actual"),
    (r#"{"reservation":"$R","actual":null}"#, "/actual"),
    (r#"{"reservation":"$R","actual":-1}"#, "/actual"),
    (r#"{"reservation":"$R","actual":0.5}"#, "/actual"),
    (r#"{"reservation":"$R","actual":"0"}"#, "/actual"),
    (
        r#"{"reservation":"$R","actual":9007199254740992}"#,
        "/actual",
    ),
    (
        r#"{"reservation":"$R","actual":0,"surprise":1}"#,
        "/surprise",
    ),
];

#[tokio::test]
async fn a_bad_question_for_a_place_names_the_field_and_takes_none() {
    let (workerd, client) = deployment().await;
    let shaper = json!({ "algorithm": "leaky_bucket", "rate_per_sec": 0.001, "max_queue_ms": 1, "scope": "region" });
    let document = with(still(), "/limits/shape", shaper);
    workerd.apply(&document).await.unwrap();
    let before = state(&client).await;
    for (body, field) in PLACES {
        let reply = client.post_bytes(RESERVE, *body).await.unwrap();
        assert_problem(body, &reply, 400, (!field.is_empty()).then_some(*field));
    }
    let unknown = client.post(RESERVE, &charge("nope", "k", 1)).await.unwrap();
    assert_problem("an unknown limit", &unknown, 404, Some("/limit"));
    assert_eq!(state(&client).await, before);
    let place = client.place("shape", "k", 1).await.unwrap();
    assert!(place.accepted && place.delay_ms == 0, "{place:?}");
}

#[tokio::test]
async fn a_bad_settlement_names_the_field_and_gives_nothing_back() {
    let (_workerd, client) = deployment().await;
    let question = serde_json::from_value(reserved(charge(LIMIT, "kept", 7))).unwrap();
    let decision = client.check_once_there(&question).await.decision;
    let reservation = decision.reservation.expect("a reservation");
    let before = state(&client).await;
    for (template, field) in SETTLEMENTS {
        let body = template
            .replace("$4097", &"x".repeat(4_097))
            .replace("$R", &reservation);
        let reply = client.post_bytes(SETTLE, body).await.unwrap();
        assert_problem(template, &reply, 400, (!field.is_empty()).then_some(*field));
    }
    assert_eq!(state(&client).await, before);
    // It counts once, however often it is asked for: on a busy machine its shard may be out of reach.
    let begun = now();
    let settled = loop {
        match client.settle(&reservation, 0).await {
            Ok(settled) => break settled,
            Err(error) => assert!(begun.elapsed() < ANSWERED, "{error:#}"),
        }
    };
    assert_eq!(settled.refunded, 7);
}
