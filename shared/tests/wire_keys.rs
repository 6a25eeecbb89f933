//! The exact text of what isolates and the shards of a region's keys say to each other, of the rows that shards keep,
//! and of reservations.

use crate::wire::pinned::is_written_as;
use weir_shared::algorithms::composite::{Mode, StateKey};
use weir_shared::algorithms::scale::{ScaledReceipt, ScaledState};
use weir_shared::algorithms::{Receipt, State};
use weir_shared::decision::Decision;
use weir_shared::invalid::read_json;
use weir_shared::limiting::hold::Charge;
use weir_shared::limiting::messages::{
    AnsweredBody, AskedBody, DebtBody, DecideBody, DecideReply, DrawnBody, FinishBody, FinishReply,
    GroupBody, ReturnBody, SettleKeysBody, SettledKeys, ShapeBody, ShapeReply,
};
use weir_shared::limiting::owner::{Account, Owner};
use weir_shared::limiting::reservation::{Counted, Place, Reservable, Reservation, Reserved};
use weir_shared::limiting::settlement::{Accounted, PoolChange, SettleBody, SettleReply, Use};
use weir_shared::limiting::stored::{StoredHold, StoredState};
use weir_shared::policy::limit::{Rule, rule_of};
use weir_shared::units::{EpochMs, OpId, Revision, WindowLabel};
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::limit_terms::LimitTerms;
use weir_shared::wire::policy::LimitBody;
use weir_shared::wire::stored::{StoredSettlement, read_row};

const NOW: EpochMs = EpochMs(1_700_000_000_000);

const TERMS: &str = r#"{"name":"hourly","revision":7,"scale":1,"body":{"algorithm":"fixed_window","limit":10,"window_ms":3600000,"scope":"region"}}"#;

const BACK: &str = r#"{"limit":"hourly","key":"k","units":3,"receipt":{"receipt":{"fixed_window":{"end_ms":1700002800000}}}}"#;

fn body(text: &str) -> LimitBody {
    read_json(text.as_bytes()).unwrap()
}

fn terms() -> LimitTerms {
    LimitTerms {
        name: "hourly".to_owned(),
        revision: Revision(7),
        scale: 1,
        body: body(
            r#"{"algorithm":"fixed_window","limit":10,"window_ms":3600000,"scope":"region"}"#,
        ),
        meter: None,
        guard: None,
        key: None,
        since: 0,
    }
}

/// The state and the receipt of one charge of 3 units under the rules of `text`.
fn charged(text: &str) -> (State, Receipt) {
    let Rule::Single(single) = rule_of(&body(text), 1).unwrap() else {
        panic!("{text}");
    };
    let next = single.machine.check(None, 3, NOW).next.unwrap();
    let receipt = single.machine.receipt(&next);
    (next.state, receipt.receipt)
}

fn back() -> ReturnBody {
    let (_, receipt) =
        charged(r#"{"algorithm":"fixed_window","limit":10,"window_ms":3600000,"scope":"region"}"#);
    ReturnBody {
        limit: "hourly".to_owned(),
        key: "k".to_owned(),
        units: 3,
        receipt: ScaledReceipt::whole(receipt),
    }
}

const ACCOUNT: &str = r#"{"owner":"t:acme","caller":"c:k1"}"#;

fn account() -> Account {
    Account {
        owner: Some(Owner::tenant("acme")),
        caller: Some(Owner::token("k1")),
        named: false,
        only: false,
    }
}

#[test]
fn on_whose_account_a_key_is_kept() {
    is_written_as(&account(), ACCOUNT);
    let owners = [
        (Owner::address("203.0.113.9"), r#""a:203.0.113.9""#),
        (Owner::actor("ops@example.com"), r#""n:ops@example.com""#),
        (Owner::route("api"), r#""r:api""#),
    ];
    for (owner, text) in owners {
        is_written_as(&owner, text);
    }
    let named = Account {
        caller: None,
        named: true,
        only: false,
        ..account()
    };
    is_written_as(&named, r#"{"owner":"t:acme","named":true}"#);
    let overflow = ReturnBody {
        receipt: back().receipt.kept_under("\u{1}t:acme", "k"),
        ..back()
    };
    let text = BACK.replace("}}}}", r#"}},"kept":"\u0001t:acme"}}"#);
    is_written_as(&overflow, &text);
    let debt = DebtBody {
        limit: "hourly".to_owned(),
        key: "k".to_owned(),
        units: 9,
        kept: Some("\u{1}t:acme".to_owned()),
    };
    is_written_as(
        &debt,
        r#"{"limit":"hourly","key":"k","units":9,"kept":"\u0001t:acme"}"#,
    );
}

#[test]
fn the_states_and_receipts_of_every_algorithm() {
    for (rules, state, receipt) in PINS {
        let charged = charged(rules);
        is_written_as(&charged.0, state);
        is_written_as(&charged.1, receipt);
    }
    is_written_as(&Receipt::Nothing, r#""nothing""#);
    let text =
        r#"{"algorithm":"leaky_bucket","rate_per_sec":3,"max_queue_ms":1000,"scope":"region"}"#;
    let Rule::Shaper(shaper) = rule_of(&body(text), 1).unwrap() else {
        panic!();
    };
    let bucket = shaper.bucket;
    let next = bucket.reserve(None, 1, NOW).next.unwrap();
    is_written_as(&State::LeakyBucket(next.clone()), LEAKY);
    let receipt = bucket.receipt(&next).unwrap();
    is_written_as(&Receipt::LeakyBucket(receipt), PLACE);
    let later = bucket.reserve(Some(&next), 1, NOW).next.unwrap();
    let receipt = bucket.receipt(&later).unwrap();
    let last = bucket.reserve(Some(&later), 1, NOW).next.unwrap();
    let left = bucket.refund(&last, &receipt, 1, NOW).unwrap();
    is_written_as(&State::LeakyBucket(left), LEFT);
    // As it was written before a place could be given back.
    let before = r#"{"leaky_bucket":{"ms":1700000000333,"ticks":1,"ticks_per_ms":3,"latest_ms":1700000000000}}"#;
    let before = serde_json::from_str::<State>(before).unwrap();
    let State::LeakyBucket(before) = before else {
        panic!("{before:?}");
    };
    assert_eq!(bucket.reserve(Some(&before), 1, NOW).outcome.delay_ms, 334);
    assert_eq!(bucket.receipt(&before), None);
}

const LEAKY: &str = r#"{"leaky_bucket":{"ms":1700000000333,"ticks":1,"ticks_per_ms":3,"latest_ms":1700000000000,"last":{"ms":1700000000000,"ticks":0,"length":1000}}}"#;

const LEFT: &str = r#"{"leaky_bucket":{"ms":1700000001000,"ticks":0,"ticks_per_ms":3,"latest_ms":1700000000000,"free":[{"ms":1700000000333,"ticks":1,"length":1000}]}}"#;

const PLACE: &str = r#"{"leaky_bucket":{"place":{"ms":1700000000000,"ticks":0,"length":1000},"ticks_per_ms":3,"ticks_per_unit":1000,"taken_ms":1700000000000}}"#;

const PINS: [(&str, &str, &str); 7] = [
    (
        r#"{"algorithm":"gcra","limit":3,"period_ms":1000,"burst":5,"scope":"region"}"#,
        r#"{"gcra":{"ms":1700000001000,"ticks":0,"ticks_per_ms":3,"ticks_per_unit":1000,"latest_ms":1700000000000,"tally":[1700000000000,3,3]}}"#,
        r#"{"gcra":[1700000000000,3]}"#,
    ),
    (
        r#"{"algorithm":"token_bucket","capacity":5,"refill_per_sec":0.3,"scope":"region"}"#,
        r#"{"token_bucket":{"missing":3,"ticks":0,"ticks_per_token":10000,"latest_ms":1700000000000,"tally":[1700000000000,3,3]}}"#,
        r#"{"token_bucket":[1700000000000,3]}"#,
    ),
    (
        r#"{"algorithm":"dual_token_bucket","capacity":5,"refill_per_sec":0.3,"peak_capacity":4,"peak_per_sec":2,"scope":"region"}"#,
        r#"{"dual_token_bucket":{"sustained":{"missing":3,"ticks":0,"ticks_per_token":10000,"latest_ms":1700000000000,"tally":[1700000000000,3,3]},"peak":{"missing":3,"ticks":0,"ticks_per_token":500,"latest_ms":1700000000000,"tally":[1700000000000,3,3]}}}"#,
        r#"{"dual_token_bucket":{"sustained":[1700000000000,3],"peak":[1700000000000,3]}}"#,
    ),
    (
        r#"{"algorithm":"fixed_window","limit":10,"window_ms":3600000,"scope":"region"}"#,
        r#"{"fixed_window":{"start_ms":1699999200000,"end_ms":1700002800000,"units":3}}"#,
        r#"{"fixed_window":{"end_ms":1700002800000}}"#,
    ),
    (
        r#"{"algorithm":"sliding_window","limit":10,"window_ms":60000,"scope":"region"}"#,
        r#"{"sliding_window":{"slots":[60000,10],"latest_ms":1700000000000,"counts":[[283333333,3]]}}"#,
        r#"{"sliding_window":{"slots":[60000,10],"bucket":283333333}}"#,
    ),
    (
        r#"{"algorithm":"sliding_log","limit":10,"window_ms":60000,"scope":"region"}"#,
        r#"{"sliding_log":{"window_ms":60000,"charges":[[1700000000000,3]]}}"#,
        r#"{"sliding_log":{"at_ms":1700000000000}}"#,
    ),
    (
        r#"{"algorithm":"quota","limit":10,"cadence":"calendar_month","scope":"region"}"#,
        r#"{"quota":{"period":{"start_ms":1698796800000,"end_ms":1701388800000,"units":3}}}"#,
        r#"{"quota":{"period":{"end_ms":1701388800000}}}"#,
    ),
];

#[test]
fn a_question_and_its_answer() {
    let decision = Decision::unavailable(10, EpochMs(9_000), 500);
    let asked = DecideBody {
        v: VERSION,
        op: OpId(42),
        limits: vec![terms()],
        returns: vec![back()],
        groups: vec![GroupBody {
            mode: Mode::Any,
            dimensions: vec![
                AskedBody::Key {
                    limit: "hourly".to_owned(),
                    key: "acme\u{1}k".to_owned(),
                    cost: 3,
                    look: false,
                    ahead: 20,
                    shadow: false,
                    known: false,
                    account: account(),
                },
                AskedBody::Decided {
                    decision: decision.into(),
                    shadow: true,
                },
            ],
        }],
        hold: true,
    };
    is_written_as(
        &asked,
        &format!(
            r#"{{"v":2,"op":42,"limits":[{TERMS}],"returns":[{BACK}],"groups":[{{"mode":"any","dimensions":[{{"key":{{"limit":"hourly","key":"acme\u0001k","cost":3,"look":false,"ahead":20,"shadow":false,"account":{ACCOUNT}}}}},{{"decided":{{"decision":{{"reason":"unavailable","limit":10,"remaining":0,"reset_at":9500,"retry_after_ms":500}},"shadow":true}}}}]}}],"hold":true}}"#
        ),
    );
    let answered = DecideReply {
        v: VERSION,
        taken: true,
        admitted: true,
        groups: vec![vec![AnsweredBody {
            decision: Decision::IDENTITY.into(),
            receipt: Some(back().receipt),
            drawn: Some(DrawnBody {
                units: 20,
                spendable_ms: Some(400),
                receipt: back().receipt,
            }),
            in_flight: None,
        }]],
    };
    is_written_as(
        &answered,
        r#"{"v":2,"taken":true,"admitted":true,"groups":[[{"decision":{"reason":"admitted","limit":9007199254740991,"remaining":9007199254740991,"reset_at":0,"retry_after_ms":0},"receipt":{"receipt":{"fixed_window":{"end_ms":1700002800000}}},"drawn":{"units":20,"spendable_ms":400,"receipt":{"receipt":{"fixed_window":{"end_ms":1700002800000}}}}}]]}"#,
    );
    let finish = FinishBody {
        v: VERSION,
        op: OpId(42),
        commit: true,
        heard: true,
    };
    is_written_as(&finish, r#"{"v":2,"op":42,"commit":true,"heard":true}"#);
    is_written_as(&FinishReply { standing: true }, r#"{"standing":true}"#);
}

#[test]
fn settlements() {
    let keys = SettleKeysBody {
        v: VERSION,
        op: OpId(42),
        expires_at: NOW,
        limits: vec![terms()],
        returns: vec![back()],
        debts: vec![DebtBody {
            limit: "hourly".to_owned(),
            key: "k".to_owned(),
            units: 9,
            kept: None,
        }],
    };
    is_written_as(
        &keys,
        &format!(
            r#"{{"v":2,"op":42,"expires_at":1700000000000,"limits":[{TERMS}],"returns":[{BACK}],"debts":[{{"limit":"hourly","key":"k","units":9}}]}}"#
        ),
    );
    let settled = SettledKeys {
        returned: vec![3],
        charged: vec![9],
    };
    is_written_as(&settled, r#"{"returned":[3],"charged":[9]}"#);
    let pools = SettleBody {
        v: VERSION,
        region: "weur".to_owned(),
        op: OpId(42),
        actual: 900,
        expires_at: NOW,
        pools: vec![PoolChange {
            pool: "tokens".to_owned(),
            tenant: Some("acme".to_owned()),
            label: WindowLabel(4_711),
            back: 600,
            debt: 0,
            reserved: 0,
        }],
        account: account(),
        accounted: Accounted::default(),
    };
    let text = r#"{"v":2,"region":"weur","op":42,"actual":900,"expires_at":1700000000000,"pools":[{"pool":"tokens","tenant":"acme","label":4711,"back":600,"debt":0}]"#;
    is_written_as(&pools, &format!(r#"{text},"account":{ACCOUNT}}}"#));
    let counted = SettleBody {
        accounted: Accounted {
            tenant: Some("acme".to_owned()),
            until: NOW,
            uses: vec![Use {
                of: Reservable::Budget,
                name: "tokens".to_owned(),
                reserved: 1_500,
                used: 900,
            }],
        },
        ..pools.clone()
    };
    let uses = r#"{"tenant":"acme","until":1700000000000,"uses":[{"of":"budget","name":"tokens","reserved":1500,"used":900}]}"#;
    is_written_as(
        &counted,
        &format!(r#"{text},"account":{ACCOUNT},"accounted":{uses}}}"#),
    );
    // One of an older version says nothing of whose the pools are.
    let older = SettleBody {
        account: Account::default(),
        ..pools
    };
    is_written_as(&older, &format!("{text}}}"));
    let change = PoolChange {
        pool: "tokens".to_owned(),
        tenant: None,
        label: WindowLabel(1),
        back: 0,
        debt: 0,
        reserved: 7,
    };
    is_written_as(
        &change,
        r#"{"pool":"tokens","label":1,"back":0,"debt":0,"reserved":7}"#,
    );
    let reply = SettleReply {
        actual: 900,
        returned: vec![600],
        charged: vec![0],
    };
    is_written_as(&reply, r#"{"actual":900,"returned":[600],"charged":[0]}"#);
}

#[test]
fn places_in_a_queue() {
    let asked = ShapeBody {
        v: VERSION,
        limit: terms(),
        key: "k".to_owned(),
        cost: 1,
        known: true,
        account: account(),
    };
    let text =
        format!(r#"{{"v":2,"limit":{TERMS},"key":"k","cost":1,"known":true,"account":{ACCOUNT}}}"#);
    is_written_as(&asked, &text);
    // One of an older version says nothing of whose key it is.
    let older = ShapeBody {
        known: false,
        account: Account::default(),
        ..asked
    };
    is_written_as(
        &older,
        &format!(r#"{{"v":2,"limit":{TERMS},"key":"k","cost":1}}"#),
    );
    let place = ShapeReply {
        accepted: false,
        delay_ms: 0,
        retry_after_ms: None,
    };
    is_written_as(
        &place,
        r#"{"accepted":false,"delay_ms":0,"retry_after_ms":null}"#,
    );
}

#[test]
fn a_reservation() {
    let reservation = Reservation {
        op: OpId(42),
        region: "weur".to_owned(),
        tenant: Some("acme".to_owned()),
        account: account(),
        expires_at: NOW,
        charges: vec![
            Reserved {
                cost: 1_500,
                units: 1_500,
                place: Place::Pool {
                    pool: "tokens".to_owned(),
                    label: WindowLabel(4_711),
                    tenant: Some("acme".to_owned()),
                },
            },
            Reserved {
                cost: 1,
                units: 2,
                place: Place::Key {
                    limit: "hourly".to_owned(),
                    key: "k".to_owned(),
                    global: false,
                    receipt: back().receipt,
                },
            },
            Reserved {
                cost: 3,
                units: 3,
                place: Place::Key {
                    limit: "meter\u{1}rows".to_owned(),
                    key: "acme".to_owned(),
                    global: true,
                    receipt: back().receipt,
                },
            },
        ],
        counted: Vec::new(),
    };
    let (head, rest) = (
        r#"{"op":42,"region":"weur","tenant":"acme","#,
        r#""expires_at":1700000000000,"charges":[{"cost":1500,"units":1500,"place":{"pool":{"pool":"tokens","label":4711,"tenant":"acme"}}},{"cost":1,"units":2,"place":{"key":{"limit":"hourly","key":"k","receipt":{"receipt":{"fixed_window":{"end_ms":1700002800000}}}}}},{"cost":3,"units":3,"place":{"key":{"limit":"meter\u0001rows","key":"acme","global":true,"receipt":{"receipt":{"fixed_window":{"end_ms":1700002800000}}}}}}]}"#,
    );
    let text = format!(r#"{head}"account":{ACCOUNT},{rest}"#);
    is_written_as(&reservation, &text);
    let counted = Reservation {
        counted: vec![Counted {
            of: Reservable::Meter,
            name: "rows".to_owned(),
            cost: 3,
        }],
        ..reservation.clone()
    };
    let more = text.replace(
        "]}",
        r#"],"counted":[{"of":"meter","name":"rows","cost":3}]}"#,
    );
    is_written_as(&counted, &more);
    // One of an older version, and one that charged no pool of a key, says nothing of whose they are.
    let older = Reservation {
        account: Account::default(),
        ..reservation
    };
    is_written_as(&older, &format!("{head}{rest}"));
}

#[test]
fn the_rows_of_a_shard() {
    let (state, receipt) =
        charged(r#"{"algorithm":"fixed_window","limit":10,"window_ms":3600000,"scope":"region"}"#);
    let row = StoredState::new(ScaledState { scale: 2, state });
    let text = r#"{"v":2,"state":{"scale":2,"state":{"fixed_window":{"start_ms":1699999200000,"end_ms":1700002800000,"units":3}}}}"#;
    is_written_as(&row, text);
    assert_eq!(read_row::<StoredState>(text), Ok(row));
    assert!(read_row::<StoredState>(&text.replace("\"v\":2", "\"v\":4")).is_err());

    let charge = Charge {
        key: StateKey {
            limit: "hourly".to_owned(),
            key: "k".to_owned(),
        },
        units: 3,
        receipt: ScaledReceipt::whole(receipt),
    };
    let row = StoredHold::new(&[terms()], (&[charge], &[]), NOW);
    let text = format!(
        r#"{{"v":2,"limits":[{TERMS}],"charges":[{BACK}],"draws":[],"lapses_at":1700000000000,"committed":false}}"#
    );
    is_written_as(&row, &text);
    assert_eq!(read_row::<StoredHold>(&text), Ok(row.clone()));
    let text = text.replace("false}", &format!(r#"false,"account":{ACCOUNT}}}"#));
    is_written_as(&row.of(account()), &text);

    let row = StoredSettlement::new(SettledKeys {
        returned: vec![3],
        charged: Vec::new(),
    });
    is_written_as(&row, r#"{"v":2,"result":{"returned":[3],"charged":[]}}"#);
}
