//! Ceilings and floors of tenants in a policy: whose word counts, when, and which policies cannot be kept.

use serde_json::{Value, json};
use weir_shared::fairness::ask::{Floor, SetAside};
use weir_shared::invalid::{Invalid, read_json};
use weir_shared::policy::Policy;
use weir_shared::policy::ideal::ideal;
use weir_shared::report::guarantee;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::effective::Origin;
use weir_shared::wire::exchange::FloorsBody;

/// The budgets keep accounts of tenants, but for `first` and `slices`.
fn read(tiers: &Value, tenants: &Value) -> Result<Policy, Invalid> {
    let budget = |sharing: &str, scope: &str, reserve: &str| json!({ "limit": 1000, "window_ms": 60_000, "sharing": sharing, "scope": scope, "reserve": reserve });
    let document = json!({
        "regions": ["weur", "enam"], "tiers": tiers, "default_tier": "free",
        "tier_rules": [{ "prefix": "pro:", "tier": "pro" }], "tenants": tenants,
        "budgets": {
            "tokens": budget("weighted_fair_escrow", "global", "paced"),
            "pinned": budget("weighted_fair_escrow", "region", "pinned"),
            "weighted": budget("weighted_fair_share", "isolate", "pinned"),
            "fair": budget("fair_share", "region", "pinned"),
            "first": budget("first_come", "global", "pinned"),
            "slices": budget("static_partition", "global", "pinned"),
        }
    });
    Policy::try_from(&read_json(document.to_string().as_bytes())?)
}

fn tiers() -> Value {
    json!({
        "free": { "weight": 1, "budgets": { "tokens": { "ceiling": 400 } } },
        "pro": { "weight": 2, "budgets": { "tokens": { "ceiling": 700, "floor": 50 } } }
    })
}

fn tenants() -> Value {
    json!({
        "pro:own": { "budgets": { "tokens": { "floor": 120 } } },
        "pro:free": { "budgets": { "tokens": { "ceiling": "unlimited", "floor": 0 } } },
        "timed": { "budgets": { "tokens": { "floor": 30 } }, "overrides": [
            { "starts_at": 1000, "expires_at": 3000, "budgets": { "tokens": { "floor": 200 } } },
            { "starts_at": 2000, "expires_at": 4000, "budgets": { "tokens": { "ceiling": 250 } } }
        ] },
        "company": { "budgets": { "tokens": { "floor": 300 } } },
        "company/web": { "parent": "company", "budgets": { "tokens": { "floor": 100 } } }
    })
}

fn policy() -> Policy {
    read(&tiers(), &tenants()).unwrap()
}

#[test]
fn each_part_of_a_claim_is_inherited_for_itself() {
    let policy = policy();
    let claim = |tenant: &str, ms| {
        let party = policy.claimant(tenant, Some("tokens"), Revision(1), EpochMs(ms));
        let claim = party.unwrap().claim;
        let Floor { units, by_name } = claim.floor;
        (claim.ceiling, units, by_name)
    };
    for (tenant, ms, expected) in [
        ("stranger", 0, (Some(400), 0, false)),
        ("pro:stranger", 0, (Some(700), 50, false)),
        ("pro:own", 0, (Some(700), 120, true)),
        ("pro:free", 0, (None, 0, true)),
        ("timed", 999, (Some(400), 30, true)),
        ("timed", 1_000, (Some(400), 200, true)),
        ("timed", 2_999, (Some(250), 200, true)),
        ("timed", 3_000, (Some(250), 30, true)),
        ("timed", 4_000, (Some(400), 30, true)),
    ] {
        assert_eq!(claim(tenant, ms), expected, "{tenant} at {ms}");
    }
    let other = policy.claimant("pro:own", Some("fair"), Revision(1), EpochMs(0));
    let other = other.unwrap().claim;
    assert_eq!((other.ceiling, other.floor.units), (None, 0));
}

#[test]
fn what_counts_is_told_with_whose_word_it_is() {
    let policy = policy();
    let told =
        |tenant: &str, ms| policy.effective(tenant, EpochMs(ms)).unwrap().budgets["tokens"].clone();
    let timed = told("timed", 2_500);
    assert_eq!(
        (timed.floor.value, timed.floor.origin),
        (200, Origin::Override)
    );
    assert_eq!(timed.floor.until, Some(EpochMs(3_000)));
    assert_eq!(
        timed.floor.from.as_deref(),
        Some("/tenants/timed/overrides/0/budgets/tokens/floor")
    );
    assert_eq!(timed.ceiling.value.units(), Some(250));
    assert_eq!(
        timed.ceiling.from.as_deref(),
        Some("/tenants/timed/overrides/1/budgets/tokens/ceiling")
    );
    let own = told("pro:own", 0);
    assert_eq!(
        (own.floor.origin, own.ceiling.origin),
        (Origin::Tenant, Origin::Tier)
    );
    assert_eq!(
        own.ceiling.from.as_deref(),
        Some("/tiers/pro/budgets/tokens/ceiling")
    );
    let plain = policy.effective("stranger", EpochMs(0)).unwrap().budgets["fair"].clone();
    assert_eq!(
        (plain.ceiling.value.units(), plain.ceiling.origin),
        (None, Origin::Default)
    );
    assert_eq!(
        (plain.floor.value, plain.floor.origin),
        (0, Origin::Default)
    );
}

/// What is set aside by name travels with the terms, and below a tenant with the claims of those below it.
#[test]
fn the_sum_of_floors_by_name_follows_the_overrides() {
    let policy = policy();
    let floors = |ms| {
        let terms = policy
            .terms("tokens", "weur", Revision(1), EpochMs(ms))
            .unwrap();
        terms.sharing.unwrap().floors
    };
    let sum = |since, units| FloorsBody { units, since };
    // 120 + 30 + 300; "timed" has 200 for two seconds.
    assert_eq!(floors(0), sum(0, 450));
    assert_eq!(floors(999), sum(0, 450));
    assert_eq!(floors(1_000), sum(1_000, 620));
    assert_eq!(floors(2_500), sum(1_000, 620));
    assert_eq!(floors(3_000), sum(3_000, 450));
    assert_eq!(policy.floors_at("tokens", EpochMs(1_000)), 620);
    assert!(!policy.floors_are_constant("tokens") && policy.floors_are_constant("fair"));
    let other = policy
        .terms("pinned", "weur", Revision(1), EpochMs(0))
        .unwrap();
    assert_eq!(other.sharing.unwrap().floors, FloorsBody::default());
    let web = policy.claimant("company/web", Some("tokens"), Revision(1), EpochMs(0));
    let above = web.unwrap().claim.above.remove(0);
    assert_eq!((above.floor.units, above.floor.by_name), (300, true));
    assert_eq!(
        above.floors,
        SetAside {
            since: EpochMs(0),
            units: 100
        }
    );
}

#[test]
fn what_cannot_be_kept_is_refused_at_its_field() {
    let override_of = |body: Value| json!({ "overrides": [{ "starts_at": 5, "expires_at": 9, "budgets": { "tokens": body } }] });
    let cases = [
        // Whose accounts nobody keeps.
        (
            json!({ "t": { "budgets": { "first": { "ceiling": 5 } } } }),
            "/tenants/t/budgets/first/ceiling",
        ),
        (
            json!({ "t": { "budgets": { "slices": { "floor": 5 } } } }),
            "/tenants/t/budgets/slices/floor",
        ),
        (
            json!({ "t": { "budgets": { "first": { "floor": 0 } } } }),
            "/tenants/t/budgets/first/floor",
        ),
        // Out of range.
        (
            json!({ "t": { "budgets": { "tokens": { "ceiling": 9_007_199_254_740_992_u64 } } } }),
            "/tenants/t/budgets/tokens/ceiling",
        ),
        (
            json!({ "t": { "budgets": { "tokens": { "floor": 9_007_199_254_740_992_u64 } } } }),
            "/tenants/t/budgets/tokens/floor",
        ),
        (
            json!({ "t": { "budgets": { "tokens": { "floor": "unlimited" } } } }),
            "/tenants/t/budgets/tokens/floor",
        ),
        (
            json!({ "t": { "budgets": { "tokens": { "floor": -1 } } } }),
            "/tenants/t/budgets/tokens/floor",
        ),
        // Above the ceiling: at what is said by name.
        (
            json!({ "t": { "budgets": { "tokens": { "floor": 401 } } } }),
            "/tenants/t/budgets/tokens/floor",
        ),
        (
            json!({ "t": { "budgets": { "tokens": { "ceiling": 10, "floor": 11 } } } }),
            "/tenants/t/budgets/tokens/floor",
        ),
        (
            json!({ "pro:t": { "budgets": { "tokens": { "ceiling": 49 } } } }),
            "/tenants/pro:t/budgets/tokens/ceiling",
        ),
        (
            json!({ "t": override_of(json!({ "floor": 401 })) }),
            "/tenants/t/overrides/0/budgets/tokens/floor",
        ),
        (
            json!({ "pro:t": override_of(json!({ "ceiling": 49 })) }),
            "/tenants/pro:t/overrides/0/budgets/tokens/ceiling",
        ),
        // More than there is, at the first that does not fit.
        (
            json!({ "pro:a": { "budgets": { "tokens": { "floor": 600 } } }, "pro:b": { "budgets": { "tokens": { "floor": 401 } } } }),
            "/tenants/pro:b/budgets/tokens/floor",
        ),
        (
            json!({ "pro:a": override_of(json!({ "floor": 700 })), "pro:b": { "budgets": { "tokens": { "floor": 301 } } } }),
            "/tenants/pro:b/budgets/tokens/floor",
        ),
        (
            json!({ "pro:a": { "budgets": { "tokens": { "floor": 301 } } }, "pro:b": override_of(json!({ "floor": 700 })) }),
            "/tenants/pro:b/overrides/0/budgets/tokens/floor",
        ),
        // Below a tenant, more than its ceiling.
        (
            json!({ "p": { "budgets": { "tokens": { "ceiling": 100 } } },
                    "p/a": { "parent": "p", "budgets": { "tokens": { "floor": 60 } } },
                    "p/b": { "parent": "p", "budgets": { "tokens": { "floor": 41 } } } }),
            "/tenants/p~1b/budgets/tokens/floor",
        ),
        (
            json!({ "p": override_of(json!({ "ceiling": 50 })),
                    "p/a": { "parent": "p", "budgets": { "tokens": { "floor": 51 } } } }),
            "/tenants/p~1a/budgets/tokens/floor",
        ),
    ];
    for (tenants, field) in cases {
        let refused = read(&tiers(), &tenants).unwrap_err();
        assert_eq!(refused.field, field, "{tenants}: {}", refused.fault);
    }
    let crossed = json!({ "free": { "weight": 1, "budgets": { "fair": { "ceiling": 4, "floor": 5 } } }, "pro": { "weight": 1 } });
    assert_eq!(
        read(&crossed, &json!({})).unwrap_err().field,
        "/tiers/free/budgets/fair/floor"
    );
    let first = json!({ "free": { "weight": 1, "budgets": { "first": { "floor": 5 } } }, "pro": { "weight": 1 } });
    let refused = read(&first, &json!({})).unwrap_err();
    assert_eq!(refused.field, "/tiers/free/budgets/first/floor");
    assert_eq!(
        refused.fault.to_string(),
        "a ceiling or floor of a tenant with first_come is not served; served: budgets that keep an account of each \
         tenant: fair_share, weighted_fair_share, weighted_fair_escrow"
    );
}

#[test]
fn what_fits_exactly_is_taken() {
    let taken = [
        json!({ "pro:a": { "budgets": { "tokens": { "floor": 600 } } }, "pro:b": { "budgets": { "tokens": { "floor": 400 } } } }),
        // One after the other, never at once.
        json!({
            "pro:a": { "overrides": [{ "expires_at": 5, "budgets": { "tokens": { "floor": 700 } } }] },
            "pro:b": { "overrides": [{ "starts_at": 5, "budgets": { "tokens": { "floor": 700 } } }] }
        }),
        json!({ "t": { "budgets": { "tokens": { "ceiling": 0, "floor": 0 }, "weighted": { "ceiling": 9_007_199_254_740_991_u64 } } } }),
        // Floors of tiers may come to more: they count for whoever is there.
        json!(
            (0..30)
                .map(|i| (format!("pro:{i}"), json!({})))
                .collect::<serde_json::Map<_, _>>()
        ),
        json!({ "p": { "budgets": { "tokens": { "ceiling": 101 } } },
                "p/a": { "parent": "p", "budgets": { "tokens": { "floor": 60 } } },
                "p/b": { "parent": "p", "budgets": { "tokens": { "floor": 41 } } } }),
    ];
    for tenants in taken {
        assert!(read(&tiers(), &tenants).is_ok(), "{tenants}");
    }
}

#[test]
fn more_different_claims_than_a_decision_can_sum_up_are_refused() {
    let many = |count: u64| {
        let each = (0..count).map(|index| {
            let body = json!({ "budgets": { "tokens": { "ceiling": index } } });
            (format!("t{index}"), body)
        });
        json!(each.collect::<serde_json::Map<_, _>>())
    };
    let tiers = json!({ "free": { "weight": 1 }, "pro": { "weight": 1 } });
    assert!(read(&tiers, &many(1_024)).is_ok());
    let refused = read(&tiers, &many(1_025)).unwrap_err();
    assert_eq!(refused.field, "/budgets/tokens");
}

/// What a window would have come to, had all been known at its start.
#[test]
fn the_ideal_sets_aside_first_and_passes_no_ceiling() {
    let tiers = json!({ "free": { "weight": 1 }, "pro": { "weight": 2 } });
    let tenants = json!({
        "a": { "budgets": {
            "tokens": { "floor": 400 }, "pinned": { "floor": 400 }, "fair": { "floor": 400 } } },
        "c": { "budgets": {
            "tokens": { "ceiling": 100 }, "pinned": { "ceiling": 100 }, "fair": { "ceiling": 100 } } }
    });
    let policy = read(&tiers, &tenants).unwrap();
    let shares = |budget: &str, asked: [u64; 3]| {
        let asked = [("a", asked[0]), ("b", asked[1]), ("c", asked[2])];
        ideal(&policy, budget, 1_000, &asked, EpochMs(0))
    };
    // 400 and a third of 600 each; what "c" leaves of it goes to the others.
    assert_eq!(shares("tokens", [1_000, 1_000, 1_000]), [650, 250, 100]);
    assert_eq!(shares("pinned", [1_000, 1_000, 1_000]), [600, 200, 100]);
    assert_eq!(shares("fair", [1_000, 1_000, 1_000]), [633, 267, 100]);
    // What is set aside and not asked for is divided.
    assert_eq!(shares("tokens", [100, 1_000, 0]), [100, 900, 0]);
    let guarantees = guarantee::among(&policy, "tokens", ["a", "b", "c"], EpochMs(0));
    assert_eq!(
        ["a", "b", "c"].map(|name| guarantees.units(name)),
        [600, 200, 100]
    );
    // It is set aside also while "a" does not ask.
    let guarantees = guarantee::among(&policy, "tokens", ["b", "c"], EpochMs(0));
    assert_eq!(["b", "c"].map(|name| guarantees.units(name)), [300, 100]);
}
