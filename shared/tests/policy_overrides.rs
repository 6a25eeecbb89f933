//! Overrides of tenants: when they count, what of them counts, and what is refused.

use crate::document::{policy, with};
use proptest::prelude::*;
use serde_json::{Value, json};
use weir_shared::policy::Policy;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::metering::RateBody;

/// The whole document with "acme" as the one tenant that is named, and these overrides of it.
fn document(overrides: &Value) -> String {
    with(
        "/tenants",
        &json!({ "acme": { "tier": "gold", "overrides": overrides } }).to_string(),
    )
}

fn overridden(overrides: &Value) -> Policy {
    policy(&document(overrides)).unwrap()
}

/// Units per second of "acme"; `None` without a bound.
fn rate(policy: &Policy, ms: u64) -> Option<f64> {
    match policy
        .meter_numbers("rows", "acme", EpochMs(ms))
        .unwrap()
        .per_sec
    {
        RateBody::PerSec(rate) => Some(rate.0),
        RateBody::Unlimited => None,
    }
}

fn weight(policy: &Policy, ms: u64) -> f64 {
    let resolved = policy.resolve("acme", EpochMs(ms)).unwrap();
    resolved.weight.as_f64()
}

#[test]
fn an_override_counts_from_its_first_millisecond_and_at_its_end_what_is_beneath_returns() {
    let policy = overridden(&json!([
        { "starts_at": 5000, "expires_at": 6000, "weight": 9, "meters": { "rows": { "per_sec": 7 } } }
    ]));
    let cases = [
        (0, Some(100.0), 2.5),
        (4_999, Some(100.0), 2.5),
        (5_000, Some(7.0), 9.0),
        (5_999, Some(7.0), 9.0),
        (6_000, Some(100.0), 2.5),
        (u64::MAX, Some(100.0), 2.5),
    ];
    for (ms, per_sec, own) in cases {
        assert_eq!(
            (rate(&policy, ms), weight(&policy, ms)),
            (per_sec, own),
            "{ms}"
        );
    }
}

#[test]
fn an_override_without_a_start_or_an_end_counts_always() {
    let bare = overridden(&json!([{ "weight": 9 }]));
    let null = overridden(&json!([{ "starts_at": null, "expires_at": null, "weight": 9 }]));
    for policy in [bare, null] {
        for ms in [0, 1, 1_700_000_000_000, u64::MAX] {
            assert_eq!(weight(&policy, ms), 9.0);
        }
    }
}

#[test]
fn of_two_in_force_the_one_that_started_later_counts_then_the_one_that_stands_later() {
    let later_first = overridden(&json!([
        { "starts_at": 2000, "expires_at": 3000, "weight": 7 },
        { "starts_at": 1000, "expires_at": 4000, "weight": 5 }
    ]));
    let weights = [
        (999, 2.5),
        (1_000, 5.0),
        (2_000, 7.0),
        (3_000, 5.0),
        (4_000, 2.5),
    ];
    for (ms, own) in weights {
        assert_eq!(weight(&later_first, ms), own, "{ms}");
    }
    let at_once = overridden(&json!([
        { "starts_at": 1000, "expires_at": 3000, "weight": 7 },
        { "starts_at": 1000, "expires_at": 2000, "weight": 5 }
    ]));
    for (ms, own) in [(1_000, 5.0), (1_999, 5.0), (2_000, 7.0), (3_000, 2.5)] {
        assert_eq!(weight(&at_once, ms), own, "{ms}");
    }
}

#[test]
fn inner_fields_inherit_one_by_one() {
    let policy = overridden(&json!([
        { "meters": { "bytes": { "burst_seconds": 4, "max_debt_ms": null } },
          "guards": { "queries": { "per_minute": "unlimited" } } },
        { "starts_at": 1000, "meters": { "bytes": { "max_debt_ms": 2000 } },
          "guards": { "queries": { "concurrency": 9, "per_minute": null } } }
    ]));
    let bytes = |ms| {
        let numbers = policy.meter_numbers("bytes", "acme", EpochMs(ms)).unwrap();
        let RateBody::PerSec(rate) = numbers.per_sec else {
            panic!("no bound")
        };
        (rate.0, numbers.burst_seconds.0, numbers.max_debt_ms)
    };
    // The policy has 0.5, 2.5 and 1000.
    assert_eq!(bytes(999), (0.5, 4.0, 1_000));
    assert_eq!(bytes(1_000), (0.5, 4.0, 2_000));
    let queries = |ms| {
        let terms = policy
            .guard_terms("queries", "acme", Revision(1), EpochMs(ms))
            .unwrap();
        let guard = terms.guard.unwrap();
        (guard.concurrency, guard.per_minute, guard.lease_ms)
    };
    assert_eq!(queries(999), (Some(4), None, 30_000));
    assert_eq!(queries(1_000), (Some(9), None, 30_000));
    // Whoever has no override has the policy's.
    let other = policy.guard_terms("queries", "other", Revision(1), EpochMs(1_000));
    let other = other.unwrap();
    let guard = other.guard.unwrap();
    assert_eq!((guard.concurrency, guard.per_minute), (Some(4), Some(120)));
    assert_eq!((other.key, other.since), (None, 0));
}

#[test]
fn one_tenant_can_be_without_a_bound_and_one_without_a_bound_can_get_one() {
    let policy = overridden(&json!([
        { "starts_at": 1000, "expires_at": 2000, "meters": { "rows": { "per_sec": "unlimited" } },
          "guards": { "exports": { "concurrency": 2 } } }
    ]));
    let asked = |ms| {
        policy
            .meter_terms("rows", "acme", Revision(1), EpochMs(ms))
            .is_some()
    };
    assert_eq!(
        [999, 1_000, 1_999, 2_000].map(asked),
        [true, false, false, true]
    );
    assert!(
        policy
            .meter_terms("rows", "other", Revision(1), EpochMs(1_500))
            .is_some()
    );
    let slots = |tenant, ms| {
        let terms = policy.guard_terms("exports", tenant, Revision(1), EpochMs(ms));
        terms.unwrap().guard.unwrap().concurrency
    };
    assert_eq!([slots("acme", 999), slots("acme", 1_000)], [None, Some(2)]);
    assert_eq!(slots("other", 1_000), None);
}

/// An override by its start, its end and its weight, as a plain search finds the one that counts.
fn by_search(overrides: &[(u64, Option<u64>, u64)], ms: u64) -> Option<u64> {
    let in_force = overrides
        .iter()
        .enumerate()
        .filter(|(_, (starts, ends, _))| *starts <= ms && ends.is_none_or(|ends| ms < ends));
    let newest = in_force.max_by_key(|(index, (starts, ..))| (*starts, *index));
    newest.map(|(_, (.., weight))| *weight)
}

proptest! {
    #[test]
    fn the_override_that_counts_is_the_one_that_a_plain_search_finds(
        spans in proptest::collection::vec((0..20_u64, proptest::option::of(1..20_u64), 1..9_u64), 0..8),
    ) {
        let spans: Vec<_> = spans
            .into_iter()
            .map(|(starts, length, weight)| (starts, length.map(|length| starts + length), weight))
            .collect();
        let bodies = spans.iter().map(|(starts_at, expires_at, weight)| {
            json!({ "starts_at": starts_at, "expires_at": expires_at, "weight": weight })
        });
        let policy = overridden(&Value::Array(bodies.collect()));
        let since = |ms| {
            let party = policy.claimant("acme", None, Revision(1), EpochMs(ms)).unwrap();
            party.claim.claim_version.since
        };
        for ms in 0..45 {
            let expected = by_search(&spans, ms).map_or(2.5, |weight| weight as f64);
            prop_assert_eq!(weight(&policy, ms), expected);
            // Where the word changes, its time does too.
            if ms > 0 && weight(&policy, ms) != weight(&policy, ms - 1) {
                prop_assert_eq!(since(ms), EpochMs(ms));
            }
            prop_assert!(since(ms) <= EpochMs(ms));
        }
    }
}
