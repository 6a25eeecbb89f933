//! Messages about shared pools: which are taken, and that a refused one changes nothing.

use crate::wire::samples::MESSAGE;
use serde_json::{Value, json};
use weir_shared::fairness::ask::Party;
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::{ExchangeBody, Refusal, VERSION};

/// A message about a pool that tenants share, as JSON to bend.
fn shared() -> Value {
    let mut body: Value = serde_json::from_str(MESSAGE).unwrap();
    body["window"] = Value::Null;
    body["returns"] = json!([]);
    body["terms"]["sharing"] =
        json!({ "rule": "pinned", "tenants_max": 1000, "unknown_weight_max": 8_000_000 });
    body["terms"]["lease"] = json!({ "min": 1, "max": 16 });
    body["wants"] = json!([want("acme"), want("bulk")]);
    body
}

fn want(tenant: &str) -> Value {
    let rank = json!({ "weight": 1_000_000, "known": true });
    json!({ "tenant": tenant, "waiting": 5, "smallest": 2, "expected": 0, "rank": rank })
}

fn read(body: &Value) -> Result<Message, Refusal> {
    Message::try_from(serde_json::from_value::<ExchangeBody>(body.clone()).unwrap())
}

fn with(pointer: &str, value: Value) -> Value {
    let mut body = shared();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    body.pointer_mut(parent).unwrap()[field] = value;
    body
}

#[test]
fn a_message_names_who_asks_with_what_claim() {
    let message = read(&shared()).unwrap();
    let asks: Vec<(&str, u64)> = message
        .asks()
        .map(|(party, want)| (party.name().unwrap(), want.waiting))
        .collect();
    assert_eq!(asks, [("acme", 5), ("bulk", 5)]);
    let known = |party: &Party| party.tenant().is_some_and(|one| one.claim.known);
    assert!(message.asks().all(|(party, _)| known(party)));
}

#[test]
fn what_a_shared_pool_cannot_be_is_malformed_by_name() {
    let above = json!(9_007_199_254_740_992_u64);
    let cases = [
        (
            "/terms/sharing/tenants_max",
            json!(0),
            "terms/sharing/tenants_max",
        ),
        (
            "/terms/sharing/tenants_max",
            json!(1_000_001),
            "terms/sharing/tenants_max",
        ),
        (
            "/terms/sharing/unknown_weight_max",
            json!(0),
            "terms/sharing/unknown_weight_max",
        ),
        (
            "/terms/sharing/unknown_weight_max",
            json!(1_000_000_000_001_u64),
            "terms/sharing/unknown_weight_max",
        ),
        ("/terms/lease/min", json!(0), "terms/lease"),
        ("/terms/lease/min", json!(17), "terms/lease"),
        ("/terms/lease/max", above.clone(), "terms/lease"),
        ("/terms/standing", json!(u64::MAX), "terms/standing"),
        ("/ahead", above.clone(), "ahead"),
        ("/wants/0/held", above.clone(), "wants"),
        ("/wants/1/denied", above.clone(), "wants"),
        ("/wants/1/tenant", json!("acme"), "wants/tenant"),
        ("/wants/0/tenant", Value::Null, "wants/tenant"),
        ("/wants/0/tenant", json!("a\nb"), "wants/tenant"),
        ("/wants/0/rank", Value::Null, "wants/tenant"),
        ("/wants/0/rank/weight", json!(0), "wants/rank/weight"),
        ("/wants/1/rank/borrow_max", above, "wants/rank/borrow_max"),
    ];
    for (pointer, value, field) in cases {
        let field = field.to_owned();
        let refused = read(&with(pointer, value.clone()));
        assert_eq!(
            refused,
            Err(Refusal::Malformed { field }),
            "{pointer} {value}"
        );
    }
    // A pool that goes to whoever comes first has no share for a tenant.
    let refused = read(&with("/terms/sharing", Value::Null));
    assert_eq!(refused, Err(Refusal::TenantNamed));
}

#[test]
fn a_refused_message_leaves_its_pool_as_it_was() {
    let now = EpochMs(1_000);
    let first = read(&shared()).unwrap();
    let mut pool = Pool::open(first.terms.clone(), now);
    let reply = pool.exchange(&first, now).unwrap();
    let granted: u64 = reply.grants.iter().map(|grant| grant.units).sum();
    assert_eq!(granted, 10);
    let before = (pool.unlent(), pool.window(), pool.due());
    let sequence = json!(10);
    for v in [0, VERSION + 2, u16::MAX] {
        let mut forged = with("/sequence", sequence.clone());
        forged["v"] = json!(v);
        let refusal = Refusal::Version {
            got: v,
            have: VERSION,
        };
        assert_eq!(read(&forged), Err(refusal), "version {v}");
    }
    let mut stale = shared();
    stale["sequence"] = json!(8);
    let mut superseded = shared();
    superseded["incarnation"] = json!(1);
    for forged in [stale, superseded] {
        let refused = pool.exchange(&read(&forged).unwrap(), now);
        let known = matches!(
            refused,
            Err(Refusal::Stale { .. } | Refusal::Superseded { .. })
        );
        assert!(known, "{refused:?}");
    }
    assert_eq!((pool.unlent(), pool.window(), pool.due()), before);
    let again = pool.exchange(&first, now).unwrap();
    assert_eq!(again.grants, reply.grants, "answered again as it was");
    assert_eq!(pool.unlent(), before.0);
}

#[test]
fn a_message_of_the_next_version_is_taken_in_a_shared_pool_too() {
    let mut next = with("/wants/0/rank/unheard_of", json!({ "deep": [1, null] }));
    next["v"] = json!(VERSION + 1);
    next["terms"]["sharing"]["unheard_of"] = json!(1);
    assert_eq!(read(&next).unwrap().waiting(), 10);
}
