//! The limits of a policy: what each comes to, in which parts of a unit it is counted, and what it costs.

use crate::document::{policy, whole, with};
use serde_json::{Value, json};
use weir_shared::algorithms::composite::Mode;
use weir_shared::fairness::weight::Weight;
use weir_shared::federation::schedule::Schedule;
use weir_shared::ordered::OrderedMap;
use weir_shared::policy::limit::{Limit, Rule, Single};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::exchange::{Cycle, PeriodBody, Terms};
use weir_shared::wire::policy::{Cadence, OnUnavailable, Scope};

/// The limits of a policy that has only these.
fn limits(limits: &Value) -> OrderedMap<String, Limit> {
    policy(&with("/limits", &limits.to_string()))
        .unwrap()
        .limits
}

fn single<'a>(limits: &'a OrderedMap<String, Limit>, name: &str) -> &'a Single {
    match &limits[name].rule {
        Rule::Single(single) => single,
        other => panic!("{name} is {other:?}"),
    }
}

fn weight(value: f64) -> Weight {
    Weight::try_from(value).unwrap()
}

#[test]
fn every_limit_of_the_public_contract_is_served() {
    let limits = limits(&json!({
        "per_ip": { "algorithm": "gcra", "limit": 100, "period_ms": 60000, "burst": 20, "scope": "region", "per_tenant": false, "on_unavailable": "deny" },
        "bucket": { "algorithm": "token_bucket", "capacity": 50, "refill_per_sec": 5, "scope": "region" },
        "hourly": { "algorithm": "fixed_window", "limit": 1000, "window_ms": 3600000, "scope": "global" },
        "smooth": { "algorithm": "sliding_window", "limit": 100, "window_ms": 60000, "buckets": 10, "scope": "region" },
        "resets": { "algorithm": "sliding_log", "limit": 5, "window_ms": 3600000, "scope": "region" },
        "monthly": { "algorithm": "quota", "limit": 1000000, "cadence": "calendar_month", "offset_minutes": 0, "week_starts_on": 1, "scope": "global" },
        "cycle": { "algorithm": "quota", "limit": 500, "cadence": "fixed", "period_ms": 86400000, "anchor": 0, "scope": "region" },
        "shape": { "algorithm": "leaky_bucket", "rate_per_sec": 10, "max_queue_ms": 2000, "scope": "region" },
        "login": { "all": [ { "name": "ip", "limit": "per_ip", "weight": 2 }, "resets" ] }
    }));
    let ceilings = [
        ("per_ip", 20, Scope::Region),
        ("bucket", 50, Scope::Region),
        ("hourly", 1_000, Scope::Global),
        ("smooth", 100, Scope::Region),
        ("resets", 5, Scope::Region),
        ("monthly", 1_000_000, Scope::Global),
        ("cycle", 500, Scope::Region),
    ];
    for (name, ceiling, scope) in ceilings {
        let single = single(&limits, name);
        assert_eq!(
            (single.machine.ceiling(), single.scope),
            (ceiling, scope),
            "{name}"
        );
    }
    assert!(matches!(&limits["shape"].rule, Rule::Shaper(shaper) if shaper.scope == Scope::Region));
    let Rule::Composite(login) = &limits["login"].rule else {
        panic!("login is made of others");
    };
    assert_eq!(login.mode, Mode::All);
    let named: Vec<(&str, &str, u64)> = login
        .dimensions
        .iter()
        .map(|dimension| {
            (
                dimension.name.as_str(),
                dimension.limit.as_str(),
                dimension.weight.micros(),
            )
        })
        .collect();
    assert_eq!(
        named,
        [("ip", "per_ip", 2_000_000), ("resets", "resets", 1_000_000)]
    );
}

#[test]
fn what_a_limit_leaves_out_has_a_default() {
    let pairs = [
        (
            json!({ "algorithm": "gcra", "limit": 100, "period_ms": 1000, "scope": "isolate" }),
            json!({ "burst": 100, "per_tenant": false, "shadow": false, "on_unavailable": "deny" }),
        ),
        (
            json!({ "algorithm": "sliding_window", "limit": 100, "window_ms": 1000, "scope": "global" }),
            json!({ "buckets": 10 }),
        ),
        (
            json!({ "algorithm": "quota", "cadence": "rolling", "limit": 100, "period_ms": 1000, "scope": "global" }),
            json!({ "buckets": 10 }),
        ),
        (
            json!({ "algorithm": "quota", "cadence": "fixed", "limit": 100, "period_ms": 1000, "scope": "region" }),
            json!({ "anchor": 0 }),
        ),
        (
            json!({ "algorithm": "quota", "cadence": "calendar_week", "limit": 100, "scope": "region" }),
            json!({ "offset_minutes": 0, "week_starts_on": 1 }),
        ),
    ];
    for (least, added) in pairs {
        let mut spelled = least.clone();
        let fields = added.as_object().unwrap().clone();
        spelled.as_object_mut().unwrap().extend(fields);
        let both = limits(&json!({ "least": least, "spelled": spelled }));
        assert_eq!(both["least"].rule, both["spelled"].rule, "{added}");
        assert!(!both["least"].per_tenant && !both["least"].shadow);
        assert_eq!(both["least"].on_unavailable, OnUnavailable::Deny);
    }
}

#[test]
fn a_limit_says_what_is_not_enforced_and_what_no_answer_means() {
    let policy = policy(&whole().to_string()).unwrap();
    let login = &policy.limits["login"];
    assert!(login.shadow && !login.per_tenant);
    assert_eq!(login.on_unavailable, OnUnavailable::Allow);
    let per_ip = &policy.limits["per_ip"];
    assert!(!per_ip.shadow && per_ip.per_tenant);
    assert_eq!(per_ip.on_unavailable, OnUnavailable::Deny);
}

#[test]
fn a_limit_is_kept_as_the_document_says_it() {
    let policy = policy(&whole().to_string()).unwrap();
    for (name, limit) in &policy.limits {
        let body = serde_json::to_value(&limit.body).unwrap();
        assert_eq!(body, whole()["limits"][name], "{name}");
    }
}

#[test]
fn a_limit_is_counted_so_finely_that_every_weight_is_whole() {
    let cases: [(&[f64], u64); 10] = [
        (&[1.0], 1),
        (&[3.0, 1_000_000.0], 1),
        (&[0.5], 2),
        (&[2.5], 2),
        (&[0.2], 5),
        (&[0.5, 0.2], 10),
        (&[0.25, 0.5], 4),
        (&[0.125, 0.2, 0.04], 200),
        (&[0.3, 0.7], 10),
        (&[0.000001, 0.5], 1_000_000),
    ];
    for (weights, scale) in cases {
        let mut bodies = json!({
            "base": { "algorithm": "fixed_window", "limit": 10, "window_ms": 1000, "scope": "region" },
            "other": { "algorithm": "fixed_window", "limit": 10, "window_ms": 1000, "scope": "region" }
        });
        for (index, weight) in weights.iter().enumerate() {
            let mode = if index % 2 == 0 { "all" } else { "any" };
            let dimension = json!({ "name": "d", "limit": "base", "weight": weight });
            bodies[format!("c{index}")] = json!({ mode: [dimension, "other"] });
        }
        let limits = limits(&bodies);
        let base = single(&limits, "base");
        assert_eq!(base.machine.scale(), scale, "{weights:?}");
        assert_eq!(single(&limits, "other").machine.scale(), 1, "{weights:?}");
        for given in weights {
            // In parts of a unit, a thousand units at this weight are a whole number of them.
            let micros = u128::from(weight(*given).micros()) * u128::from(scale);
            assert_eq!(micros % 1_000_000, 0, "{given}");
            let cost = base.cost(Some(&weight(*given)), 1_000);
            assert_eq!(u128::from(cost), micros / 1_000, "{given}");
        }
        assert_eq!(base.cost(None, 7), 7 * scale, "{weights:?}");
    }
}

#[test]
fn a_cost_that_has_no_room_is_above_every_ceiling() {
    let limits = limits(&json!({
        "base": { "algorithm": "fixed_window", "limit": 9_007_199_254_740_991_u64, "window_ms": 1000, "scope": "region" },
        "heavy": { "all": [ { "name": "h", "limit": "base", "weight": 1_000_000 }, { "name": "l", "limit": "base", "weight": 0.5 } ] }
    }));
    let base = single(&limits, "base");
    let most = 9_007_199_254_740_991;
    assert_eq!(base.cost(Some(&weight(0.5)), most), most);
    assert_eq!(base.cost(Some(&weight(1_000_000.0)), 0), 0);
    assert_eq!(base.cost(Some(&weight(1_000_000.0)), most), u64::MAX);
    assert_eq!(base.cost(Some(&weight(1_000_000.0)), u64::MAX), u64::MAX);
    // A weight that the policy does not give costs a part more, never less.
    assert_eq!(base.cost(Some(&weight(0.3)), 1), 1);
}

#[test]
fn the_terms_of_a_global_limit_are_its_numbers_in_its_parts_of_a_unit() {
    let limits = limits(&json!({
        "fixed": { "algorithm": "fixed_window", "limit": 1000, "window_ms": 3600000, "scope": "global" },
        "smooth": { "algorithm": "sliding_window", "limit": 100, "window_ms": 60000, "buckets": 20, "scope": "global" },
        "unsaid": { "algorithm": "sliding_window", "limit": 100, "window_ms": 60000, "scope": "global" },
        "rolling": { "algorithm": "quota", "cadence": "rolling", "limit": 9, "period_ms": 86400000, "buckets": 24, "scope": "global" },
        "cycle": { "algorithm": "quota", "cadence": "fixed", "limit": 9, "period_ms": 5000, "anchor": -1, "scope": "global" },
        "monthly": { "algorithm": "quota", "cadence": "calendar_month", "limit": 9, "time_zone": "Europe/Berlin", "scope": "global" },
        "weekly": { "algorithm": "quota", "cadence": "calendar_week", "limit": 9, "offset_minutes": -90, "week_starts_on": 0, "scope": "global" },
        "daily": { "algorithm": "quota", "cadence": "calendar_day", "limit": 9, "scope": "global" },
        "halves": { "all": [{ "limit": "fixed", "weight": 0.5 }, { "limit": "rolling", "weight": 0.2 }] }
    }));
    let calendar = |cadence| PeriodBody {
        cadence,
        period_ms: None,
        anchor: None,
        offset_minutes: None,
        time_zone: None,
        week_starts_on: None,
    };
    let day_ms = 86_400_000;
    let cases = [
        ("fixed", 2_000, 3_600_000, None),
        ("smooth", 100, 60_000, Some(Cycle::Sliding { buckets: 20 })),
        ("unsaid", 100, 60_000, Some(Cycle::Sliding { buckets: 10 })),
        ("rolling", 45, day_ms, Some(Cycle::Sliding { buckets: 24 })),
        (
            "cycle",
            9,
            5_000,
            Some(Cycle::Calendar(PeriodBody {
                period_ms: Some(5_000),
                anchor: Some(-1),
                ..calendar(Cadence::Fixed)
            })),
        ),
        (
            "monthly",
            9,
            31 * day_ms,
            Some(Cycle::Calendar(PeriodBody {
                time_zone: Some("Europe/Berlin".to_owned()),
                ..calendar(Cadence::CalendarMonth)
            })),
        ),
        (
            "weekly",
            9,
            7 * day_ms,
            Some(Cycle::Calendar(PeriodBody {
                offset_minutes: Some(-90),
                week_starts_on: Some(0),
                ..calendar(Cadence::CalendarWeek)
            })),
        ),
        (
            "daily",
            9,
            day_ms,
            Some(Cycle::Calendar(calendar(Cadence::CalendarDay))),
        ),
    ];
    for (name, limit, window_ms, cycle) in cases {
        let revision = Revision(7);
        let expected = Terms {
            limit,
            window_ms,
            revision,
            cycle,
            sharing: None,
            lease: None,
            standing: 0,
        };
        let terms = limits[name].terms(revision).unwrap();
        assert_eq!(terms, expected, "{name}");
        assert!(
            Schedule::try_from(&terms).is_ok(),
            "{name} is taken by its coordinator"
        );
    }
}

#[test]
fn a_pool_has_terms_if_the_policy_lends_it() {
    let policy = policy(&whole().to_string()).unwrap();
    let terms = |pool: &str| {
        let terms = policy.terms(pool, "weur", Revision(7), EpochMs(0));
        terms.map(|terms| terms.limit)
    };
    assert_eq!(terms("tokens"), Some(100));
    assert_eq!(terms("hourly\u{1}k"), Some(100_000), "in hundredths");
    assert_eq!(terms("weekly\u{1}acme\u{1}k"), Some(100));
    // Nothing by that name, a limit without a key, a budget with one, and limits that no coordinator keeps.
    for pool in [
        "nothing",
        "nothing\u{1}k",
        "hourly",
        "tokens\u{1}k",
        "per_ip\u{1}k",
        "bucket\u{1}k",
        "shape\u{1}k",
        "login\u{1}k",
        "",
        "hourly\u{1}",
    ] {
        assert_eq!(terms(pool), None, "{pool:?}");
    }
}
