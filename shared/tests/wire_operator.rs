//! The exact text of what operators read and of what resets say: what is written, and that it is read back.

use crate::wire::pinned::is_written_as;
use weir_shared::limiting::messages::{ResetBody, ResetReply};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, Revision, Sequence, WindowLabel};
use weir_shared::wire::accounting::{MeterTally, Tally};
use weir_shared::wire::check::Reason;
use weir_shared::wire::count::Count;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::health::{Health, Version};
use weir_shared::wire::holdings::{Holdings, Lent, LentBody, TenantLent};
use weir_shared::wire::operator::explained::ExplainedDecision;
use weir_shared::wire::operator::fairness::GuardReport;
use weir_shared::wire::operator::live::{Channel, DecisionSample, LiveAsk, LiveEvent, LiveMessage};
use weir_shared::wire::operator::live_holder::{LiveHolder, LiveSession};
use weir_shared::wire::operator::live_lines::{LineNotice, LineOrder};
use weir_shared::wire::operator::regions::{
    CoordinatorStatus, RegionBudget, RegionStatus, RegionsReply,
};
use weir_shared::wire::operator::tenants::{TenantBudget, TenantRow};
use weir_shared::wire::operator::{BudgetReport, FairnessReply, RegionReport, TenantReport};
use weir_shared::wire::role::Role;
use weir_shared::wire::rule_kind::RuleKind;
use weir_shared::wire::series::SeriesReply;

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
        counts_as: None,
        guarantee: 0,
        used: Count(2),
        borrowed: Count(0),
        denied: Count(3),
        reserved: Count(0),
        would_deny: Count(0),
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
            budgets: OrderedMap::from([("tokens".to_owned(), budget)]),
            limits: OrderedMap::from([("per_ip".to_owned(), total)]),
            meters: OrderedMap::from([("bytes".to_owned(), MeterTally::default())]),
            billable_units: Count(5),
            guards: OrderedMap::from([("queries".to_owned(), GuardReport::default())]),
            overload: OrderedMap::from([("origin".to_owned(), total)]),
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
            r#"{{"at":1700000000000,"policy_revision":7,"enforcing":true,"regions":[{{"region":"weur","reachable":false,"total":{tally}}}],"tenants":[{{"tenant":"acme","tier":"enterprise","weight":4,"total":{tally},"budgets":{{"tokens":{{"weight":4,"guarantee":0,"used":2,"borrowed":0,"denied":3,"total":{tally}}}}},"limits":{{"per_ip":{tally}}},"meters":{{"bytes":{meter}}},"billable_units":5,"guards":{{"queries":{guard}}},"overload":{{"origin":{tally}}},"effective":null,"overrides":[]}}]}}"#
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
fn what_an_id_leads_to() {
    let told = ExplainedDecision {
        decision: "5.x".to_owned(),
        at: EpochMs(5),
        region: "weur".to_owned(),
        reason: Reason::OverShare,
        kind: RuleKind::Budget,
        rule: "tokens".to_owned(),
        in_force: true,
        tenant: text("acme"),
        from: EpochMs(5),
        to: EpochMs(120_005),
        denied_calls: Some(Count(2)),
    };
    is_written_as(
        &told,
        r#"{"decision":"5.x","at":5,"region":"weur","reason":"over_share","kind":"budget","rule":"tokens","in_force":true,"tenant":"acme","from":5,"to":120005,"denied_calls":2}"#,
    );
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
                would_deny: false,
                decision: text("5.x"),
            }],
        },
    };
    is_written_as(
        &message,
        r#"{"sequence":7,"previous":6,"at":1700000000000,"channel":"decisions","region":"weur","samples":[{"at":5,"tenant":"acme","allowed":false,"binding":"tokens","reason":"over_share","decision":"5.x"}]}"#,
    );
    let ask = LiveAsk {
        region: "weur".to_owned(),
        channels: vec![Channel::Accounting],
        after: Some(Sequence(6)),
        holder: None,
    };
    is_written_as(
        &ask,
        r#"{"region":"weur","channels":["accounting"],"after":6}"#,
    );
    let holder = LiveHolder {
        name: "id".to_owned(),
        provided: false,
        role: Role::Viewer,
        session: Some(LiveSession {
            id: "s".to_owned(),
            seal: 2,
        }),
        expires_at: Some(EpochMs(9)),
    };
    is_written_as(
        &holder,
        r#"{"name":"id","role":"viewer","session":{"id":"s","seal":2},"expires_at":9}"#,
    );
    let provided = LiveHolder {
        provided: true,
        session: None,
        expires_at: None,
        ..holder
    };
    is_written_as(
        &provided,
        r#"{"name":"id","provided":true,"role":"viewer"}"#,
    );
}

#[test]
fn a_live_socket_of_all_regions() {
    let open = LineOrder::Open {
        line: 2,
        region: "weur".to_owned(),
        after: Some(Sequence(6)),
    };
    is_written_as(&open, r#"{"do":"open","line":2,"region":"weur","after":6}"#);
    is_written_as(
        &LineOrder::Ask { line: Some(2) },
        r#"{"do":"ask","line":2}"#,
    );
    is_written_as(&LineOrder::Ask { line: None }, r#"{"do":"ask"}"#);
    is_written_as(&LineOrder::Close { line: 2 }, r#"{"do":"close","line":2}"#);
    let lines = LineNotice::Lines {
        region: "weur".to_owned(),
        regions: vec!["apac".to_owned(), "weur".to_owned()],
    };
    is_written_as(
        &lines,
        r#"{"channel":"lines","region":"weur","regions":["apac","weur"]}"#,
    );
    is_written_as(
        &LineNotice::Closed { line: 2 },
        r#"{"channel":"closed","line":2}"#,
    );
    is_written_as(
        &LineNotice::Pong { line: Some(2) },
        r#"{"channel":"pong","line":2}"#,
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

#[test]
fn where_units_are() {
    let budget = RegionBudget {
        budget: "tokens".to_owned(),
        own: false,
        window: Some(WindowLabel(7)),
        ends_at: Some(EpochMs(1_700_000_060_000)),
        limit: 700,
        held: 40,
        lent: 30,
        isolates: 2,
        outage: true,
    };
    let held = r#"{"budget":"tokens","own":false,"window":7,"ends_at":1700000060000,"limit":700,"held":40,"lent":30,"isolates":2,"outage":true}"#;
    is_written_as(&budget, held);
    let holdings = Holdings {
        heard_at: Some(EpochMs(5)),
        budgets: vec![budget.clone()],
    };
    is_written_as(
        &holdings,
        &format!(r#"{{"heard_at":5,"budgets":[{held}]}}"#),
    );
    let body = LentBody {
        budget: "tokens".to_owned(),
        regions: vec!["weur".to_owned()],
        tenants_max: 64,
    };
    let asked = r#"{"budget":"tokens","regions":["weur"],"tenants_max":64}"#;
    is_written_as(&body, asked);
    let lent = Lent {
        window: Some(WindowLabel(7)),
        ends_at: Some(EpochMs(1_700_000_060_000)),
        limit: 700,
        lent: OrderedMap::from([("weur".to_owned(), 40)]),
        lent_total: 50,
        free: 650,
        exact: false,
        tenants: vec![TenantLent {
            tenant: "acme".to_owned(),
            lent: 30,
        }],
    };
    let told = r#""window":7,"ends_at":1700000060000,"limit":700,"lent":{"weur":40},"lent_total":50,"free":650,"exact":false,"tenants":[{"tenant":"acme","lent":30}]}"#;
    is_written_as(&lent, &format!("{{{told}"));
    let coordinator = CoordinatorStatus {
        budget: "tokens".to_owned(),
        reachable: true,
        answer_ms: Some(3),
        window: lent.window,
        ends_at: lent.ends_at,
        limit: lent.limit,
        lent: lent.lent,
        lent_total: lent.lent_total,
        free: lent.free,
        exact: lent.exact,
        tenants: lent.tenants,
    };
    let coordinator_text = format!(r#"{{"budget":"tokens","reachable":true,"answer_ms":3,{told}"#);
    is_written_as(&coordinator, &coordinator_text);
    let region = RegionStatus {
        region: "weur".to_owned(),
        home: true,
        reachable: true,
        answer_ms: Some(2),
        policy_revision: Some(Revision(7)),
        ledger_reachable: true,
        last_contact_at: Some(EpochMs(5)),
        budgets: vec![budget],
    };
    let older = r#"{"region":"weur","home":true,"reachable":true,"answer_ms":2,"policy_revision":7,"ledger_reachable":true"#;
    let region_text = format!(r#"{older},"last_contact_at":5,"budgets":[{held}]}}"#);
    is_written_as(&region, &region_text);
    let reply = RegionsReply {
        at: EpochMs(9),
        policy_revision: Revision(7),
        here: "weur".to_owned(),
        regions: vec![region],
        coordinators: vec![coordinator],
        unasked: 0,
    };
    let head = r#"{"at":9,"policy_revision":7,"here":"weur","regions":["#;
    is_written_as(
        &reply,
        &format!(r#"{head}{region_text}],"coordinators":[{coordinator_text}],"unasked":0}}"#),
    );
    // A server before told none of that.
    let before: RegionsReply = serde_json::from_str(&format!("{head}{older}}}]}}")).unwrap();
    assert_eq!((before.coordinators.len(), before.unasked), (0, 0));
    assert_eq!(before.regions[0].budgets, []);
    assert_eq!(before.regions[0].last_contact_at, None);
}

#[test]
fn a_row_of_the_list_of_tenants() {
    let none = r#"{"admitted_calls":0,"admitted_units":0,"denied_calls":0,"denied_units":0}"#;
    let got = TenantBudget {
        guarantee: 100,
        used: Count(5),
        borrowed: Count(1),
        denied: Count(2),
        denied_units: Count(1 << 53),
    };
    let row = TenantRow {
        tenant: "acme".to_owned(),
        named: true,
        tier: text("pro"),
        weight: Decimal(2.5),
        parent: None,
        overrides: 1,
        total: Tally::default(),
        budgets: OrderedMap::from([("tokens".to_owned(), got)]),
    };
    let older = format!(
        r#"{{"tenant":"acme","named":true,"tier":"pro","weight":2.5,"parent":null,"overrides":1,"total":{none}"#
    );
    is_written_as(
        &row,
        &format!(
            r#"{older},"budgets":{{"tokens":{{"guarantee":100,"used":5,"borrowed":1,"denied":2,"denied_units":"9007199254740992"}}}}}}"#
        ),
    );
    let before: TenantRow = serde_json::from_str(&format!("{older}}}")).unwrap();
    assert!(before.budgets.is_empty());
}

#[test]
fn what_a_ledger_says_of_time() {
    let reply = SeriesReply {
        points: OrderedMap::new(),
        told_at: Some(EpochMs(5)),
    };
    is_written_as(&reply, r#"{"points":{},"told_at":5}"#);
    is_written_as(&SeriesReply::default(), r#"{"points":{}}"#);
}

#[test]
fn that_the_worker_runs() {
    is_written_as(&Health::of(None), r#"{"status":"ok"}"#);
    let version = Version {
        id: "0f3c".to_owned(),
        tag: String::new(),
    };
    is_written_as(
        &Health::of(Some(version)),
        r#"{"status":"ok","version":{"id":"0f3c","tag":""}}"#,
    );
}
