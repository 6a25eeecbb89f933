//! Composite limits that are refused when the policy is saved: where, and in which words.

use crate::document::limit::{and, body_is_refused, body_is_taken};
use crate::document::{policy, whole};
use serde_json::{Value, json};

#[test]
fn a_limit_is_one_algorithm_or_all_or_any_of_others() {
    let gcra = &whole()["limits"]["per_ip"];
    let algorithm = "cannot be given together with algorithm";
    body_is_refused(&and(gcra, "all", json!(["resets"])), "/all", algorithm);
    body_is_refused(&and(gcra, "any", json!([])), "/any", algorithm);
    let both = json!({ "all": ["resets"], "any": ["resets"] });
    body_is_refused(&both, "/any", "cannot be given together with all");
    for list in ["all", "any"] {
        let at = format!("/{list}");
        body_is_refused(&json!({ list: [] }), &at, "is required");
        body_is_refused(
            &json!({ list: "resets" }),
            &at,
            "must be a list, not \"resets\"",
        );
        let many = |count: usize| {
            let named = |n| json!({ "name": format!("d{n}"), "limit": "resets" });
            json!({ list: (0..count).map(named).collect::<Vec<_>>() })
        };
        body_is_taken(&many(8));
        body_is_refused(&many(9), &at, "9 dimensions, at most 8 are allowed");
    }
}

#[test]
fn a_dimension_is_refused_where_it_stands() {
    let labels = "allowed are a-z, 0-9, _ and -";
    let own = "served: limits with an algorithm other than leaky_bucket";
    let weights = "outside 0.000001 to 1000000";
    let cases = [
        (
            json!(["nothing"]),
            "/0",
            "\"nothing\" is not a known limit".to_owned(),
        ),
        (json!([""]), "/0", "\"\" is not a known limit".to_owned()),
        (
            json!(["resets", { "name": "n", "limit": "nothing" }]),
            "/1/limit",
            "\"nothing\" is not a known limit".to_owned(),
        ),
        (
            json!(["tokens"]),
            "/0",
            "\"tokens\" is not a known limit".to_owned(),
        ),
        (
            json!(["login"]),
            "/0",
            format!("\"login\" (made of others) is not served; {own}"),
        ),
        (
            json!(["it"]),
            "/0",
            format!("\"it\" (made of others) is not served; {own}"),
        ),
        (
            json!([{ "limit": "shape" }]),
            "/0/limit",
            format!("\"shape\" (leaky_bucket) is not served; {own}"),
        ),
        (
            json!(["resets", "resets"]),
            "/1",
            "\"resets\" is given twice".to_owned(),
        ),
        (
            json!(["resets", { "limit": "resets" }]),
            "/1/limit",
            "\"resets\" is given twice".to_owned(),
        ),
        (
            json!(["resets", { "limit": "per_ip", "name": "resets" }]),
            "/1/name",
            "\"resets\" is given twice".to_owned(),
        ),
        (
            json!([{ "name": "n" }]),
            "/0/limit",
            "is required".to_owned(),
        ),
        (
            json!([{ "name": "", "limit": "resets" }]),
            "/0/name",
            "is required".to_owned(),
        ),
        (
            json!([{ "name": "An ip", "limit": "resets" }]),
            "/0/name",
            format!("contains 'A'; {labels}"),
        ),
        (
            json!([{ "name": "x".repeat(65), "limit": "resets" }]),
            "/0/name",
            "65 bytes, at most 64 are allowed".to_owned(),
        ),
        (
            json!([{ "limit": "resets", "weight": 0 }]),
            "/0/weight",
            format!("0 is {weights}"),
        ),
        (
            json!([{ "limit": "resets", "weight": -1 }]),
            "/0/weight",
            format!("-1 is {weights}"),
        ),
        (
            json!([{ "limit": "resets", "weight": 1_000_001 }]),
            "/0/weight",
            format!("1000001 is {weights}"),
        ),
        (
            json!([{ "limit": "resets", "weight": 0.1234567 }]),
            "/0/weight",
            "0.1234567 has more than 6 decimals".to_owned(),
        ),
        (
            json!([{ "limit": "resets", "weight": "2" }]),
            "/0/weight",
            "must be a number, not \"2\"".to_owned(),
        ),
        (
            json!([7]),
            "/0",
            "must be the name of a limit or an object, not 7".to_owned(),
        ),
        (
            json!([{ "limit": "resets", "key": "k" }]),
            "/0/key",
            "unknown field `key`, expected one of `name`, `limit`, `weight`".to_owned(),
        ),
    ];
    for (dimensions, at, message) in cases {
        for list in ["all", "any"] {
            body_is_refused(
                &json!({ list: dimensions }),
                &format!("/{list}{at}"),
                &message,
            );
        }
    }
}

#[test]
fn a_weight_for_which_a_limit_has_no_room_is_refused_at_the_weight() {
    let window = |limit: u64, scope: &str| json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": 60000, "scope": scope });
    let limits = |limit: u64, scope: &str, weights: &[f64]| {
        let named = |(index, weight)| json!({ "name": format!("d{index}"), "limit": "base", "weight": weight });
        let dimensions: Vec<Value> = weights.iter().enumerate().map(named).collect();
        let mut document = whole();
        document["limits"] = json!({ "base": window(limit, scope), "it": { "all": dimensions } });
        policy(&document.to_string()).map(|_| ())
    };
    let refused = |index: usize, weight: &str, max: u32| {
        let message = format!(
            "{weight} has more than {max} decimals; the numbers of \"base\" have no room for more"
        );
        Err((format!("/limits/it/all/{index}/weight"), message))
    };
    // In 64 bits there is room for 9e15 units in thousandths.
    let most = 9_000_000_000_000_000;
    assert_eq!(limits(most, "region", &[0.001, 0.5]), Ok(()));
    assert_eq!(
        limits(most, "region", &[0.5, 0.000001]),
        refused(1, "0.000001", 3)
    );
    // What leaves for other objects stays below 2^53: 9e15 units count in whole ones, 9e14 in tenths.
    assert_eq!(limits(most, "global", &[3.0]), Ok(()));
    assert_eq!(limits(most, "global", &[3.0, 0.5]), refused(1, "0.5", 0));
    assert_eq!(limits(900_000_000_000_000, "global", &[0.1]), Ok(()));
    assert_eq!(
        limits(900_000_000_000_000, "global", &[0.1, 0.01]),
        refused(1, "0.01", 1)
    );
    assert_eq!(limits(900_000_000_000_000, "global", &[0.5, 0.25]), Ok(()));
    assert_eq!(
        limits(900_000_000_000_000, "global", &[0.5, 0.2, 0.25]),
        refused(2, "0.25", 1)
    );
}
