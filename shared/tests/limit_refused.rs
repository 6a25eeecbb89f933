//! Limits that are refused when the policy is saved: where, and in which words. The ranges of each algorithm's numbers
//! are in the tests of the algorithm; here is that the policy asks it.

use crate::document::limit::{and, body_is_refused, body_is_taken, is_refused};
use crate::document::{policy, with};
use serde_json::{Value, json};

/// A limit of each algorithm, and of each cadence, with every field of its own, and what its fields are said to belong
/// to.
fn kinds() -> [(&'static str, Value); 12] {
    let kinds = [
        (
            "gcra",
            json!({ "algorithm": "gcra", "limit": 100, "period_ms": 60000, "burst": 20 }),
        ),
        (
            "token_bucket",
            json!({ "algorithm": "token_bucket", "capacity": 50, "refill_per_sec": 5 }),
        ),
        (
            "dual_token_bucket",
            json!({
                "algorithm": "dual_token_bucket", "capacity": 50, "refill_per_sec": 5, "peak_capacity": 5, "peak_per_sec": 20
            }),
        ),
        (
            "fixed_window",
            json!({ "algorithm": "fixed_window", "limit": 1000, "window_ms": 3600000 }),
        ),
        (
            "sliding_window",
            json!({ "algorithm": "sliding_window", "limit": 100, "window_ms": 60000, "buckets": 10 }),
        ),
        (
            "sliding_log",
            json!({ "algorithm": "sliding_log", "limit": 5, "window_ms": 3600000 }),
        ),
        (
            "leaky_bucket",
            json!({ "algorithm": "leaky_bucket", "rate_per_sec": 10, "max_queue_ms": 2000 }),
        ),
        (
            "quota with the cadence calendar_month",
            quota(
                "calendar_month",
                ["offset_minutes", "week_starts_on"],
                [60, 1],
            ),
        ),
        (
            "quota with the cadence calendar_week",
            quota(
                "calendar_week",
                ["offset_minutes", "week_starts_on"],
                [-840, 6],
            ),
        ),
        (
            "quota with the cadence calendar_day",
            quota(
                "calendar_day",
                ["offset_minutes", "week_starts_on"],
                [840, 0],
            ),
        ),
        (
            "quota with the cadence fixed",
            quota("fixed", ["period_ms", "anchor"], [86_400_000, 5]),
        ),
        (
            "quota with the cadence rolling",
            quota("rolling", ["period_ms", "buckets"], [86_400_000, 24]),
        ),
    ];
    kinds.map(|(kind, body)| (kind, and(&body, "scope", json!("region"))))
}

fn quota(cadence: &str, fields: [&str; 2], values: [i64; 2]) -> Value {
    json!({
        "algorithm": "quota", "limit": 9, "cadence": cadence, fields[0]: values[0], fields[1]: values[1]
    })
}

/// A value of each field that only some algorithms have.
fn fields() -> [(&'static str, Value); 16] {
    [
        ("limit", json!(5)),
        ("period_ms", json!(5000)),
        ("burst", json!(5)),
        ("capacity", json!(5)),
        ("refill_per_sec", json!(5)),
        ("peak_capacity", json!(5)),
        ("peak_per_sec", json!(5)),
        ("window_ms", json!(5000)),
        ("buckets", json!(5)),
        ("cadence", json!("fixed")),
        ("offset_minutes", json!(60)),
        ("time_zone", json!("Europe/Berlin")),
        ("week_starts_on", json!(0)),
        ("anchor", json!(0)),
        ("rate_per_sec", json!(5)),
        ("max_queue_ms", json!(5)),
    ]
}

#[test]
fn a_field_of_another_algorithm_is_refused_and_never_dropped() {
    for (kind, body) in kinds() {
        body_is_taken(&body);
        let calendar = kind.contains("calendar");
        let mut foreign = 0;
        for (field, value) in fields() {
            if body.get(field).is_some() || calendar && field == "time_zone" {
                continue;
            }
            let message = format!("does not belong to {kind}");
            body_is_refused(&and(&body, field, value), &format!("/{field}"), &message);
            foreign += 1;
        }
        assert!(foreign >= 9, "{kind} has few fields of its own");
    }
}

#[test]
fn a_field_of_a_composite_limit_is_one_of_its_dimensions() {
    let message = "does not belong to a limit that is made of others, which have their own";
    for list in ["all", "any"] {
        let body = json!({ list: ["resets"], "shadow": true, "on_unavailable": "allow" });
        body_is_taken(&body);
        let own = [("scope", json!("region")), ("per_tenant", json!(false))];
        for (field, value) in fields().into_iter().chain(own) {
            body_is_refused(&and(&body, field, value), &format!("/{field}"), message);
        }
    }
}

#[test]
fn what_an_algorithm_needs_is_asked_for_by_its_pointer() {
    let optional = [
        "burst",
        "buckets",
        "offset_minutes",
        "time_zone",
        "week_starts_on",
        "anchor",
    ];
    for (kind, body) in kinds() {
        let mut asked = 0;
        for field in body.as_object().unwrap().keys() {
            let mut least = body.clone();
            least.as_object_mut().unwrap().remove(field);
            let is_gcra = body["algorithm"] == "gcra";
            if field == "algorithm" && !is_gcra {
                // Its fields are foreign to `gcra`, which it then is.
                let other = policy(&with("/limits/it", &least.to_string()));
                assert!(other.is_err(), "{kind}");
                asked += 1;
            } else if optional.contains(&field.as_str()) || field == "algorithm" {
                body_is_taken(&least);
            } else {
                body_is_refused(&least, &format!("/{field}"), "is required");
                asked += 1;
            }
        }
        assert!(asked >= 3, "{kind} needs few fields");
    }
    // Where none is named it is `gcra`.
    body_is_refused(&json!({}), "/scope", "is required");
    body_is_refused(&json!({ "scope": "region" }), "/limit", "is required");
}

#[test]
fn the_numbers_of_each_algorithm_are_bounded() {
    for (kind, body) in kinds() {
        let numbers = [
            "limit",
            "period_ms",
            "burst",
            "window_ms",
            "buckets",
            "capacity",
            "refill_per_sec",
            "rate_per_sec",
        ];
        for field in numbers {
            if body.get(field).is_none() {
                continue;
            }
            let text = with("/limits/it", &and(&body, field, json!(0)).to_string());
            let (at, message) = policy(&text).unwrap_err();
            assert_eq!(at, format!("/limits/it/{field}"), "{kind}");
            assert!(message.starts_with("0 is outside "), "{kind}: {message}");
        }
    }
    let cases = [
        (
            "/limits/weekly/offset_minutes",
            "841",
            "841 is outside -840 to 840",
        ),
        (
            "/limits/weekly/offset_minutes",
            "-841",
            "-841 is outside -840 to 840",
        ),
        ("/limits/weekly/week_starts_on", "7", "7 is outside 0 to 6"),
        ("/limits/zoned/week_starts_on", "7", "7 is outside 0 to 6"),
        (
            "/limits/hourly/limit",
            "\"unlimited\"",
            "must be a whole number of at least 0, not \"unlimited\"",
        ),
        (
            "/limits/hourly/limit",
            "-1",
            "must be a whole number of at least 0, not -1",
        ),
        (
            "/limits/hourly/limit",
            "1.5",
            "must be a whole number of at least 0, not 1.5",
        ),
        (
            "/limits/shape/max_queue_ms",
            "-1",
            "must be a whole number of at least 0, not -1",
        ),
        (
            "/limits/bucket/capacity",
            "-1",
            "-1 is outside 0.000000000000001 to 9007199254740991",
        ),
        (
            "/limits/bucket/refill_per_sec",
            "-0.5",
            "-0.5 is outside 0.000000000000001 to 1000000000",
        ),
        (
            "/limits/shape/rate_per_sec",
            "-1",
            "-1 is outside 0.000000000000001 to 1000000000",
        ),
        (
            "/limits/zoned/time_zone",
            "\"Europe/Atlantis\"",
            "\"Europe/Atlantis\" is not a known time zone",
        ),
        (
            "/limits/zoned/time_zone",
            "\"\"",
            "\"\" is not a known time zone",
        ),
        (
            "/limits/cycle/anchor",
            "0.5",
            "must be a whole number, not 0.5",
        ),
    ];
    for (pointer, literal, message) in cases {
        is_refused(pointer, literal, pointer, message);
    }
}

#[test]
fn a_calendar_has_an_offset_or_a_zone() {
    let both = "cannot be given together with offset_minutes";
    is_refused(
        "/limits/weekly/time_zone",
        "\"Europe/Berlin\"",
        "/limits/weekly/time_zone",
        both,
    );
    is_refused(
        "/limits/zoned/offset_minutes",
        "0",
        "/limits/zoned/time_zone",
        both,
    );
}

#[test]
fn scope_global_is_for_what_can_be_lent_ahead() {
    let served = "served: isolate and region, global with fixed_window, sliding_window or quota";
    let mut lent = 0;
    for (_, body) in kinds() {
        body_is_taken(&and(&body, "scope", json!("isolate")));
        let global = and(&body, "scope", json!("global"));
        let algorithm = body["algorithm"].as_str().unwrap();
        if ["fixed_window", "sliding_window", "quota"].contains(&algorithm) {
            body_is_taken(&global);
            lent += 1;
        } else {
            let message = format!("{algorithm} at scope global is not served; {served}");
            body_is_refused(&global, "/scope", &message);
        }
        body_is_refused(
            &and(&body, "scope", json!("planet")),
            "/scope",
            "unknown variant `planet`, expected one of `isolate`, `region`, `global`",
        );
    }
    assert_eq!(lent, 7);
}

#[test]
fn the_windows_of_a_global_limit_outlast_the_way_of_a_lease() {
    let fixed = json!({ "algorithm": "fixed_window", "limit": 9, "scope": "global" });
    let sliding = json!({ "algorithm": "sliding_window", "limit": 9, "scope": "global" });
    let cycle = json!({ "algorithm": "quota", "cadence": "fixed", "limit": 9, "scope": "global" });
    let rolling =
        json!({ "algorithm": "quota", "cadence": "rolling", "limit": 9, "scope": "global" });
    let lengths = [
        (&fixed, "window_ms"),
        (&sliding, "window_ms"),
        (&cycle, "period_ms"),
        (&rolling, "period_ms"),
    ];
    for (body, field) in lengths {
        let at = format!("/{field}");
        body_is_taken(&and(body, field, json!(1_000)));
        body_is_refused(
            &and(body, field, json!(999)),
            &at,
            "999 is outside 1000 to 34560000000",
        );
        body_is_taken(&and(
            &and(body, field, json!(999)),
            "scope",
            json!("region"),
        ));
    }
    for (body, field) in [(sliding, "window_ms"), (rolling, "period_ms")] {
        let parts = |length_ms: u64, buckets: u64| {
            and(
                &and(&body, field, json!(length_ms)),
                "buckets",
                json!(buckets),
            )
        };
        body_is_taken(&parts(60_000, 100));
        body_is_taken(&parts(1_000, 1));
        let refused = [
            (60_000, 101, "101 is outside 1 to 100"),
            (60_000, 0, "0 is outside 1 to 100"),
            (1_000, 11, "11 is outside 1 to 10"),
            (60_000, 7, "7 is outside 1 to 100 that divide 60000 ms"),
        ];
        for (length_ms, buckets, message) in refused {
            body_is_refused(&parts(length_ms, buckets), "/buckets", message);
        }
        let unsaid = and(&body, field, json!(1_001));
        body_is_refused(
            &unsaid,
            "/buckets",
            "10 is outside 1 to 10 that divide 1001 ms",
        );
        body_is_taken(&and(&parts(60_000, 7), "scope", json!("region")));
    }
}
