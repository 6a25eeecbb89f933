//! What tiers and tenants say otherwise than the policy says for all: whose word counts, what is refused, and what it comes
//! to where it is used.

use serde_json::{Value, json};
use weir_shared::federation::pool_name::PoolName;
use weir_shared::invalid::Invalid;
use weir_shared::policy::Policy;
use weir_shared::policy::work::checks;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::effective::{FieldValue, Origin};
use weir_shared::wire::policy::PolicyDocument;

fn document(tiers: &Value, tenants: &Value) -> PolicyDocument {
    serde_json::from_value(json!({
        "regions": ["weur", "enam"], "tiers": tiers, "default_tier": "free",
        "tier_rules": [{ "prefix": "pro:", "tier": "pro" }], "tenants": tenants,
        "budgets": { "tokens": {
            "limit": 700, "window_ms": 60000, "sharing": "weighted_fair_escrow", "scope": "global"
        } },
        "limits": {
            "calls": { "limit": 10, "period_ms": 1000, "burst": 5, "scope": "region", "per_tenant": true },
            "monthly": { "algorithm": "quota", "limit": 1000, "cadence": "calendar_month", "scope": "global",
                         "per_tenant": true },
            "per_ip": { "limit": 10, "period_ms": 1000, "scope": "region" },
            "both": { "all": ["calls", "per_ip"] }
        },
        "meters": { "rows": { "per_sec": 100 } },
        "guards": { "queries": { "concurrency": 4, "per_minute": "unlimited" } }
    }))
    .unwrap()
}

fn read(tiers: &Value, tenants: &Value) -> Result<Policy, Invalid> {
    Policy::try_from(&document(tiers, tenants))
}

const NOW: EpochMs = EpochMs(1_500);

/// Everybody has a word on the same things.
fn everybody() -> Policy {
    let tiers = json!({
        "free": { "weight": 1 },
        "pro": {
            "weight": 2, "meters": { "rows": { "per_sec": 200, "burst_seconds": 20 } },
            "guards": { "queries": { "concurrency": 8 } }, "limits": { "calls": { "limit": 20, "burst": 50 } },
            "budgets": { "tokens": { "weight": 3, "borrow_max": 30, "lend_max": 31 } }
        }
    });
    let tenants = json!({
        "pro:named": {
            "meters": { "rows": { "per_sec": 300 } }, "limits": { "calls": { "limit": 30 } },
            "budgets": { "tokens": { "weight": 4, "borrow_max": 40 } }
        },
        "pro:general": { "weight": 5, "borrow_max": 50 },
        "pro:overridden": {
            "meters": { "rows": { "per_sec": 300, "max_debt_ms": 3000 } },
            "budgets": { "tokens": { "weight": 4, "borrow_max": 40 } },
            "overrides": [{
                "starts_at": 1000, "expires_at": 2000, "meters": { "rows": { "per_sec": 400 } },
                "budgets": { "tokens": { "weight": 6 } }
            }]
        }
    });
    read(&tiers, &tenants).unwrap()
}

#[test]
fn an_override_counts_before_the_tenant_the_tenant_before_its_tier_and_that_before_the_policy() {
    let policy = everybody();
    let numbers = |tenant: &str| {
        let numbers = policy.meter_numbers("rows", tenant, NOW).unwrap();
        let terms = numbers.terms().unwrap();
        (terms.per_sec.0, terms.burst_seconds.0, terms.max_debt_ms)
    };
    for (tenant, expected) in [
        ("stranger", (100.0, 10.0, 60_000)),
        ("pro:stranger", (200.0, 20.0, 60_000)),
        ("pro:named", (300.0, 20.0, 60_000)),
        ("pro:overridden", (400.0, 20.0, 3_000)),
    ] {
        assert_eq!(numbers(tenant), expected, "{tenant}");
    }
    let over = policy.meter_numbers("rows", "pro:overridden", EpochMs(2_000));
    assert_eq!(over.unwrap().terms().unwrap().per_sec.0, 300.0);
    let slots = |tenant| {
        policy
            .guard_numbers("queries", tenant, NOW)
            .unwrap()
            .terms()
            .concurrency
    };
    assert_eq!(
        (slots("stranger"), slots("pro:stranger")),
        (Some(4), Some(8))
    );
    let claim = |tenant: &str| {
        let claim = policy
            .claimant(tenant, Some("tokens"), Revision(1), NOW)
            .unwrap()
            .claim;
        (claim.weight.as_f64(), claim.borrow_max, claim.lend_max)
    };
    for (tenant, expected) in [
        ("stranger", (1.0, None, None)),
        ("pro:stranger", (3.0, Some(30), Some(31))),
        ("pro:named", (4.0, Some(40), Some(31))),
        ("pro:general", (5.0, Some(50), Some(31))),
        ("pro:overridden", (6.0, Some(40), Some(31))),
    ] {
        assert_eq!(claim(tenant), expected, "{tenant}");
    }
    // Of no budget in particular it is the tier's general word.
    let claim = policy
        .claimant("pro:stranger", None, Revision(1), NOW)
        .unwrap()
        .claim;
    assert_eq!((claim.weight.as_f64(), claim.borrow_max), (2.0, None));
}

#[test]
fn each_value_is_told_with_whose_word_it_is() {
    let policy = everybody();
    let rows = |tenant: &str| {
        let rows = policy.effective(tenant, NOW).unwrap().meters["rows"].clone();
        (rows.per_sec.origin, rows.per_sec.from, rows.per_sec.until)
    };
    let at = |text: &str| Some(text.to_owned());
    for (tenant, expected) in [
        (
            "stranger",
            (Origin::Policy, at("/meters/rows/per_sec"), None),
        ),
        (
            "pro:stranger",
            (Origin::Tier, at("/tiers/pro/meters/rows/per_sec"), None),
        ),
        (
            "pro:named",
            (
                Origin::Tenant,
                at("/tenants/pro:named/meters/rows/per_sec"),
                None,
            ),
        ),
        (
            "pro:overridden",
            (
                Origin::Override,
                at("/tenants/pro:overridden/overrides/0/meters/rows/per_sec"),
                Some(EpochMs(2_000)),
            ),
        ),
    ] {
        assert_eq!(rows(tenant), expected, "{tenant}");
    }
    for tenant in [
        "stranger",
        "pro:stranger",
        "pro:named",
        "pro:general",
        "pro:overridden",
    ] {
        let told = policy.effective(tenant, NOW).unwrap().budgets["tokens"].clone();
        let claim = policy
            .claimant(tenant, Some("tokens"), Revision(1), NOW)
            .unwrap()
            .claim;
        assert_eq!(told.weight.value.0, claim.weight.as_f64(), "{tenant}");
        assert_eq!(told.borrow_max.value.units(), claim.borrow_max, "{tenant}");
        assert_eq!(told.lend_max.value.units(), claim.lend_max, "{tenant}");
    }
    let weight = |tenant: &str| {
        let told = policy.effective(tenant, NOW).unwrap().budgets["tokens"]
            .weight
            .clone();
        told.from.unwrap()
    };
    assert_eq!(weight("pro:stranger"), "/tiers/pro/budgets/tokens/weight");
    assert_eq!(
        weight("pro:named"),
        "/tenants/pro:named/budgets/tokens/weight"
    );
    assert_eq!(weight("pro:general"), "/tenants/pro:general/weight");
}

#[test]
fn keys_of_a_tenant_that_differs_have_rules_of_their_own() {
    let policy = everybody();
    let terms = |tenant: &str| {
        let key = format!("{tenant}\u{1}login");
        let terms = policy.limit_terms("calls", Some(tenant), &key, 1, Revision(3), NOW);
        let terms = terms.unwrap();
        (terms.key.is_some(), terms.body.limit, terms.body.burst)
    };
    assert_eq!(terms("stranger"), (false, Some(10), Some(5)));
    assert_eq!(terms("pro:stranger"), (true, Some(20), Some(50)));
    assert_eq!(terms("pro:named"), (true, Some(30), Some(50)));
}

#[test]
fn a_quota_of_the_whole_deployment_is_another_for_one_customer() {
    let monthly = json!({ "limit": 5_000_000, "time_zone": "Europe/Zurich" });
    let tenants = json!({ "acme": { "limits": { "monthly": monthly } } });
    let policy = read(
        &json!({ "free": { "weight": 1 }, "pro": { "weight": 1 } }),
        &tenants,
    )
    .unwrap();
    let terms = |tenant: &str| {
        let pool = PoolName::Limit {
            limit: "monthly".to_owned(),
            key: tenant.to_owned(),
        };
        policy
            .terms(&pool.to_string(), "weur", Revision(1), NOW)
            .unwrap()
    };
    assert_eq!(
        (terms("acme").limit, terms("other").limit),
        (5_000_000, 1_000)
    );
    // Zurich is an hour before UTC in winter: its February begins in our January.
    assert_ne!(terms("acme"), terms("other"));
    let told = policy.effective("acme", NOW).unwrap().limits["monthly"].clone();
    assert_eq!(
        told["time_zone"].value,
        FieldValue::Text("Europe/Zurich".to_owned())
    );
    assert_eq!(told["time_zone"].origin, Origin::Tenant);
    assert_eq!(told["cadence"].origin, Origin::Policy);
}

#[test]
fn what_cannot_be_is_refused_where_it_stands() {
    let free = |more: Value| {
        let mut tier = json!({ "weight": 1 });
        tier.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({ "free": tier, "pro": { "weight": 1 } })
    };
    let plain = free(json!({}));
    for (tiers, tenants, field) in [
        (
            free(json!({ "meters": { "nope": {} } })),
            json!({}),
            "/tiers/free/meters/nope",
        ),
        (
            free(json!({ "budgets": { "nope": {} } })),
            json!({}),
            "/tiers/free/budgets/nope",
        ),
        (
            free(json!({ "limits": { "per_ip": {} } })),
            json!({}),
            "/tiers/free/limits/per_ip",
        ),
        (
            free(json!({ "limits": { "both": {} } })),
            json!({}),
            "/tiers/free/limits/both",
        ),
        (
            free(json!({ "guards": { "queries": { "lease_ms": 0 } } })),
            json!({}),
            "/tiers/free/guards/queries/lease_ms",
        ),
        (
            free(json!({ "budgets": { "tokens": { "weight": 0 } } })),
            json!({}),
            "/tiers/free/budgets/tokens/weight",
        ),
        (
            free(json!({ "limits": { "calls": { "window_ms": 5 } } })),
            json!({}),
            "/tiers/free/limits/calls/window_ms",
        ),
        (
            plain.clone(),
            json!({ "acme": { "guards": { "nope": {} } } }),
            "/tenants/acme/guards/nope",
        ),
        (
            plain.clone(),
            json!({ "acme": { "limits": { "calls": { "burst": 0 } } } }),
            "/tenants/acme/limits/calls/burst",
        ),
        // Each is legal by itself, and together they are not: the tenant's word is the last.
        (
            free(json!({ "meters": { "rows": { "per_sec": 1_000_000_000 } } })),
            json!({ "acme": { "meters": { "rows": { "burst_seconds": 1_000_000_000_000_u64 } } } }),
            "/tenants/acme/meters/rows/burst_seconds",
        ),
        // Its windows are lent by the rules of a revision.
        (
            plain.clone(),
            json!({ "acme": { "overrides": [{ "limits": { "monthly": { "limit": 5 } } }] } }),
            "/tenants/acme/overrides/0/limits/monthly",
        ),
    ] {
        let refused = read(&tiers, &tenants).unwrap_err();
        assert_eq!(refused.field, field, "{tiers} {tenants}: {refused}");
    }
}

#[test]
fn the_work_of_a_document_counts_what_tenants_and_tiers_change() {
    let rows = json!({ "rows": { "per_sec": 7 } });
    let tiers = json!({ "free": { "weight": 1, "meters": rows }, "pro": { "weight": 1 } });
    let count = |tenants: Value| checks(&document(&tiers, &tenants));
    assert_eq!(count(json!({ "acme": { "weight": 2 } })), 0);
    assert_eq!(count(json!({ "acme": { "meters": rows } })), 2);
    let overridden = json!({ "meters": rows, "overrides": [{ "expires_at": 5, "meters": rows }] });
    assert_eq!(count(json!({ "acme": overridden })), 3 * 3);
}
