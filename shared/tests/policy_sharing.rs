//! How budgets may be shared: which values fit together, and what they come to.

use crate::document::{policy, whole, with};
use proptest::prelude::*;
use serde_json::{Value, json};
use weir_shared::invalid::read_json;
use weir_shared::policy::budget::{Budget, LeaseBounds};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::exchange::{FloorsBody, LeaseBody, RuleBody, SharingBody, Terms};
use weir_shared::wire::policy::{BudgetBody, Outage, Reserve, Scope};

const INTEGERS: u64 = 9_007_199_254_740_991;

/// A budget that says how it is shared and where it is kept, and nothing that it need not.
fn body(sharing: &str, scope: &str) -> Value {
    json!({ "limit": 100, "window_ms": 1000, "sharing": sharing, "scope": scope })
}

fn and(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

/// The budget among those of a whole document, or the pointer within it and the message of its refusal.
fn saved(body: &Value) -> Result<Budget, (String, String)> {
    let saved = policy(&with("/budgets/it", &body.to_string()));
    saved
        .map(|policy| policy.budgets["it"])
        .map_err(|(field, message)| {
            let field = field.strip_prefix("/budgets/it").unwrap_or("elsewhere");
            (field.to_owned(), message)
        })
}

fn is_refused(body: &Value, field: &str, message: &str) {
    let expected = Err((field.to_owned(), message.to_owned()));
    assert_eq!(saved(body), expected, "{body}");
}

#[test]
fn every_pair_of_sharing_and_scope_is_served_or_refused_at_its_scope() {
    let table = [
        ("first_come", "isolate", None),
        ("first_come", "region", None),
        ("first_come", "global", None),
        ("fair_share", "isolate", None),
        ("fair_share", "region", None),
        ("fair_share", "global", Some("isolate and region")),
        ("weighted_fair_share", "isolate", None),
        ("weighted_fair_share", "region", None),
        ("weighted_fair_share", "global", Some("isolate and region")),
        ("weighted_fair_escrow", "isolate", None),
        ("weighted_fair_escrow", "region", None),
        ("weighted_fair_escrow", "global", None),
        ("static_partition", "isolate", Some("global")),
        ("static_partition", "region", Some("global")),
        ("static_partition", "global", None),
    ];
    for (sharing, scope, served) in table {
        let body = body(sharing, scope);
        match served {
            Some(served) => {
                let message = format!("{sharing} at scope {scope} is not served; served: {served}");
                is_refused(&body, "/scope", &message);
            }
            None => {
                let budget = saved(&body).unwrap();
                assert_eq!(json!(budget.sharing), json!(sharing));
                assert_eq!(json!(budget.scope), json!(scope));
            }
        }
    }
}

#[test]
fn guarantees_are_paced_only_where_there_are_any() {
    let paced = |sharing, scope| and(body(sharing, scope), "reserve", json!("paced"));
    for scope in ["isolate", "region", "global"] {
        let budget = saved(&paced("weighted_fair_escrow", scope)).unwrap();
        assert_eq!(budget.reserve, Reserve::Paced);
    }
    for (sharing, scope) in [
        ("first_come", "global"),
        ("fair_share", "region"),
        ("weighted_fair_share", "isolate"),
        ("static_partition", "global"),
    ] {
        let served = "served: weighted_fair_escrow";
        let message = format!("paced with {sharing} is not served; {served}");
        is_refused(&paced(sharing, scope), "/reserve", &message);
    }
}

#[test]
fn outages_and_lease_bounds_need_a_coordinator() {
    let lease = json!({ "min": 1, "max": 16 });
    let cases = [
        ("outage", json!("regional_only"), "regional_only"),
        ("lease", lease, "a lease with bounds"),
    ];
    for (field, value, got) in cases {
        let given = |sharing, scope| and(body(sharing, scope), field, value.clone());
        for sharing in ["first_come", "weighted_fair_escrow"] {
            assert!(
                saved(&given(sharing, "global")).is_ok(),
                "{field} {sharing}"
            );
        }
        for (sharing, scope, why) in [
            ("first_come", "isolate", "at scope isolate"),
            ("first_come", "region", "at scope region"),
            ("fair_share", "region", "at scope region"),
            ("weighted_fair_escrow", "region", "at scope region"),
            ("static_partition", "global", "with static_partition"),
        ] {
            let served = "served: at scope global, not with static_partition";
            let message = format!("{got} {why} is not served; {served}");
            is_refused(&given(sharing, scope), &format!("/{field}"), &message);
        }
    }
}

#[test]
fn a_default_that_is_written_out_is_taken_with_any_pair() {
    for (sharing, scope) in [
        ("first_come", "isolate"),
        ("fair_share", "region"),
        ("static_partition", "global"),
    ] {
        let mut body = body(sharing, scope);
        let bare = saved(&body).unwrap();
        body["reserve"] = json!("pinned");
        body["outage"] = json!("fail_closed");
        body["lease"] = json!("auto");
        assert_eq!(saved(&body), Ok(bare));
    }
}

#[test]
fn a_lease_has_a_least_and_a_most_within_the_limit() {
    let leased = |lease: Value| and(body("weighted_fair_escrow", "global"), "lease", lease);
    for (min, max) in [(1, 1), (1, 16), (16, 16), (100, 100)] {
        let budget = saved(&leased(json!({ "min": min, "max": max }))).unwrap();
        assert_eq!(budget.lease, Some(LeaseBounds { min, max }));
    }
    assert_eq!(saved(&leased(json!("auto"))).unwrap().lease, None);
    let between = |min, max| json!({ "min": min, "max": max });
    let cases = [
        (between(json!(0), json!(16)), "/min", "0 is outside 1 to 16"),
        (
            between(json!(17), json!(16)),
            "/min",
            "17 is outside 1 to 16",
        ),
        (between(json!(1), json!(0)), "/max", "0 is outside 1 to 100"),
        (
            between(json!(1), json!(101)),
            "/max",
            "101 is outside 1 to 100",
        ),
        (json!({ "min": 1 }), "/max", "is required"),
        (json!({ "max": 1 }), "/min", "is required"),
        (json!({}), "/max", "is required"),
        (between(json!(null), json!(1)), "/min", "is required"),
        (
            between(json!(-1), json!(16)),
            "/min",
            "must be a whole number of at least 0, not -1",
        ),
        (
            between(json!(1), json!(1.5)),
            "/max",
            "must be a whole number of at least 0, not 1.5",
        ),
        (
            between(json!("1"), json!(16)),
            "/min",
            "must be a whole number of at least 0, not \"1\"",
        ),
        (
            json!({ "min": 1, "max": 16, "step": 2 }),
            "/step",
            "unknown field `step`, expected `min` or `max`",
        ),
        (
            json!("manual"),
            "",
            "must be \"auto\" or an object with min and max, not \"manual\"",
        ),
        (
            json!(16),
            "",
            "must be \"auto\" or an object with min and max, not 16",
        ),
        (
            json!([1, 16]),
            "",
            "must be \"auto\" or an object with min and max, not a list",
        ),
    ];
    for (lease, field, message) in cases {
        is_refused(&leased(lease), &format!("/lease{field}"), message);
    }
}

#[test]
fn windows_within_one_holder_may_be_shorter_than_a_second() {
    let windows =
        |scope, window_ms: u64| and(body("first_come", scope), "window_ms", json!(window_ms));
    for scope in ["isolate", "region"] {
        for window_ms in [1, 999, 34_560_000_000] {
            assert_eq!(
                saved(&windows(scope, window_ms)).unwrap().window_ms,
                window_ms
            );
        }
        let range = "is outside 1 to 34560000000";
        is_refused(&windows(scope, 0), "/window_ms", &format!("0 {range}"));
        let above = 34_560_000_001;
        is_refused(
            &windows(scope, above),
            "/window_ms",
            &format!("{above} {range}"),
        );
    }
    assert!(saved(&windows("global", 1_000)).is_ok());
    let range = "999 is outside 1000 to 34560000000";
    is_refused(&windows("global", 999), "/window_ms", range);
}

#[test]
fn terms_say_how_a_budget_is_shared() {
    let policy = policy(&whole().to_string()).unwrap();
    let terms = |name: &str, region: &str| policy.terms(name, region, Revision(7), EpochMs(0));
    let plain = |limit, window_ms| Terms {
        limit,
        window_ms,
        revision: Revision(7),
        cycle: None,
        sharing: None,
        lease: None,
        standing: 0,
    };
    let sharing = |rule| {
        Some(SharingBody {
            rule,
            tenants_max: 5_000,
            unknown_weight_max: 3_250_000,
            floors: FloorsBody::default(),
        })
    };
    assert_eq!(terms("tokens", "weur"), Some(plain(100, 1_000)));
    let credits = Terms {
        sharing: sharing(RuleBody::Paced),
        lease: Some(LeaseBody { min: 2, max: 16 }),
        standing: 3,
        ..plain(300, 60_000)
    };
    assert_eq!(terms("credits", "weur"), Some(credits));
    let bursts = Terms {
        sharing: sharing(RuleBody::Weighted),
        ..plain(10, 1)
    };
    assert_eq!(terms("bursts", "weur"), Some(bursts));
    let calls = Terms {
        sharing: sharing(RuleBody::Fair),
        ..plain(10, 50)
    };
    assert_eq!(terms("calls", "weur"), Some(calls));
    // Each region lends its own slice; one that the policy does not name has none.
    assert_eq!(terms("slices", "weur"), Some(plain(51, 1_000)));
    assert_eq!(terms("slices", "enam"), Some(plain(50, 1_000)));
    assert_eq!(terms("slices", "oc"), None);
    let pinned = saved(&body("weighted_fair_escrow", "region")).unwrap();
    assert_eq!(pinned.rule(), Some(RuleBody::Pinned));
    assert_eq!(pinned.outage, Outage::FailClosed);
}

#[test]
fn a_budget_is_lent_from_where_its_windows_are() {
    for (sharing, scope, root) in [
        ("first_come", "isolate", Scope::Isolate),
        ("fair_share", "region", Scope::Region),
        ("weighted_fair_escrow", "global", Scope::Global),
        ("static_partition", "global", Scope::Region),
    ] {
        assert_eq!(
            saved(&body(sharing, scope)).unwrap().root(),
            root,
            "{sharing}"
        );
    }
}

#[test]
fn each_region_of_a_partition_gets_a_unit_at_least() {
    let sliced = |limit: u64| and(body("static_partition", "global"), "limit", json!(limit));
    let message = format!("1 is outside 2 to {INTEGERS}");
    is_refused(&sliced(1), "/limit", &message);
    assert!(saved(&sliced(2)).is_ok(), "one for each of the two regions");
    let one = policy(&with("/regions", r#"["enam"]"#)).unwrap();
    let alone = one.terms("slices", "enam", Revision(1), EpochMs(0));
    assert_eq!(alone.map(|terms| terms.limit), Some(101));
    let whole = and(body("first_come", "global"), "limit", json!(1));
    assert!(
        saved(&whole).is_ok(),
        "what is not divided has no such bound"
    );
}

proptest! {
    #[test]
    fn slices_add_up_to_the_limit_and_the_first_ones_have_what_remains(
        count in 1..=16_usize,
        limit in prop_oneof![1..1_000_u64, INTEGERS - 1_000..=INTEGERS],
    ) {
        let body: BudgetBody = read_json(body("static_partition", "global").to_string().as_bytes()).unwrap();
        let budget = Budget::try_from(&BudgetBody { limit: Some(limit), ..body }).unwrap();
        let regions: Vec<String> = (0..count).map(|index| format!("r{index}")).collect();
        let slices: Vec<u64> = regions.iter().map(|region| budget.slice(&regions, region)).collect();
        prop_assert_eq!(slices.iter().sum::<u64>(), limit);
        prop_assert!(slices.is_sorted_by(|before, after| before >= after));
        prop_assert!(slices[0] - slices[count - 1] <= 1);
    }
}
