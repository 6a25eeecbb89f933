//! What a region and its coordinator tell of where a budget's units are, against what was lent.

use weir_shared::fairness::ask::Party;
use weir_shared::federation::escrow::{Escrow, Tickets};
use weir_shared::federation::holder::Holder;
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::waiting::Need;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision, WindowLabel};
use weir_shared::wire::exchange::Terms;
use weir_shared::wire::holdings::{LentBody, RegionBudget};

const WINDOW_MS: u64 = 60_000;
const LIMIT: u64 = 1_000;

fn terms() -> Terms {
    Terms {
        limit: LIMIT,
        window_ms: WINDOW_MS,
        revision: Revision(1),
        cycle: None,
        sharing: None,
        lease: None,
        standing: 0,
    }
}

/// One coordinator, one region and one isolate of it.
struct World {
    pool: Pool,
    region: Escrow,
    isolate: Holder,
}

impl World {
    fn new() -> Self {
        let life = Incarnation(1);
        let region = HolderId::of_name("weur");
        let budget = || "tokens".to_owned();
        Self {
            pool: Pool::open(terms(), EpochMs(0)),
            region: Escrow::wake(budget(), region, life, None),
            isolate: Holder::new(budget(), HolderId(1), life, None),
        }
    }

    /// The isolate borrows so many units through the region, and spends them.
    fn spend(&mut self, units: u64, now: EpochMs) {
        let nobody = Party::Everyone;
        let need = Need {
            units,
            smallest: units,
        };
        let ticket = self.isolate.wait_on(&nobody, None, need, now).unwrap();
        let body = self.isolate.begin(terms(), now).unwrap();
        let message = Message::try_from(body).unwrap();
        let tickets = self.region.wait_on(Tickets::new(), &message, now);
        let asked = self.region.begin(terms(), now).unwrap();
        let told = self.pool.exchange(&Message::try_from(asked).unwrap(), now);
        assert!(self.region.finish(&told.unwrap(), now));
        self.region.unwait(&tickets.unwrap());
        let reply = self.region.exchange(&message, false, now).unwrap();
        assert!(self.isolate.finish(&reply, now));
        self.isolate.unwait(ticket);
        assert!(self.isolate.spend(&nobody, units, now));
    }

    fn holding(&mut self, now: EpochMs) -> RegionBudget {
        self.region.holding("tokens", now)
    }
}

#[test]
fn the_regions_word_and_the_coordinators_agree() {
    let mut world = World::new();
    world.spend(30, EpochMs(1_000));
    let held = world.holding(EpochMs(1_001));
    assert_eq!(held.window, Some(WindowLabel(1)));
    assert_eq!(held.ends_at, Some(EpochMs(WINDOW_MS)));
    assert_eq!((held.limit, held.isolates), (LIMIT, 1));
    assert!(held.lent >= 30 && held.lent <= held.held, "{held:?}");
    assert!(!held.own && !held.outage);
    let ask = LentBody {
        budget: "tokens".to_owned(),
        regions: vec!["weur".to_owned()],
        tenants_max: 0,
    };
    let lent = world.pool.lent(&ask, EpochMs(1_001));
    assert_eq!(lent.lent["weur"], held.held);
    assert_eq!(lent.lent_total + lent.free, LIMIT);
}

#[test]
fn an_outage_is_told_until_the_coordinator_answers_again() {
    let mut world = World::new();
    world.spend(30, EpochMs(1_000));
    let asked = world.region.begin(terms(), EpochMs(2_000)).unwrap();
    assert!(!world.holding(EpochMs(2_000)).outage, "it may still answer");
    world.region.fail(asked.sequence);
    assert!(world.holding(EpochMs(2_500)).outage);
    let again = world.region.begin(terms(), EpochMs(3_000)).unwrap();
    let message = Message::try_from(again).unwrap();
    let told = world.pool.exchange(&message, EpochMs(3_000)).unwrap();
    assert!(world.region.finish(&told, EpochMs(3_000)));
    assert!(!world.holding(EpochMs(3_000)).outage);
}

#[test]
fn nothing_is_held_of_a_window_that_is_over() {
    let mut world = World::new();
    world.spend(30, EpochMs(1_000));
    let over = world.holding(EpochMs(2 * WINDOW_MS));
    assert_eq!((over.window, over.held, over.lent), (None, 0, 0));
    assert_eq!(over.isolates, 0, "none was heard of for a minute");
}
