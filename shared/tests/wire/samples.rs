//! One example of each form between Weir's own parts, as value and as text.

use weir_shared::ordered::OrderedMap;
use weir_shared::units::{HolderId, Incarnation, Revision, Sequence, WindowLabel};
use weir_shared::wire::accounting::{FrameBody, Tally, TenantCounters};
use weir_shared::wire::count::Count;
use weir_shared::wire::exchange::{
    ExchangeBody, Grant, ReplyBody, Return, Seen, Terms, VERSION, Want, WindowBody,
};

pub(crate) const TERMS: Terms = Terms {
    limit: 100,
    window_ms: 60_000,
    revision: Revision(7),
    cycle: None,
    sharing: None,
    lease: None,
    standing: 0,
};

pub(crate) const SEEN: Seen = Seen {
    incarnation: Incarnation(2),
    sequence: Sequence(8),
};

pub(crate) const MESSAGE: &str = r#"{"v":2,"budget":"tokens","terms":{"limit":100,"window_ms":60000,"revision":7},"holder":18446744073709551615,"incarnation":2,"sequence":9,"seen":{"incarnation":2,"sequence":8},"window":4711,"wants":[{"tenant":null,"waiting":5,"smallest":2,"expected":30}],"returns":[{"window":4711,"units":4}],"denied":6}"#;

pub(crate) const REPLY: &str = r#"{"v":2,"to":{"incarnation":2,"sequence":8},"window":{"label":4711,"remaining_ms":41000,"limit":100},"grants":[{"tenant":null,"units":12,"ceiling":100}],"left":50,"outage":false,"next_contact_ms":500}"#;

pub(crate) const FRAME: &str = r#"{"v":2,"sender":7,"incarnation":2,"sequence":9,"receiver":3,"again":false,"counters":{"acme":{"budgets":{"tokens":{"admitted_calls":1,"admitted_units":5,"denied_calls":0,"denied_units":0}}}}}"#;

pub(crate) const POOL: &str = r#"{"v":2,"label":4711,"ends_at":1700000060000,"window_ms":30000,"terms":{"limit":100,"window_ms":60000,"revision":7},"watermark":40}"#;

pub(crate) const ESCROW: &str = r#"{"v":2,"label":4711,"ends_at":1700000060000,"span_ms":41000,"limit":100,"held":40,"watermark":30,"seen":{"incarnation":2,"sequence":8}}"#;

pub(crate) fn message() -> ExchangeBody {
    ExchangeBody {
        v: VERSION,
        budget: "tokens".to_owned(),
        terms: TERMS,
        holder: HolderId(u64::MAX),
        incarnation: Incarnation(2),
        sequence: Sequence(9),
        seen: Some(SEEN),
        window: Some(WindowLabel(4_711)),
        wants: vec![Want {
            tenant: None,
            waiting: 5,
            smallest: 2,
            expected: 30,
            held: 0,
            denied: 0,
            rank: None,
        }],
        returns: vec![Return {
            window: WindowLabel(4_711),
            units: 4,
        }],
        ahead: 0,
        idle: 0,
        denied: 6,
    }
}

pub(crate) fn reply() -> ReplyBody {
    ReplyBody {
        v: VERSION,
        to: SEEN,
        window: WindowBody {
            label: WindowLabel(4_711),
            remaining_ms: 41_000,
            limit: 100,
        },
        grants: vec![Grant {
            tenant: None,
            units: 12,
            ceiling: 100,
            used: 0,
            left: 0,
            allowance: 0,
            contended: false,
            retry_ms: None,
        }],
        ahead: vec![],
        left: 50,
        outage: false,
        next_contact_ms: 500,
        retry_ms: None,
    }
}

pub(crate) fn frame() -> FrameBody {
    let tally = Tally {
        admitted_calls: Count(1),
        admitted_units: Count(5),
        ..Tally::default()
    };
    let acme = TenantCounters {
        budgets: [("tokens".to_owned(), tally)].into(),
        ..TenantCounters::default()
    };
    FrameBody {
        v: VERSION,
        sender: HolderId(7),
        incarnation: Incarnation(2),
        sequence: Sequence(9),
        receiver: Incarnation(3),
        again: false,
        counters: OrderedMap::from([("acme".to_owned(), acme)]),
        ..FrameBody::default()
    }
}
