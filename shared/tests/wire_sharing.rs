//! The exact text of what the exchange says about tenants that share a pool, and which claims are taken.

use crate::wire::pinned::is_written_as;
use crate::wire::samples::{MESSAGE, REPLY, TERMS, message, reply};
use serde_json::{Value, json};
use weir_shared::fairness::ask::Claimant;
use weir_shared::units::{Revision, WindowLabel};
use weir_shared::wire::exchange::{
    AboveBody, AheadBody, ExchangeBody, FloorsBody, Grant, LeaseBody, RankBody, Refusal, ReplyBody,
    RuleBody, SharingBody, Terms, Want,
};

const RANK: &str = r#"{"weight":500000,"known":true,"borrow_max":0,"lend_max":9007199254740991,"above":[{"name":"acme/web","weight":1000000,"borrow_max":5},{"name":"acme","weight":1000000000000,"lend_max":0}]}"#;

fn rank() -> RankBody {
    let above = |name: &str, weight, borrow_max, lend_max| AboveBody {
        name: name.to_owned(),
        weight,
        borrow_max,
        lend_max,
        ceiling: None,
        floor: 0,
        floor_by_name: false,
        floors: FloorsBody::default(),
    };
    RankBody {
        weight: 500_000,
        known: true,
        borrow_max: Some(0),
        lend_max: Some(9_007_199_254_740_991),
        ceiling: None,
        floor: 0,
        floor_by_name: false,
        revision: Revision(0),
        since: 0,
        above: vec![
            above("acme/web", 1_000_000, Some(5), None),
            above("acme", 1_000_000_000_000, None, Some(0)),
        ],
    }
}

/// The claim of a tenant that the policy does not name.
fn stranger() -> RankBody {
    RankBody {
        weight: 1,
        known: false,
        borrow_max: None,
        lend_max: None,
        ceiling: None,
        floor: 0,
        floor_by_name: false,
        revision: Revision(0),
        since: 0,
        above: vec![],
    }
}

#[test]
fn the_claim_of_a_tenant() {
    is_written_as(&rank(), RANK);
    is_written_as(&stranger(), r#"{"weight":1}"#);
    let mut bounded = rank();
    (bounded.ceiling, bounded.floor, bounded.floor_by_name) = (Some(0), 7, true);
    bounded.above.truncate(1);
    let above = &mut bounded.above[0];
    (above.ceiling, above.floor, above.floor_by_name) = (Some(9), 8, true);
    above.floors = FloorsBody {
        units: 7,
        since: 1_000,
    };
    is_written_as(
        &bounded,
        r#"{"weight":500000,"known":true,"borrow_max":0,"lend_max":9007199254740991,"ceiling":0,"floor":7,"floor_by_name":true,"above":[{"name":"acme/web","weight":1000000,"borrow_max":5,"ceiling":9,"floor":8,"floor_by_name":true,"floors":{"units":7,"since":1000}}]}"#,
    );
}

#[test]
fn the_terms_of_a_shared_pool() {
    let rules = [
        (RuleBody::Fair, "fair"),
        (RuleBody::Weighted, "weighted"),
        (RuleBody::Pinned, "pinned"),
        (RuleBody::Paced, "paced"),
        (RuleBody::Pooled, "pooled"),
        (RuleBody::None, "none"),
    ];
    for (rule, name) in rules {
        is_written_as(&rule, &format!("\"{name}\""));
    }
    let sharing = SharingBody {
        rule: RuleBody::Paced,
        tenants_max: 100_000,
        unknown_weight_max: 8_000_000,
        floors: FloorsBody::default(),
    };
    let sharing_text = r#"{"rule":"paced","tenants_max":100000,"unknown_weight_max":8000000}"#;
    is_written_as(&sharing, sharing_text);
    let floors = FloorsBody {
        units: 450,
        since: 0,
    };
    let aside = SharingBody {
        floors,
        ..sharing.clone()
    };
    is_written_as(
        &aside,
        r#"{"rule":"paced","tenants_max":100000,"unknown_weight_max":8000000,"floors":{"units":450}}"#,
    );
    let lease = LeaseBody { min: 1, max: 16 };
    is_written_as(&lease, r#"{"min":1,"max":16}"#);
    let terms = Terms {
        sharing: Some(sharing),
        lease: Some(lease),
        standing: 3,
        ..TERMS
    };
    let text = format!(
        r#"{{"limit":100,"window_ms":60000,"revision":7,"sharing":{sharing_text},"lease":{{"min":1,"max":16}},"standing":3}}"#
    );
    is_written_as(&terms, &text);
}

#[test]
fn the_want_of_a_tenant() {
    let want = Want {
        tenant: Some("acme/web/ann".to_owned()),
        waiting: 5,
        smallest: 2,
        expected: 30,
        held: 7,
        denied: 6,
        rank: Some(rank()),
    };
    let text = format!(
        r#"{{"tenant":"acme/web/ann","waiting":5,"smallest":2,"expected":30,"held":7,"denied":6,"rank":{RANK}}}"#
    );
    is_written_as(&want, &text);
    let asking = ExchangeBody {
        wants: vec![want],
        ahead: 20,
        idle: 12,
        ..message()
    };
    let message = MESSAGE.replace(
        r#"{"tenant":null,"waiting":5,"smallest":2,"expected":30}"#,
        &text,
    );
    let message = message.replace(r#""denied":6}"#, r#""ahead":20,"idle":12,"denied":6}"#);
    // The want has a `denied` of its own, which other fields follow.
    is_written_as(&asking, &message);
}

#[test]
fn the_grant_of_a_tenant_and_units_of_windows_to_come() {
    let grant = Grant {
        tenant: Some("acme".to_owned()),
        units: 0,
        ceiling: 60,
        used: 40,
        left: 4,
        allowance: 3,
        contended: true,
        retry_ms: Some(250),
    };
    let grant_text = r#"{"tenant":"acme","units":0,"ceiling":60,"used":40,"left":4,"allowance":3,"contended":true,"retry_ms":250}"#;
    is_written_as(&grant, grant_text);
    let ahead = AheadBody {
        label: WindowLabel(4_712),
        starts_ms: 41_000,
        ends_ms: 101_000,
        units: 33,
    };
    let ahead_text = r#"{"label":4712,"starts_ms":41000,"ends_ms":101000,"units":33}"#;
    is_written_as(&ahead, ahead_text);
    let told = ReplyBody {
        grants: vec![grant],
        ahead: vec![ahead],
        ..reply()
    };
    let text = REPLY.replace(
        r#"[{"tenant":null,"units":12,"ceiling":100}]"#,
        &format!(r#"[{grant_text}],"ahead":[{ahead_text}]"#),
    );
    is_written_as(&told, &text);
}

/// The claim with `value` at `pointer`, as a parent reads it.
fn forged(name: &str, pointer: &str, value: Value) -> Result<Claimant, Refusal> {
    let mut rank: Value = serde_json::from_str(RANK).unwrap();
    if let Some((parent, field)) = pointer.rsplit_once('/') {
        let parent = rank.pointer_mut(parent).unwrap();
        parent[field] = value;
    }
    let rank: RankBody = serde_json::from_value(rank).unwrap();
    Claimant::try_from((name, &rank))
}

#[test]
fn a_claim_out_of_bounds_is_malformed_by_name() {
    assert!(forged("acme/web/ann", "", Value::Null).is_ok());
    let weights = [json!(0), json!(1_000_000_000_001_u64), json!(u64::MAX)];
    let units = [json!(9_007_199_254_740_992_u64), json!(u64::MAX)];
    let bounds = |field: &str, values: &[Value]| -> Vec<(String, Value)> {
        let places = ["", "/above/0", "/above/1"];
        let at = places.map(|place| format!("{place}/{field}"));
        let cases = at
            .iter()
            .flat_map(|at| values.iter().map(move |value| (at, value)));
        cases
            .map(|(at, value)| (at.clone(), value.clone()))
            .collect()
    };
    let cases = [
        bounds("weight", &weights),
        bounds("borrow_max", &units),
        bounds("lend_max", &units),
        bounds("ceiling", &units),
        bounds("floor", &units),
    ];
    for (pointer, value) in cases.concat() {
        let field = pointer.replace("/0", "").replace("/1", "");
        let field = format!("wants/rank{field}");
        let refused = forged("acme/web/ann", &pointer, value);
        assert_eq!(refused, Err(Refusal::Malformed { field }), "{pointer}");
    }
    for name in ["", "a\nb", "acme/web", &"x".repeat(129)] {
        let field = "wants/rank/above/name".to_owned();
        let refused = forged("ann", "/above/1/name", json!(name));
        assert_eq!(refused, Err(Refusal::Malformed { field }), "{name:?}");
    }
    for name in ["", "a\u{7f}", &"x".repeat(129)] {
        let field = "wants/tenant".to_owned();
        let refused = forged(name, "", Value::Null);
        assert_eq!(refused, Err(Refusal::Malformed { field }), "{name:?}");
    }
}

#[test]
fn a_tenant_has_at_most_three_others_above_it_and_never_itself() {
    let line = |names: &[&str]| {
        let above = names
            .iter()
            .map(|name| json!({ "name": name, "weight": 1 }));
        Value::Array(above.collect())
    };
    assert!(forged("a", "/above", line(&["b", "c", "d"])).is_ok());
    let field = "wants/rank/above".to_owned();
    let deep = forged("a", "/above", line(&["b", "c", "d", "e"]));
    assert_eq!(deep, Err(Refusal::Malformed { field }));
    for above in [["a", "b"], ["b", "a"], ["b", "b"]] {
        let field = "wants/rank/above/name".to_owned();
        let refused = forged("a", "/above", line(&above));
        assert_eq!(refused, Err(Refusal::Malformed { field }), "{above:?}");
    }
}

#[test]
fn a_claim_of_a_later_version_is_read_without_its_new_fields() {
    let mut rank: Value = serde_json::from_str(RANK).unwrap();
    for place in ["", "/above/0", "/above/1"] {
        rank.pointer_mut(place).unwrap()["unheard_of"] = json!([1, null]);
    }
    let read: RankBody = serde_json::from_value(rank).unwrap();
    assert_eq!(read, self::rank());
}
