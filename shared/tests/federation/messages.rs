//! What a message, a write or a life that is lost, late or repeated leaves behind.

use weir_shared::federation::escrow::Escrow;
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::waiting::Need;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision, WindowLabel};
use weir_shared::wire::exchange::{ExchangeBody, Refusal, Terms};

use crate::federation::{ask, everyone, granted, holder, lend, lend_durably, message, terms};

#[test]
fn a_reply_to_the_first_sending_does_not_lengthen_the_lease_by_the_second() {
    let mut holder = holder(1);
    let mut pool = Pool::open(terms(100), EpochMs(0));
    let _ticket = holder
        .wait_on(&everyone(), None, Need::one(10), EpochMs(0))
        .unwrap();
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

    assert!(first.spend(&everyone(), 10, at(450)));
    let back = message(&first.begin(terms(40), at(450)).unwrap());
    let returned = back.returns[0].units;
    new.exchange(&back, false, at(450)).unwrap(); // its answer is lost,
    old.exchange(&back, false, at(451)).unwrap(); // and the second sending finds the first life
    if let Some(row) = new.due() {
        new.stored(row);
    }

    let (mut second, mut third) = (holder(101), holder(102));
    lend(&mut third, &mut new, &mut pool, returned, at(460));
    let _ticket = second
        .wait_on(&everyone(), None, Need::one(returned), at(460))
        .unwrap();
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

#[test]
fn a_grant_whose_write_failed_does_not_leave_in_the_next_window() {
    let mut pool = Pool::open(terms(100), EpochMs(0));
    let asked = ask(&mut holder(1), 10, terms(100), EpochMs(0));
    pool.exchange(&asked, EpochMs(0)).unwrap();
    assert!(
        pool.due().is_some(),
        "this write fails, and the reply stays"
    );
    let again = pool.exchange(&asked, EpochMs(1_000)).unwrap();
    let durable = pool.due().filter(|row| row.label == again.window.label);
    let covered = durable.map_or(0, |row| row.watermark);
    assert!(
        granted(&again) <= covered,
        "{} units of window {} leave, {covered} are durable",
        granted(&again),
        again.window.label
    );
}

#[test]
fn terms_that_were_answered_by_are_known_after_waking() {
    let mut pool = Pool::open(terms(100), EpochMs(0));
    let asked = ask(&mut holder(1), 10, terms(100), EpochMs(0));
    let (_, mut row) = lend_durably(&mut pool, &asked, EpochMs(0));
    let lower = Terms {
        limit: 90,
        revision: Revision(2),
        ..terms(100)
    };
    let told = message(&holder(2).begin(lower, EpochMs(10)).unwrap());
    pool.exchange(&told, EpochMs(10)).unwrap();
    if let Some(due) = pool.due() {
        row = due;
    }
    // The coordinator dies. The first to speak has not heard of the lower limit.
    let mut woken = Pool::wake(&row);
    let asked = ask(&mut holder(3), 95, terms(100), EpochMs(1_000));
    let reply = woken.exchange(&asked, EpochMs(1_000)).unwrap();
    assert!(granted(&reply) <= 90, "{} of 90 are lent", granted(&reply));
}

#[test]
fn a_window_that_was_told_is_known_after_waking() {
    let mut pool = Pool::open(terms(100), EpochMs(0));
    let mut first = holder(1);
    let asked = ask(&mut first, 10, terms(100), EpochMs(0));
    let (_, mut row) = lend_durably(&mut pool, &asked, EpochMs(0));
    let mut second = holder(2);
    for now in [EpochMs(1_000), EpochMs(2_000)] {
        let reply = pool
            .exchange(&message(&second.begin(terms(100), now).unwrap()), now)
            .unwrap();
        if let Some(due) = pool.due() {
            pool.stored(&due);
            row = due;
        }
        assert!(second.finish(&reply, now));
    }
    let told = second.lease().unwrap().label;
    let mut woken = Pool::wake(&row);
    let asked = ask(&mut second, 10, terms(100), EpochMs(2_500));
    let reply = woken.exchange(&asked, EpochMs(2_500)).unwrap();
    assert!(second.finish(&reply, EpochMs(2_500)));
    assert!(
        second.lease().unwrap().balance() >= 10,
        "window {told} was told, {} is lent from",
        reply.window.label
    );
}

#[test]
fn a_label_is_not_lent_from_again_after_the_row_was_unreadable_twice() {
    let at = |ms: u64| EpochMs(1_700_000_000_000 + ms);
    let short = Terms {
        window_ms: 1_500,
        ..terms(100)
    };
    // Windows of this length end at 2_500, 4_000 and 5_500: both rows are lost within one second of the clock. Of the next
    // window all may have been lent ahead, so lending starts again with the one after it.
    let mut labels = Vec::new();
    for (damaged, lent) in [(at(2_100), at(4_100)), (at(2_900), at(5_600))] {
        let mut pool = Pool::damaged(None, short.clone(), damaged);
        let asked = ask(&mut holder(damaged.0), 60, short.clone(), lent);
        let reply = pool.exchange(&asked, lent).unwrap();
        assert_eq!(granted(&reply), 60);
        labels.push(reply.window.label);
    }
    assert_ne!(
        labels[0], labels[1],
        "120 of 100 units are lent in one window"
    );
}

#[test]
fn a_repeated_message_tells_its_denied_units_once() {
    let now = EpochMs(0);
    let mut pool = Pool::open(terms(40), now);
    let mut escrow = Escrow::wake("tokens".to_owned(), HolderId(7), Incarnation(1), None);
    let mut child = holder(100);
    lend(&mut child, &mut escrow, &mut pool, 10, now);
    child.deny(&everyone(), 5, now);
    let asked = message(&child.begin(terms(40), EpochMs(1)).unwrap());
    assert_eq!(asked.denied, 5);
    escrow.exchange(&asked, false, EpochMs(2)).unwrap();
    escrow.exchange(&asked, false, EpochMs(3)).unwrap();
    let up = escrow.begin(terms(40), EpochMs(4)).unwrap();
    assert_eq!(up.denied, 5);
}

#[test]
fn a_pool_that_wakes_ends_its_window_when_it_was_told_to_end() {
    let short = |revision| Terms {
        limit: 100,
        window_ms: 1_000,
        revision: Revision(revision),
        cycle: None,
        sharing: None,
        lease: None,
        standing: 0,
    };
    let hour = Terms {
        window_ms: 3_600_000,
        ..short(1)
    };
    let mut pool = Pool::open(hour, EpochMs(0));
    let asked = ask(&mut holder(1), 1, short(2), EpochMs(10));
    let first = pool.exchange(&asked, EpochMs(10)).unwrap();
    let mut woken = Pool::wake(&pool.due().unwrap());
    let asked = ask(&mut holder(2), 1, short(2), EpochMs(500));
    let later = woken.exchange(&asked, EpochMs(500)).unwrap();
    assert_eq!(later.window.label, first.window.label);
    assert_eq!(later.window.remaining_ms, 500);
}

#[test]
fn a_clock_that_steps_back_does_not_lengthen_a_lease() {
    let mut holder = holder(1);
    let mut pool = Pool::open(terms(100), EpochMs(3_600_000));
    let asked = ask(&mut holder, 10, terms(100), EpochMs(3_600_100));
    let reply = pool.exchange(&asked, EpochMs(3_600_100)).unwrap();
    assert!(holder.finish(&reply, EpochMs(3_600_110)));
    assert!(holder.open_lease(EpochMs(3_600_110)).is_some());
    assert_eq!(holder.open_lease(EpochMs(110)), None);
}

#[test]
fn a_label_beyond_its_range_is_refused() {
    let body = ask(&mut holder(1), 10, terms(100), EpochMs(0));
    let far = ExchangeBody {
        window: Some(WindowLabel(u64::MAX)),
        ..(*body).clone()
    };
    let field = "window".to_owned();
    assert_eq!(Message::try_from(far), Err(Refusal::Malformed { field }));
}

#[test]
fn a_refused_message_ends_the_wait_for_it() {
    let mut holder = holder(1);
    let ticket = holder
        .wait_on(&everyone(), None, Need::one(1), EpochMs(0))
        .unwrap();
    let body = holder.begin(terms(100), EpochMs(0)).unwrap();
    let outlook =
        |holder: &Holder| holder.outlook(&everyone(), Need::one(1), Some(ticket), EpochMs(5));
    assert_eq!(outlook(&holder), Outlook::Short);
    holder.refused(body.sequence, &Refusal::NoWindow);
    assert_eq!(outlook(&holder), Outlook::Unknown);
}

#[test]
fn units_of_a_request_that_is_denied_elsewhere_are_back_at_once() {
    let now = EpochMs(0);
    let mut pool = Pool::open(terms(40), now);
    let mut escrow = Escrow::wake("tokens".to_owned(), HolderId(7), Incarnation(1), None);
    let mut child = holder(100);
    lend(&mut child, &mut escrow, &mut pool, 10, now);
    let label = child.lease().unwrap().label;
    assert!(child.spend(&everyone(), 7, now));
    assert!(!child.unspend(label, None, 8), "more than was spent");
    assert!(
        !child.unspend(WindowLabel(label.0 + 1), None, 7),
        "another window"
    );
    assert_eq!(child.lease().unwrap().balance(), 3);
    assert!(child.unspend(label, None, 7));
    assert_eq!(child.lease().unwrap().balance(), 10);
}
