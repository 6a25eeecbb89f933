//! The preview of a candidate policy: who gains and who loses over what was recorded.

mod congestion;
mod keys;

use proptest::prelude::*;
use serde_json::{Value, json};
use weir_shared::fairness::max_min::allocate;
use weir_shared::fairness::weight::Weight;
use weir_shared::invalid::read_json;
use weir_shared::policy::Policy;
use weir_shared::policy::ideal::ideal;
use weir_shared::preview::{Recorded, RecordedInterval, RecordedTenant, RecordedWindow, preview};
use weir_shared::units::EpochMs;
use weir_shared::wire::preview::PreviewBody;
use weir_shared::wire::rule_kind::RuleKind;

const NOW: EpochMs = EpochMs(1_700_000_000_000);

fn document(budget: &Value) -> Value {
    json!({
        "regions": ["weur"], "tiers": { "pro": { "weight": 2 }, "free": { "weight": 1 } },
        "default_tier": "free", "unknown_weight_max": 1,
        "tenants": { "a": { "tier": "pro" }, "b": {}, "c": {} },
        "budgets": { "tokens": budget },
        "meters": { "rows": { "per_sec": 10, "burst_seconds": 2 } },
        "guards": { "queries": { "concurrency": "unlimited", "per_minute": 60 } }
    })
}

fn escrow(limit: u64, reserve: &str) -> Value {
    json!({
        "limit": limit, "window_ms": 1000, "sharing": "weighted_fair_escrow", "scope": "global",
        "reserve": reserve
    })
}

fn built(document: &Value) -> Policy {
    Policy::try_from(&read_json(document.to_string().as_bytes()).unwrap()).unwrap()
}

fn shares(policy: &Value, asked: &[(&str, u64)]) -> Vec<u64> {
    let policy = built(policy);
    ideal(
        &policy,
        "tokens",
        policy.budgets["tokens"].limit,
        asked,
        NOW,
    )
}

fn recorded(windows: &[&[(&str, u64)]]) -> Recorded {
    let window = |(label, asked): (usize, &&[(&str, u64)])| RecordedWindow {
        budget: "tokens".to_owned(),
        label: label as u64,
        limit: 100,
        tenants: asked
            .iter()
            .map(|(tenant, demand)| RecordedTenant {
                tenant: (*tenant).to_owned(),
                demand: *demand,
                served: *demand / 2,
            })
            .collect(),
    };
    Recorded {
        budgets: windows.iter().enumerate().map(window).collect(),
        ..Recorded::default()
    }
}

fn interval(name: &str, tenant: &str, at: u64, interval_ms: u64, demand: u64) -> RecordedInterval {
    RecordedInterval {
        name: name.to_owned(),
        tenant: tenant.to_owned(),
        at: EpochMs(at),
        interval_ms,
        calls: demand,
        demand,
        served: demand,
    }
}

/// Each row's name, tenant, and units by the present policy and by the candidate.
fn rows(body: &PreviewBody) -> Vec<(&str, &str, u128, u128)> {
    let rows = body.rows.iter();
    rows.map(|row| {
        (
            row.name.as_str(),
            row.tenant.as_str(),
            row.present.0,
            row.candidate.0,
        )
    })
    .collect()
}

#[test]
fn each_rule_has_its_own_ideal() {
    // The weights are 2 : 1 : 1, so that of 100 the guarantees are 50, 25 and 25.
    let asked = [("a", 100), ("b", 100), ("c", 10)];
    let sharing = |sharing: &str, scope: &str| json!({ "limit": 100, "window_ms": 1000, "sharing": sharing, "scope": scope });
    let cases = [
        // The 15 that "c" leaves stay reserved.
        (escrow(100, "pinned"), [50, 25, 10]),
        // They go 2 : 1.
        (escrow(100, "paced"), [60, 30, 10]),
        // They go by what is still asked for: 50 and 75.
        (sharing("weighted_fair_share", "region"), [56, 34, 10]),
        // 33 each, and the 24 that are left alike.
        (sharing("fair_share", "region"), [45, 45, 10]),
        // All by what is asked for: 100, 100 and 10 of 210.
        (sharing("first_come", "global"), [47, 48, 5]),
    ];
    for (budget, expected) in cases {
        assert_eq!(shares(&document(&budget), &asked), expected, "{budget}");
    }
}

#[test]
fn what_may_be_borrowed_and_lent_is_bounded() {
    let mut document = document(&escrow(100, "paced"));
    let asked = [("a", 100), ("b", 100), ("c", 10)];
    document["tenants"]["a"]["borrow_max"] = json!(5);
    assert_eq!(shares(&document, &asked), [55, 35, 10]);
    // Of the 15 that "c" does not use 10 are lent; the 5 others are nobody's.
    document["tenants"]["a"]["borrow_max"] = Value::Null;
    document["tenants"]["c"]["lend_max"] = json!(10);
    let shares = shares(&document, &asked);
    assert_eq!((shares.iter().sum::<u64>(), shares[2]), (95, 10));
}

#[test]
fn names_that_the_policy_does_not_have_weigh_no_more_than_they_may_together() {
    let document = document(&escrow(10_000, "paced"));
    let names: Vec<String> = (0..20).map(|n| format!("x{n}")).collect();
    let mut asked: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 9_000)).collect();
    asked.push(("b", 9_000));
    // "b" weighs 1, and so do the 20 others together; each of them is rounded by less than a unit.
    let shares = shares(&document, &asked);
    assert!(shares[20].abs_diff(5_000) <= 20, "{shares:?}");
    assert_eq!(shares.iter().sum::<u64>(), 10_000);
}

#[test]
fn those_below_a_tenant_share_what_it_has() {
    let mut document = document(&escrow(100, "paced"));
    document["tenants"]["x"] = json!({ "parent": "a" });
    document["tenants"]["y"] = json!({ "parent": "a", "weight": 3 });
    // "a" : "b" is 2 : 1, and "x" : "y" 1 : 3 of its 66.
    let shares = shares(&document, &[("x", 100), ("y", 100), ("b", 100)]);
    assert!(shares[2].abs_diff(33) <= 1, "{shares:?}");
    assert!(shares[1].abs_diff(3 * shares[0]) <= 4, "{shares:?}");
    assert_eq!(shares.iter().sum::<u64>(), 100);
}

#[test]
fn who_gains_and_who_loses_is_summed_over_the_windows() {
    let present = built(&document(&escrow(100, "paced")));
    let mut candidate = document(&escrow(100, "paced"));
    candidate["tenants"]["b"] = json!({ "tier": "pro" });
    let recorded = recorded(&[
        &[("a", 100), ("b", 100)], // 67 : 33, then 50 : 50
        &[("a", 10), ("b", 20)],   // enough for both
        &[("b", 300)],             // all of it
    ]);
    let body = preview(&present, &built(&candidate), &recorded, NOW);
    assert_eq!(
        rows(&body),
        [("tokens", "a", 77, 60), ("tokens", "b", 153, 170)]
    );
    assert_eq!(
        (body.gains.clone(), body.loses.clone()),
        (vec!["b".to_owned()], vec!["a".to_owned()])
    );
    assert_eq!((body.gaining, body.losing, body.windows), (1, 1, 3));
    let demand = |index: usize| (body.rows[index].demand.0, body.rows[index].served.0);
    assert_eq!((demand(0), demand(1)), ((110, 55), (420, 210)));
}

#[test]
fn the_same_policy_changes_nothing() {
    let policy = built(&document(&escrow(100, "paced")));
    let mut recorded = recorded(&[&[("a", 100), ("b", 100), ("nobody", 3)]]);
    recorded.meters = vec![interval("rows", "a", 0, 60_000, 5_000)];
    recorded.guards = vec![interval("queries", "a", 0, 60_000, 500)];
    let body = preview(&policy, &policy, &recorded, NOW);
    assert!(body.rows.iter().all(|row| row.present == row.candidate));
    assert_eq!((body.gaining, body.losing), (0, 0));
}

#[test]
fn a_limit_another_length_and_an_end_of_a_budget_are_counted() {
    let present = built(&document(&escrow(100, "paced")));
    let recorded = recorded(&[&[("a", 200)]]);
    let one = |candidate: &Value| {
        let body = preview(&present, &built(candidate), &recorded, NOW);
        rows(&body)[0].3
    };
    assert_eq!(one(&document(&escrow(150, "paced"))), 150);
    // 300 in 2 s are 150 in one.
    let mut longer = escrow(300, "paced");
    longer["window_ms"] = json!(2_000);
    assert_eq!(one(&document(&longer)), 150);
    let mut without = document(&escrow(100, "paced"));
    without["budgets"] = json!({});
    assert_eq!(one(&without), 0);
    let mut closed = document(&escrow(100, "paced"));
    closed["default_tier"] = Value::Null;
    assert_eq!(one(&closed), 100, "\"a\" has a tier of its own");
    closed["tenants"] = json!({});
    assert_eq!(one(&closed), 0, "nobody is taken any more");
}

#[test]
fn a_meter_lets_through_its_rate_and_its_bucket_once() {
    let present = built(&document(&escrow(100, "paced")));
    let mut candidate = document(&escrow(100, "paced"));
    candidate["tenants"]["a"]["overrides"] =
        json!([{ "meters": { "rows": { "per_sec": "unlimited" } } }]);
    let recorded = Recorded {
        meters: vec![
            // 10 a second for a minute, and a bucket of 20.
            interval("rows", "a", 0, 60_000, 1_000),
            // Nothing is left but what flows in,
            interval("rows", "a", 60_000, 60_000, 1_000),
            // and after two seconds' rest a bucket of 20.
            interval("rows", "a", 122_000, 1_000, 1_000),
            interval("rows", "b", 0, 60_000, 5),
        ],
        ..Recorded::default()
    };
    let body = preview(&present, &built(&candidate), &recorded, NOW);
    let a = 620 + 600 + 30;
    assert_eq!(rows(&body), [("rows", "a", a, 3_000), ("rows", "b", 5, 5)]);
    assert_eq!(body.rows[0].kind, RuleKind::Meter);
    assert_eq!((body.gains, body.intervals), (vec!["a".to_owned()], 4));
}

#[test]
fn a_guard_lets_through_its_minute() {
    let present = built(&document(&escrow(100, "paced")));
    let mut candidate = document(&escrow(100, "paced"));
    candidate["guards"]["queries"]["per_minute"] = json!(30);
    let recorded = Recorded {
        guards: vec![interval("queries", "a", 0, 60_000, 500)],
        ..Recorded::default()
    };
    let body = preview(&present, &built(&candidate), &recorded, NOW);
    // A full minute's, and one that flows in.
    assert_eq!(rows(&body), [("queries", "a", 120, 60)]);
    assert_eq!((body.losing, body.rows[0].kind), (1, RuleKind::Guard));
}

#[test]
fn who_is_denied_by_a_rule_that_is_put_in_shadow_mode_gains_and_loses_as_it_is_enforced_again() {
    let enforced = document(&escrow(100, "paced"));
    let mut shadow = enforced.clone();
    shadow["budgets"]["tokens"]["shadow"] = json!(true);
    let mut off = enforced.clone();
    off["enforcing"] = json!(false);
    let asked = recorded(&[&[("a", 90), ("b", 50)]]);
    for lenient in [&shadow, &off] {
        let gained = preview(&built(&enforced), &built(lenient), &asked, NOW);
        assert_eq!(
            rows(&gained),
            [("tokens", "a", 67, 90), ("tokens", "b", 33, 50)]
        );
        assert_eq!((gained.gaining, gained.losing), (2, 0));
        let lost = preview(&built(lenient), &built(&enforced), &asked, NOW);
        assert_eq!((lost.gaining, lost.losing), (0, 2));
    }
}

#[test]
fn a_shadow_whose_numbers_change_counts_as_if_it_denied() {
    let mut present = document(&escrow(100, "paced"));
    present["budgets"]["tokens"]["shadow"] = json!(true);
    let mut candidate = present.clone();
    candidate["budgets"]["tokens"]["limit"] = json!(50);
    let asked = recorded(&[&[("a", 90)]]);
    let body = preview(&built(&present), &built(&candidate), &asked, NOW);
    assert_eq!(rows(&body), [("tokens", "a", 90, 50)]);
}

#[test]
fn a_tenant_that_is_named_is_told_with_what_it_counts_as_and_is_guaranteed_before_and_after() {
    let present = document(&escrow(100, "paced"));
    let mut candidate = present.clone();
    candidate["tenants"]["s1"] = json!({ "weight": 4 });
    let asked = recorded(&[&[("a", 90), ("s1", 9)], &[("s2", 9), ("s3", 9), ("s4", 9)]]);
    let body = preview(&built(&present), &built(&candidate), &asked, NOW);
    let told = serde_json::to_value(&body.claims).unwrap();
    // Of 100: 1/4 in 3 while four of weight 1 have a weight of 1 together, then 4 in 7.
    let expected = json!([{
        "budget": "tokens", "tenant": "s1",
        "present": { "weight": 1, "counts_as": 0.25, "guarantee": 8 },
        "candidate": { "weight": 4, "guarantee": 57 },
    }]);
    assert_eq!(told, expected);
    let same = preview(&built(&present), &built(&present), &asked, NOW);
    assert_eq!(same.claims, []);
}

#[test]
fn those_that_change_most_are_listed_and_all_are_counted() {
    let present = built(&document(&escrow(100, "paced")));
    let mut candidate = document(&escrow(100, "paced"));
    candidate["meters"]["rows"]["per_sec"] = json!("unlimited");
    let names: Vec<String> = (0..1_100).map(|n| format!("t{n}")).collect();
    let intervals = names.iter().enumerate().map(|(index, name)| {
        let demand = if index == 777 { 9_000 } else { 100 };
        interval("rows", name, 0, 1_000, demand)
    });
    let recorded = Recorded {
        meters: intervals.collect(),
        ..Recorded::default()
    };
    let body = preview(&present, &built(&candidate), &recorded, NOW);
    assert_eq!(
        (body.rows.len(), body.rows_total, body.gaining),
        (1_000, 1_100, 1_100)
    );
    assert_eq!(
        (body.rows[0].tenant.as_str(), body.gains.len()),
        ("t777", 1_000)
    );
}

proptest! {
    #[test]
    fn no_division_gives_more_than_there_is_or_than_was_asked_for(
        demands in proptest::collection::vec(0..500_u64, 1..8),
        limit in 1..400_u64,
        rule in 0..5_usize,
    ) {
        let sharing = |sharing: &str, scope: &str| {
            json!({ "limit": limit, "window_ms": 1000, "sharing": sharing, "scope": scope })
        };
        let budget = match rule {
            0 => escrow(limit, "pinned"),
            1 => escrow(limit, "paced"),
            2 => sharing("weighted_fair_share", "region"),
            3 => sharing("fair_share", "region"),
            _ => sharing("first_come", "global"),
        };
        let names = ["a", "b", "c", "x0", "x1", "x2", "x3"];
        let asked: Vec<(&str, u64)> = names.into_iter().zip(demands.iter().copied()).collect();
        let given = shares(&document(&budget), &asked);
        let wanted: u64 = asked.iter().map(|(_, demand)| demand).sum();
        let sum: u64 = given.iter().sum();
        prop_assert!(sum <= limit.min(wanted));
        prop_assert!(given.iter().zip(&asked).all(|(given, (_, demand))| given <= demand));
        // But for what pinning keeps, nothing is left while somebody asks.
        prop_assert!(rule == 0 || sum == limit.min(wanted));
    }

    #[test]
    fn among_named_tenants_the_paced_ideal_is_weighted_max_min(
        demands in proptest::collection::vec(0..500_u64, 3),
        limit in 1..400_u64,
    ) {
        let names = ["a", "b", "c"];
        let asked: Vec<(&str, u64)> = names.into_iter().zip(demands.iter().copied()).collect();
        let weights = [2.0, 1.0, 1.0].map(|weight| Weight::try_from(weight).unwrap());
        let there: Vec<usize> = (0..3).filter(|index| demands[*index] > 0).collect();
        let of = |index: &usize| (demands[*index], weights[*index]);
        let (wanted, weights): (Vec<u64>, Vec<Weight>) = there.iter().map(of).unzip();
        let flat = allocate(&wanted, &weights, limit);
        let given = shares(&document(&escrow(limit, "paced")), &asked);
        let given: Vec<u64> = there.iter().map(|index| given[*index]).collect();
        prop_assert_eq!(given, flat);
    }
}
