//! How meters and guards travel and are stored.

use proptest::sample::Index;
use serde_json::Value;
use weir_shared::algorithms::deficit_bucket::DeficitBucket;
use weir_shared::algorithms::guard::Guard;
use weir_shared::algorithms::scale::ScaledReceipt;
use weir_shared::algorithms::{Algorithm, State};
use weir_shared::limiting::messages::{AskedBody, GuardAction, GuardBody, GuardReply};
use weir_shared::limiting::owner::Account;
use weir_shared::units::Revision;
use weir_shared::wire::accounting::InFlight;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::limit_terms::{GuardTerms, LimitTerms, MeterTerms};

use super::START;
use crate::wire::pinned::is_written_as;

/// Replaces one of the numbers of a form.
pub fn replace_number(json: &mut Value, index: Index, number: u64) {
    let mut count = 0;
    each_number(json, &mut |_| count += 1);
    if count == 0 {
        return;
    }
    let chosen = index.index(count);
    let mut at = 0;
    each_number(json, &mut |place| {
        if at == chosen {
            *place = number.into();
        }
        at += 1;
    });
}

fn each_number(json: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    match json {
        Value::Number(_) => visit(json),
        Value::Array(list) => list.iter_mut().for_each(|inner| each_number(inner, visit)),
        Value::Object(map) => map.values_mut().for_each(|inner| each_number(inner, visit)),
        _ => {}
    }
}

/// The state and the receipt of a first charge, as they are written.
fn is_stored_as(algorithm: &Algorithm, cost: u64, state: &str, receipt: &str) {
    let next = algorithm.check(None, cost, START).next.unwrap();
    is_written_as(&next, state);
    is_written_as(&algorithm.receipt(&next), receipt);
}

#[test]
fn states_and_receipts() {
    let meter = DeficitBucket::new(Decimal(0.3), Decimal(10.0), 60_000).unwrap();
    is_stored_as(
        &Algorithm::DeficitBucket(meter),
        5,
        r#"{"deficit_bucket":{"missing":5,"ticks":0,"ticks_per_token":10000,"latest_ms":1700000000000,"tally":[1700000000000,5,5]}}"#,
        r#"{"deficit_bucket":[1700000000000,5]}"#,
    );
    let guard = Guard::new(Some(4), Some(120), 30_000).unwrap();
    is_stored_as(
        &Algorithm::Guard(guard),
        1,
        r#"{"guard":{"slots":[[1740800000000000,1700000030000]],"last":1740800000000000,"budget":{"missing":1,"ticks":0,"ticks_per_token":500,"latest_ms":1700000000000,"tally":[1700000000000,1,1]},"latest_ms":1700000000000}}"#,
        r#"{"guard":{"slot":1740800000000000,"expires_at":1700000030000,"budget":[1700000000000,1]}}"#,
    );
    let unlimited = Guard::new(None, None, 30_000).unwrap();
    is_stored_as(
        &Algorithm::Guard(unlimited),
        1,
        r#"{"guard":{"slots":[[1740800000000000,1700000030000]],"last":1740800000000000,"latest_ms":1700000000000}}"#,
        r#"{"guard":{"slot":1740800000000000,"expires_at":1700000030000}}"#,
    );
}

#[test]
fn a_receipt_names_its_slot_and_others_name_none() {
    let guard = Algorithm::Guard(Guard::new(None, None, 30_000).unwrap());
    let receipt = guard.receipt(&guard.check(None, 1, START).next.unwrap());
    let named = Some((START.0 << 10, START.plus(30_000)));
    assert_eq!(ScaledReceipt::whole(receipt).slot(), named);
    let meter = DeficitBucket::new(Decimal(1.0), Decimal(1.0), 1_000).unwrap();
    let meter = Algorithm::DeficitBucket(meter);
    let receipt = meter.receipt(&meter.check(None, 1, START).next.unwrap());
    assert_eq!(ScaledReceipt::whole(receipt).slot(), None);
}

fn meter() -> MeterTerms {
    MeterTerms {
        per_sec: Decimal(1_000.0),
        burst_seconds: Decimal(0.5),
        max_debt_ms: 60_000,
    }
}

fn guard() -> GuardTerms {
    GuardTerms {
        concurrency: Some(4),
        per_minute: None,
        lease_ms: 30_000,
    }
}

const GUARD: &str = r#"{"name":"guard\u0001queries","revision":7,"scale":1,"body":{},"guard":{"concurrency":4,"lease_ms":30000},"key":"acme","since":1700000000000}"#;

#[test]
fn rules() {
    is_written_as(
        &LimitTerms::of_meter("results", Revision(7), meter()),
        r#"{"name":"meter\u0001results","revision":7,"scale":1,"body":{},"meter":{"per_sec":1000,"burst_seconds":0.5,"max_debt_ms":60000}}"#,
    );
    is_written_as(
        &LimitTerms::of_guard("queries", Revision(7), guard()).for_key("acme", START),
        GUARD,
    );
    let unlimited = GuardTerms {
        concurrency: None,
        ..guard()
    };
    is_written_as(&unlimited, r#"{"lease_ms":30000}"#);
}

#[test]
fn a_shard_of_the_version_before_refuses_the_rules_of_a_meter_instead_of_taking_them_for_a_limit() {
    let terms = LimitTerms::of_meter("results", Revision(7), meter());
    // What it reads: the form without the fields that it does not know.
    let read = LimitTerms {
        meter: None,
        ..terms
    };
    assert!(weir_shared::limiting::terms::machine_of(&read).is_err());
}

#[test]
fn slots_on_their_way() {
    let body = GuardBody {
        v: VERSION,
        terms: LimitTerms::of_guard("queries", Revision(7), guard()).for_key("acme", START),
        key: "acme".to_owned(),
        kept: None,
        slot: START.0 << 10,
        action: GuardAction::Renew,
    };
    is_written_as(
        &body,
        &format!(
            r#"{{"v":2,"terms":{GUARD},"key":"acme","slot":1740800000000000,"action":"renew"}}"#
        ),
    );
    is_written_as(&GuardAction::Release, r#""release""#);
    let reply = GuardReply {
        held: true,
        expires_at: Some(START.plus(30_000)),
        in_flight: Some(InFlight {
            slots: 3,
            at: START,
            until: START.plus(30_000),
        }),
    };
    is_written_as(
        &reply,
        r#"{"held":true,"expires_at":1700000030000,"in_flight":{"slots":3,"at":1700000000000,"until":1700000030000}}"#,
    );
    let old: GuardReply = serde_json::from_str(r#"{"held":false,"expires_at":null}"#).unwrap();
    assert_eq!((old.held, old.in_flight), (false, None));
}

#[test]
fn the_key_of_a_tenant_that_the_policy_names() {
    let asked = AskedBody::Key {
        limit: "meter\u{1}results".to_owned(),
        key: "acme".to_owned(),
        cost: 3,
        look: false,
        ahead: 0,
        shadow: false,
        known: true,
        account: Account::default(),
    };
    is_written_as(
        &asked,
        r#"{"key":{"limit":"meter\u0001results","key":"acme","cost":3,"look":false,"ahead":0,"shadow":false,"known":true}}"#,
    );
}

#[test]
fn a_damaged_row_is_no_state() {
    for text in [
        r#"{"guard":{"slots":[[1]],"last":1,"latest_ms":1}}"#,
        r#"{"deficit_bucket":{}}"#,
    ] {
        assert!(serde_json::from_str::<State>(text).is_err(), "{text}");
    }
}
