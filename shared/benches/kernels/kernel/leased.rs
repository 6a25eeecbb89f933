//! A spend from a lease that covers it: what an isolate decides without asking anyone.

use std::hint::black_box;

use weir_shared::fairness::ask::Party;
use weir_shared::federation::holder::Holder;
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::waiting::Need;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision};
use weir_shared::wire::exchange::{FloorsBody, RuleBody, SharingBody, Terms};

use super::random::Access;
use super::{Kernel, START, party};

const LIMIT: u64 = 1 << 52;
const TENANTS: u64 = 50;

pub fn kernels() -> Vec<Kernel> {
    vec![everyone(), tenants()]
}

/// A pool that goes to whoever comes first.
fn everyone() -> Kernel {
    let terms = terms(None);
    let mut holder = holder(&terms, &[Party::Everyone]);
    let party = Party::Everyone;
    let mut asked = 0;
    Kernel::new("leased spend", move |times| {
        for _ in 0..times {
            asked += 1;
            spend(&mut holder, black_box(&party), at(asked));
        }
    })
}

/// A pool that tenants share, of which this holder has units of some.
fn tenants() -> Kernel {
    let terms = terms(Some(SharingBody {
        rule: RuleBody::Pinned,
        tenants_max: TENANTS,
        unknown_weight_max: 1_000_000,
        floors: FloorsBody::default(),
    }));
    let parties: Vec<Party> = (0..TENANTS).map(party).collect();
    let mut holder = holder(&terms, &parties);
    let order = Access::Uniform.draws(TENANTS, 4_096);
    let mut asked = 0;
    Kernel::new("leased spend, 50 tenants", move |times| {
        for _ in 0..times {
            asked += 1;
            let party = &parties[order[asked as usize % order.len()] as usize];
            spend(&mut holder, party, at(asked));
        }
    })
}

/// A thousand checks a millisecond.
fn at(asked: u64) -> EpochMs {
    START.plus(asked / 1_000)
}

fn spend(holder: &mut Holder, party: &Party, now: EpochMs) {
    let drawn = black_box(holder.draw(party, 1, LIMIT, now));
    assert!(drawn.is_some(), "the lease is large and lasts");
}

fn terms(sharing: Option<SharingBody>) -> Terms {
    Terms {
        limit: LIMIT,
        window_ms: 3_600_000,
        revision: Revision(1),
        cycle: None,
        sharing,
        lease: None,
        standing: 0,
    }
}

/// A holder that was lent half of what there is.
fn holder(terms: &Terms, parties: &[Party]) -> Holder {
    let mut pool = Pool::open(terms.clone(), START);
    let mut holder = Holder::new("tokens".to_owned(), HolderId(1), Incarnation(1), None);
    let each = LIMIT / 2 / 8 / parties.len() as u64;
    let waits = parties.iter();
    let waits = waits.map(|party| holder.wait_on(party, None, Need::one(each), START));
    let tickets: Vec<_> = waits.collect();
    let body = holder.begin(terms.clone(), START);
    let message = Message::try_from(body.expect("none is in flight")).expect("it is well formed");
    let reply = pool.exchange(&message, START).expect("it is taken");
    if let Some(row) = pool.due() {
        pool.stored(&row);
    }
    assert!(holder.finish(&reply, START));
    for (party, ticket) in parties.iter().zip(tickets) {
        assert!(holder.balance(party.name(), START) >= each, "{party:?}");
        holder.unwait(ticket.expect("there is room"));
    }
    holder
}
