//! What counts for a tenant, each value with whose word it is.

use crate::document::{policy, with};
use serde_json::{Value, json};
use weir_shared::policy::Policy;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::effective::EffectiveBody;

fn resolved() -> Policy {
    let tenants = json!({
        "acme": {
            "tier": "gold", "borrow_max": 7,
            "overrides": [
                {
                    "starts_at": 5000, "expires_at": 6000, "weight": 9,
                    "meters": { "rows": { "per_sec": "unlimited" } },
                    "guards": { "queries": { "concurrency": 8 } },
                    "limits": { "per_ip": { "burst": 40 } },
                    "budgets": { "credits": { "lend_max": 0 } }
                },
                { "starts_at": 5500, "meters": { "rows": { "burst_seconds": 3 } } }
            ]
        },
        "own": { "weight": 6, "parent": "acme" }
    });
    policy(&with("/tenants", &tenants.to_string())).unwrap()
}

fn effective(tenant: &str, ms: u64) -> EffectiveBody {
    resolved().effective(tenant, EpochMs(ms)).unwrap()
}

/// What is at the pointer of the answer.
fn at(body: &EffectiveBody, pointer: &str) -> Value {
    let body = serde_json::to_value(body).unwrap();
    body.pointer(pointer).cloned().unwrap_or_default()
}

fn valued(value: &Value, origin: &str, from: &Value, until: &Value) -> Value {
    json!({ "value": value, "origin": origin, "from": from, "until": until })
}

#[test]
fn every_value_says_whose_word_it_is_and_until_when() {
    let none = Value::Null;
    let acme = effective("acme", 5_000);
    let first = |path: &str| json!(format!("/tenants/acme/overrides/0/{path}"));
    let until = json!(6_000);
    let cases = [
        (
            "/tier",
            json!("gold"),
            "tenant",
            json!("/tenants/acme/tier"),
            &none,
        ),
        ("/weight", json!(9), "override", first("weight"), &until),
        (
            "/meters/rows/per_sec",
            json!("unlimited"),
            "override",
            first("meters/rows/per_sec"),
            &until,
        ),
        (
            "/meters/rows/burst_seconds",
            json!(10),
            "default",
            none.clone(),
            &none,
        ),
        (
            "/meters/bytes/per_sec",
            json!(0.5),
            "policy",
            json!("/meters/bytes/per_sec"),
            &none,
        ),
        (
            "/guards/queries/concurrency",
            json!(8),
            "override",
            first("guards/queries/concurrency"),
            &until,
        ),
        (
            "/guards/queries/per_minute",
            json!(120),
            "policy",
            json!("/guards/queries/per_minute"),
            &none,
        ),
        (
            "/guards/queries/lease_ms",
            json!(30_000),
            "default",
            none.clone(),
            &none,
        ),
        (
            "/limits/per_ip/burst",
            json!(40),
            "override",
            first("limits/per_ip/burst"),
            &until,
        ),
        (
            "/limits/per_ip/limit",
            json!(100),
            "policy",
            json!("/limits/per_ip/limit"),
            &none,
        ),
        (
            "/budgets/credits/weight",
            json!(9),
            "override",
            first("weight"),
            &until,
        ),
        (
            "/budgets/credits/borrow_max",
            json!(7),
            "tenant",
            json!("/tenants/acme/borrow_max"),
            &none,
        ),
        (
            "/budgets/credits/lend_max",
            json!(0),
            "override",
            first("budgets/credits/lend_max"),
            &until,
        ),
    ];
    for (pointer, value, origin, from, until) in cases {
        let expected = valued(&value, origin, &from, until);
        assert_eq!(at(&acme, pointer), expected, "{pointer}");
    }
}

#[test]
fn what_no_override_names_comes_from_where_it_did_before() {
    let none = Value::Null;
    let before = effective("acme", 4_999);
    let weight = valued(&json!(2.5), "tier", &json!("/tiers/gold/weight"), &none);
    assert_eq!(at(&before, "/weight"), weight);
    assert_eq!(at(&before, "/budgets/credits/weight"), weight);
    let unbound = valued(&json!("unlimited"), "default", &none, &none);
    assert_eq!(at(&before, "/budgets/credits/lend_max"), unbound);
    let own = effective("own", 4_999);
    let weight = valued(&json!(6), "tenant", &json!("/tenants/own/weight"), &none);
    assert_eq!(at(&own, "/weight"), weight);
    assert_eq!(own.parent.as_deref(), Some("acme"));
    let tier = |tenant| at(&effective(tenant, 0), "/tier");
    let by_default = valued(&json!("free"), "policy", &json!("/default_tier"), &none);
    assert_eq!(tier("own"), by_default);
    let by_rule = valued(
        &json!("gold"),
        "policy",
        &json!("/tier_rules/0/tier"),
        &none,
    );
    assert_eq!(tier("gold:x"), by_rule);
}

#[test]
fn the_next_change_is_told_and_an_override_without_an_end_has_none() {
    let next = |ms| effective("acme", ms).next_change_at.map(|at| at.0);
    let turns = [0, 4_999, 5_000, 5_500, 5_999, 6_000].map(next);
    let expected = [
        Some(5_000),
        Some(5_000),
        Some(5_500),
        Some(6_000),
        Some(6_000),
        None,
    ];
    assert_eq!(turns, expected);
    let from = json!("/tenants/acme/overrides/1/meters/rows/burst_seconds");
    let burst = valued(&json!(3), "override", &from, &Value::Null);
    assert_eq!(
        at(&effective("acme", 9_000), "/meters/rows/burst_seconds"),
        burst
    );
}

#[test]
fn limits_are_those_with_own_keys_and_budgets_those_that_are_shared() {
    let body = effective("stranger", 0);
    assert!(!body.known);
    assert_eq!(body.limits.keys().collect::<Vec<_>>(), ["per_ip"]);
    assert_eq!(
        body.budgets.keys().collect::<Vec<_>>(),
        ["bursts", "calls", "credits"]
    );
    assert_eq!(body.meters.keys().collect::<Vec<_>>(), ["bytes", "rows"]);
    // The whole policy is not enforcing.
    assert!(body.meters.values().all(|meter| !meter.enforced));
    let enforcing = policy(&with("/enforcing", "true")).unwrap();
    let body = enforcing.effective("stranger", EpochMs(0)).unwrap();
    let enforced = |name: &str| body.meters[name].enforced;
    assert_eq!((enforced("rows"), enforced("bytes")), (true, false));
}

#[test]
fn a_tenant_that_the_policy_refuses_has_nothing() {
    let closed = policy(&with("/default_tier", "null")).unwrap();
    assert_eq!(closed.effective("stranger", EpochMs(0)), None);
}

#[test]
fn what_is_shown_is_what_is_applied() {
    let policy = resolved();
    for ms in [0, 4_999, 5_000, 5_500, 5_999, 6_000, 9_000] {
        for tenant in ["acme", "own", "gold:x", "stranger"] {
            let now = EpochMs(ms);
            let body = policy.effective(tenant, now).unwrap();
            for (name, shown) in &body.meters {
                let applied = policy.meter_numbers(name, tenant, now).unwrap();
                assert_eq!(shown.per_sec.value, applied.per_sec);
                assert_eq!(shown.burst_seconds.value, applied.burst_seconds);
                assert_eq!(shown.max_debt_ms.value, applied.max_debt_ms);
            }
            for (name, shown) in &body.guards {
                let applied = policy.guard_numbers(name, tenant, now).unwrap();
                assert_eq!(shown.concurrency.value, applied.concurrency);
                assert_eq!(shown.per_minute.value, applied.per_minute);
                assert_eq!(shown.lease_ms.value, applied.lease_ms);
            }
            for (name, shown) in &body.budgets {
                let party = policy
                    .claimant(tenant, Some(name), Revision(1), now)
                    .unwrap();
                let claim = party.claim;
                assert_eq!(shown.weight.value.0, claim.weight.as_f64());
                assert_eq!(shown.borrow_max.value.units(), claim.borrow_max);
                assert_eq!(shown.lend_max.value.units(), claim.lend_max);
                assert_eq!(shown.ceiling.value.units(), claim.ceiling);
                assert_eq!(shown.floor.value, claim.floor.units);
            }
            for (name, shown) in &body.limits {
                let applied = policy.limit_at(name, Some(tenant), now).unwrap();
                let burst = applied.body.burst.map(|burst| burst as f64);
                assert_eq!(
                    shown
                        .get("burst")
                        .map(|burst| burst.value.number().unwrap()),
                    burst
                );
            }
        }
    }
}

#[test]
fn an_overload_resource_goes_by_the_weight_in_force_and_says_whether_it_denies() {
    let body = effective("acme", 5_000);
    assert_eq!(body.overload.len(), 2);
    assert_eq!(body.overload["origin"].weight, body.weight);
    assert_eq!(at(&body, "/overload/origin/weight/value"), json!(9));
    assert_eq!(at(&body, "/overload/database/steering"), json!("blue"));
    assert_eq!(
        (
            body.overload["origin"].levels,
            body.overload["origin"].buckets
        ),
        (3, 1_000)
    );
    assert!(!body.overload["origin"].enforced, "nothing is");
    let enforcing = policy(&with("/enforcing", "true")).unwrap();
    let body = enforcing.effective("acme", EpochMs(0)).unwrap();
    assert!(body.overload["origin"].enforced);
    assert!(!body.overload["database"].enforced, "a shadow");
    let tuned = policy(&with("/overload/origin", r#"{"clients":300000}"#)).unwrap();
    let body = tuned.effective("acme", EpochMs(0)).unwrap();
    assert_eq!(at(&body, "/overload/origin/levels"), json!(7));
    assert_eq!(at(&body, "/overload/origin/buckets"), json!(1_000));
    // A server before did not tell its cells, and before that nothing of them.
    let mut before = serde_json::to_value(&body).unwrap();
    let origin = before["overload"]["origin"].as_object_mut().unwrap();
    origin.remove("levels");
    origin.remove("buckets");
    let read: EffectiveBody = serde_json::from_value(before).unwrap();
    assert_eq!(read.overload["origin"].levels, 0);
    let mut before = serde_json::to_value(&body).unwrap();
    before.as_object_mut().unwrap().remove("overload");
    let read: EffectiveBody = serde_json::from_value(before).unwrap();
    assert!(read.overload.is_empty());
}
