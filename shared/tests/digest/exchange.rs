//! Isolates, regions and one coordinator under a small fixed schedule: mixed costs, windows that follow each other,
//! lost messages and answers, returns, restarts and a changed limit; with a rolling window also units that are given
//! back, and a pool that comes and goes.

use weir_shared::fairness::ask::Party;
use weir_shared::federation::escrow::{Escrow, Tickets};
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::{StoredEscrow, StoredPool};
use weir_shared::federation::waiting::Need;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision, WindowLabel};
use weir_shared::wire::exchange::{Cycle, ExchangeBody, Refusal, ReplyBody, Terms};

use crate::digest::START_MS;
use crate::digest::log::Log;
use crate::random::Random;

const REGIONS: usize = 2;
const ISOLATES: usize = 4;

/// Losses of any one message, in a thousand.
const LOSS: u64 = 30;

struct World {
    random: Random,
    now: EpochMs,
    terms: Terms,
    floor: WindowLabel,
    isolates: Vec<Holder>,
    regions: Vec<Escrow>,
    region_rows: Vec<Option<StoredEscrow>>,
    pool: Pool,
    pool_row: Option<StoredPool>,
    lives: u64,
    log: Log,
}

/// Until `decisions` requests were decided.
pub(crate) fn run(seed: u64, decisions: usize, cycle: Option<Cycle>) -> Log {
    let terms = Terms {
        limit: 250,
        window_ms: 2_000,
        revision: Revision(1),
        cycle,
        sharing: None,
        lease: None,
        standing: 0,
    };
    let now = EpochMs(START_MS);
    let mut world = World {
        random: Random::new(seed),
        now,
        isolates: (0..ISOLATES).map(|place| isolate(place, 1)).collect(),
        regions: (0..REGIONS).map(|place| region(place, 1, None)).collect(),
        region_rows: vec![None; REGIONS],
        pool: Pool::open(terms.clone(), now),
        terms,
        floor: WindowLabel(0),
        pool_row: None,
        lives: 1,
        log: Log::default(),
    };
    while world.log.decisions() < decisions {
        world.step();
    }
    world.log
}

fn isolate(place: usize, life: u64) -> Holder {
    let id = HolderId(1_000 * life + place as u64);
    Holder::new("tokens".to_owned(), id, Incarnation(1), None)
}

fn region(place: usize, life: u64, row: Option<StoredEscrow>) -> Escrow {
    let id = HolderId::of_name(["weur", "apac"][place]);
    Escrow::wake("tokens".to_owned(), id, Incarnation(life), row)
}

impl World {
    fn step(&mut self) {
        // Mostly a rush, with pauses in which leases are given back.
        let pause = self.random.chance(30);
        let gap_ms = if pause {
            self.random.between(200, 900)
        } else {
            self.random.below(9)
        };
        self.now = self.now.plus(gap_ms);
        self.mishap();
        if self.terms.cycle.is_some() {
            self.come_and_go();
        }
        let place = self.random.below(ISOLATES as u64) as usize;
        if self.isolates[place].wants_contact(self.now) {
            self.isolate_asks(place);
        }
        let at = place % REGIONS;
        if self.regions[at].wants_contact(self.now) {
            self.region_asks(at);
        }
        let cost = self.random.one_of(&[0, 1, 1, 1, 2, 3, 5, 17]);
        self.decide(place, cost);
    }

    fn mishap(&mut self) {
        match self.random.below(2_000) {
            0 => {
                self.lives += 1;
                let place = self.random.below(ISOLATES as u64) as usize;
                self.isolates[place] = isolate(place, self.lives);
            }
            1 => {
                self.lives += 1;
                let place = self.random.below(REGIONS as u64) as usize;
                self.regions[place] = region(place, self.lives, self.region_rows[place].clone());
            }
            2 => {
                if let Some(row) = &self.pool_row {
                    self.pool = Pool::wake(row);
                }
            }
            3 => {
                self.terms.revision = Revision(self.terms.revision.0 + 1);
                self.terms.limit = self.random.between(150, 600);
                self.terms.window_ms = self.random.one_of(&[1_000, 2_000, 5_000]);
            }
            _ => {}
        }
    }

    fn come_and_go(&mut self) {
        match self.random.below(100) {
            0 => {
                // Long enough that at times nothing counts any more.
                self.now = self.now.plus(self.random.below(8_000));
                if self.pool.idle(self.now) {
                    self.floor = self.floor.max(self.pool.floor());
                    self.pool = Pool::open_keyed(self.terms.clone(), self.floor, self.now);
                    self.pool_row = None;
                    self.log.number(Some(self.floor.0));
                }
            }
            1 => {
                let at = self.random.below(REGIONS as u64) as usize;
                let label = self.pool.window().label;
                let units = self.random.between(1, 5);
                let taken = self.regions[at].refund(label, None, units, self.now);
                self.log.number(Some(taken));
            }
            2 => {
                let place = self.random.below(ISOLATES as u64) as usize;
                let label = self.pool.window().label;
                let back = self.isolates[place].unspend(label, None, 1);
                self.log.number(Some(u64::from(back)));
            }
            _ => {}
        }
    }

    fn decide(&mut self, place: usize, cost: u64) {
        let need = match cost {
            0 => Need::look(),
            cost => Need::one(cost),
        };
        let everyone = Party::Everyone;
        self.isolates[place].advance(self.now);
        let mut outlook = self.isolates[place].outlook(&everyone, need, None, self.now);
        if outlook == Outlook::Short {
            outlook = self.wait(place, need);
        }
        let isolate = &mut self.isolates[place];
        let spent = outlook == Outlook::Covered && isolate.spend(&everyone, cost, self.now);
        if outlook == Outlook::Exhausted {
            isolate.deny(&everyone, cost, self.now);
        }
        let lease = isolate.lease().copied();
        if let Some(again) = isolate.told(None).and_then(|told| told.again) {
            self.log.number(Some(again.asked_at.0));
        }
        self.log
            .decision(spent, &[place as u64, cost, name(outlook)]);
        for number in lease.iter().flat_map(|lease| {
            [
                lease.label.0,
                lease.ends_at.0,
                lease.limit,
                lease.held,
                lease.used,
                lease.left,
            ]
        }) {
            self.log.number(Some(number));
        }
    }

    /// Waits for one answer at most.
    fn wait(&mut self, place: usize, need: Need) -> Outlook {
        let Some(ticket) = self.isolates[place].wait_on(&Party::Everyone, None, need, self.now)
        else {
            return Outlook::Unknown;
        };
        self.isolate_asks(place);
        let isolate = &mut self.isolates[place];
        let outlook = isolate.outlook(&Party::Everyone, need, Some(ticket), self.now);
        isolate.unwait(ticket);
        outlook
    }

    fn isolate_asks(&mut self, place: usize) {
        let Some(body) = self.isolates[place].begin(self.terms.clone(), self.now) else {
            return;
        };
        let answer = self.at_region(place % REGIONS, body.clone());
        let isolate = &mut self.isolates[place];
        match answer {
            Some(Ok(reply)) => {
                let _credited = isolate.finish(&reply, self.now);
            }
            Some(Err(refusal)) => isolate.refused(body.sequence, &refusal),
            None => isolate.fail(body.sequence),
        }
    }

    /// The region's answer; `None` when the message or the answer is lost.
    fn at_region(&mut self, at: usize, body: ExchangeBody) -> Option<Result<ReplyBody, Refusal>> {
        if self.random.chance(LOSS) {
            return None;
        }
        let message = Message::try_from(body).unwrap();
        let tickets = self.tickets(at, &message);
        let mut outage = false;
        if let Some(tickets) = tickets {
            self.region_asks(at);
            let region = &mut self.regions[at];
            outage = tickets.iter().any(|(_, ticket)| !region.answered(*ticket));
            region.unwait(&tickets);
        }
        let answer = self.regions[at].exchange(&message, outage, self.now);
        self.region_stores(at);
        (!self.random.chance(LOSS)).then_some(answer)
    }

    fn tickets(&mut self, at: usize, message: &Message) -> Option<Tickets> {
        let region = &mut self.regions[at];
        region.advance(self.now);
        match region.outlook(message, &Tickets::new(), self.now) {
            Outlook::Short => region.wait_on(Tickets::new(), message, self.now),
            _ => None,
        }
    }

    fn region_asks(&mut self, at: usize) {
        let Some(body) = self.regions[at].begin(self.terms.clone(), self.now) else {
            return;
        };
        self.region_stores(at);
        let sequence = body.sequence;
        let answer = self.at_pool(body);
        match answer {
            Some(Ok(reply)) => {
                let _credited = self.regions[at].finish(&reply, self.now);
            }
            Some(Err(refusal)) => self.regions[at].refused(sequence, &refusal),
            None => self.regions[at].fail(sequence),
        }
    }

    fn region_stores(&mut self, at: usize) {
        if let Some(row) = self.regions[at].due() {
            self.log.text(&serde_json::to_string(&row).unwrap());
            self.region_rows[at] = Some(row.clone());
            self.regions[at].stored(row);
        }
    }

    fn at_pool(&mut self, body: ExchangeBody) -> Option<Result<ReplyBody, Refusal>> {
        if self.random.chance(LOSS) {
            return None;
        }
        let answer = self
            .pool
            .exchange(&Message::try_from(body).unwrap(), self.now);
        if let Some(row) = self.pool.due() {
            self.log.text(&serde_json::to_string(&row).unwrap());
            self.pool.stored(&row);
            self.pool_row = Some(row);
        }
        (!self.random.chance(LOSS)).then_some(answer)
    }
}

fn name(outlook: Outlook) -> u64 {
    match outlook {
        Outlook::Covered => 0,
        Outlook::Exhausted => 1,
        Outlook::Unknown => 2,
        Outlook::Short => 3,
    }
}
