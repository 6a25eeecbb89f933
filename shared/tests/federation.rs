//! Single schedules of messages between holders and lenders, each named by what must hold.

#![cfg(not(target_arch = "wasm32"))]

use weir_shared::federation::escrow::Escrow;
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::waiting::Need;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision, WindowLabel};
use weir_shared::wire::exchange::{Cycle, ExchangeBody, Refusal, ReplyBody, Terms};
use weir_shared::wire::stored::{StoredEscrow, StoredPool};

fn terms(limit: u64) -> Terms {
    Terms {
        limit,
        window_ms: 1_000,
        revision: Revision(1),
        cycle: None,
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
    let waiting = holder.wait_on(None, Need::one(units), now).unwrap();
    let asked = message(&holder.begin(terms.clone(), now).unwrap());
    if escrow.outlook(&asked, None, now) == Outlook::Short {
        let behind = escrow.wait_on(None, &asked, now).unwrap();
        let up = escrow.begin(terms, now).unwrap();
        let reply = pool.exchange(&message(&up), now).unwrap();
        if let Some(row) = pool.due() {
            pool.stored(&row);
        }
        assert!(escrow.finish(&reply, now));
        escrow.unwait(behind);
    }
    let reply = escrow.exchange(&asked, false, now).unwrap();
    assert!(holder.finish(&reply, now));
    holder.unwait(waiting);
}

#[test]
fn a_reply_to_the_first_sending_does_not_lengthen_the_lease_by_the_second() {
    let mut holder = holder(1);
    let mut pool = Pool::open(terms(100), EpochMs(0));
    let _ticket = holder.wait_on(None, Need::one(10), EpochMs(0)).unwrap();
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
    let _ticket = second.wait_on(None, Need::one(returned), at(460)).unwrap();
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

fn ask(holder: &mut Holder, units: u64, terms: Terms, now: EpochMs) -> Message {
    let _ticket = holder.wait_on(None, Need::one(units), now).unwrap();
    message(&holder.begin(terms, now).unwrap())
}

fn granted(reply: &ReplyBody) -> u64 {
    reply.grants.iter().map(|grant| grant.units).sum()
}

/// Lends from `pool` and makes durable what it asks for; answers the row last written.
fn lend_durably(pool: &mut Pool, asked: &Message, now: EpochMs) -> (ReplyBody, StoredPool) {
    let reply = pool.exchange(asked, now).unwrap();
    let row = pool.due().unwrap();
    pool.stored(&row);
    (reply, row)
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
    // Windows of this length end at 2_500 and 4_000: both rows are lost within one second of the clock.
    let mut labels = Vec::new();
    for (damaged, lent) in [(at(2_100), at(2_600)), (at(2_900), at(4_000))] {
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
    child.deny(5);
    let asked = message(&child.begin(terms(40), EpochMs(1)).unwrap());
    assert_eq!(asked.denied, 5);
    escrow.exchange(&asked, false, EpochMs(2)).unwrap();
    escrow.exchange(&asked, false, EpochMs(3)).unwrap();
    let up = escrow.begin(terms(40), EpochMs(4)).unwrap();
    assert_eq!(up.denied, 5);
}

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
        admitted += u64::from(holder.spend(100, EpochMs(20))) * 100;
    }
    assert_eq!(admitted, 100);
}

#[test]
fn a_pool_that_wakes_ends_its_window_when_it_was_told_to_end() {
    let short = |revision| Terms {
        limit: 100,
        window_ms: 1_000,
        revision: Revision(revision),
        cycle: None,
    };
    let hour = Terms {
        window_ms: 3_600_000,
        ..short(1)
    };
    let mut pool = Pool::open(hour, EpochMs(0));
    let asked = ask(&mut holder(1), 1, short(2), EpochMs(10));
    let first = pool.exchange(&asked, EpochMs(10)).unwrap();
    let mut woken = Pool::wake(&pool.due().unwrap());
    let asked = ask(&mut holder(2), 1, short(2), EpochMs(5_000));
    let later = woken.exchange(&asked, EpochMs(5_000)).unwrap();
    assert_eq!(later.window.label, first.window.label);
    assert_eq!(later.window.remaining_ms, 3_595_000);
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
    let ticket = holder.wait_on(None, Need::one(1), EpochMs(0)).unwrap();
    let body = holder.begin(terms(100), EpochMs(0)).unwrap();
    let outlook = |holder: &Holder| holder.outlook(Need::one(1), Some(ticket), EpochMs(5));
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
    assert!(child.spend(7, now));
    assert!(!child.unspend(label, 8), "more than was spent");
    assert!(
        !child.unspend(WindowLabel(label.0 + 1), 7),
        "another window"
    );
    assert_eq!(child.lease().unwrap().balance(), 3);
    assert!(child.unspend(label, 7));
    assert_eq!(child.lease().unwrap().balance(), 10);
}

/// A region that has lent the 20 units that it holds to an isolate that has spent them, and its row.
fn region_that_lent(now: EpochMs) -> (Escrow, Pool, StoredEscrow) {
    let mut pool = Pool::open(terms(40), now);
    let mut escrow = Escrow::wake("tokens".to_owned(), HolderId(7), Incarnation(1), None);
    let mut child = holder(100);
    lend(&mut child, &mut escrow, &mut pool, 20, now);
    assert!(child.spend(20, now));
    let row = escrow.due().unwrap();
    escrow.stored(row.clone());
    assert_eq!((row.held, row.watermark), (20, 20));
    (escrow, pool, row)
}

#[test]
fn what_is_given_back_is_lent_again_after_a_write_and_only_in_its_window() {
    let now = EpochMs(0);
    let (mut escrow, mut pool, row) = region_that_lent(now);
    let next = WindowLabel(row.label.0 + 1);
    assert_eq!(escrow.refund(next, 5, now), 0, "another window");
    assert_eq!(escrow.refund(row.label, 5, EpochMs(1_000)), 0, "it is over");
    assert_eq!(escrow.refund(row.label, 5, now), 5);
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
    assert_eq!(escrow.refund(row.label, u64::MAX, now), 20);
    assert_eq!(escrow.refund(row.label, 1, now), 0);
}

#[test]
fn what_was_given_back_is_lost_with_a_life_that_did_not_write_it() {
    let now = EpochMs(0);
    let (mut escrow, _, row) = region_that_lent(now);
    assert_eq!(escrow.refund(row.label, 20, now), 20);
    let id = HolderId(7);
    let mut woken = Escrow::wake("tokens".to_owned(), id, Incarnation(2), Some(row));
    let asked = ask(&mut holder(101), 20, terms(40), now);
    let reply = woken.exchange(&asked, false, now).unwrap();
    assert_eq!(granted(&reply), 0);
}

#[test]
fn a_holder_is_idle_when_its_window_is_over_for_the_parent_too() {
    let at = |ms: u64| EpochMs(3_600_000 + ms);
    let mut pool = Pool::open(terms(100), at(0));
    let mut holder = holder(1);
    assert!(holder.idle(at(0)));
    let ticket = holder.wait_on(None, Need::one(1), at(0)).unwrap();
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
    let _ticket = holder.wait_on(None, Need::one(1), at(1_020)).unwrap();
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
    let lease = child.lease().unwrap();
    assert_eq!(lease.retry_ms(EpochMs(920)), 9_400);
    // The lease is over after 100 ms, what the parent said is not: until the time of contact nobody asks it.
    let outlook = |units, now| child.outlook(Need::one(units), None, EpochMs(now));
    assert_eq!(outlook(3, 950), Outlook::Exhausted);
    assert_eq!(outlook(3, 1_200), Outlook::Exhausted);
    assert_eq!(
        outlook(2, 1_200),
        Outlook::Short,
        "fewer might be there before"
    );
    let look = child.outlook(Need::look(), None, EpochMs(1_200));
    assert_eq!(look, Outlook::Short, "a look opens the window");
    assert_eq!(outlook(3, 1_420), Outlook::Short, "it is time to ask again");
}

#[test]
fn a_region_passes_on_when_there_are_units_again() {
    let rolling = Terms {
        window_ms: 10_000,
        cycle: Some(Cycle::Sliding { buckets: 1 }),
        ..terms(10)
    };
    let mut pool = Pool::open_keyed(rolling.clone(), WindowLabel(0), EpochMs(0));
    let asked = ask(&mut holder(1), 10, rolling.clone(), EpochMs(0));
    assert_eq!(granted(&pool.exchange(&asked, EpochMs(0)).unwrap()), 10);
    let mut escrow = Escrow::wake("tokens".to_owned(), HolderId(7), Incarnation(1), None);
    let asked = ask(&mut holder(2), 1, rolling.clone(), EpochMs(500));
    let _ticket = escrow.wait_on(None, &asked, EpochMs(500)).unwrap();
    let up = message(&escrow.begin(rolling, EpochMs(500)).unwrap());
    let reply = pool.exchange(&up, EpochMs(500)).unwrap();
    assert_eq!(reply.retry_ms, Some(10_500));
    assert!(escrow.finish(&reply, EpochMs(520)));
    let reply = escrow.exchange(&asked, false, EpochMs(600)).unwrap();
    assert_eq!(reply.retry_ms, Some(10_420));
}
