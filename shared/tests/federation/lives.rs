//! What is given back, dropped and made again.

use weir_shared::federation::escrow::{Escrow, Tickets};
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::pool::Pool;
use weir_shared::federation::waiting::Need;
use weir_shared::units::{EpochMs, HolderId, Incarnation, WindowLabel};
use weir_shared::wire::exchange::{Cycle, Terms};

use crate::federation::{ask, everyone, granted, holder, lend, message, region_that_lent, terms};

#[test]
fn a_holder_that_is_made_anew_is_not_given_the_grant_of_the_one_before() {
    let mut pool = Pool::open(terms(100), EpochMs(0));
    let mut admitted = 0;
    for life in [1, 2] {
        let mut holder = Holder::new("tokens".to_owned(), HolderId(1), Incarnation(life), None);
        let asked = ask(&mut holder, 100, terms(100), EpochMs(10));
        if let Ok(reply) = pool.exchange(&asked, EpochMs(10)) {
            assert!(holder.finish(&reply, EpochMs(20)));
        }
        admitted += u64::from(holder.spend(&everyone(), 100, EpochMs(20))) * 100;
    }
    assert_eq!(admitted, 100);
}

#[test]
fn what_is_given_back_is_lent_again_after_a_write_and_only_in_its_window() {
    let now = EpochMs(0);
    let (mut escrow, mut pool, row) = region_that_lent(now);
    let next = WindowLabel(row.label.0 + 1);
    assert_eq!(escrow.refund(next, None, 5, now), 0, "another window");
    assert_eq!(
        escrow.refund(row.label, None, 5, EpochMs(1_000)),
        0,
        "it is over"
    );
    assert_eq!(escrow.refund(row.label, None, 5, now), 5);
    let mut other = holder(101);
    lend(&mut other, &mut escrow, &mut pool, 5, now);
    assert_eq!(other.lease().unwrap().held, 5);
    // A life that cannot write does not get this reply out: another may have taken the 5 too.
    assert!(escrow.due().is_some());
}

#[test]
fn no_more_is_given_back_than_was_lent() {
    let now = EpochMs(0);
    let (mut escrow, _, row) = region_that_lent(now);
    assert_eq!(escrow.refund(row.label, None, u64::MAX, now), 20);
    assert_eq!(escrow.refund(row.label, None, 1, now), 0);
}

#[test]
fn what_was_given_back_is_lost_with_a_life_that_did_not_write_it() {
    let now = EpochMs(0);
    let (mut escrow, _, row) = region_that_lent(now);
    assert_eq!(escrow.refund(row.label, None, 20, now), 20);
    let id = HolderId(7);
    let mut woken = Escrow::wake("tokens".to_owned(), id, Incarnation(2), Some(row));
    let asked = ask(&mut holder(101), 20, terms(40), now);
    let reply = woken.exchange(&asked, false, now).unwrap();
    assert_eq!(granted(&reply), 0);
}

/// A message that is told again is answered from what the region has: it does not wait for the coordinator.
#[test]
fn a_region_that_woke_and_has_not_heard_from_home_does_not_say_that_nothing_is_left() {
    let now = EpochMs(0);
    let (_, mut pool, row) = region_that_lent(now);
    let id = HolderId(7);
    let mut woken = Escrow::wake("tokens".to_owned(), id, Incarnation(2), Some(row));
    let mut isolate = holder(101);
    let asked = ask(&mut isolate, 5, terms(40), now);
    // The coordinator did not answer, and the region's answer was lost.
    let lost = woken.exchange(&asked, true, now).unwrap();
    assert!(lost.outage);
    let again = woken.exchange(&asked, false, now).unwrap();
    assert!(again.outage, "{again:?}");
    assert!(isolate.finish(&again, now));
    let outlook = isolate.outlook(&everyone(), Need::one(1), None, now);
    assert_eq!(outlook, Outlook::Unknown);
    // Once it has heard, it says what is left: the limit is 40, and 20 were lent before.
    lend(&mut holder(102), &mut woken, &mut pool, 5, now);
    let asked = ask(&mut holder(103), 1, terms(40), now);
    let reply = woken.exchange(&asked, false, now).unwrap();
    assert!(!reply.outage && reply.left > 0, "{reply:?}");
}

#[test]
fn a_holder_is_idle_when_its_window_is_over_for_the_parent_too() {
    let at = |ms: u64| EpochMs(3_600_000 + ms);
    let mut pool = Pool::open(terms(100), at(0));
    let mut holder = holder(1);
    assert!(holder.idle(at(0)));
    let ticket = holder
        .wait_on(&everyone(), None, Need::one(1), at(0))
        .unwrap();
    assert!(!holder.idle(at(0)), "a request waits");
    let body = holder.begin(terms(100), at(0)).unwrap();
    holder.unwait(ticket);
    assert!(!holder.idle(at(0)), "a message was not answered");
    let reply = pool.exchange(&message(&body), at(30)).unwrap();
    assert!(holder.finish(&reply, at(50)));
    // 970 ms remained. Counted from when the message was sent, the lease ends after them; if the message was slow and
    // the reply fast, the window ends up to 50 ms later.
    for (ms, idle) in [(969, false), (970, false), (1_019, false), (1_020, true)] {
        assert_eq!(holder.idle(at(ms)), idle, "after {ms} ms");
    }
    let _ticket = holder
        .wait_on(&everyone(), None, Need::one(1), at(1_020))
        .unwrap();
    assert!(!holder.idle(at(3_020)));
    assert!(holder.idle(at(3_021)), "no request can still wait");
}

#[test]
fn a_lease_that_a_step_back_of_the_clock_closed_does_not_keep_its_holder() {
    let mut pool = Pool::open(terms(100), EpochMs(3_600_000));
    let mut holder = holder(1);
    let body = holder.begin(terms(100), EpochMs(3_600_000)).unwrap();
    let reply = pool.exchange(&message(&body), EpochMs(3_600_000)).unwrap();
    assert!(holder.finish(&reply, EpochMs(3_600_050)));
    assert!(!holder.idle(EpochMs(3_600_050)));
    assert!(holder.idle(EpochMs(50)));
}

#[test]
fn a_pool_that_was_dropped_opens_above_every_label_that_it_used() {
    let opened_at = EpochMs(5_000_000);
    let mut pool = Pool::open_keyed(terms(100), WindowLabel(0), opened_at);
    let mut used = Vec::new();
    for windows in 0..4 {
        let now = opened_at.plus(windows * 1_000);
        let asked = ask(&mut holder(windows), 1, terms(100), now);
        used.push(pool.exchange(&asked, now).unwrap().window.label);
    }
    assert!(pool.idle(opened_at.plus(4_000)));
    let mut floor = pool.floor();
    // The clock steps back to where the first pool opened, again and again.
    for _ in 0..4 {
        let again = Pool::open_keyed(terms(100), floor, opened_at);
        assert!(used.iter().all(|label| *label < again.window().label));
        used.push(again.window().label);
        floor = again.floor();
    }
}

#[test]
fn a_pool_whose_label_cannot_be_read_goes_on_above_every_label_that_it_used() {
    let opened_at = EpochMs(5_000_000);
    let mut pool = Pool::open_keyed(terms(100), WindowLabel(0), opened_at);
    let mut floor = WindowLabel(0);
    for _ in 0..4 {
        let now = opened_at.plus(1_000);
        let asked = ask(&mut holder(1), 1, terms(100), now);
        let used = pool.exchange(&asked, now).unwrap().window.label;
        pool = Pool::damaged_keyed(None, floor, terms(100), EpochMs(4_000_000));
        assert!(pool.window().label > used);
        assert_eq!(pool.unlent(), 0);
        floor = floor.max(pool.floor());
    }
}

#[test]
fn a_denied_request_is_told_when_a_rolling_window_has_units_again() {
    let rolling = Terms {
        window_ms: 10_000,
        cycle: Some(Cycle::Sliding { buckets: 10 }),
        sharing: None,
        lease: None,
        standing: 0,
        ..terms(10)
    };
    let mut pool = Pool::open_keyed(rolling.clone(), WindowLabel(0), EpochMs(0));
    let asked = ask(&mut holder(1), 10, rolling.clone(), EpochMs(0));
    assert_eq!(granted(&pool.exchange(&asked, EpochMs(0)).unwrap()), 10);
    let mut child = holder(2);
    let asked = ask(&mut child, 3, rolling.clone(), EpochMs(900));
    let reply = pool.exchange(&asked, EpochMs(900)).unwrap();
    // From 10,000 on one unit leaves each 100 ms.
    assert_eq!(reply.retry_ms, Some(9_400));
    assert!(child.finish(&reply, EpochMs(920)));
    assert_eq!(child.retry_ms(None, EpochMs(920)), 9_400);
    // The lease is over after 100 ms, what the parent said is not: until the time of contact nobody asks it.
    let outlook = |units, now| child.outlook(&everyone(), Need::one(units), None, EpochMs(now));
    assert_eq!(outlook(3, 950), Outlook::Exhausted);
    assert_eq!(outlook(3, 1_200), Outlook::Exhausted);
    assert_eq!(
        outlook(2, 1_200),
        Outlook::Short,
        "fewer might be there before"
    );
    let look = child.outlook(&everyone(), Need::look(), None, EpochMs(1_200));
    assert_eq!(look, Outlook::Short, "a look opens the window");
    assert_eq!(outlook(3, 1_420), Outlook::Short, "it is time to ask again");
}

#[test]
fn a_region_passes_on_when_there_are_units_again() {
    let rolling = Terms {
        window_ms: 10_000,
        cycle: Some(Cycle::Sliding { buckets: 1 }),
        sharing: None,
        lease: None,
        standing: 0,
        ..terms(10)
    };
    let mut pool = Pool::open_keyed(rolling.clone(), WindowLabel(0), EpochMs(0));
    let asked = ask(&mut holder(1), 10, rolling.clone(), EpochMs(0));
    assert_eq!(granted(&pool.exchange(&asked, EpochMs(0)).unwrap()), 10);
    let mut escrow = Escrow::wake("tokens".to_owned(), HolderId(7), Incarnation(1), None);
    let asked = ask(&mut holder(2), 1, rolling.clone(), EpochMs(500));
    let _ticket = escrow
        .wait_on(Tickets::new(), &asked, EpochMs(500))
        .unwrap();
    let up = message(&escrow.begin(rolling, EpochMs(500)).unwrap());
    let reply = pool.exchange(&up, EpochMs(500)).unwrap();
    assert_eq!(reply.retry_ms, Some(10_500));
    assert!(escrow.finish(&reply, EpochMs(520)));
    let reply = escrow.exchange(&asked, false, EpochMs(600)).unwrap();
    assert_eq!(reply.retry_ms, Some(10_420));
}
