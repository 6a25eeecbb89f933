//! Single schedules of messages between holders and lenders, each named by what must hold.

mod bounded;
mod burst;
pub(crate) mod chain;
mod crowd;
mod draw;
mod lives;
mod messages;
mod quiet;
mod rationed;

use weir_shared::fairness::ask::Party;
use weir_shared::federation::escrow::{Escrow, Tickets};
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::{StoredEscrow, StoredPool};
use weir_shared::federation::waiting::Need;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision};
use weir_shared::wire::exchange::{ExchangeBody, ReplyBody, Terms};

pub(crate) fn terms(limit: u64) -> Terms {
    Terms {
        limit,
        window_ms: 1_000,
        revision: Revision(1),
        cycle: None,
        sharing: None,
        lease: None,
        standing: 0,
    }
}

pub(crate) fn everyone() -> Party {
    Party::Everyone
}

pub(crate) fn holder(id: u64) -> Holder {
    Holder::new("tokens".to_owned(), HolderId(id), Incarnation(1), None)
}

pub(crate) fn message(body: &ExchangeBody) -> Message {
    Message::try_from(body.clone()).unwrap()
}

/// Asks `escrow`, and behind it `pool`, for `units` on behalf of `holder`.
pub(crate) fn lend(
    holder: &mut Holder,
    escrow: &mut Escrow,
    pool: &mut Pool,
    units: u64,
    now: EpochMs,
) {
    let terms = terms(40);
    let waiting = holder
        .wait_on(&everyone(), None, Need::one(units), now)
        .unwrap();
    let asked = message(&holder.begin(terms.clone(), now).unwrap());
    if escrow.outlook(&asked, &Tickets::new(), now) == Outlook::Short {
        let behind = escrow.wait_on(Tickets::new(), &asked, now).unwrap();
        let up = escrow.begin(terms, now).unwrap();
        let reply = pool.exchange(&message(&up), now).unwrap();
        if let Some(row) = pool.due() {
            pool.stored(&row);
        }
        assert!(escrow.finish(&reply, now));
        escrow.unwait(&behind);
    }
    let reply = escrow.exchange(&asked, false, now).unwrap();
    assert!(holder.finish(&reply, now));
    holder.unwait(waiting);
}

pub(crate) fn ask(holder: &mut Holder, units: u64, terms: Terms, now: EpochMs) -> Message {
    let _ticket = holder
        .wait_on(&everyone(), None, Need::one(units), now)
        .unwrap();
    message(&holder.begin(terms, now).unwrap())
}

pub(crate) fn granted(reply: &ReplyBody) -> u64 {
    reply.grants.iter().map(|grant| grant.units).sum()
}

/// Lends from `pool` and makes durable what it asks for; answers the row last written.
pub(crate) fn lend_durably(
    pool: &mut Pool,
    asked: &Message,
    now: EpochMs,
) -> (ReplyBody, StoredPool) {
    let reply = pool.exchange(asked, now).unwrap();
    let row = pool.due().unwrap();
    pool.stored(&row);
    (reply, row)
}

/// A region that has lent the 20 units that it holds to an isolate that has spent them, and its row.
pub(crate) fn region_that_lent(now: EpochMs) -> (Escrow, Pool, StoredEscrow) {
    let mut pool = Pool::open(terms(40), now);
    let mut escrow = Escrow::wake("tokens".to_owned(), HolderId(7), Incarnation(1), None);
    let mut child = holder(100);
    lend(&mut child, &mut escrow, &mut pool, 20, now);
    assert!(child.spend(&everyone(), 20, now));
    let row = escrow.due().unwrap();
    escrow.stored(row.clone());
    assert_eq!((row.held, row.watermark), (20, 20));
    (escrow, pool, row)
}
