//! What overrides of tenants come to where they are used: the rules of keys, and claims to budgets.

use crate::document::{policy, with};
use serde_json::{Value, json};
use weir_shared::algorithms::State;
use weir_shared::fairness::ask::ClaimVersion;
use weir_shared::limiting::terms::machine_of;
use weir_shared::policy::Policy;
use weir_shared::policy::limit::Rule;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::policy::OnUnavailable;

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

#[test]
fn rules_of_its_own_say_since_when_and_whoever_heard_of_an_override_hears_of_its_end() {
    let policy = overridden(&json!([
        { "starts_at": 5000, "expires_at": 6000, "meters": { "rows": { "per_sec": 7 } } }
    ]));
    let said = |tenant, ms| {
        let terms = policy
            .meter_terms("rows", tenant, Revision(3), EpochMs(ms))
            .unwrap();
        let per_sec = terms.meter.unwrap().per_sec.0;
        (terms.revision, terms.key, terms.since, per_sec)
    };
    let own = |since, per_sec| (Revision(3), Some("acme".to_owned()), since, per_sec);
    assert_eq!(said("acme", 4_999), own(0, 100.0));
    assert_eq!(said("acme", 5_000), own(5_000, 7.0));
    assert_eq!(said("acme", 9_999), own(6_000, 100.0));
    assert_eq!(said("other", 5_000), (Revision(3), None, 0, 100.0));
    // Nothing that an override does not change is of the tenant's own.
    let bytes = policy.meter_terms("bytes", "acme", Revision(3), EpochMs(5_000));
    assert_eq!(bytes.unwrap().key, None);
}

#[test]
fn an_override_of_a_limit_has_the_rest_of_the_limit_for_each_key_of_that_tenant() {
    let policy = overridden(&json!([
        { "starts_at": 5000, "limits": { "per_ip": { "limit": 1000, "burst": 400 } } }
    ]));
    let quota_policy = |tenant: &str, ms| {
        let limit = policy
            .limit_at("per_ip", Some(tenant), EpochMs(ms))
            .unwrap();
        assert_eq!(
            (limit.per_tenant, limit.on_unavailable),
            (true, OnUnavailable::Deny)
        );
        let Rule::Single(single) = &limit.rule else {
            panic!("made of others")
        };
        // A weight of 2.5 in "login" counts it in halves.
        assert_eq!(single.machine.scale(), 2);
        (
            single.machine.quota_policy().quota,
            single.machine.quota_policy().window_ms,
        )
    };
    assert_eq!(quota_policy("acme", 4_999), (100, 60_000));
    assert_eq!(quota_policy("acme", 5_000), (1_000, 60_000));
    assert_eq!(quota_policy("other", 5_000), (100, 60_000));
    let key = "acme\u{1}203.0.113.9";
    let terms = policy.limit_terms("per_ip", Some("acme"), key, 2, Revision(3), EpochMs(5_000));
    let terms = terms.unwrap();
    assert_eq!(
        (terms.key.as_deref(), terms.since, terms.scale),
        (Some(key), 5_000, 2)
    );
    let machine = machine_of(&terms).unwrap();
    // 400 at once, in halves.
    let checked = machine.check(None, 800, EpochMs(5_000));
    assert!(checked.decision.admitted());
    assert!(matches!(checked.next.unwrap().state, State::Gcra(_)));
    assert!(!machine.check(None, 801, EpochMs(5_000)).decision.admitted());
    let other = policy.limit_terms(
        "per_ip",
        Some("other"),
        "other",
        2,
        Revision(3),
        EpochMs(5_000),
    );
    assert_eq!(other.unwrap().key, None);
    assert_eq!(policy.limit_at("nothing", Some("acme"), EpochMs(0)), None);
}

#[test]
fn a_claim_to_one_budget_may_differ_from_that_to_the_others() {
    let policy = overridden(&json!([
        { "starts_at": 5000, "weight": 9, "budgets": { "credits": { "weight": 4, "borrow_max": 10 } } },
        { "starts_at": 6000, "expires_at": 7000, "weight": 2, "budgets": { "credits": { "borrow_max": "unlimited" } } }
    ]));
    let claim = |budget, ms| {
        let party = policy
            .claimant("acme", budget, Revision(3), EpochMs(ms))
            .unwrap();
        let claim = party.claim;
        assert_eq!((claim.known, claim.lend_max), (true, None));
        (claim.weight.as_f64(), claim.borrow_max, claim.claim_version)
    };
    let claim_version = |since| ClaimVersion {
        revision: Revision(3),
        since: EpochMs(since),
    };
    assert_eq!(claim(Some("credits"), 4_999), (2.5, None, claim_version(0)));
    assert_eq!(
        claim(Some("credits"), 5_000),
        (4.0, Some(10), claim_version(5_000))
    );
    assert_eq!(
        claim(Some("bursts"), 5_000),
        (9.0, None, claim_version(5_000))
    );
    // What is said of one budget counts before what is said of all.
    assert_eq!(
        claim(Some("credits"), 6_000),
        (4.0, None, claim_version(6_000))
    );
    assert_eq!(claim(None, 6_000), (2.0, None, claim_version(6_000)));
    assert_eq!(
        claim(Some("credits"), 7_000),
        (4.0, Some(10), claim_version(7_000))
    );
}
