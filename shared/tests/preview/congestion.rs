//! Overload resources: what an origin took is divided by weight.

use serde_json::{Value, json};
use weir_shared::preview::{Recorded, RecordedInterval, preview};
use weir_shared::wire::rule_kind::RuleKind;

use super::{NOW, built, interval, rows};

fn document(weight: u64) -> Value {
    json!({
        "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
        "tenants": { "a": { "weight": weight } }, "overload": { "origin": {} }
    })
}

fn asked(tenant: &str, at: u64, demand: u64, served: u64) -> RecordedInterval {
    RecordedInterval {
        served,
        ..interval("origin", tenant, at, 60_000, demand)
    }
}

fn recorded(overload: Vec<RecordedInterval>) -> Recorded {
    Recorded {
        overload,
        ..Recorded::default()
    }
}

#[test]
fn what_the_origin_took_goes_by_weight_where_somebody_was_denied() {
    // It took 600: 300 each by equal weights, 450 and 150 at 3 : 1.
    let recorded = recorded(vec![asked("a", 0, 900, 300), asked("b", 0, 900, 300)]);
    let body = preview(&built(&document(1)), &built(&document(3)), &recorded, NOW);
    assert_eq!(
        rows(&body),
        [("origin", "a", 300, 450), ("origin", "b", 300, 150)]
    );
    assert_eq!((body.rows[0].kind, body.intervals), (RuleKind::Overload, 2));
}

#[test]
fn who_asks_for_less_than_its_part_leaves_it_to_the_others() {
    let recorded = recorded(vec![asked("a", 0, 100, 100), asked("b", 0, 900, 500)]);
    let body = preview(&built(&document(1)), &built(&document(9)), &recorded, NOW);
    assert_eq!(
        rows(&body),
        [("origin", "a", 100, 100), ("origin", "b", 500, 500)]
    );
}

#[test]
fn where_nobody_was_denied_nobody_is() {
    let quiet = asked("a", 0, 900, 900);
    let busy = asked("a", 60_000, 900, 400);
    let recorded = recorded(vec![quiet, busy, asked("b", 60_000, 400, 400)]);
    let body = preview(&built(&document(1)), &built(&document(1)), &recorded, NOW);
    assert_eq!(
        rows(&body),
        [("origin", "a", 1_300, 1_300), ("origin", "b", 400, 400)]
    );
}

#[test]
fn without_the_resource_nothing_is_denied_and_strangers_that_the_policy_refuses_get_nothing() {
    let recorded = recorded(vec![asked("a", 0, 900, 300), asked("b", 0, 900, 300)]);
    let mut without = document(1);
    without["overload"] = json!({});
    let body = preview(&built(&document(1)), &built(&without), &recorded, NOW);
    assert_eq!(
        rows(&body),
        [("origin", "a", 300, 900), ("origin", "b", 300, 900)]
    );
    let mut closed = document(1);
    closed["default_tier"] = Value::Null;
    closed["tenants"]["a"]["tier"] = json!("free");
    let body = preview(&built(&document(1)), &built(&closed), &recorded, NOW);
    assert_eq!(
        rows(&body),
        [("origin", "a", 300, 600), ("origin", "b", 300, 0)]
    );
}
