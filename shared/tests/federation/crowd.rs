//! More tenants than a message has room for.

use weir_shared::fairness::ask::Claimant;
use weir_shared::federation::holder::Holder;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::waiting::Need;
use weir_shared::limits::EXCHANGE_ENTRIES_MAX;
use weir_shared::ordered::OrderedSet;
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::{FloorsBody, RuleBody, SharingBody, Terms, Want};

use crate::federation::{holder, message, terms};

const CROWD: usize = 2 * EXCHANGE_ENTRIES_MAX + 1;

fn shared() -> Terms {
    Terms {
        sharing: Some(SharingBody {
            rule: RuleBody::Paced,
            tenants_max: CROWD as u64,
            unknown_weight_max: 100_000_000,
            floors: FloorsBody::default(),
        }),
        ..terms(10_000)
    }
}

fn waits(holder: &mut Holder, name: &str, need: Need, now: EpochMs) {
    let party = Claimant::plain(name).into();
    let _ticket = holder.wait_on(&party, None, need, now).unwrap();
}

/// What the next message says of each tenant.
fn said(holder: &mut Holder, pool: &mut Pool, now: EpochMs) -> Vec<Want> {
    let body = holder.begin(shared(), now).unwrap();
    let reply = pool.exchange(&message(&body), now).unwrap();
    if let Some(row) = pool.due() {
        pool.stored(&row);
    }
    assert!(holder.finish(&reply, now));
    body.wants
}

/// Whom the next message asks for.
fn asked_for(holder: &mut Holder, pool: &mut Pool, now: EpochMs) -> Vec<String> {
    let waiting = said(holder, pool, now)
        .into_iter()
        .filter(|want| want.waiting > 0);
    waiting.filter_map(|want| want.tenant).collect()
}

#[test]
fn everybody_who_waits_is_asked_for_in_turn() {
    let (mut holder, now) = (holder(1), EpochMs(0));
    let mut pool = Pool::open(shared(), now);
    for index in 0..CROWD {
        waits(&mut holder, &format!("t{index}"), Need::one(50), now);
    }
    let mut seen = OrderedSet::new();
    for message in 1..=3 {
        seen.extend(asked_for(&mut holder, &mut pool, now));
        let least = CROWD.min(message * EXCHANGE_ENTRIES_MAX);
        assert!(seen.len() >= least, "{} after {message}", seen.len());
    }
}

#[test]
fn who_waits_for_units_goes_before_who_waits_for_a_word() {
    let (mut holder, now) = (holder(1), EpochMs(0));
    let mut pool = Pool::open(shared(), now);
    for index in 0..CROWD {
        waits(&mut holder, &format!("a{index}"), Need::look(), now);
    }
    waits(&mut holder, "z", Need::one(1), now);
    assert_eq!(asked_for(&mut holder, &mut pool, now), ["z"]);
}

#[test]
fn who_waits_for_a_word_is_told_of_where_there_is_room() {
    let (mut holder, now) = (holder(1), EpochMs(0));
    let mut pool = Pool::open(shared(), now);
    for name in ["a", "b"] {
        waits(&mut holder, name, Need::look(), now);
    }
    let told = said(&mut holder, &mut pool, now);
    let names: Vec<_> = told
        .iter()
        .filter_map(|want| want.tenant.as_deref())
        .collect();
    assert_eq!(names, ["a", "b"]);
}
