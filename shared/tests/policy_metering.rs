//! Meters and guards of the policy document: what they come to, and what is refused, by its pointer.

use crate::document::{policy, whole, with};
use serde_json::{Value, json};
use weir_shared::invalid::read_json;
use weir_shared::policy::Policy;
use weir_shared::policy::guard::GuardNumbers;
use weir_shared::policy::meter::MeterNumbers;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::amount::AmountBody;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::effective::Origin;
use weir_shared::wire::limit_terms::{GuardTerms, MeterTerms};
use weir_shared::wire::metering::RateBody;
use weir_shared::wire::policy::{OnUnavailable, PolicyDocument, Scope};

const SHIPPED: &str = include_str!("../../policy.json");

const NOW: EpochMs = EpochMs(1_700_000_000_000);

fn is_refused(pointer: &str, literal: &str, field: &str, message: &str) {
    let expected = Err((field.to_owned(), message.to_owned()));
    let got = policy(&with(pointer, literal)).map(|_| "admitted");
    assert_eq!(got, expected, "{pointer}: {literal}");
}

#[test]
fn the_shipped_policy_has_the_meters_and_the_guard_of_the_source() {
    let policy = policy(SHIPPED).unwrap();
    // per second, billed
    let source = [
        ("results_ingested", 1_000.0, true),
        ("flow_events", 10_000.0, true),
        ("ingest_bytes", 2_097_152.0, true),
        ("device_metrics", 2_000.0, false),
    ];
    assert_eq!(policy.meters.len(), source.len());
    for (name, per_sec, billable) in source {
        let meter = &policy.meters[name];
        let numbers = MeterNumbers {
            per_sec: RateBody::PerSec(Decimal(per_sec)),
            burst_seconds: Decimal(10.0),
            max_debt_ms: 60_000,
        };
        assert_eq!(meter.numbers, numbers, "{name}");
        assert_eq!(
            (meter.billable, meter.scope),
            (billable, Scope::Global),
            "{name}"
        );
        assert!(!meter.shadow, "{name}");
        for tenant in ["enterprise:a", "nobody has heard of it"] {
            let terms = policy.meter_terms(name, tenant, Revision(1), NOW).unwrap();
            let expected = MeterTerms {
                per_sec: Decimal(per_sec),
                burst_seconds: Decimal(10.0),
                max_debt_ms: 60_000,
            };
            assert_eq!((terms.meter, terms.key), (Some(expected), None), "{name}");
        }
    }
    assert_eq!(policy.guards.len(), 1);
    let guard = &policy.guards["queries"];
    let numbers = GuardNumbers {
        concurrency: AmountBody::Unlimited,
        per_minute: AmountBody::Unlimited,
        lease_ms: 30_000,
    };
    assert_eq!((guard.numbers, guard.scope), (numbers, Scope::Global));
}

#[test]
fn what_a_meter_and_a_guard_leave_out_has_a_default() {
    let policy = policy(&whole().to_string()).unwrap();
    let rows = &policy.meters["rows"];
    let defaults = (Decimal(10.0), 60_000);
    assert_eq!(
        (rows.numbers.burst_seconds, rows.numbers.max_debt_ms),
        defaults
    );
    assert_eq!(
        (rows.scope, rows.billable, rows.shadow),
        (Scope::Global, true, false)
    );
    assert_eq!(rows.on_unavailable, OnUnavailable::Deny);
    let bytes = &policy.meters["bytes"];
    assert_eq!(bytes.numbers.per_sec, RateBody::PerSec(Decimal(0.5)));
    assert_eq!(
        (bytes.scope, bytes.billable, bytes.shadow),
        (Scope::Region, false, true)
    );
    assert_eq!(bytes.on_unavailable, OnUnavailable::Allow);
    let queries = &policy.guards["queries"];
    assert_eq!(
        (queries.numbers.lease_ms, queries.scope),
        (30_000, Scope::Global)
    );
    assert_eq!(
        (queries.shadow, queries.on_unavailable),
        (false, OnUnavailable::Deny)
    );
    let exports = &policy.guards["exports"];
    assert_eq!(
        (exports.numbers.lease_ms, exports.scope),
        (60_000, Scope::Region)
    );
    assert_eq!(
        (exports.shadow, exports.on_unavailable),
        (true, OnUnavailable::Allow)
    );
}

#[test]
fn a_guard_that_leaves_a_bound_out_has_none() {
    let bounds = |body: &str| {
        let policy = policy(&with("/guards/queries", body)).unwrap();
        let terms = policy.guard_terms("queries", "other", Revision(1), NOW);
        let guard = terms.unwrap().guard.unwrap();
        let shown = policy.effective("other", NOW).unwrap();
        let origins = &shown.guards["queries"];
        let origins = [origins.concurrency.origin, origins.per_minute.origin];
        (guard.concurrency, guard.per_minute, origins)
    };
    let (policy, default) = (Origin::Policy, Origin::Default);
    let half = bounds(r#"{"concurrency":4}"#);
    assert_eq!(half, (Some(4), None, [policy, default]));
    assert_eq!(bounds("{}"), (None, None, [default, default]));
    let written = bounds(r#"{"concurrency":"unlimited","per_minute":9}"#);
    assert_eq!(written, (None, Some(9), [policy, policy]));
}

#[test]
fn without_a_bound_a_meter_is_not_asked_and_a_guard_is() {
    let text = with("/meters/rows/per_sec", "\"unlimited\"");
    let policy = policy(&text).unwrap();
    assert_eq!(policy.meter_terms("rows", "a", Revision(1), NOW), None);
    let terms = policy
        .guard_terms("exports", "a", Revision(1), NOW)
        .unwrap();
    let unbounded = GuardTerms {
        concurrency: None,
        per_minute: None,
        lease_ms: 60_000,
    };
    assert_eq!(terms.guard, Some(unbounded));
    assert_eq!(policy.meter_terms("other", "a", Revision(1), NOW), None);
    assert_eq!(policy.guard_terms("other", "a", Revision(1), NOW), None);
}

#[test]
fn the_names_under_which_meters_and_guards_are_kept_are_no_limits() {
    let policy = policy(&whole().to_string()).unwrap();
    let meter = policy
        .meter_terms("rows", "acme", Revision(7), NOW)
        .unwrap();
    let guard = policy
        .guard_terms("queries", "acme", Revision(7), NOW)
        .unwrap();
    assert_eq!(
        (meter.name.as_str(), meter.revision),
        ("meter\u{1}rows", Revision(7))
    );
    assert_eq!((guard.name.as_str(), guard.scale), ("guard\u{1}queries", 1));
    // "acme" has overrides of both, so that it has rules of its own at all times.
    assert_eq!((meter.key.as_deref(), meter.since), (Some("acme"), 0));
    assert_eq!((guard.key.as_deref(), guard.since), (Some("acme"), 0));
}

#[test]
fn every_number_of_a_meter_is_refused_outside_its_range() {
    const RATE: &str = "a number above 0 or \"unlimited\"";
    let range = |got: &str, max: &str| format!("{got} is outside 0.000000000000001 to {max}");
    let cases = [
        ("per_sec", "", "is required".to_owned()),
        ("per_sec", "null", "is required".to_owned()),
        ("per_sec", "0", range("0", "1000000000")),
        ("per_sec", "-1", range("-1", "1000000000")),
        ("per_sec", "-0.5", range("-0.5", "1000000000")),
        ("per_sec", "1000000001", range("1000000001", "1000000000")),
        ("per_sec", "NaN", "expected value".to_owned()),
        ("per_sec", "1e999", "number out of range".to_owned()),
        (
            "per_sec",
            "\"Unlimited\"",
            format!("must be {RATE}, not \"Unlimited\""),
        ),
        ("per_sec", "\"5\"", format!("must be {RATE}, not \"5\"")),
        ("per_sec", "true", format!("must be {RATE}, not true")),
        ("per_sec", "[]", format!("must be {RATE}, not a list")),
        ("per_sec", "{}", format!("must be {RATE}, not an object")),
        ("burst_seconds", "0", range("0", "86400")),
        ("burst_seconds", "-10", range("-10", "86400")),
        ("burst_seconds", "86401", range("86401", "86400")),
        ("burst_seconds", "NaN", "expected value".to_owned()),
        (
            "burst_seconds",
            "\"unlimited\"",
            "must be a number, not \"unlimited\"".to_owned(),
        ),
        ("max_debt_ms", "0", "0 is outside 1 to 86400000".to_owned()),
        (
            "max_debt_ms",
            "86400001",
            "86400001 is outside 1 to 86400000".to_owned(),
        ),
        (
            "max_debt_ms",
            "-1",
            "must be a whole number of at least 0, not -1".to_owned(),
        ),
        (
            "max_debt_ms",
            "1.5",
            "must be a whole number of at least 0, not 1.5".to_owned(),
        ),
        (
            "scope",
            "\"isolate\"",
            "isolate is not served; served: region and global".to_owned(),
        ),
        (
            "scope",
            "\"planet\"",
            "unknown variant `planet`, expected one of `isolate`, `region`, `global`".to_owned(),
        ),
        ("billable", "1", "must be true or false, not 1".to_owned()),
    ];
    for (field, literal, message) in cases {
        let pointer = format!("/meters/bytes/{field}");
        is_refused(&pointer, literal, &pointer, &message);
    }
}

#[test]
fn every_number_of_a_guard_is_refused_outside_its_range() {
    const AMOUNT: &str = "an integer of at least 0 or \"unlimited\"";
    let mut cases = vec![
        ("lease_ms", "0", "0 is outside 100 to 86400000".to_owned()),
        ("lease_ms", "99", "99 is outside 100 to 86400000".to_owned()),
        (
            "lease_ms",
            "86400001",
            "86400001 is outside 100 to 86400000".to_owned(),
        ),
        (
            "lease_ms",
            "-1",
            "must be a whole number of at least 0, not -1".to_owned(),
        ),
        (
            "scope",
            "\"isolate\"",
            "isolate is not served; served: region and global".to_owned(),
        ),
    ];
    for (field, max) in [("concurrency", "4096"), ("per_minute", "12000000")] {
        let above = if field == "concurrency" {
            "4097"
        } else {
            "12000001"
        };
        cases.extend([
            (field, "null", format!("must be {AMOUNT}, not null")),
            (field, "0", format!("0 is outside 1 to {max}")),
            (field, above, format!("{above} is outside 1 to {max}")),
            (field, "-1", format!("must be {AMOUNT}, not -1")),
            (field, "1.5", format!("must be {AMOUNT}, not 1.5")),
            (field, "NaN", "expected value".to_owned()),
            (field, "\"none\"", format!("must be {AMOUNT}, not \"none\"")),
            (field, "true", format!("must be {AMOUNT}, not true")),
        ]);
    }
    for (field, literal, message) in cases {
        let pointer = format!("/guards/exports/{field}");
        is_refused(&pointer, literal, &pointer, &message);
    }
}

#[test]
fn a_meter_that_could_never_admit_a_unit_is_refused() {
    // 0.0001 a second for 10 s is 0.001, and the debt of a second a tenth of that.
    let never = r#"{"per_sec":0.0001,"max_debt_ms":1000}"#;
    let refused = policy(&with("/meters/rows", never)).unwrap_err();
    assert_eq!(refused.0, "/meters/rows/burst_seconds");
    let slow = r#"{"per_sec":0.0001,"burst_seconds":9999,"max_debt_ms":1000}"#;
    assert_eq!(policy(&with("/meters/rows", slow)).map(|_| ()), Ok(()));
}

#[test]
fn fields_and_names_that_are_not_known_are_refused() {
    let unknown = policy(&with("/meters/rows/rate", "5")).unwrap_err();
    assert_eq!(unknown.0, "/meters/rows/rate");
    assert!(
        unknown
            .1
            .starts_with("unknown field `rate`, expected one of `per_sec`")
    );
    let unknown = policy(&with("/guards/queries/limit", "5")).unwrap_err();
    assert_eq!(unknown.0, "/guards/queries/limit");
    let characters = "contains 'R'; allowed are a-z, 0-9, _ and -";
    let rows = r#"{"per_sec":1}"#;
    is_refused("/meters/Rows", rows, "/meters/Rows", characters);
    let queries = r#"{"concurrency":1,"per_minute":1}"#;
    is_refused("/guards/Rows", queries, "/guards/Rows", characters);
    is_refused("/guards/", queries, "/guards/", "is required");
}

#[test]
fn meters_and_guards_have_a_bound() {
    let map = |count: usize, body: &Value| {
        let entries = (0..count).map(|n| (format!("n{n}"), body.clone()));
        let mut map: serde_json::Map<String, Value> = entries.collect();
        // What the tenant's overrides name.
        let (rows, queries) = ("rows".to_owned(), "queries".to_owned());
        map.extend([(rows, body.clone()), (queries, body.clone())]);
        Value::Object(map).to_string()
    };
    let meter = json!({ "per_sec": 1 });
    let guard = json!({ "concurrency": 1, "per_minute": 1 });
    for (pointer, body) in [("/meters", meter), ("/guards", guard)] {
        let message = "257 entries, at most 256 are allowed";
        is_refused(pointer, &map(255, &body), pointer, message);
        assert_eq!(policy(&with(pointer, &map(254, &body))).map(|_| ()), Ok(()));
    }
}

#[test]
fn what_is_unlimited_is_written_as_it_was() {
    let text = r#"{"per_sec":"unlimited","burst_seconds":2.5}"#;
    let body: weir_shared::wire::metering::MeterBody = read_json(text.as_bytes()).unwrap();
    assert_eq!(serde_json::to_string(&body).unwrap(), text);
    let text = r#"{"concurrency":"unlimited","per_minute":120}"#;
    let body: weir_shared::wire::metering::GuardBody = read_json(text.as_bytes()).unwrap();
    assert_eq!(serde_json::to_string(&body).unwrap(), text);
    let document: PolicyDocument = read_json(SHIPPED.as_bytes()).unwrap();
    assert!(Policy::try_from(&document).is_ok());
}
