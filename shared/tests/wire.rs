//! The exact text of every form of the public interface: what is written, and that it is read back.

pub(crate) mod pinned;
pub(crate) mod previous;
pub(crate) mod samples;

use pinned::is_written_as;
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::amount::AmountBody;
use weir_shared::wire::batch::{BatchReply, BatchRequest};
use weir_shared::wire::check::{CheckItem, CheckRequest, DecisionBody, Reason, Require};
use weir_shared::wire::count::Count;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::lease_sizes::{LeaseBoundsBody, LeaseSizesBody};
use weir_shared::wire::operator::{Role, SessionReply, SessionRequest};
use weir_shared::wire::policy::{
    Algorithm, BudgetBody, Cadence, DimensionBody, HeaderDialect, LimitBody, NamedDimensionBody,
    OnUnavailable, Outage, PolicyDocument, Reserve, Scope, Sharing, TenantBody, TierBody,
    TierRuleBody,
};
use weir_shared::wire::problem::Problem;
use weir_shared::wire::reserve::{ReservationBody, ReserveRequest};
use weir_shared::wire::settle::{SettleRequest, SettledBody};

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

#[test]
fn the_question() {
    let short = CheckRequest {
        tenant: text("acme"),
        limit: text("per_ip"),
        key: text("203.0.113.9"),
        cost: Some(3),
        ..CheckRequest::default()
    };
    is_written_as(
        &short,
        r#"{"tenant":"acme","limit":"per_ip","key":"203.0.113.9","cost":3}"#,
    );
    let long = CheckRequest {
        tenant: text("acme"),
        checks: Some(vec![CheckItem {
            budget: text("tokens"),
            cost: Some(1500),
            ..CheckItem::default()
        }]),
        require: Some(Require::All),
        ..CheckRequest::default()
    };
    is_written_as(
        &long,
        r#"{"tenant":"acme","checks":[{"budget":"tokens","cost":1500}],"require":"all"}"#,
    );
    let keys = OrderedMap::from([
        ("ip".to_owned(), "203.0.113.9".to_owned()),
        ("resets".to_owned(), "bob".to_owned()),
    ]);
    let keyed = CheckRequest {
        limit: text("login"),
        keys: Some(keys.clone()),
        reserve: Some(true),
        ..CheckRequest::default()
    };
    is_written_as(
        &keyed,
        r#"{"limit":"login","keys":{"ip":"203.0.113.9","resets":"bob"},"reserve":true}"#,
    );
    let metered = CheckRequest {
        tenant: text("acme"),
        meters: Some(OrderedMap::from([
            ("ingest_bytes".to_owned(), 4_096),
            ("results".to_owned(), 2),
        ])),
        ..CheckRequest::default()
    };
    is_written_as(
        &metered,
        r#"{"tenant":"acme","meters":{"ingest_bytes":4096,"results":2}}"#,
    );
    let guarded = CheckItem {
        guard: text("queries"),
        ..CheckItem::default()
    };
    is_written_as(&guarded, r#"{"guard":"queries"}"#);
    let item = CheckItem {
        limit: text("login"),
        keys: Some(keys),
        ..CheckItem::default()
    };
    is_written_as(
        &item,
        r#"{"limit":"login","keys":{"ip":"203.0.113.9","resets":"bob"}}"#,
    );
}

#[test]
fn the_batch() {
    let request = BatchRequest {
        requests: vec![
            CheckRequest {
                limit: text("per_ip"),
                ..CheckRequest::default()
            },
            CheckRequest::default(),
        ],
    };
    is_written_as(&request, r#"{"requests":[{"limit":"per_ip"},{}]}"#);
    let reply = BatchReply {
        decisions: vec![decision()],
    };
    is_written_as(&reply, &format!(r#"{{"decisions":[{DECISION}]}}"#));
}

#[test]
fn the_place_in_a_queue() {
    let request = ReserveRequest {
        tenant: text("acme"),
        limit: text("shape"),
        key: text("k"),
        cost: Some(1),
    };
    is_written_as(
        &request,
        r#"{"tenant":"acme","limit":"shape","key":"k","cost":1}"#,
    );
    let place = |accepted, delay_ms, retry_after_ms| ReservationBody {
        accepted,
        delay_ms,
        retry_after_ms,
        decision: None,
    };
    is_written_as(
        &place(true, 120, Some(0)),
        r#"{"accepted":true,"delay_ms":120,"retry_after_ms":0}"#,
    );
    is_written_as(
        &place(false, 0, Some(900)),
        r#"{"accepted":false,"delay_ms":0,"retry_after_ms":900}"#,
    );
    let denied = ReservationBody {
        decision: text("5.x"),
        ..place(false, 0, None)
    };
    is_written_as(
        &denied,
        r#"{"accepted":false,"delay_ms":0,"retry_after_ms":null,"decision":"5.x"}"#,
    );
    is_written_as(
        &place(false, 0, None),
        r#"{"accepted":false,"delay_ms":0,"retry_after_ms":null}"#,
    );
}

#[test]
fn the_settlement() {
    let request = SettleRequest {
        reservation: text("abc"),
        actual: Some(900),
    };
    is_written_as(&request, r#"{"reservation":"abc","actual":900}"#);
    let reply = SettledBody {
        reserved: 1_500,
        actual: 900,
        refunded: 600,
        debt: 0,
    };
    is_written_as(
        &reply,
        r#"{"reserved":1500,"actual":900,"refunded":600,"debt":0}"#,
    );
}

const DECISION: &str = r#"{"allowed":true,"limit":20000,"remaining":18500,"reset_at":1700000060000,"retry_after_ms":0,"binding":"tokens","reason":"admitted","region":"weur","window":4711,"policy_revision":7}"#;

fn decision() -> DecisionBody {
    DecisionBody {
        allowed: true,
        limit: 20_000,
        remaining: 18_500,
        reset_at: 1_700_000_060_000,
        retry_after_ms: Some(0),
        binding: "tokens".to_owned(),
        reason: Reason::Admitted,
        region: "weur".to_owned(),
        window: Some(4_711),
        policy_revision: 7,
        decision: None,
        reservation: None,
        slot: None,
        expires_at: None,
    }
}

#[test]
fn the_decision() {
    is_written_as(&decision(), DECISION);
    let reserved = DecisionBody {
        reservation: text("abc"),
        ..decision()
    };
    let (fields, _) = DECISION.rsplit_once('}').unwrap();
    is_written_as(&reserved, &format!(r#"{fields},"reservation":"abc"}}"#));
    let denied = DecisionBody {
        decision: text("5.x"),
        ..decision()
    };
    is_written_as(&denied, &format!(r#"{fields},"decision":"5.x"}}"#));
    let slot = DecisionBody {
        slot: text("x.y"),
        expires_at: Some(1_700_000_030_000),
        ..decision()
    };
    is_written_as(
        &slot,
        &format!(r#"{fields},"slot":"x.y","expires_at":1700000030000}}"#),
    );
    let never = DecisionBody {
        allowed: false,
        retry_after_ms: None,
        reason: Reason::Never,
        window: None,
        ..decision()
    };
    is_written_as(
        &never,
        r#"{"allowed":false,"limit":20000,"remaining":18500,"reset_at":1700000060000,"retry_after_ms":null,"binding":"tokens","reason":"never","region":"weur","window":null,"policy_revision":7}"#,
    );
    let reasons = [
        (Reason::Admitted, "admitted"),
        (Reason::OverShare, "over_share"),
        (Reason::CapReached, "cap_reached"),
        (Reason::LimitExceeded, "limit_exceeded"),
        (Reason::Concurrency, "concurrency"),
        (Reason::Overloaded, "overloaded"),
        (Reason::Unavailable, "unavailable"),
        (Reason::Never, "never"),
    ];
    for (reason, name) in reasons {
        is_written_as(&reason, &format!("\"{name}\""));
    }
}

#[test]
fn counts_are_strings_above_2_to_the_53() {
    is_written_as(&Count(0), "0");
    is_written_as(&Count((1 << 53) - 1), "9007199254740991");
    is_written_as(&Count(1 << 53), "\"9007199254740992\"");
    is_written_as(
        &Count(u128::MAX),
        "\"340282366920938463463374607431768211455\"",
    );
    for text in [
        "-1",
        "1.5",
        "\"\"",
        "\"-1\"",
        "\"x\"",
        "null",
        "\"340282366920938463463374607431768211456\"",
    ] {
        assert!(serde_json::from_str::<Count>(text).is_err(), "{text}");
    }
    assert_eq!(serde_json::from_str::<Count>("\"5\"").unwrap(), Count(5));
}

#[test]
fn decimals_are_whole_where_they_can_be() {
    is_written_as(&Decimal(4.0), "4");
    is_written_as(&Decimal(0.0), "0");
    is_written_as(&Decimal(2.675), "2.675");
    is_written_as(&Decimal(-1.5), "-1.5");
    is_written_as(&Decimal(1_000_000.0), "1000000");
}

#[test]
fn the_session() {
    let request = SessionRequest {
        token: "secret".to_owned(),
    };
    is_written_as(&request, r#"{"token":"secret"}"#);
    let reply = SessionReply {
        role: Role::Admin,
        name: "on-call".to_owned(),
        expires_at: 1_700_043_200_000,
    };
    is_written_as(
        &reply,
        r#"{"role":"admin","name":"on-call","expires_at":1700043200000}"#,
    );
    let older = r#"{"role":"admin","expires_at":1700043200000}"#;
    let read: SessionReply = serde_json::from_str(older).unwrap();
    assert_eq!(
        (read.name.as_str(), read.expires_at),
        ("", reply.expires_at)
    );
}

#[test]
fn the_problem() {
    let mut problem = Problem {
        kind: "/problems/out-of-range".to_owned(),
        title: "out of range".to_owned(),
        status: 400,
        detail: "0 is outside 1 to 5".to_owned(),
        field: text("/cost"),
        retry_after_ms: None,
        decision: None,
    };
    is_written_as(
        &problem,
        r#"{"type":"/problems/out-of-range","title":"out of range","status":400,"detail":"0 is outside 1 to 5","field":"/cost"}"#,
    );
    problem.field = None;
    is_written_as(
        &problem,
        r#"{"type":"/problems/out-of-range","title":"out of range","status":400,"detail":"0 is outside 1 to 5"}"#,
    );
    problem.retry_after_ms = Some(250);
    is_written_as(
        &problem,
        r#"{"type":"/problems/out-of-range","title":"out of range","status":400,"detail":"0 is outside 1 to 5","retry_after_ms":250}"#,
    );
    problem.decision = text("5.x");
    is_written_as(
        &problem,
        r#"{"type":"/problems/out-of-range","title":"out of range","status":400,"detail":"0 is outside 1 to 5","retry_after_ms":250,"decision":"5.x"}"#,
    );
}

#[test]
fn the_policy_document() {
    is_written_as(
        &PolicyDocument::default(),
        r#"{"enforcing":true,"regions":[],"home":null,"tiers":{},"tier_rules":[],"default_tier":null,"tenants_max":100000,"unknown_weight_max":8,"tenants":{},"budgets":{},"limits":{},"meters":{},"guards":{},"overload":{},"routes":[],"unrouted":"refuse","trusted_proxies":[],"allow_private_origins":false,"api_keys":{},"rate_limit_headers":"ietf"}"#,
    );
    is_written_as(
        &TierBody {
            weight: Some(Decimal(4.0)),
            ..TierBody::default()
        },
        r#"{"weight":4}"#,
    );
    let rule = TierRuleBody {
        prefix: text("pro:"),
        tier: text("pro"),
    };
    is_written_as(&rule, r#"{"prefix":"pro:","tier":"pro"}"#);
    is_written_as(
        &TenantBody {
            tier: text("pro"),
            ..TenantBody::default()
        },
        r#"{"tier":"pro","weight":null,"parent":null,"borrow_max":null,"lend_max":null,"overrides":[]}"#,
    );
    is_written_as(
        &TenantBody {
            parent: text("acme"),
            borrow_max: Some(AmountBody::Units(0)),
            lend_max: Some(AmountBody::Unlimited),
            ..TenantBody::default()
        },
        r#"{"tier":null,"weight":null,"parent":"acme","borrow_max":0,"lend_max":"unlimited","overrides":[]}"#,
    );
    let budget = BudgetBody {
        description: text("Tokens of all models"),
        limit: Some(100),
        window_ms: Some(1_000),
        sharing: Some(Sharing::FirstCome),
        scope: Some(Scope::Global),
        reserve: Some(Reserve::Pinned),
        outage: Some(Outage::FailClosed),
        lease: Some(LeaseSizesBody::Auto),
        shadow: Some(true),
        on_unavailable: Some(OnUnavailable::Deny),
    };
    is_written_as(
        &budget,
        r#"{"description":"Tokens of all models","limit":100,"window_ms":1000,"sharing":"first_come","scope":"global","reserve":"pinned","outage":"fail_closed","lease":"auto","shadow":true,"on_unavailable":"deny"}"#,
    );
    let bounds = LeaseBoundsBody {
        min: Some(1),
        max: Some(16),
    };
    is_written_as(&LeaseSizesBody::Between(bounds), r#"{"min":1,"max":16}"#);
    let limit = LimitBody {
        algorithm: Some(Algorithm::Gcra),
        limit: Some(100),
        period_ms: Some(60_000),
        burst: Some(20),
        scope: Some(Scope::Region),
        per_tenant: Some(false),
        on_unavailable: Some(OnUnavailable::Allow),
        ..LimitBody::default()
    };
    is_written_as(
        &limit,
        r#"{"algorithm":"gcra","limit":100,"period_ms":60000,"burst":20,"scope":"region","per_tenant":false,"on_unavailable":"allow"}"#,
    );
}

#[test]
fn every_field_of_a_limit() {
    let limit = LimitBody {
        algorithm: Some(Algorithm::Quota),
        limit: Some(1),
        period_ms: Some(2),
        burst: Some(3),
        capacity: Some(Decimal(4.5)),
        refill_per_sec: Some(Decimal(5.0)),
        peak_capacity: Some(Decimal(1.5)),
        peak_per_sec: Some(Decimal(6.0)),
        window_ms: Some(6),
        buckets: Some(7),
        cadence: Some(Cadence::CalendarWeek),
        offset_minutes: Some(-840),
        time_zone: text("Europe/Berlin"),
        week_starts_on: Some(0),
        anchor: Some(-1),
        rate_per_sec: Some(Decimal(0.1)),
        max_queue_ms: Some(8),
        all: Some(vec![DimensionBody::Plain("resets".to_owned())]),
        any: Some(vec![DimensionBody::Named(NamedDimensionBody {
            name: text("ip"),
            limit: text("per_ip"),
            weight: Some(Decimal(2.0)),
        })]),
        scope: Some(Scope::Isolate),
        per_tenant: Some(true),
        shadow: Some(true),
        on_unavailable: Some(OnUnavailable::Deny),
    };
    is_written_as(
        &limit,
        r#"{"algorithm":"quota","limit":1,"period_ms":2,"burst":3,"capacity":4.5,"refill_per_sec":5,"peak_capacity":1.5,"peak_per_sec":6,"window_ms":6,"buckets":7,"cadence":"calendar_week","offset_minutes":-840,"time_zone":"Europe/Berlin","week_starts_on":0,"anchor":-1,"rate_per_sec":0.1,"max_queue_ms":8,"all":["resets"],"any":[{"name":"ip","limit":"per_ip","weight":2}],"scope":"isolate","per_tenant":true,"shadow":true,"on_unavailable":"deny"}"#,
    );
}

#[test]
fn the_values_that_a_policy_names() {
    let sharings = [
        (Sharing::WeightedFairEscrow, "weighted_fair_escrow"),
        (Sharing::FairShare, "fair_share"),
        (Sharing::WeightedFairShare, "weighted_fair_share"),
        (Sharing::FirstCome, "first_come"),
        (Sharing::StaticPartition, "static_partition"),
    ];
    for (sharing, name) in sharings {
        is_written_as(&sharing, &format!("\"{name}\""));
    }
    let algorithms = [
        (Algorithm::Gcra, "gcra"),
        (Algorithm::TokenBucket, "token_bucket"),
        (Algorithm::DualTokenBucket, "dual_token_bucket"),
        (Algorithm::FixedWindow, "fixed_window"),
        (Algorithm::SlidingWindow, "sliding_window"),
        (Algorithm::SlidingLog, "sliding_log"),
        (Algorithm::Quota, "quota"),
        (Algorithm::LeakyBucket, "leaky_bucket"),
    ];
    for (algorithm, name) in algorithms {
        is_written_as(&algorithm, &format!("\"{name}\""));
    }
    let cadences = [
        (Cadence::CalendarMonth, "calendar_month"),
        (Cadence::CalendarWeek, "calendar_week"),
        (Cadence::CalendarDay, "calendar_day"),
        (Cadence::Fixed, "fixed"),
        (Cadence::Rolling, "rolling"),
    ];
    for (cadence, name) in cadences {
        is_written_as(&cadence, &format!("\"{name}\""));
    }
    let dialects = [
        (HeaderDialect::Ietf, "ietf"),
        (HeaderDialect::XRatelimit, "x_ratelimit"),
        (HeaderDialect::None, "none"),
    ];
    for (dialect, name) in dialects {
        is_written_as(&dialect, &format!("\"{name}\""));
    }
    for (scope, name) in [
        (Scope::Isolate, "isolate"),
        (Scope::Region, "region"),
        (Scope::Global, "global"),
    ] {
        is_written_as(&scope, &format!("\"{name}\""));
    }
    is_written_as(&Reserve::Paced, "\"paced\"");
    is_written_as(&Outage::RegionalOnly, "\"regional_only\"");
}
