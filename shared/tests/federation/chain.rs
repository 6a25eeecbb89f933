//! Isolates, a region and a coordinator whose messages arrive at once.

use weir_shared::fairness::ask::Party;
use weir_shared::federation::escrow::{Escrow, Tickets};
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::pool::Pool;
use weir_shared::federation::waiting::Need;
use weir_shared::units::{EpochMs, HolderId, Incarnation};
use weir_shared::wire::exchange::Terms;

use crate::federation::{holder, message};

/// Two isolates of a region, and the coordinator behind it.
pub(crate) struct Chain {
    pub isolates: [Holder; 2],
    region: Escrow,
    pool: Pool,
    terms: Terms,
    pub now: EpochMs,
}

impl Chain {
    pub fn new(terms: Terms, now: EpochMs) -> Self {
        Self {
            isolates: [holder(1), holder(2)],
            region: Escrow::wake("tokens".to_owned(), HolderId(7), Incarnation(1), None),
            pool: Pool::open(terms.clone(), now),
            terms,
            now,
        }
    }

    /// Whether a request of `units` is admitted at an isolate.
    pub fn check(&mut self, isolate: usize, party: &Party, units: u64) -> bool {
        let (need, now) = (Need::one(units), self.now);
        let mut ticket = None;
        loop {
            let holder = &mut self.isolates[isolate];
            match holder.outlook(party, need, ticket, now) {
                Outlook::Short => {
                    ticket = holder.wait_on(party, ticket, need, now);
                    self.isolate_asks(isolate);
                }
                outlook => {
                    ticket.into_iter().for_each(|ticket| holder.unwait(ticket));
                    if outlook == Outlook::Covered {
                        return holder.spend(party, units, now);
                    }
                    holder.deny(party, units, now);
                    return false;
                }
            }
        }
    }

    /// Gives back what the last request of an isolate held and did not use; the isolate hears of it.
    pub fn settles(&mut self, isolate: usize, tenant: &str, unused: u64) {
        let label = self.isolates[isolate].lease().unwrap().label;
        let taken = self.region.refund(label, Some(tenant), unused, self.now);
        assert_eq!(taken, unused);
        self.isolates[isolate].came_to_less(Some(tenant), unused);
        self.isolates[isolate].ask_again();
        self.isolate_asks(isolate);
    }

    /// Time in which everybody tells what it has to tell.
    pub fn goes_on(&mut self, ms: u64) {
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

    pub fn isolate_asks(&mut self, isolate: usize) {
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
