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
const START: EpochMs = EpochMs(1_000_000);
const RULES: [RuleBody; 4] = [
    RuleBody::Paced,
    RuleBody::Pinned,
    RuleBody::Pooled,
    RuleBody::None,
];

/// Two isolates of a region, and the coordinator behind it.
struct Chain {
    isolates: [Holder; 2],
    region: Escrow,
    pool: Pool,
    terms: Terms,
    now: EpochMs,
}

impl Chain {
    fn new(rule: RuleBody) -> Self {
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
            pool: Pool::open(terms.clone(), START),
            terms,
            now: START,
        }
    }

    /// Whether a request of `units` is admitted at an isolate.
    fn check(&mut self, isolate: usize, units: u64) -> bool {
        let (need, now) = (Need::one(units), self.now);
        let mut ticket = None;
        loop {
            let holder = &mut self.isolates[isolate];
            match holder.outlook(&party(), need, ticket, now) {
                Outlook::Short => {
                    ticket = holder.wait_on(&party(), ticket, need, now);
                    self.isolate_asks(isolate);
                }
                outlook => {
                    ticket.into_iter().for_each(|ticket| holder.unwait(ticket));
                    if outlook == Outlook::Covered {
                        return holder.spend(&party(), units, now);
                    }
                    holder.deny(&party(), units, now);
                    return false;
                }
            }
        }
    }

    /// Gives back what the last request of an isolate held and did not use; the isolate hears of it.
    fn settles(&mut self, isolate: usize, unused: u64) {
        let label = self.isolates[isolate].lease().unwrap().label;
        let taken = self.region.refund(label, "a", unused, self.now);
        assert_eq!(taken, unused);
        self.isolates[isolate].came_to_less("a", unused);
        self.isolates[isolate].ask_again();
        self.isolate_asks(isolate);
    }

    /// Time in which everybody tells what it has to tell.
    fn goes_on(&mut self, ms: u64) {
        let until = self.now.plus(ms);
        while self.now < until {
            self.now = self.now.plus(10);
            for isolate in 0..self.isolates.len() {
                if self.isolates[isolate].wants_contact(self.now) {
                    self.isolate_asks(isolate);
                }
            }
            if self.region.wants_contact(self.now) {
                self.region_asks();
            }
        }
    }

    fn isolate_asks(&mut self, isolate: usize) {
        let asked = self.isolates[isolate].begin(self.terms.clone(), self.now);
        let asked = message(&asked.unwrap());
        let mut behind = Tickets::new();
        while self.region.outlook(&asked, &behind, self.now) == Outlook::Short {
            behind = self.region.wait_on(behind, &asked, self.now).unwrap();
            self.region_asks();
        }
        self.region.unwait(&behind);
        let reply = self.region.exchange(&asked, false, self.now).unwrap();
        assert!(self.isolates[isolate].finish(&reply, self.now));
    }

    fn region_asks(&mut self) {
        let up = self.region.begin(self.terms.clone(), self.now).unwrap();
        let reply = self.pool.exchange(&message(&up), self.now).unwrap();
        if let Some(row) = self.pool.due() {
            self.pool.stored(&row);
        }
        assert!(self.region.finish(&reply, self.now));
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
    for rule in RULES {
        let mut chain = Chain::new(rule);
        let first = Need::one(1_100);
        let ticket = chain.isolates[0].wait_on(&party(), None, first, START);
        chain.isolate_asks(0);
        chain.isolates[0].unwait(ticket.unwrap());
        // It has 1,100 of 2,000, too little for this one: it gives them back, and 1,500 are there.
        chain.now = chain.now.plus(100);
        assert!(chain.check(0, 1_500), "{rule:?}");
        // Of the 500 that are left, no second one.
        chain.now = chain.now.plus(100);
        assert!(!chain.check(0, 501), "{rule:?}");
        chain.now = chain.now.plus(2_000);
        assert!(chain.check(0, 500), "{rule:?}");
        chain.now = chain.now.plus(100);
        assert!(!chain.check(1, 1), "{rule:?}");
    }
}

#[test]
fn requests_that_hold_most_of_a_ceiling_and_use_little_are_admitted_one_after_the_other() {
    for rule in RULES {
        for gap_ms in [50, 100, 300, 500, 700, 1_500] {
            let mut chain = Chain::new(rule);
            for request in 0..20 {
                assert!(
                    chain.check(0, CEILING * 3 / 4),
                    "{rule:?}, {gap_ms} ms, request {request}"
                );
                chain.settles(0, CEILING * 3 / 4 - 11);
                chain.goes_on(gap_ms);
            }
        }
    }
}
