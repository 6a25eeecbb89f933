//! What is no policy.

use serde_json::json;
use weir_tests::fixtures::{with, without};

use crate::bad_input::{assert_left_of_budget, assert_problem, deployment, state, still};

/// A pointer, and what stands there instead, as JSON text that need not be valid. The pointer is the field at fault.
const BAD_VALUES: &[(&str, &[&str])] = &[
    (
        "/budgets/tokens/limit",
        &[
            "0",
            "-1",
            "NaN",
            "Infinity",
            "1e999",
            "1.5",
            "9007199254740992",
            "18446744073709551616",
            "\"100\"",
            "null",
        ],
    ),
    (
        "/budgets/tokens/window_ms",
        &["0", "999", "-60000", "1000.5", "9007199254740991", "NaN"],
    ),
    ("/budgets/tokens/sharing", &["\"whoever\"", "null"]),
    ("/budgets/tokens/scope", &["\"planet\"", "null"]),
    ("/budgets/tokens/surprise", &["1"]),
    ("/budgets/Tokens!", &["{}"]),
    ("/limits/per_ip/limit", &["0", "-1", "1e999", "1.5"]),
    ("/limits/per_ip/period_ms", &["0", "null", "-1"]),
    ("/limits/per_ip/burst", &["0", "-1", "9007199254740991"]),
    ("/limits/per_ip/algorithm", &["\"guess\""]),
    // One key of this algorithm cannot be held in many places at once.
    ("/limits/per_ip/scope", &["\"global\"", "\"planet\""]),
    (
        "/tiers/pro/weight",
        &["0", "-1", "1e7", "1.2345678", "NaN", "1e999", "\"2\""],
    ),
    ("/tenants_max", &["0", "1000001", "-1"]),
    ("/unknown_weight_max", &["0", "-8", "NaN"]),
    ("/default_tier", &["\"nope\""]),
    ("/regions", &["[]", "\"weur\""]),
    ("/home", &["\"mars\""]),
    ("/enforcing", &["\"yes\"", "1"]),
    ("/surprise", &["true"]),
];

/// As above, with the field at fault further in.
const BAD_PARTS: &[(&str, &str, &str)] = &[
    (
        "/tier_rules/0",
        r#"{"prefix":"x","tier":"nope"}"#,
        "/tier_rules/0/tier",
    ),
    ("/tier_rules/0", r#"{"tier":"pro"}"#, "/tier_rules/0/prefix"),
    ("/regions", r#"["weur","enam","weur"]"#, "/regions/2"),
    ("/tiers/pro", "{}", "/tiers/pro/weight"),
];

const REQUIRED: [&str; 5] = [
    "/budgets/tokens/limit",
    "/budgets/tokens/window_ms",
    "/limits/per_ip/period_ms",
    "/tiers/pro/weight",
    "/regions",
];

/// The good policy with `text` at `pointer`.
fn body(pointer: &str, text: &str) -> String {
    // A placeholder is JSON until it is replaced in the text.
    let document = with(still(), pointer, json!("@value@"));
    document.to_string().replace("\"@value@\"", text)
}

#[tokio::test]
async fn a_bad_policy_names_the_field_and_changes_nothing() {
    let (_workerd, client) = deployment().await;
    let before = state(&client).await;
    let etag = Some(before.policy.etag.as_str());
    let values = BAD_VALUES
        .iter()
        .flat_map(|(pointer, texts)| texts.iter().map(move |text| (*pointer, *text, *pointer)));
    for (pointer, text, field) in values.chain(BAD_PARTS.iter().copied()) {
        let reply = client
            .put_policy_bytes(body(pointer, text), etag)
            .await
            .unwrap();
        assert_problem(&format!("{pointer} = {text}"), &reply, 400, Some(field));
    }
    for pointer in REQUIRED {
        let reply = client
            .put_policy(&without(still(), pointer), etag)
            .await
            .unwrap();
        assert_problem(&format!("{pointer} is missing"), &reply, 400, Some(pointer));
    }
    for body in ["", "{", "[]", "7", "{\"regions\":", "\u{feff}{}"] {
        let reply = client.put_policy_bytes(body, etag).await.unwrap();
        assert_problem(&format!("policy {body:?}"), &reply, 400, None);
    }
    assert_eq!(state(&client).await, before);
    assert_left_of_budget(&client, 100).await;
}
