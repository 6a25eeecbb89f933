//! Overrides that are refused, each by its pointer.

use crate::document::{policy, with};
use serde_json::{Value, json};

/// The whole document with "acme" as the one tenant that is named, and these overrides of it.
fn document(overrides: &Value) -> String {
    with(
        "/tenants",
        &json!({ "acme": { "tier": "gold", "overrides": overrides } }).to_string(),
    )
}

fn is_refused(overrides: &Value, field: &str, message: &str) {
    let field = format!("/tenants/acme/overrides{field}");
    let got = policy(&document(overrides)).map(|_| "admitted");
    assert_eq!(got, Err((field, message.to_owned())), "{overrides}");
}

#[test]
fn what_is_wrong_in_an_override_is_refused_where_it_stands() {
    let meter = |field: &str, value: Value| json!([{ "meters": { "rows": { field: value } } }]);
    let guard = |field: &str, value: Value| json!([{ "guards": { "queries": { field: value } } }]);
    let budget =
        |field: &str, value: Value| json!([{ "budgets": { "credits": { field: value } } }]);
    let limit = |field: &str, value: Value| json!([{ "limits": { "per_ip": { field: value } } }]);
    let weights = "0 is outside 0.000001 to 1000000";
    let amounts = "must be an integer of at least 0 or \"unlimited\", not -1";
    let cases = [
        (json!([{ "weight": 0 }]), "/0/weight", weights),
        (
            json!([{}, { "weight": -1 }]),
            "/1/weight",
            "-1 is outside 0.000001 to 1000000",
        ),
        (
            json!([{ "weight": 0.0000001 }]),
            "/0/weight",
            "0.0000001 has more than 6 decimals",
        ),
        (
            json!([{ "starts_at": -1 }]),
            "/0/starts_at",
            "must be a whole number of at least 0, not -1",
        ),
        (
            json!([{ "starts_at": 9_007_199_254_740_992_u64 }]),
            "/0/starts_at",
            "9007199254740992 is outside 0 to 9007199254740991",
        ),
        (
            json!([{ "expires_at": 0 }]),
            "/0/expires_at",
            "0 is outside 1 to 9007199254740991",
        ),
        (
            json!([{ "starts_at": 10, "expires_at": 10 }]),
            "/0/expires_at",
            "10 is outside 11 to 9007199254740991",
        ),
        (
            json!([{ "starts_at": "now" }]),
            "/0/starts_at",
            "must be a whole number of at least 0, not \"now\"",
        ),
        (
            meter("per_sec", json!(0)),
            "/0/meters/rows/per_sec",
            "0 is outside 0.000000000000001 to 1000000000",
        ),
        (
            meter("per_sec", json!(-3)),
            "/0/meters/rows/per_sec",
            "-3 is outside 0.000000000000001 to 1000000000",
        ),
        (
            meter("burst_seconds", json!(0)),
            "/0/meters/rows/burst_seconds",
            "0 is outside 0.000000000000001 to 86400",
        ),
        (
            meter("max_debt_ms", json!(0)),
            "/0/meters/rows/max_debt_ms",
            "0 is outside 1 to 86400000",
        ),
        (
            guard("concurrency", json!(0)),
            "/0/guards/queries/concurrency",
            "0 is outside 1 to 4096",
        ),
        (
            guard("per_minute", json!(-1)),
            "/0/guards/queries/per_minute",
            amounts,
        ),
        (
            guard("lease_ms", json!(0)),
            "/0/guards/queries/lease_ms",
            "0 is outside 100 to 86400000",
        ),
        (
            budget("weight", json!(0)),
            "/0/budgets/credits/weight",
            weights,
        ),
        (
            budget("lend_max", json!(-1)),
            "/0/budgets/credits/lend_max",
            amounts,
        ),
        (
            limit("limit", json!(0)),
            "/0/limits/per_ip/limit",
            "0 is outside 1 to 9007199254740991",
        ),
        (
            limit("window_ms", json!(1000)),
            "/0/limits/per_ip/window_ms",
            "does not belong to gcra",
        ),
        (
            json!([{ "meters": { "other": {} } }]),
            "/0/meters/other",
            "\"other\" is not a known meter of this policy",
        ),
        (
            json!([{ "guards": { "other": {} } }]),
            "/0/guards/other",
            "\"other\" is not a known guard of this policy",
        ),
        (
            json!([{ "limits": { "other": {} } }]),
            "/0/limits/other",
            "\"other\" is not a known limit of this policy",
        ),
        (
            json!([{ "budgets": { "a/b": {} } }]),
            "/0/budgets/a~1b",
            "\"a/b\" is not a known budget of this policy",
        ),
    ];
    for (overrides, field, message) in cases {
        is_refused(&overrides, field, message);
    }
}

#[test]
fn a_limit_that_is_no_tenants_own_has_no_override() {
    let served = "is not served; served: limits with an algorithm and per_tenant, at scope isolate or region";
    let cases = [
        ("bucket", "a limit whose keys are no tenant's own"),
        ("login", "a limit that is made of others"),
    ];
    for (name, got) in cases {
        let overrides = json!([{ "limits": { name: {} } }]);
        is_refused(
            &overrides,
            &format!("/0/limits/{name}"),
            &format!("{got} {served}"),
        );
    }
}

#[test]
fn fields_that_are_not_known_are_refused_and_never_dropped() {
    let cases = [
        (json!([{ "wieght": 9 }]), "/0/wieght", "wieght"),
        (
            json!([{ "meters": { "rows": { "scope": "region" } } }]),
            "/0/meters/rows/scope",
            "scope",
        ),
        (
            json!([{ "guards": { "queries": { "shadow": true } } }]),
            "/0/guards/queries/shadow",
            "shadow",
        ),
        (
            json!([{ "budgets": { "credits": { "limit": 5 } } }]),
            "/0/budgets/credits/limit",
            "limit",
        ),
        (
            json!([{ "limits": { "per_ip": { "scope": "region" } } }]),
            "/0/limits/per_ip/scope",
            "scope",
        ),
    ];
    for (overrides, field, name) in cases {
        let (at, message) = policy(&document(&overrides)).unwrap_err();
        assert_eq!(at, format!("/tenants/acme/overrides{field}"));
        assert!(
            message.starts_with(&format!("unknown field `{name}`")),
            "{message}"
        );
    }
}

#[test]
fn numbers_are_refused_if_at_any_time_they_cannot_be_together() {
    // 0.0001 a second for a day are 8 units; for the 10 s of the policy, with a minute's debt, not one.
    let slow = |expires_at: Value| {
        json!([
            { "expires_at": expires_at, "meters": { "rows": { "burst_seconds": 86400 } } },
            { "starts_at": 1000, "expires_at": 2000, "meters": { "rows": { "per_sec": 0.0001 } } }
        ])
    };
    assert!(policy(&document(&slow(Value::Null))).is_ok());
    assert!(policy(&document(&slow(json!(2_000)))).is_ok());
    // For a millisecond there is no bucket for it. The field at fault is not one that the override has.
    let (at, message) = policy(&document(&slow(json!(1_999)))).unwrap_err();
    assert_eq!(at, "/tenants/acme/overrides/1/meters/rows");
    assert!(message.starts_with("10 is outside"), "{message}");
}

#[test]
fn a_tenant_has_at_most_16_overrides() {
    let some = |count: usize| json!(vec![json!({ "weight": 9 }); count]);
    assert!(policy(&document(&some(16))).is_ok());
    is_refused(&some(17), "", "17 overrides, at most 16 are allowed");
}

#[test]
fn weights_of_overrides_count_among_the_different_weights() {
    let tenants = |count: u64| {
        let overrides = |base: u64| {
            let claims = json!({ "credits": { "weight": base + 1 } });
            json!([{ "weight": base, "budgets": claims }])
        };
        let names = (0..count).map(|n| {
            (
                format!("t{n}"),
                json!({ "overrides": overrides(10 + 2 * n) }),
            )
        });
        Value::Object(names.collect()).to_string()
    };
    // Two of the tiers, and two of each tenant.
    assert!(policy(&with("/tenants", &tenants(127))).is_ok());
    let refused = policy(&with("/tenants", &tenants(128))).map(|_| ());
    let message = "258 different weights of tiers and tenants, at most 256 are allowed";
    assert_eq!(refused, Err(("/tenants".to_owned(), message.to_owned())));
}
