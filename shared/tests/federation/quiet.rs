//! What a holder does with its units when nobody asks any more.

use weir_shared::federation::holder::Holder;
use weir_shared::federation::pool::Pool;
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::Terms;

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
