//! A tenant with a ceiling whose requests hold much and settle to little.

use weir_shared::fairness::ask::Party;
use weir_shared::federation::escrow::{Escrow, Tickets};
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::pool::Pool;
use weir_shared::federation::waiting::Need;
use weir_shared::units::{EpochMs, HolderId, Incarnation};
use weir_shared::wire::exchange::{FloorsBody, RuleBody, SharingBody, Terms};

use crate::federation::{everyone, holder, message, terms};

const CEILING: u64 = 2_000;

/// Two isolates of a region, and the coordinator behind it.
struct Chain {
    isolates: [Holder; 2],
    region: Escrow,
    pool: Pool,
    terms: Terms,
}

impl Chain {
    fn new(rule: RuleBody, now: EpochMs) -> Self {
        let terms = Terms {
            window_ms: 60_000,
            sharing: Some(SharingBody {
                rule,
                tenants_max: 10,
                unknown_weight_max: 100_000_000,
                floors: FloorsBody::default(),
            }),
            ..terms(30_000)
        };
        Self {
            isolates: [holder(1), holder(2)],
            region: Escrow::wake("tokens".to_owned(), HolderId(7), Incarnation(1), None),
            pool: Pool::open(terms.clone(), now),
            terms,
        }
    }

    /// Has an isolate ask for a request of `units`; whether it has them then.
    fn asks(&mut self, isolate: usize, units: u64, now: EpochMs) -> bool {
        let isolate = &mut self.isolates[isolate];
        let waiting = isolate
            .wait_on(&party(), None, Need::one(units), now)
            .unwrap();
        let asked = message(&isolate.begin(self.terms.clone(), now).unwrap());
        let mut behind = Tickets::new();
        while self.region.outlook(&asked, &behind, now) == Outlook::Short {
            behind = self.region.wait_on(behind, &asked, now).unwrap();
            let up = message(&self.region.begin(self.terms.clone(), now).unwrap());
            let reply = self.pool.exchange(&up, now).unwrap();
            if let Some(row) = self.pool.due() {
                self.pool.stored(&row);
            }
            assert!(self.region.finish(&reply, now));
        }
        self.region.unwait(&behind);
        let reply = self.region.exchange(&asked, false, now).unwrap();
        assert!(isolate.finish(&reply, now));
        isolate.unwait(waiting);
        let ticket = None;
        isolate.outlook(&party(), Need::one(units), ticket, now) == Outlook::Covered
    }

    fn spends(&mut self, isolate: usize, units: u64, now: EpochMs) {
        assert!(self.isolates[isolate].spend(&party(), units, now));
    }
}

fn party() -> Party {
    let mut party = Party {
        name: "a".to_owned(),
        ..everyone()
    };
    party.standing.ceiling = Some(CEILING);
    party
}

#[test]
fn what_an_isolate_gives_back_as_it_asks_for_more_counts_once_against_a_ceiling() {
    for rule in [
        RuleBody::Paced,
        RuleBody::Pinned,
        RuleBody::Pooled,
        RuleBody::None,
    ] {
        let now = EpochMs(1_000_000);
        let mut chain = Chain::new(rule, now);
        assert!(chain.asks(0, 1_100, now), "{rule:?}");
        // It has 1,100 of 2,000, too little for this one: it gives them back, and 1,500 are there.
        let later = now.plus(100);
        assert!(chain.asks(0, 1_500, later), "{rule:?}");
        chain.spends(0, 1_500, later);
        // Of the 500 that are left, no second one.
        let last = now.plus(200);
        assert!(!chain.asks(0, 501, last), "{rule:?}");
        let rest = last.plus(2_000);
        assert!(chain.asks(0, 500, rest), "{rule:?}");
        chain.spends(0, 500, rest);
        assert!(!chain.asks(1, 1, rest.plus(100)), "{rule:?}");
    }
}
