//! The exact text of what operators read and of what resets say: what is written, and that it is read back.

#![cfg(not(target_arch = "wasm32"))]

#[path = "wire/pinned.rs"]
mod pinned;

use std::collections::BTreeMap;

use pinned::is_written_as;
use weir_shared::units::{EpochMs, Sequence};
use weir_shared::wire::accounting::{MeterTally, Tally};
use weir_shared::wire::check::Reason;
use weir_shared::wire::count::Count;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::keys::{ResetBody, ResetReply};
use weir_shared::wire::operator::fairness::GuardReport;
use weir_shared::wire::operator::live::{Channel, DecisionSample, LiveAsk, LiveEvent, LiveMessage};
use weir_shared::wire::operator::{BudgetReport, FairnessReply, RegionReport, TenantReport};

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

#[test]
fn the_fairness_view() {
    let total = Tally {
        admitted_calls: Count(1),
        admitted_units: Count(2),
        denied_calls: Count(3),
        denied_units: Count(1 << 53),
        ..Tally::default()
    };
    let tally = r#"{"admitted_calls":1,"admitted_units":2,"denied_calls":3,"denied_units":"9007199254740992"}"#;
    let budget = BudgetReport {
        weight: Decimal(4.0),
        guarantee: 0,
        used: Count(2),
        borrowed: Count(0),
        denied: Count(3),
        total,
    };
    let reply = FairnessReply {
        at: 1_700_000_000_000,
        policy_revision: 7,
        enforcing: true,
        regions: vec![RegionReport {
            region: "weur".to_owned(),
            reachable: false,
            total,
        }],
        tenants: vec![TenantReport {
            tenant: "acme".to_owned(),
            tier: text("enterprise"),
            weight: Decimal(4.0),
            total,
            budgets: BTreeMap::from([("tokens".to_owned(), budget)]),
            limits: BTreeMap::from([("per_ip".to_owned(), total)]),
            meters: BTreeMap::from([("bytes".to_owned(), MeterTally::default())]),
            guards: BTreeMap::from([("queries".to_owned(), GuardReport::default())]),
            overload: BTreeMap::from([("origin".to_owned(), total)]),
            effective: None,
            overrides: Vec::new(),
        }],
        page: None,
    };
    let meter = r#"{"admitted_calls":0,"admitted_units":0,"shed_calls":0,"shed_units":0}"#;
    let guard = r#"{"allowed":0,"rejected_concurrency":0,"rejected_budget":0,"rejected_other":0,"in_flight":0}"#;
    is_written_as(
        &reply,
        &format!(
            r#"{{"at":1700000000000,"policy_revision":7,"enforcing":true,"regions":[{{"region":"weur","reachable":false,"total":{tally}}}],"tenants":[{{"tenant":"acme","tier":"enterprise","weight":4,"total":{tally},"budgets":{{"tokens":{{"weight":4,"guarantee":0,"used":2,"borrowed":0,"denied":3,"total":{tally}}}}},"limits":{{"per_ip":{tally}}},"meters":{{"bytes":{meter}}},"guards":{{"queries":{guard}}},"overload":{{"origin":{tally}}},"effective":null,"overrides":[]}}]}}"#
        ),
    );
    // A server before had neither.
    let before = format!(
        r#"{{"tenant":"acme","tier":null,"weight":0,"total":{tally},"budgets":{{}},"limits":{{}}}}"#
    );
    let read: TenantReport = serde_json::from_str(&before).unwrap();
    assert_eq!((read.meters.len(), read.effective), (0, None));
}

#[test]
fn the_live_socket() {
    let message = LiveMessage {
        sequence: Sequence(7),
        previous: Sequence(6),
        at: EpochMs(1_700_000_000_000),
        event: LiveEvent::Decisions {
            region: "weur".to_owned(),
            samples: vec![DecisionSample {
                at: EpochMs(5),
                tenant: text("acme"),
                allowed: false,
                binding: "tokens".to_owned(),
                reason: Reason::OverShare,
            }],
        },
    };
    is_written_as(
        &message,
        r#"{"sequence":7,"previous":6,"at":1700000000000,"channel":"decisions","region":"weur","samples":[{"at":5,"tenant":"acme","allowed":false,"binding":"tokens","reason":"over_share"}]}"#,
    );
    let ask = LiveAsk {
        region: "weur".to_owned(),
        channels: vec![Channel::Accounting],
        after: Some(Sequence(6)),
    };
    is_written_as(
        &ask,
        r#"{"region":"weur","channels":["accounting"],"after":6}"#,
    );
}

#[test]
fn a_reset() {
    let body = ResetBody {
        v: 1,
        names: vec!["meter\u{1}bytes".to_owned()],
        key: "acme".to_owned(),
        tenant: true,
    };
    is_written_as(
        &body,
        r#"{"v":1,"names":["meter\u0001bytes"],"key":"acme","tenant":true}"#,
    );
    let reply = ResetReply {
        v: 1,
        keys: 2,
        more: false,
    };
    is_written_as(&reply, r#"{"v":1,"keys":2,"more":false}"#);
}
