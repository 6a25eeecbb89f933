//! Tenants above tenants, and the bounds of what they borrow and lend.

use crate::document::{policy, whole, with};
use proptest::prelude::*;
use serde_json::{Value, json};
use weir_shared::fairness::ask::{Above, ClaimVersion, Claimant, Floor, SetAside, TenantClaim};
use weir_shared::fairness::weight::Weight;
use weir_shared::ordered::OrderedMap;
use weir_shared::policy::Policy;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::exchange::RankBody;

fn weight(value: f64) -> Weight {
    Weight::try_from(value).unwrap()
}

/// The whole document's policy with other tenants, or the pointer and the message of its refusal.
fn with_tenants(tenants: &Value) -> Result<Policy, (String, String)> {
    policy(&with("/tenants", &tenants.to_string()))
}

/// The claim of a tenant to any budget, before any override.
fn claim(policy: &Policy, tenant: &str) -> Option<Claimant> {
    policy.claimant(tenant, None, Revision(0), EpochMs(0))
}

fn is_refused(tenants: &Value, field: &str, message: &str) {
    let expected = Err((field.to_owned(), message.to_owned()));
    let got = with_tenants(tenants).map(|_| "admitted");
    assert_eq!(got, expected, "{tenants}");
}

/// Tenants that say nothing but who is above them.
fn nested(parents: &[(&str, &str)]) -> Value {
    let mut tenants: OrderedMap<&str, Value> = OrderedMap::new();
    for (name, parent) in parents {
        tenants.entry(parent).or_insert_with(|| json!({}));
        tenants.insert(name, json!({ "parent": parent }));
    }
    json!(tenants)
}

#[test]
fn a_tenants_claim_names_all_above_it_from_its_parent_up() {
    let policy = policy(&whole().to_string()).unwrap();
    let own = TenantClaim {
        weight: weight(0.5),
        known: true,
        borrow_max: None,
        lend_max: Some(9_007_199_254_740_991),
        ceiling: None,
        floor: Floor::default(),
        claim_version: ClaimVersion::default(),
        above: vec![
            Above {
                name: "acme/web".to_owned(),
                weight: weight(1.0), // its tier's
                borrow_max: Some(0),
                lend_max: None,
                ceiling: None,
                floor: Floor::default(),
                floors: SetAside::default(),
            },
            Above {
                name: "acme".to_owned(),
                weight: weight(6.0), // its own
                borrow_max: None,
                lend_max: None,
                ceiling: None,
                floor: Floor::default(),
                floors: SetAside::default(),
            },
        ],
    };
    let name = "acme/web/ann".to_owned();
    assert_eq!(claim(&policy, &name), Some(Claimant { name, claim: own }));
    let alone = claim(&policy, "gold:late").unwrap().claim;
    assert_eq!(
        (alone.weight, alone.known, alone.above),
        (weight(1.0), true, vec![])
    );
}

#[test]
fn a_tenant_without_a_name_in_the_policy_is_not_known_whatever_its_tier() {
    let policy = policy(&whole().to_string()).unwrap();
    for (tenant, micros) in [("stranger", 1_000_000), ("gold:new", 2_500_000)] {
        let claimant = claim(&policy, tenant).unwrap();
        assert_eq!(claimant.name, tenant);
        let own = TenantClaim {
            weight: Weight::from_micros(micros).unwrap(),
            known: false,
            borrow_max: None,
            lend_max: None,
            ceiling: None,
            floor: Floor::default(),
            claim_version: ClaimVersion::default(),
            above: vec![],
        };
        assert_eq!(claimant.claim, own);
    }
}

#[test]
fn a_tenant_that_the_policy_refuses_has_no_claim() {
    let closed = policy(&with("/default_tier", "null")).unwrap();
    assert_eq!(claim(&closed, "stranger"), None);
    assert_eq!(claim(&closed, "heavy"), None, "a weight alone is no tier");
    assert_eq!(claim(&closed, "acme/web/ann").unwrap().claim.above.len(), 2);
}

#[test]
fn a_parent_has_a_weight_of_its_own() {
    let mut document = whole();
    document["default_tier"] = Value::Null;
    document["tenants"]["acme/web"]["tier"] = Value::Null;
    let message = "\"acme/web\" is not a known tenant with a tier";
    let refused = policy(&document.to_string()).unwrap_err();
    assert_eq!(
        refused,
        (
            "/tenants/acme~1web~1ann/parent".to_owned(),
            message.to_owned()
        )
    );
}

#[test]
fn a_claim_survives_the_way_to_a_parent() {
    let policy = policy(&whole().to_string()).unwrap();
    for tenant in ["acme", "acme/web/ann", "heavy", "gold:new", "stranger"] {
        let claimant = claim(&policy, tenant).unwrap();
        let rank = RankBody::from(&claimant);
        assert_eq!(Claimant::try_from((tenant, &rank)), Ok(claimant));
    }
}

#[test]
fn a_parent_is_a_tenant_that_the_policy_names() {
    is_refused(
        &json!({ "a": { "parent": "group" } }),
        "/tenants/a/parent",
        "\"group\" is not a known tenant of this policy",
    );
    // One that resolves by its prefix is not named.
    is_refused(
        &json!({ "a/b": { "parent": "gold:x" } }),
        "/tenants/a~1b/parent",
        "\"gold:x\" is not a known tenant of this policy",
    );
    is_refused(
        &json!({ "a": { "parent": "" } }),
        "/tenants/a/parent",
        "\"\" is not a known tenant of this policy",
    );
    is_refused(
        &json!({ "a": { "parent": 7 } }),
        "/tenants/a/parent",
        "must be a text, not 7",
    );
    // Whatever comes first in the order of names.
    assert!(with_tenants(&nested(&[("a", "z"), ("z", "m")])).is_ok());
}

#[test]
fn no_tenant_is_above_itself() {
    let cycles = [
        (nested(&[("a", "a")]), "a", r#""a" > "a""#),
        (nested(&[("a", "b"), ("b", "a")]), "b", r#""b" > "a" > "b""#),
        (
            nested(&[("a", "c"), ("c", "b"), ("b", "a")]),
            "c",
            r#""c" > "b" > "a" > "c""#,
        ),
        // Those below a cycle are not at fault.
        (
            nested(&[("a", "x"), ("z", "a"), ("x", "y"), ("y", "x")]),
            "y",
            r#""y" > "x" > "y""#,
        ),
        // Nor is a cycle taken for too many levels.
        (
            nested(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a")]),
            "e",
            r#""e" > "a" > "b" > "c" > "d" > "e""#,
        ),
    ];
    for (tenants, at, path) in cycles {
        let message = format!("leads back to itself: {path}");
        is_refused(&tenants, &format!("/tenants/{at}/parent"), &message);
    }
}

#[test]
fn a_long_cycle_is_told_in_few_words() {
    let name = |index: usize| format!("t{index:04}");
    let names: Vec<String> = (0..10_000).map(name).collect();
    let parent = |index: usize| names[(index + 1) % names.len()].as_str();
    let parents: Vec<(&str, &str)> = (0..names.len())
        .map(|index| (names[index].as_str(), parent(index)))
        .collect();
    let path = r#""t9999" > "t0000" > "t0001" > "t0002" > "t0003" > "t0004" > "t0005" > "t0006" > 9992 more > "t9999""#;
    let message = format!("leads back to itself: {path}");
    is_refused(&nested(&parents), "/tenants/t9999/parent", &message);
}

#[test]
fn there_are_at_most_four_levels_of_tenants() {
    let line = [("d", "c"), ("c", "b"), ("b", "a")];
    let policy = with_tenants(&nested(&line)).unwrap();
    let above = claim(&policy, "d").unwrap().claim.above;
    let names: Vec<&str> = above.iter().map(|above| above.name.as_str()).collect();
    assert_eq!(names, ["c", "b", "a"]);
    let mut deeper = line.to_vec();
    deeper.push(("e", "d"));
    let message = "5 levels of tenants, at most 4 are allowed";
    is_refused(&nested(&deeper), "/tenants/e/parent", message);
    deeper.push(("f", "e"));
    is_refused(&nested(&deeper), "/tenants/e/parent", message);
    let message = "6 levels of tenants, at most 4 are allowed";
    let names_fall = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")];
    is_refused(&nested(&names_fall), "/tenants/a/parent", message);
}

#[test]
fn what_is_borrowed_and_lent_at_most_is_a_whole_number_or_unlimited() {
    let tenant = |field: &str, value: Value| {
        let mut tenants = json!({ "a": {} });
        tenants["a"][field] = value;
        tenants
    };
    let kept = [
        (json!(0), Some(0)),
        (json!(5), Some(5)),
        (
            json!(9_007_199_254_740_991_u64),
            Some(9_007_199_254_740_991),
        ),
        (json!("unlimited"), None),
        (Value::Null, None),
    ];
    let expected = r#"an integer of at least 0 or "unlimited""#;
    let refused = [
        ("-1", format!("must be {expected}, not -1")),
        ("1.5", format!("must be {expected}, not 1.5")),
        ("5.0", format!("must be {expected}, not 5.0")),
        ("\"5\"", format!("must be {expected}, not \"5\"")),
        (
            "\"Unlimited\"",
            format!("must be {expected}, not \"Unlimited\""),
        ),
        ("\"\"", format!("must be {expected}, not \"\"")),
        ("true", format!("must be {expected}, not true")),
        ("[]", format!("must be {expected}, not a list")),
        ("{}", format!("must be {expected}, not an object")),
        ("NaN", "expected value".to_owned()),
        ("1e999", "number out of range".to_owned()),
        (
            "9007199254740992",
            "9007199254740992 is outside 0 to 9007199254740991".to_owned(),
        ),
    ];
    for field in ["borrow_max", "lend_max"] {
        for (value, units) in &kept {
            let policy = with_tenants(&tenant(field, value.clone())).unwrap();
            let own = claim(&policy, "a").unwrap().claim;
            let bounds = [("borrow_max", own.borrow_max), ("lend_max", own.lend_max)];
            for (name, bound) in bounds {
                assert_eq!(bound, units.filter(|_| name == field), "{field} {value}");
            }
        }
        let pointer = format!("/tenants/acme/{field}");
        for (literal, message) in &refused {
            let got = policy(&with(&pointer, literal)).map(|_| "admitted");
            assert_eq!(
                got,
                Err((pointer.clone(), message.clone())),
                "{field} {literal}"
            );
        }
    }
}

#[test]
fn a_policy_has_at_most_256_different_weights() {
    // Two of them are the tiers': 2.5 and 1.
    let weights = |count: usize| -> Value {
        let tenants = (0..count).map(|index| (format!("t{index}"), json!({ "weight": index + 2 })));
        Value::Object(tenants.collect())
    };
    assert!(with_tenants(&weights(254)).is_ok());
    let message = "257 different weights of tiers and tenants, at most 256 are allowed";
    is_refused(&weights(255), "/tenants", message);
    // A weight that two have counts once.
    let mut shared = weights(254);
    shared["one"] = json!({ "weight": 1 });
    shared["two"] = json!({ "weight": 2 });
    assert!(with_tenants(&shared).is_ok());
}

/// How many levels `name` and those above it make; `None` where they have no end.
fn levels(parents: &[Option<usize>], name: usize) -> Option<usize> {
    let line = std::iter::successors(Some(name), |name| parents[*name]);
    let levels = line.take(parents.len() + 1).count();
    (levels <= parents.len()).then_some(levels)
}

proptest! {
    #[test]
    fn parents_are_taken_if_and_only_if_they_end_within_four_levels(
        parents in proptest::collection::vec(proptest::option::of(0..7_usize), 7),
    ) {
        let tenants = parents.iter().enumerate().map(|(index, parent)| {
            let parent = parent.map(|parent| format!("t{parent}"));
            (format!("t{index}"), json!({ "parent": parent }))
        });
        let tenants = Value::Object(tenants.collect());
        let levels: Vec<Option<usize>> = (0..7).map(|name| levels(&parents, name)).collect();
        match with_tenants(&tenants) {
            Ok(policy) => for (name, levels) in levels.iter().enumerate() {
                let above = claim(&policy, &format!("t{name}")).unwrap().claim.above;
                prop_assert_eq!(Some(above.len() + 1), *levels);
                prop_assert!(above.len() < 4);
            },
            Err((_, message)) => {
                let endless = levels.contains(&None);
                prop_assert!(endless || levels.iter().flatten().any(|levels| *levels > 4));
                // What has no end is never told as a number of levels, unless another line is too long.
                prop_assert!(endless || message.ends_with("at most 4 are allowed"));
            }
        }
    }
}
