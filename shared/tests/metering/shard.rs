//! Meters and guards at a shard: one question charges several or none, and what is lost lapses.

use weir_shared::algorithms::composite::Mode;
use weir_shared::limiting::messages::{
    AskedBody, DebtBody, DecideBody, DecideReply, DecidedBody, FinishBody, GroupBody, GuardAction,
    GuardBody, GuardReply, ReturnBody, SettleKeysBody,
};
use weir_shared::limiting::owner::Account;
use weir_shared::limits::HOLD_MS;
use weir_shared::name::{guard_name, meter_name};
use weir_shared::units::{EpochMs, OpId, Revision};
use weir_shared::wire::check::Reason;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::limit_terms::{GuardTerms, LimitTerms, MeterTerms};

use super::START;
use crate::shard::store::{Store, key};

/// 100 a second, a burst of one second, a minute of debt.
const METER: MeterTerms = MeterTerms {
    per_sec: Decimal(100.0),
    burst_seconds: Decimal(1.0),
    max_debt_ms: 60_000,
};

/// One at a time, sixty a minute, a lease of half a minute.
const GUARD: GuardTerms = GuardTerms {
    concurrency: Some(1),
    per_minute: Some(60),
    lease_ms: 30_000,
};

fn meter_terms(name: &str) -> LimitTerms {
    LimitTerms::of_meter(name, Revision(1), METER)
}

fn guard_terms() -> LimitTerms {
    LimitTerms::of_guard("queries", Revision(1), GUARD)
}

/// A question of `acme` for what these rules keep, each at its cost; 0 looks.
fn ask(op: u64, asked: &[(LimitTerms, u64)], hold: bool) -> DecideBody {
    let group = |(terms, cost): &(LimitTerms, u64)| GroupBody {
        mode: Mode::All,
        dimensions: vec![AskedBody::Key {
            limit: terms.name.clone(),
            key: "acme".to_owned(),
            cost: (*cost).max(1),
            look: *cost == 0,
            ahead: 0,
            shadow: false,
            known: true,
            account: Account::default(),
        }],
    };
    DecideBody {
        v: VERSION,
        op: OpId(op),
        limits: asked.iter().map(|(terms, _)| terms.clone()).collect(),
        returns: Vec::new(),
        groups: asked.iter().map(group).collect(),
        hold,
    }
}

fn finish(op: u64, commit: bool, heard: bool) -> FinishBody {
    FinishBody {
        v: VERSION,
        op: OpId(op),
        commit,
        heard,
    }
}

/// The decision of one check that only looks.
fn look(store: &mut Store, terms: &LimitTerms, now: EpochMs) -> DecidedBody {
    let reply = store.decide(&ask(u64::MAX, &[(terms.clone(), 0)], false), now);
    reply.groups[0][0].decision
}

fn slots(store: &mut Store, now: EpochMs) -> u64 {
    let reply = store.decide(&ask(u64::MAX, &[(guard_terms(), 0)], false), now);
    reply.groups[0][0].in_flight.unwrap().slots
}

/// Asks for a slot; its name, or why there is none.
fn acquire(store: &mut Store, op: u64, now: EpochMs) -> Result<u64, Reason> {
    let reply = store.decide(&ask(op, &[(guard_terms(), 1)], false), now);
    let answer = &reply.groups[0][0];
    let slot = answer.receipt.as_ref().and_then(|receipt| receipt.slot());
    slot.map(|(slot, _)| slot).ok_or(answer.decision.reason)
}

fn slot_body(terms: LimitTerms, slot: u64, action: GuardAction) -> GuardBody {
    GuardBody {
        v: VERSION,
        terms,
        key: "acme".to_owned(),
        kept: None,
        slot,
        action,
    }
}

fn slotted(store: &mut Store, slot: u64, action: GuardAction, now: EpochMs) -> GuardReply {
    store.guard(&slot_body(guard_terms(), slot, action), now)
}

fn drawn(reply: &DecideReply) -> u64 {
    let drawn = reply.groups[0][0].drawn.as_ref();
    drawn.map_or(0, |drawn| drawn.units)
}

#[test]
fn one_message_charges_several_meters_or_none() {
    let mut store = Store::default();
    let (results, bytes) = (meter_terms("results"), meter_terms("bytes"));
    let both = |op, costs: (u64, u64)| {
        ask(
            op,
            &[(results.clone(), costs.0), (bytes.clone(), costs.1)],
            false,
        )
    };
    assert!(store.decide(&both(1, (40, 500)), START).admitted);
    // The bytes owe 400 now: the results are not charged either.
    let denied = store.decide(&both(2, (40, 1)), START);
    assert!(!denied.admitted && denied.groups[0][0].receipt.is_none());
    assert_eq!(look(&mut store, &results, START).remaining, 60);
    let owed = look(&mut store, &bytes, START);
    assert_eq!(owed.retry_after_ms, Some(4_001));
    assert!(store.decide(&both(3, (40, 1)), START.plus(4_001)).admitted);
}

#[test]
fn the_same_meter_twice_in_one_message_is_decided_for_the_sum() {
    let mut store = Store::default();
    let twice = |op, cost| {
        ask(
            op,
            &[(meter_terms("m"), cost), (meter_terms("m"), cost)],
            false,
        )
    };
    let above = store.decide(&twice(1, 3_051), START);
    assert!(!above.admitted, "6,102 are above 6,100");
    assert_eq!(above.groups[1][0].decision.reason, Reason::Never);
    assert_eq!(above.groups[1][0].decision.limit, 6_100);
    let left = look(&mut store, &meter_terms("m"), START).remaining;
    assert_eq!(left, 100, "nothing is charged");
    assert!(store.decide(&twice(2, 3_050), START).admitted);
    let wait_ms = look(&mut store, &meter_terms("m"), START).retry_after_ms;
    assert_eq!(
        wait_ms,
        Some(60_001),
        "both are charged: all the debt there may be"
    );
}

#[test]
fn what_is_drawn_ahead_of_a_meter_takes_on_no_debt_for_it() {
    let mut store = Store::default();
    let mut body = ask(1, &[(meter_terms("m"), 30)], false);
    if let AskedBody::Key { ahead, .. } = &mut body.groups[0].dimensions[0] {
        *ahead = 10_000;
    }
    let reply = store.decide(&body, START);
    assert_eq!(drawn(&reply), 70, "the tokens that are left, not the debt");
    let wait_ms = look(&mut store, &meter_terms("m"), START).retry_after_ms;
    assert_eq!(wait_ms, Some(1), "none is left, none is owed");
    // What comes back is there for a batch again.
    let mut batch = ask(2, &[(meter_terms("m"), 500)], false);
    batch.returns.push(ReturnBody {
        limit: meter_name("m"),
        key: "acme".to_owned(),
        units: 70,
        receipt: reply.groups[0][0].drawn.clone().unwrap().receipt,
    });
    assert!(store.decide(&batch, START).admitted);
}

#[test]
fn no_slot_is_drawn_ahead() {
    let mut store = Store::default();
    let wide = GuardTerms {
        concurrency: Some(10),
        ..GUARD
    };
    let terms = LimitTerms::of_guard("queries", Revision(1), wide);
    let mut body = ask(1, &[(terms, 1)], false);
    if let AskedBody::Key { ahead, .. } = &mut body.groups[0].dimensions[0] {
        *ahead = 5;
    }
    let reply = store.decide(&body, START);
    assert_eq!((reply.admitted, drawn(&reply)), (true, 0));
    assert_eq!(reply.groups[0][0].in_flight.unwrap().slots, 1);
}

#[test]
fn a_slot_is_taken_renewed_and_released_also_across_a_crash() {
    let mut store = Store::default();
    let slot = acquire(&mut store, 1, START).unwrap();
    assert_eq!(acquire(&mut store, 2, START), Err(Reason::Concurrency));
    store.crash();
    let renewed = slotted(&mut store, slot, GuardAction::Renew, START.plus(29_999));
    assert_eq!(
        (renewed.held, renewed.expires_at),
        (true, Some(START.plus(59_999)))
    );
    assert_eq!(
        acquire(&mut store, 3, START.plus(59_998)),
        Err(Reason::Concurrency)
    );
    let released = slotted(&mut store, slot, GuardAction::Release, START.plus(59_998));
    let in_flight = released.in_flight.unwrap();
    assert_eq!(
        (released.held, released.expires_at, in_flight.slots),
        (false, None, 0)
    );
    let again = slotted(&mut store, slot, GuardAction::Release, START.plus(59_998));
    assert_eq!(again, released, "a second release changes nothing");
    let next = acquire(&mut store, 4, START.plus(59_998)).unwrap();
    assert!(next > slot);
    slotted(&mut store, slot, GuardAction::Release, START.plus(59_999));
    assert_eq!(
        slots(&mut store, START.plus(59_999)),
        1,
        "the slot of another stays"
    );
}

#[test]
fn a_renewal_after_the_lease_ended_is_refused() {
    let mut store = Store::default();
    let slot = acquire(&mut store, 1, START).unwrap();
    let late = slotted(&mut store, slot, GuardAction::Renew, START.plus(30_000));
    assert_eq!((late.held, late.expires_at), (false, None));
    assert!(acquire(&mut store, 2, START.plus(30_000)).is_ok());
    let unknown = slotted(&mut store, 7, GuardAction::Renew, START.plus(30_000));
    assert!(!unknown.held);
}

#[test]
fn a_denial_for_want_of_a_slot_takes_nothing_of_the_budget() {
    let mut store = Store::default();
    let slot = acquire(&mut store, 1, START).unwrap();
    for op in 2..100 {
        assert_eq!(acquire(&mut store, op, START), Err(Reason::Concurrency));
    }
    slotted(&mut store, slot, GuardAction::Release, START);
    for op in 100..159 {
        let slot = acquire(&mut store, op, START).unwrap();
        slotted(&mut store, slot, GuardAction::Release, START);
    }
    assert_eq!(acquire(&mut store, 159, START), Err(Reason::LimitExceeded));
    assert_eq!(
        slots(&mut store, START),
        0,
        "nor does the other take a slot"
    );
    assert!(
        acquire(&mut store, 160, START.plus(1_000)).is_ok(),
        "one a second flows in"
    );
}

#[test]
fn a_slot_that_was_held_for_a_question_is_free_again_when_it_is_undone_or_lapses() {
    for lapses in [false, true] {
        let mut store = Store::default();
        let question = ask(1, &[(guard_terms(), 1), (meter_terms("m"), 500)], true);
        assert!(store.decide(&question, START).admitted);
        assert_eq!(acquire(&mut store, 2, START), Err(Reason::Concurrency));
        store.crash();
        let now = if lapses {
            START.plus(HOLD_MS)
        } else {
            store.finish(finish(1, false, true), START);
            START
        };
        assert_eq!(slots(&mut store, now), 0);
        let left = look(&mut store, &guard_terms(), now);
        assert_eq!(left.remaining, 1);
        assert_eq!(left.reset_at, now, "the budget is whole again");
        assert_eq!(look(&mut store, &meter_terms("m"), now).remaining, 100);
    }
}

#[test]
fn a_committed_slot_stays_and_one_whose_answer_was_lost_is_undone() {
    let mut store = Store::default();
    assert!(
        store
            .decide(&ask(1, &[(guard_terms(), 1)], true), START)
            .admitted
    );
    assert!(store.finish(finish(1, true, true), START).standing);
    let later = START.plus(20_000);
    assert_eq!(slots(&mut store, later), 1);
    // Committed here, not elsewhere: undone a moment later.
    let mut store = Store::default();
    assert!(
        store
            .decide(&ask(1, &[(guard_terms(), 1)], true), START)
            .admitted
    );
    assert!(store.finish(finish(1, true, true), START).standing);
    store.finish(finish(1, false, true), START.plus(10));
    assert_eq!(slots(&mut store, START.plus(10)), 0);
    // Not held, and the answer lost.
    assert!(acquire(&mut store, 2, START.plus(20)).is_ok());
    store.finish(finish(2, false, false), START.plus(30));
    assert_eq!(slots(&mut store, START.plus(30)), 0);
}

#[test]
fn a_settlement_gives_a_slot_and_its_budget_back_and_charges_no_debt_to_a_guard() {
    let mut store = Store::default();
    let reply = store.decide(
        &ask(1, &[(guard_terms(), 1), (meter_terms("m"), 50)], false),
        START,
    );
    let receipt = |group: usize| reply.groups[group][0].receipt.clone().unwrap();
    let back = |limit: String, units, receipt| ReturnBody {
        limit,
        key: "acme".to_owned(),
        units,
        receipt,
    };
    let debt = |limit: String, units| DebtBody {
        limit,
        key: "acme".to_owned(),
        units,
        kept: None,
    };
    let settle = SettleKeysBody {
        v: VERSION,
        op: OpId(9),
        expires_at: START.plus(60_000),
        limits: vec![guard_terms(), meter_terms("m")],
        returns: vec![back(guard_name("queries"), 1, receipt(0))],
        debts: vec![debt(guard_name("queries"), 3), debt(meter_name("m"), 200)],
    };
    let settled = store.settle(&settle, START.plus(10));
    assert_eq!(
        (&settled.returned[..], &settled.charged[..]),
        (&[1][..], &[0, 200][..])
    );
    assert_eq!(slots(&mut store, START.plus(10)), 0);
    let left = look(&mut store, &guard_terms(), START.plus(10));
    assert_eq!(
        left.reset_at,
        START.plus(10),
        "nothing of its budget is missing"
    );
    // 100 - 50 + 1 - 200: 149 are owed.
    let owed = look(&mut store, &meter_terms("m"), START.plus(10));
    assert_eq!(owed.retry_after_ms, Some(1_491));
    // A debt beyond what there may be is charged as far as it may.
    let more = SettleKeysBody {
        op: OpId(10),
        returns: Vec::new(),
        debts: vec![debt(meter_name("m"), 1_000_000)],
        ..settle
    };
    let settled = store.settle(&more, START.plus(2_000));
    let ceiling = 6_000 + 50;
    assert_eq!(settled.charged[0], ceiling, "50 tokens and all the debt");
}

#[test]
fn damaged_rows_count_as_used_up_and_come_back_after_their_time() {
    let mut store = Store::default();
    store.damage(key(&meter_name("m"), "acme"));
    store.damage(key(&guard_name("queries"), "acme"));
    let question = |op| ask(op, &[(meter_terms("m"), 1), (guard_terms(), 1)], false);
    let denied = store.decide(&question(1), START);
    let [meter, guard] = [&denied.groups[0][0].decision, &denied.groups[1][0].decision];
    assert_eq!(
        (meter.reason, meter.retry_after_ms),
        (Reason::LimitExceeded, Some(60_001))
    );
    assert_eq!(
        (guard.reason, guard.retry_after_ms),
        (Reason::Concurrency, Some(30_000))
    );
    store.crash();
    assert!(!store.decide(&question(2), START.plus(60_000)).admitted);
    assert!(store.decide(&question(3), START.plus(60_001)).admitted);
}

#[test]
fn releasing_a_slot_of_a_damaged_row_frees_nothing() {
    let mut store = Store::default();
    let slot = acquire(&mut store, 1, START).unwrap();
    store.damage(key(&guard_name("queries"), "acme"));
    let released = slotted(&mut store, slot, GuardAction::Release, START.plus(10));
    assert!(!released.held);
    assert_eq!(
        acquire(&mut store, 2, START.plus(11)),
        Err(Reason::Concurrency)
    );
    let nobody = slotted(&mut store, 0, GuardAction::Release, START.plus(12));
    assert_eq!(nobody.in_flight.unwrap().slots, 1);
    assert!(acquire(&mut store, 3, START.plus(30_010)).is_ok());
}

#[test]
fn a_guard_or_a_meter_in_shadow_is_charged_and_never_denies() {
    let mut store = Store::default();
    assert!(acquire(&mut store, 1, START).is_ok());
    let mut body = ask(2, &[(guard_terms(), 1), (meter_terms("m"), 10)], false);
    if let AskedBody::Key { shadow, .. } = &mut body.groups[0].dimensions[0] {
        *shadow = true;
    }
    let reply = store.decide(&body, START);
    assert!(reply.admitted);
    assert_eq!(reply.groups[0][0].decision.reason, Reason::Concurrency);
    assert_eq!(look(&mut store, &meter_terms("m"), START).remaining, 90);
}

#[test]
fn a_tenant_with_rules_of_its_own_is_decided_by_them_and_others_are_not() {
    let mut store = Store::default();
    let ten = MeterTerms {
        per_sec: Decimal(10.0),
        ..METER
    };
    let own = |since| LimitTerms::of_meter("m", Revision(1), ten).for_key("acme", EpochMs(since));
    store.decide(&ask(1, &[(meter_terms("m"), 1)], false), START);
    let reply = store.decide(&ask(2, &[(own(0), 1)], false), START);
    assert_eq!(reply.groups[0][0].decision.limit, 610);
    assert_eq!(
        reply.groups[0][0].decision.remaining, 8,
        "what was used stays used"
    );
    // An isolate that has not heard of them asks by those of all.
    assert_eq!(look(&mut store, &meter_terms("m"), START).limit, 610);
    let mut globex = ask(3, &[(meter_terms("m"), 1)], false);
    if let AskedBody::Key { key, .. } = &mut globex.groups[0].dimensions[0] {
        *key = "globex".to_owned();
    }
    assert_eq!(
        store.decide(&globex, START).groups[0][0].decision.limit,
        6_100
    );
}

#[test]
fn a_phase_that_has_begun_is_not_ended_by_an_isolate_whose_clock_is_late() {
    let mut store = Store::default();
    let phase = |per_sec, since| {
        let meter = MeterTerms {
            per_sec: Decimal(per_sec),
            ..METER
        };
        LimitTerms::of_meter("m", Revision(1), meter).for_key("acme", EpochMs(since))
    };
    let limit = |store: &mut Store, terms: &LimitTerms| look(store, terms, START).limit;
    assert_eq!(limit(&mut store, &phase(200.0, 5_000)), 12_200);
    assert_eq!(
        limit(&mut store, &phase(100.0, 0)),
        12_200,
        "it began before"
    );
    assert_eq!(
        limit(&mut store, &phase(100.0, 9_000)),
        6_100,
        "its end is a phase of its own"
    );
    let newer = LimitTerms {
        revision: Revision(2),
        ..phase(50.0, 0)
    };
    assert_eq!(limit(&mut store, &newer), 3_050, "a new revision counts");
    let for_all = LimitTerms {
        key: None,
        ..LimitTerms {
            revision: Revision(3),
            ..phase(10.0, 0)
        }
    };
    assert_eq!(
        limit(&mut store, &for_all),
        610,
        "one without the override too"
    );
}

#[test]
fn slots_are_not_asked_of_what_is_no_guard() {
    let mut store = Store::default();
    let body = slot_body(meter_terms("m"), 1, GuardAction::Release);
    assert!(store.try_guard(&body, START).is_err());
}
