//! Single schedules of messages between holders and lenders, each named by what must hold.

#![cfg(not(target_arch = "wasm32"))]

use weir_shared::federation::escrow::Escrow;
use weir_shared::federation::holder::{Holder, Need, Outlook};
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision};
use weir_shared::wire::exchange::{ExchangeBody, Terms};

fn terms(limit: u64) -> Terms {
    Terms {
        limit,
        window_ms: 1_000,
        revision: Revision(1),
    }
}

fn holder(id: u64) -> Holder {
    Holder::new("tokens".to_owned(), HolderId(id), Incarnation(1), None)
}

fn message(body: &ExchangeBody) -> Message {
    Message::try_from(body.clone()).unwrap()
}

/// Asks `escrow`, and behind it `pool`, for `units` on behalf of `holder`.
fn lend(holder: &mut Holder, escrow: &mut Escrow, pool: &mut Pool, units: u64, now: EpochMs) {
    let terms = terms(40);
    let _ticket = holder.wait(Need::one(units)).unwrap();
    let asked = message(&holder.begin(terms, now).unwrap());
    if escrow.outlook(&asked, None, now) == Outlook::Short {
        let _ticket = escrow.wait(&asked).unwrap();
        let up = escrow.begin(terms, now).unwrap();
        let reply = pool.exchange(&message(&up), now).unwrap();
        if let Some(row) = pool.due() {
            pool.stored(&row);
        }
        assert!(escrow.finish(&reply, now));
        escrow.unwait(&asked);
    }
    let reply = escrow.exchange(&asked, false, now).unwrap();
    assert!(holder.finish(&reply, now));
    holder.unwait(Need::one(units));
}

#[test]
fn a_reply_to_the_first_sending_does_not_lengthen_the_lease_by_the_second() {
    let mut holder = holder(1);
    let mut pool = Pool::open(terms(100), EpochMs(0));
    let _ticket = holder.wait(Need::one(10)).unwrap();
    let body = holder.begin(terms(100), EpochMs(0)).unwrap();
    let reply = pool.exchange(&message(&body), EpochMs(10)).unwrap();
    holder.fail(body.sequence);
    let again = holder.begin(terms(100), EpochMs(950)).unwrap();
    assert_eq!(again, body);
    assert!(holder.finish(&reply, EpochMs(960)));
    let lease = holder.lease().unwrap();
    assert!(
        lease.ends_at <= pool.window().ends_at,
        "the window ends at {}, the lease at {}",
        pool.window().ends_at,
        lease.ends_at
    );
}

#[test]
fn a_return_that_reached_two_lives_of_a_region_is_lent_again_once() {
    let at = EpochMs;
    let mut pool = Pool::open(terms(40), at(0));
    let id = HolderId(7);
    let mut old = Escrow::wake("tokens".to_owned(), id, Incarnation(1), None);
    let mut first = holder(100);
    lend(&mut first, &mut old, &mut pool, 20, at(0));
    let row = old.due().unwrap();
    old.stored(row.clone());
    // The second life wakes from the row. The first does not notice, and cannot write any more.
    let mut new = Escrow::wake("tokens".to_owned(), id, Incarnation(2), Some(row));
    lend(&mut first, &mut new, &mut pool, 40, at(0));
    let row = new.due().unwrap();
    new.stored(row);
    assert_eq!(first.lease().unwrap().held, 40);

    assert!(first.spend(10, at(450)));
    let back = message(&first.begin(terms(40), at(450)).unwrap());
    let returned = back.returns[0].units;
    new.exchange(&back, false, at(450)).unwrap(); // its answer is lost,
    old.exchange(&back, false, at(451)).unwrap(); // and the second sending finds the first life
    if let Some(row) = new.due() {
        new.stored(row);
    }

    let (mut second, mut third) = (holder(101), holder(102));
    lend(&mut third, &mut new, &mut pool, returned, at(460));
    let _ticket = second.wait(Need::one(returned)).unwrap();
    let asked = message(&second.begin(terms(40), at(460)).unwrap());
    let answer = old.exchange(&asked, false, at(460));
    if let Ok(reply) = answer
        && old.due().is_none()
    {
        assert!(second.finish(&reply, at(460)));
    }
    let held = [first, second, third].map(|holder| holder.lease().map_or(0, |lease| lease.held));
    let sum: u64 = held.iter().sum();
    assert!(sum <= 40, "isolates may spend {held:?} of 40");
}
