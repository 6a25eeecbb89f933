//! What a holder does with its units when nobody asks any more.

use weir_shared::fairness::ask::{Claimant, Party};
use weir_shared::federation::holder::Holder;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::waiting::Need;
use weir_shared::limits::CONTACT_MS_MIN;
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::{FloorsBody, RuleBody, SharingBody, Terms};

use crate::federation::{ask, everyone, holder, message, terms};

/// The holder's task, once in half a second while there is something to tell; answers when it ended.
fn flush_until(
    holder: &mut Holder,
    pool: &mut Pool,
    terms: &Terms,
    from: EpochMs,
    until: EpochMs,
) -> u64 {
    let mut now = from;
    while now < until && holder.has_unsent(now) {
        now = now.plus(500);
        holder.advance(now);
        if holder.wants_contact(now)
            && let Some(body) = holder.begin(terms.clone(), now)
        {
            let reply = pool.exchange(&message(&body), now).unwrap();
            if let Some(row) = pool.due() {
                pool.stored(&row);
            }
            assert!(holder.finish(&reply, now));
        }
    }
    now.0
}

/// Takes `units`, one at a time, over a second.
fn burst(holder: &mut Holder, pool: &mut Pool, terms: &Terms, units: u64, from: EpochMs) {
    for unit in 0..units {
        let now = from.plus(unit * 1_000 / units);
        if !holder.spend(&everyone(), 1, now) {
            let asked = ask(holder, 1, terms.clone(), now);
            let reply = pool.exchange(&asked, now).unwrap();
            assert!(holder.finish(&reply, now));
            assert!(holder.spend(&everyone(), 1, now));
        }
    }
}

#[test]
fn what_is_left_of_a_burst_is_back_within_seconds_however_long_the_window() {
    let terms = Terms {
        window_ms: 3_600_000,
        ..terms(1_000)
    };
    let start = EpochMs(3_600_000);
    for units in [1, 3, 10, 40, 200] {
        let mut pool = Pool::open(terms.clone(), start);
        let mut holder = holder(1);
        burst(&mut holder, &mut pool, &terms, units, start);
        let over = start.plus(1_000);
        let ended = flush_until(&mut holder, &mut pool, &terms, over, over.plus(60_000));
        let lease = *holder.lease().unwrap();
        assert_eq!(lease.held, lease.used, "{units} units");
        assert!(
            ended - over.0 <= 5_000,
            "{units} units: {} ms",
            ended - over.0
        );
    }
}

#[test]
fn what_was_lent_of_a_window_to_come_is_back_soon_after_it_opened() {
    let terms = Terms {
        window_ms: 4_000,
        ..terms(1_000)
    };
    let start = EpochMs(4_000_000);
    let mut pool = Pool::open(terms.clone(), start);
    let mut holder = holder(1);
    // Busy until the window ends, so that the next one is asked for; then nobody asks.
    for second in 0..4 {
        let from = start.plus(second * 1_000);
        burst(&mut holder, &mut pool, &terms, 100, from);
        let now = from.plus(999);
        if holder.wants_contact(now)
            && let Some(body) = holder.begin(terms.clone(), now)
        {
            let reply = pool.exchange(&message(&body), now).unwrap();
            assert!(holder.finish(&reply, now));
        }
    }
    let over = start.plus(3_999);
    let ahead: u64 = holder.ahead().iter().map(|ahead| ahead.units).sum();
    assert!(ahead > 0, "nothing was lent ahead");
    let ended = flush_until(&mut holder, &mut pool, &terms, over, over.plus(60_000));
    let lease = *holder.lease().unwrap();
    assert_eq!(
        (lease.held, lease.used),
        (0, 0),
        "of the window that opened"
    );
    assert!(ended - over.0 <= 3_000, "{} ms", ended - over.0);
}

/// One request of a tenant.
fn take(holder: &mut Holder, pool: &mut Pool, terms: &Terms, party: &Party, now: EpochMs) {
    if !holder.spend(party, 1, now) {
        let ticket = holder.wait_on(party, None, Need::one(1), now).unwrap();
        contact(holder, pool, terms, now);
        holder.unwait(ticket);
        assert!(holder.spend(party, 1, now), "there is enough for all");
    }
}

/// One message to the parent, and its answer.
fn contact(holder: &mut Holder, pool: &mut Pool, terms: &Terms, now: EpochMs) {
    let body = holder.begin(terms.clone(), now).unwrap();
    let reply = pool.exchange(&message(&body), now).unwrap();
    if let Some(row) = pool.due() {
        pool.stored(&row);
    }
    assert!(holder.finish(&reply, now));
}

#[test]
fn what_lies_idle_for_a_tenant_that_stops_is_lent_to_others_by_its_holders_third_contact() {
    let terms = Terms {
        window_ms: 3_600_000,
        sharing: Some(SharingBody {
            rule: RuleBody::Paced,
            tenants_max: 10,
            unknown_weight_max: 100_000_000,
            floors: FloorsBody::default(),
        }),
        ..terms(100_000)
    };
    let [stays, stops] = ["stays", "stops"].map(|name| Party::from(Claimant::plain(name)));
    println!("stops at  idle then, and after each contact");
    for phase_ms in (0..CONTACT_MS_MIN).step_by(50) {
        let start = EpochMs(3_600_000);
        let mut pool = Pool::open(terms.clone(), start);
        let mut holder = holder(1);
        let stopped_ms = 4 * CONTACT_MS_MIN + phase_ms;
        let (mut spent, mut idle) = (0, Vec::new());
        for elapsed_ms in 0..stopped_ms + 3 * CONTACT_MS_MIN {
            let now = start.plus(elapsed_ms);
            let has_stopped = elapsed_ms >= stopped_ms;
            if elapsed_ms % CONTACT_MS_MIN == 0 {
                let had = pool
                    .share()
                    .and_then(|share| share.own("stops"))
                    .unwrap_or(0);
                if has_stopped && idle.is_empty() {
                    idle.push(had - spent);
                }
                contact(&mut holder, &mut pool, &terms, now);
                let has = pool
                    .share()
                    .and_then(|share| share.own("stops"))
                    .unwrap_or(0);
                if has_stopped {
                    idle.push(has - spent);
                }
            }
            if elapsed_ms % 10 == 0 {
                take(&mut holder, &mut pool, &terms, &stays, now);
            }
            if elapsed_ms % 10 == 5 && !has_stopped {
                take(&mut holder, &mut pool, &terms, &stops, now);
                spent += 1;
            }
        }
        println!("{phase_ms:5} ms  {idle:?}");
        assert!(
            idle[1] > 0,
            "{phase_ms} ms: nothing was lent ahead of demand"
        );
        // 100 a second: what it would use in half a second, then in a third of one, then nothing.
        assert!(
            idle[1] <= 50 && idle[2] <= 34 && idle[3] == 0,
            "{phase_ms} ms: {idle:?}"
        );
    }
}
