//! Answers are what they say they are, and reservations cannot be guessed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use weir_tests::fixtures::BUDGET;

use weir_shared::ordered::OrderedSet;

use crate::security::{CHECK, POLICY, SESSION, TOKENS, one_isolate, policy, reserved};

#[tokio::test]
async fn no_answer_is_taken_for_something_else_than_it_says() {
    let (workerd, client) = one_isolate().await;
    workerd.apply(&policy()).await.unwrap();
    let anonymous = client.anonymous();
    for (who, path) in [
        (&client, POLICY),
        (&client, TOKENS),
        (&client, SESSION),
        (&client, "/metrics"),
        (&client, "/operator/v1/audit/export"),
        (&client, "/nope"),
        (&anonymous, POLICY),
        (&anonymous, "/healthz"),
        (&anonymous, "/openapi.json"),
        (&anonymous, "/policy.schema.json"),
        (&anonymous, "/v1/check"),
    ] {
        let reply = who.get(path).await.unwrap();
        let said = reply.header("x-content-type-options");
        assert_eq!(said, Some("nosniff"), "{path}: {}", reply.status);
    }
    let check = json!({ "tenant": "pro:a", "budget": BUDGET });
    let batch = json!({ "requests": [check, check] });
    for (path, body) in [
        (CHECK, &check),
        (CHECK, &check),
        ("/v1/check/batch", &batch),
        (CHECK, &json!({})),
    ] {
        for who in [&client, &anonymous] {
            let reply = who.post(path, body).await.unwrap();
            let said = reply.header("x-content-type-options");
            assert_eq!(said, Some("nosniff"), "{path} {body}: {}", reply.status);
        }
    }
}

#[tokio::test]
async fn the_numbers_of_reservations_are_drawn_from_all_that_there_are() {
    let (workerd, client) = one_isolate().await;
    workerd.apply(&policy()).await.unwrap();
    let check = json!({ "tenant": "pro:a", "budget": BUDGET, "cost": 1, "reserve": true });
    let mut numbers = OrderedSet::new();
    let rounds = 200;
    for _ in 0..rounds {
        let reservation = reserved(&client, &check).await;
        let text = reservation.as_str().unwrap();
        let body = text.split('.').nth(1).unwrap();
        let body: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).unwrap()).unwrap();
        numbers.insert(body["op"].as_u64().unwrap());
    }
    assert_eq!(numbers.len(), rounds, "two are the same");
    // Of 200 numbers of 53 bits about half are in the upper half, and each bit is set in some.
    let upper = numbers.iter().filter(|number| **number >= 1 << 52).count();
    assert!((60..=140).contains(&upper), "{upper}");
    let (all, any) = numbers
        .iter()
        .fold((u64::MAX, 0), |(all, any), one| (all & one, any | one));
    assert_eq!((all, any), (0, (1 << 53) - 1));
}
