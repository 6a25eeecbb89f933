//! Slices of windows to come: what an edit of the limit, a death and a clock make of them.

use weir_shared::fairness::ask::Party;
use weir_shared::federation::escrow::{Escrow, Tickets};
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::StoredEscrow;
use weir_shared::federation::waiting::Need;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision, WindowLabel};
use weir_shared::wire::exchange::{Cycle, Terms};

const HOUR_MS: u64 = 3_600_000;
/// The beginning of an hour.
const NOW: EpochMs = EpochMs(100 * HOUR_MS);

fn hourly(limit: u64, revision: u64) -> Terms {
    Terms {
        limit,
        window_ms: HOUR_MS,
        revision: Revision(revision),
        cycle: None,
        sharing: None,
        lease: None,
        standing: 3,
    }
}

/// A coordinator, a region and its one isolate.
struct World {
    pool: Pool,
    region: Escrow,
    row: Option<StoredEscrow>,
    lives: u64,
    isolate: Holder,
    /// Whether the region hears the coordinator.
    reached: bool,
    /// Whether what the coordinator answers is lost.
    deaf: bool,
    /// By how much the region's clock and that of its isolate are ahead.
    ahead_ms: u64,
    admitted: OrderedMap<u64, u64>,
    /// Units of windows to come that the coordinator durably has lent.
    promised: OrderedMap<WindowLabel, u64>,
}

impl World {
    fn new(terms: &Terms) -> Self {
        Self {
            pool: Pool::open(terms.clone(), NOW),
            region: Escrow::wake("tokens".into(), HolderId(7), Incarnation(1), None),
            row: None,
            lives: 1,
            isolate: Holder::new("tokens".into(), HolderId(8), Incarnation(1), None),
            reached: true,
            deaf: false,
            ahead_ms: 0,
            admitted: OrderedMap::new(),
            promised: OrderedMap::new(),
        }
    }

    /// With slices of the next three hours, after half a minute of steady demand.
    fn with_slices(terms: &Terms) -> Self {
        let mut world = Self::new(terms);
        for second in 0..30 {
            world.asks(terms, 20, NOW.plus(second * 1_000));
            world.shows(terms, NOW.plus(second * 1_000 + 500));
        }
        world
    }

    fn write(&mut self) {
        if let Some(row) = self.region.due() {
            self.row = Some(row.clone());
            self.region.stored(row);
        }
    }

    /// The region forgets what is not durable.
    fn dies(&mut self) {
        self.lives += 1;
        let (id, life) = (HolderId(7), Incarnation(self.lives));
        self.region = Escrow::wake("tokens".into(), id, life, self.row.clone());
    }

    /// Units of each window to come that the region durably has.
    fn slices(&self) -> Vec<u64> {
        let ahead = self.row.iter().flat_map(|row| &row.ahead);
        ahead.map(|ahead| ahead.units).collect()
    }

    /// The region tells the coordinator what there is to tell.
    fn shows(&mut self, terms: &Terms, now: EpochMs) {
        let here = now.plus(self.ahead_ms);
        let Some(body) = self.region.begin(terms.clone(), here) else {
            return;
        };
        self.write();
        if !self.reached {
            self.region.fail(body.sequence);
            return;
        }
        let sequence = body.sequence;
        let message = Message::try_from(body).unwrap();
        let reply = self.pool.exchange(&message, now).unwrap();
        if let Some(row) = self.pool.due() {
            self.pool.stored(&row);
            self.promised = row.ahead;
        }
        if self.deaf {
            self.region.fail(sequence);
            return;
        }
        self.region.finish(&reply, here);
        self.write();
    }

    /// Single units, of which those that are admitted are counted by window.
    fn asks(&mut self, terms: &Terms, units: u64, now: EpochMs) {
        let (everyone, here) = (Party::Everyone, now.plus(self.ahead_ms));
        for _ in 0..units {
            for _ in 0..3 {
                self.isolate.advance(here);
                match self.isolate.outlook(&everyone, Need::one(1), None, here) {
                    Outlook::Covered => {
                        assert!(self.isolate.spend(&everyone, 1, here));
                        let label = self.isolate.lease().unwrap().label.0;
                        *self.admitted.entry(label).or_default() += 1;
                        break;
                    }
                    Outlook::Short => self.exchange(terms, now),
                    Outlook::Exhausted | Outlook::Unknown => break,
                }
            }
        }
    }

    fn exchange(&mut self, terms: &Terms, now: EpochMs) {
        let here = now.plus(self.ahead_ms);
        let everyone = Party::Everyone;
        let ticket = self.isolate.wait_on(&everyone, None, Need::one(1), here);
        if let Some(body) = self.isolate.begin(terms.clone(), here) {
            let message = Message::try_from(body).unwrap();
            self.region.advance(here);
            let outlook = self.region.outlook(&message, &Tickets::new(), here);
            if outlook == Outlook::Short {
                let tickets = self.region.wait_on(Tickets::new(), &message, here);
                self.shows(terms, now);
                self.region.unwait(&tickets.unwrap_or_default());
            }
            let outage = !self.reached;
            let answer = self.region.exchange(&message, outage, here);
            self.write();
            match answer {
                Ok(reply) => assert!(self.isolate.finish(&reply, here)),
                Err(refusal) => self.isolate.refused(message.sequence, &refusal),
            }
        }
        if let Some(ticket) = ticket {
            self.isolate.unwait(ticket);
        }
    }

    /// The region hears of newer terms, and gives back what they leave it no room for.
    fn hears(&mut self, terms: &Terms) {
        for second in [60, 61] {
            self.shows(terms, NOW.plus(second * 1_000));
        }
    }

    /// The slices of a limit that has become 10 shrink to half of that, and no later window admits more.
    #[track_caller]
    fn assert_shrinks(&mut self, terms: &Terms) {
        self.hears(terms);
        let slices = self.slices();
        assert!(slices.iter().all(|units| *units <= 5), "{slices:?}");
        self.goes_on(terms);
        self.assert_admitted(2, 10);
    }

    /// No window from that label on admitted more.
    #[track_caller]
    fn assert_admitted(&self, from: u64, most: u64) {
        for (label, units) in self.admitted.range(from..) {
            assert!(*units <= most, "window {label}: {units}");
        }
    }

    /// Demand above any limit in the hours from the second to the fourth.
    fn goes_on(&mut self, terms: &Terms) {
        for minute in 60..240 {
            let now = NOW.plus(minute * 60_000 + 1_000);
            self.asks(terms, 100, now);
            self.shows(terms, now.plus(500));
        }
    }
}

#[test]
fn slices_shrink_when_their_region_hears_of_a_lower_limit() {
    let (old, new) = (hourly(1_000, 1), hourly(10, 2));
    for dies in [false, true] {
        let mut world = World::with_slices(&old);
        assert_eq!(world.slices().len(), 3);
        assert!(world.slices().iter().all(|units| *units > 5));
        if dies {
            world.dies();
        }
        world.assert_shrinks(&new);
    }
}

#[test]
fn a_limit_that_is_lowered_and_raised_again_gives_no_slice_back_twice() {
    let mut world = World::with_slices(&hourly(1_000, 1));
    for (index, limit) in [10, 1_000, 40, 2_000, 2_000].into_iter().enumerate() {
        let terms = hourly(limit, 2 + index as u64);
        for second in 0..4 {
            let now = NOW.plus(60_000 + index as u64 * 10_000 + second * 1_000);
            world.asks(&terms, 5, now);
            world.shows(&terms, now.plus(500));
            world.dies();
        }
    }
    world.goes_on(&hourly(2_000, 6));
    world.assert_admitted(0, 2_000);
}

/// Nobody can tell a clock that jumped ahead from time that went by. What it can do is bounded: it opens the slices that
/// are held, half of each of the next three windows at most, and no window ever admits more than its limit.
#[test]
fn a_clock_that_jumps_ahead_opens_no_more_than_the_slices_that_are_held() {
    let terms = hourly(1_000, 1);
    let mut world = World::with_slices(&terms);
    let slices: u64 = world.slices().iter().sum();
    assert!(slices <= 3 * 500, "{slices}");
    world.reached = false;
    for hours in 1..10 {
        world.ahead_ms = hours * HOUR_MS;
        for second in 0..5 {
            world.asks(&terms, 700, NOW.plus(60_000 + second * 1_000));
        }
    }
    let early: u64 = world.admitted.range(2..).map(|(_, units)| *units).sum();
    assert!((1..=slices).contains(&early), "{early} of {slices}");
    // The coordinator is heard again, and the clock is right: what was opened early counts in its own window.
    (world.reached, world.ahead_ms) = (true, 0);
    world.goes_on(&terms);
    world.assert_admitted(0, 1_000);
}

#[test]
fn slices_shrink_though_the_edit_that_lowers_the_limit_has_them_held_no_more() {
    let old = hourly(1_000, 1);
    let new = Terms {
        standing: 0,
        ..hourly(10, 2)
    };
    let mut world = World::with_slices(&old);
    world.assert_shrinks(&new);
}

#[test]
fn slices_of_windows_that_an_edit_takes_away_go_back() {
    let old = hourly(1_000, 1);
    let minute = Terms {
        window_ms: 60_000,
        ..hourly(1_000, 2)
    };
    let rolls = Terms {
        cycle: Some(Cycle::Sliding { buckets: 10 }),
        ..hourly(1_000, 2)
    };
    for new in [minute, rolls] {
        for dies in [false, true] {
            let mut world = World::with_slices(&old);
            assert!(world.promised.values().all(|units| *units > 0));
            if dies {
                world.dies();
            }
            world.hears(&new);
            // What is lent on to the isolate is all that is left of them.
            let left: u64 = world.promised.values().sum();
            let lent: u64 = world.isolate.ahead().iter().map(|ahead| ahead.units).sum();
            assert!(left <= lent, "{left} of {lent} under {new:?}");
        }
    }
}

/// An edit that is heard of while the coordinator is not: there are no other windows yet.
#[test]
fn slices_stay_while_the_coordinator_is_not_heard() {
    let mut world = World::with_slices(&hourly(1_000, 1));
    let slices = world.slices();
    let minute = Terms {
        window_ms: 60_000,
        ..hourly(1_000, 2)
    };
    world.reached = false;
    for second in 60..70 {
        world.shows(&minute, NOW.plus(second * 1_000));
    }
    assert_eq!(world.slices(), slices);
}

/// What was lent ahead by a reply that got lost is told when the limit is lower by then.
#[test]
fn slices_that_are_told_only_after_the_limit_was_lowered_are_as_small() {
    let old = hourly(1_000, 1);
    let new = Terms {
        standing: 0,
        ..hourly(10, 2)
    };
    let mut world = World::new(&old);
    world.asks(&old, 1, NOW);
    world.deaf = true;
    for second in 1..5 {
        world.asks(&old, 20, NOW.plus(second * 1_000));
        world.shows(&old, NOW.plus(second * 1_000 + 500));
    }
    assert!(world.slices().is_empty());
    assert!(world.promised.values().all(|units| *units > 5));
    assert_eq!(world.promised.len(), 3);
    world.deaf = false;
    world.pool.amend(&new);
    for hour in 1..4 {
        let begins_at = NOW.plus(hour * HOUR_MS);
        for seconds in [25, 20, 15] {
            let now = EpochMs(begins_at.0 - seconds * 1_000);
            world.asks(&new, 1, now);
            world.shows(&new, now.plus(500));
        }
        world.asks(&new, 1_000, begins_at.plus(1_000));
    }
    world.assert_admitted(2, 10);
}
