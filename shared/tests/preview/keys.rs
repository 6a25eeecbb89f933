//! Limits: the fewest equal keys that explain what was admitted, under the candidate.

use proptest::prelude::*;
use serde_json::{Value, json};
use weir_shared::preview::{Recorded, RecordedInterval, preview};
use weir_shared::wire::accounting::ANONYMOUS;
use weir_shared::wire::preview::PreviewBody;
use weir_shared::wire::rule_kind::RuleKind;

use super::{NOW, built, interval, rows};

fn document(limits: Value) -> Value {
    json!({
        "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
        "limits": limits
    })
}

fn fixed(limit: u64, per_tenant: bool) -> Value {
    let one = json!({
        "algorithm": "fixed_window", "limit": limit, "window_ms": 60_000, "scope": "region", "per_tenant": per_tenant
    });
    document(json!({ "login": one }))
}

fn asked(tenant: &str, at: u64, demand: u64, served: u64) -> RecordedInterval {
    RecordedInterval {
        served,
        ..interval("login", tenant, at, 60_000, demand)
    }
}

fn previewed(present: &Value, candidate: &Value, limits: Vec<RecordedInterval>) -> PreviewBody {
    let recorded = Recorded {
        limits,
        ..Recorded::default()
    };
    preview(&built(present), &built(candidate), &recorded, NOW)
}

#[test]
fn a_tenant_at_its_limit_has_what_the_candidate_gives_one_key() {
    let body = previewed(
        &fixed(100, true),
        &fixed(70, true),
        vec![
            asked("a", 0, 300, 100),
            asked("a", 60_000, 300, 100),
            asked("b", 0, 30, 30),
        ],
    );
    assert_eq!(
        rows(&body),
        [("login", "a", 200, 140), ("login", "b", 30, 30)]
    );
    assert_eq!((body.rows[0].kind, body.losing), (RuleKind::Limit, 1));
}

#[test]
fn more_than_one_key_admits_is_taken_for_as_many_as_admit_it() {
    // 500 of 500 at 100 a key are five keys; at 40 a key they admit 200.
    let one = vec![asked(ANONYMOUS, 0, 500, 500)];
    let body = previewed(&fixed(100, false), &fixed(40, false), one);
    assert_eq!(rows(&body), [("login", ANONYMOUS, 500, 200)]);
    // Who named no tenant is no tenant that loses.
    assert_eq!((body.losing, body.loses.len()), (0, 0));
}

#[test]
fn where_tenants_have_no_keys_of_their_own_they_are_one_stream() {
    // Together they were at the limit of one key: each has half of the candidate's, too.
    let both = vec![asked("a", 0, 100, 50), asked("b", 0, 100, 50)];
    let body = previewed(&fixed(100, false), &fixed(50, false), both.clone());
    let given = rows(&body);
    let sum = |of: fn(&(&str, &str, u128, u128)) -> u128| given.iter().map(of).sum::<u128>();
    assert_eq!((sum(|row| row.2), sum(|row| row.3)), (100, 50));
    assert!(given.iter().all(|row| row.3.abs_diff(25) <= 1), "{given:?}");
    // With keys of their own each would have all of it.
    let body = previewed(&fixed(50, true), &fixed(100, true), both);
    assert!(rows(&body).iter().all(|row| (row.2, row.3) == (50, 100)));
}

#[test]
fn a_limit_that_the_candidate_drops_or_adds_denies_nothing_where_it_is_not() {
    let one = || vec![asked("a", 0, 300, 100)];
    let without = document(json!({}));
    assert_eq!(
        rows(&previewed(&fixed(100, true), &without, one())),
        [("login", "a", 100, 300)]
    );
    assert_eq!(
        rows(&previewed(&without, &fixed(100, true), one())),
        [("login", "a", 300, 100)]
    );
}

#[test]
fn every_algorithm_is_played_by_its_own_machine() {
    let cases = [
        (
            json!({ "algorithm": "gcra", "limit": 60, "period_ms": 60_000 }),
            60..=120,
        ),
        (
            json!({ "algorithm": "token_bucket", "capacity": 20, "refill_per_sec": 1 }),
            79..=80,
        ),
        (
            json!({ "algorithm": "dual_token_bucket", "capacity": 20, "refill_per_sec": 1, "peak_capacity": 10, "peak_per_sec": 2 }),
            79..=80,
        ),
        (
            json!({ "algorithm": "sliding_window", "limit": 60, "window_ms": 60_000 }),
            55..=60,
        ),
        (
            json!({ "algorithm": "sliding_log", "limit": 60, "window_ms": 60_000 }),
            60..=60,
        ),
        (
            json!({ "algorithm": "leaky_bucket", "rate_per_sec": 1, "max_queue_ms": 1 }),
            55..=60,
        ),
    ];
    for (mut limit, expected) in cases {
        limit["scope"] = json!("region");
        limit["per_tenant"] = json!(true);
        let candidate = document(json!({ "login": limit }));
        let body = previewed(
            &fixed(1_000, true),
            &candidate,
            vec![asked("a", 0, 600, 600)],
        );
        let given = u64::try_from(body.rows[0].candidate.0).unwrap();
        assert!(expected.contains(&given), "{limit}: {given}");
    }
}

#[test]
fn a_limit_that_is_made_of_others_is_played_as_they_are() {
    let part = |limit: u64| json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": 60_000, "scope": "region", "per_tenant": true });
    let both = |limit| {
        document(json!({ "login": { "all": ["x", "y"] }, "x": part(limit), "y": part(80) }))
    };
    let body = previewed(&both(90), &both(50), vec![asked("a", 0, 300, 80)]);
    assert_eq!(rows(&body), [("login", "a", 80, 50)]);
}

#[test]
fn ten_thousand_tenants_are_previewed_in_bounded_work() {
    let names: Vec<String> = (0..20_000).map(|number| format!("t{number}")).collect();
    let all = names.iter().map(|name| asked(name, 0, 300, 100));
    let body = previewed(&fixed(100, true), &fixed(70, true), all.collect());
    assert_eq!((body.rows_total, body.losing), (20_000, 20_000));
}

proptest! {
    #[test]
    fn no_key_is_found_where_one_explains_it_and_the_same_policy_changes_nothing(
        limit in 1..200_u64,
        minutes in proptest::collection::vec(0..400_u64, 1..6),
    ) {
        let intervals = minutes.iter().enumerate().map(|(at, demand)| {
            asked("a", at as u64 * 60_000, *demand, (*demand).min(limit))
        });
        let intervals: Vec<_> = intervals.collect();
        let served: u64 = intervals.iter().map(|one| one.served).sum();
        let demand: u64 = intervals.iter().map(|one| one.demand).sum();
        let policy = fixed(limit, true);
        let body = previewed(&policy, &policy, intervals);
        let row = &body.rows[0];
        prop_assert_eq!(row.present, row.candidate);
        prop_assert!(row.present.0 * 100 >= u128::from(served) * 98);
        // One key is enough: a fixed window gives no more than that.
        prop_assert!(row.present.0 <= u128::from(served), "{} of {}", row.present.0, served);
        prop_assert!(row.present.0 <= u128::from(demand));
    }

    #[test]
    fn more_is_never_denied_by_a_wider_limit(
        limit in 1..200_u64,
        more in 0..200_u64,
        minutes in proptest::collection::vec((0..400_u64, 0..100_u64), 1..6),
    ) {
        let intervals = minutes.iter().enumerate().map(|(at, (demand, percent))| {
            asked("a", at as u64 * 60_000, *demand, demand * percent / 100)
        });
        let body = previewed(&fixed(limit, false), &fixed(limit + more, false), intervals.collect());
        for row in &body.rows {
            prop_assert!(row.candidate >= row.present);
            prop_assert!(row.candidate <= row.demand);
        }
    }
}
