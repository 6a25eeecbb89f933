use serde_json::json;
use weir_shared::policy::Policy;
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::PolicyDocument;

use super::*;
use crate::what::Seen;

fn document() -> PolicyDocument {
    serde_json::from_value(json!({
        "regions": ["weur"], "tiers": { "pro": { "weight": 2 } }, "default_tier": "pro",
        "tenants": { "acme": { "overrides": [ { "limits": { "own": { "limit": 50 } } } ] } },
        "limits": {
            "per_ip": { "algorithm": "gcra", "limit": 120, "period_ms": 60_000, "burst": 20, "scope": "region" },
            "bucket": { "algorithm": "token_bucket", "capacity": 50, "refill_per_sec": 5, "scope": "region" },
            "dual": {
                "algorithm": "dual_token_bucket", "capacity": 50, "refill_per_sec": 5, "peak_capacity": 10, "peak_per_sec": 20,
                "scope": "region"
            },
            "hourly": { "algorithm": "fixed_window", "limit": 1000, "window_ms": 3_600_000, "scope": "region" },
            "monthly": { "algorithm": "quota", "limit": 9000, "cadence": "calendar_month", "scope": "global" },
            "shape": { "algorithm": "leaky_bucket", "rate_per_sec": 10, "max_queue_ms": 2000, "scope": "region" },
            "own": { "algorithm": "fixed_window", "limit": 10, "window_ms": 60_000, "scope": "region", "per_tenant": true },
            "login": { "all": ["per_ip", "hourly"] },
        },
        "meters": { "bytes": { "per_sec": 100, "burst_seconds": 10, "max_debt_ms": 60_000 } },
        "guards": { "queries": { "concurrency": 4, "per_minute": 120, "lease_ms": 30_000 } },
    }))
    .unwrap()
}

fn effective() -> EffectiveBody {
    let policy = Policy::try_from(&document()).unwrap();
    policy.effective("acme", EpochMs(1_000)).unwrap()
}

fn stretch(denied_calls: u128, for_want_of_a_slot: u128) -> Stretch {
    let seen = Seen {
        admitted_calls: 10,
        admitted_units: 100,
        denied_calls,
        denied_units: denied_calls * 10,
        for_want_of_a_slot,
        ..Seen::default()
    };
    Stretch {
        interval: Interval { at_ms: 0, seen },
        step_ms: 60_000,
    }
}

fn explained(name: &str) -> Explanation {
    let document = document();
    limit(
        name,
        &document.limits[name],
        Some(&effective()),
        &stretch(7, 0),
    )
}

fn value(explanation: &Explanation, label: &str) -> (String, bool) {
    let step = explanation.steps.iter().find(|step| step.label == label);
    let step = step.unwrap_or_else(|| panic!("no step {label}: {explanation:?}"));
    (step.value.clone(), step.binding)
}

#[test]
fn each_algorithm_is_explained_by_its_own_numbers() {
    for (name, rule, pass) in [
        ("per_ip", "120 units in 1 min, 20 at once", "every 500 ms"),
        (
            "bucket",
            "a bucket of 50 tokens into which 5 flow a second",
            "every 200 ms",
        ),
        (
            "dual",
            "a bucket of 50 tokens into which 5 flow a second, of which 10 may be taken at once and 20 a second",
            "one may be taken every 50 ms; once it is empty, one flows in every 200 ms",
        ),
        ("hourly", "1,000 units in each window of 1 h", "next window"),
        (
            "monthly",
            "9,000 units each month",
            "first day of the next month (UTC)",
        ),
        ("shape", "none may wait longer than 2 s", "every 100 ms"),
        (
            "login",
            "all of per_ip, hourly has to admit",
            "see that limit",
        ),
    ] {
        let explained = explained(name);
        assert!(
            explained.headline.contains(rule),
            "{name}: {}",
            explained.headline
        );
        assert!(
            explained.can_pass.contains(pass),
            "{name}: {}",
            explained.can_pass
        );
        assert_eq!(value(&explained, "Asked for").0, "170", "{name}");
        assert_eq!(value(&explained, "Denied").0, "7", "{name}");
    }
}

#[test]
fn the_most_that_a_bucket_lets_through_adds_up() {
    // 20 at once, and 2 a second for a minute.
    assert_eq!(
        value(&explained("per_ip"), "Most in 1 min"),
        ("140".to_owned(), true)
    );
    assert_eq!(
        value(&explained("bucket"), "Most in 1 min"),
        ("350".to_owned(), false)
    );
}

#[test]
fn what_decided_is_the_burst_where_less_was_asked_for_than_could_flow_in() {
    // 170 units were asked for in the minute: more than 140, less than 350.
    assert_eq!(
        value(&explained("per_ip"), "At once"),
        ("20".to_owned(), false)
    );
    assert_eq!(
        value(&explained("bucket"), "Full bucket"),
        ("50".to_owned(), true)
    );
}

#[test]
fn a_tenants_own_number_counts_before_the_policys() {
    let own = explained("own");
    assert!(
        own.headline.contains("50 units in each window of 1 min"),
        "{}",
        own.headline
    );
    assert!(own.notes[0].starts_with("Each key of the tenant"));
    assert!(explained("per_ip").notes[0].contains("no key belongs to the tenant alone"));
}

#[test]
fn a_meter_says_what_may_be_owed() {
    let effective = effective();
    let explained = meter("bytes", &effective.meters["bytes"], &stretch(7, 0));
    // 100 x 10, 100 x 60 s of debt, and 100 a second for a minute.
    assert_eq!(value(&explained, "Full bucket").0, "1,000");
    assert_eq!(value(&explained, "May owe").0, "6,000");
    assert_eq!(
        value(&explained, "Most in 1 min"),
        ("13,000".to_owned(), false),
        "170 were asked for: they came too close together"
    );
    assert!(value(&explained, "Full bucket").1);
    assert!(explained.can_pass.contains("7,000"));
    let mut free = effective.meters["bytes"].clone();
    free.per_sec.value = RateBody::Unlimited;
    assert!(
        meter("bytes", &free, &stretch(7, 0))
            .headline
            .contains("no bound")
    );
}

#[test]
fn a_guard_tells_slots_from_the_minute() {
    let effective = effective();
    let numbers = &effective.guards["queries"];
    for (denied, slots, headline, pass) in [
        (7, 7, "All 4 slots of queries were taken.", "30 s"),
        (
            7,
            1,
            "The 120 calls a minute of queries were used up.",
            "every 500 ms",
        ),
    ] {
        let explained = guard("queries", numbers, &stretch(denied, slots));
        assert_eq!(explained.headline, headline);
        assert!(explained.can_pass.contains(pass), "{}", explained.can_pass);
        assert_eq!(
            explained.steps.iter().filter(|step| step.binding).count(),
            1
        );
    }
}

#[test]
fn a_figure_that_is_not_whole_keeps_what_says_something() {
    for (value, text) in [
        (0.5, "0.5"),
        (1.0 / 3.0, "0.333"),
        (999.9994, "999.999"),
        (1_234.9, "1,234"),
        (0.0, "0"),
    ] {
        assert_eq!(figure(value), text);
    }
    assert_eq!(one_in(0.0), "never");
    assert_eq!(one_in(5_000.0), "less than 1 ms");
    assert_eq!(overload("origin", 2.0, &stretch(1, 0)).steps[0].value, "2");
}
