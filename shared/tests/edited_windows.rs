//! The windows of a pool become shorter, longer, or of another kind while units of the open one are lent.

mod back;
mod promise;

use weir_shared::fairness::ask::Party;
use weir_shared::fairness::local::{LocalBudget, LocalTerms};
use weir_shared::federation::escrow::{Escrow, Tickets};
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::StoredPool;
use weir_shared::federation::waiting::Need;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision, WindowLabel};
use weir_shared::wire::exchange::{Cycle, PeriodBody, Terms};
use weir_shared::wire::policy::Cadence;
use weir_shared::wire::stored::read_row;

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 1_440 * MINUTE_MS;
/// The beginning of a day.
const NOW: EpochMs = EpochMs(10 * DAY_MS);

fn terms(limit: u64, window_ms: u64, revision: u64) -> Terms {
    Terms {
        limit,
        window_ms,
        revision: Revision(revision),
        cycle: None,
        sharing: None,
        lease: None,
        standing: 0,
    }
}

fn rolling(terms: Terms, buckets: u64) -> Terms {
    Terms {
        cycle: Some(Cycle::Sliding { buckets }),
        ..terms
    }
}

fn quota(terms: Terms) -> Terms {
    let cycle = Cycle::Calendar(PeriodBody {
        cadence: Cadence::Fixed,
        period_ms: Some(terms.window_ms),
        anchor: Some(0),
        offset_minutes: None,
        time_zone: None,
        week_starts_on: None,
    });
    Terms {
        cycle: Some(cycle),
        ..terms
    }
}

/// A pool, its durable row, and a holder straight below it.
struct World {
    pool: Pool,
    holder: Holder,
    row: String,
    /// Whether the pool wakes anew for each message.
    forgetful: bool,
}

impl World {
    fn new(terms: &Terms, now: EpochMs) -> Self {
        Self {
            pool: Pool::open_keyed(terms.clone(), WindowLabel(0), now),
            holder: holder(1),
            row: String::new(),
            forgetful: false,
        }
    }

    fn exchange(&mut self, terms: &Terms, now: EpochMs) {
        let Some(body) = self.holder.begin(terms.clone(), now) else {
            return;
        };
        let message = Message::try_from(body).unwrap();
        if self.forgetful && !self.row.is_empty() {
            self.pool = Pool::wake(&read_row::<StoredPool>(&self.row).unwrap());
        }
        let reply = self.pool.exchange(&message, now).unwrap();
        if let Some(row) = self.pool.due() {
            self.pool.stored(&row);
            self.row = serde_json::to_string(&row).unwrap();
        }
        assert!(self.holder.finish(&reply, now));
    }

    /// Units that are admitted of up to `ask` single ones, by label.
    fn asks(&mut self, terms: &Terms, ask: u64, now: EpochMs) -> u64 {
        self.holder.ask_again();
        (0..ask).filter(|_| self.admits(terms, now)).count() as u64
    }

    fn admits(&mut self, terms: &Terms, now: EpochMs) -> bool {
        let everyone = Party::Everyone;
        for _ in 0..3 {
            self.holder.advance(now);
            match self.holder.outlook(&everyone, Need::one(1), None, now) {
                Outlook::Covered => return self.holder.spend(&everyone, 1, now),
                Outlook::Short => {
                    let ticket = self.holder.wait_on(&everyone, None, Need::one(1), now);
                    self.exchange(terms, now);
                    ticket
                        .into_iter()
                        .for_each(|ticket| self.holder.unwait(ticket));
                }
                Outlook::Exhausted | Outlook::Unknown => return false,
            }
        }
        false
    }
}

fn holder(id: u64) -> Holder {
    Holder::new("tokens".into(), HolderId(id), Incarnation(1), None)
}

#[test]
fn a_window_that_becomes_shorter_ends_with_the_first_short_one() {
    let day = terms(1_000, DAY_MS, 1);
    let minute = terms(100, MINUTE_MS, 2);
    let kinds = [minute.clone(), rolling(minute.clone(), 10), quota(minute)];
    for (kind, minute) in kinds.iter().enumerate() {
        for used in [30, 100, 1_000] {
            let mut world = World::new(&day, NOW);
            assert_eq!(world.asks(&day, used, NOW), used);
            let at = NOW.plus(5 * MINUTE_MS + 20_000);
            // What is lent may still be spent, and nothing more is lent than the new limit leaves.
            let open = world.asks(minute, 1_000, at);
            assert!(
                used + open <= 1_000.max(used),
                "kind {kind}, {used} used: {open} more"
            );
            // At the next boundary of the new windows, or where they roll, a minute after that.
            let ms = if kind == 1 { 66_000 } else { 40_000 };
            let again = world.asks(minute, 1_000, at.plus(ms));
            assert_eq!(again, 100, "kind {kind}, {used} used");
        }
    }
}

#[test]
fn a_holder_that_hears_that_its_window_closes_early_spends_nothing_of_it_after_that() {
    let (day, minute) = (terms(1_000, DAY_MS, 1), terms(1_000, MINUTE_MS, 2));
    let mut world = World::new(&day, NOW);
    assert_eq!(world.asks(&day, 1, NOW), 1);
    let at = NOW.plus(10_000);
    world.asks(&day, 5, at);
    world.exchange(&minute, at);
    let lease = *world.holder.lease().unwrap();
    assert_eq!(lease.ends_at, NOW.plus(MINUTE_MS));
    assert!(world.holder.open_lease(NOW.plus(MINUTE_MS)).is_none());
}

#[test]
fn an_isolate_below_a_region_hears_of_it_too() {
    let (day, minute) = (terms(1_000, DAY_MS, 1), terms(50, MINUTE_MS, 2));
    let mut pool = Pool::open(day.clone(), NOW);
    let mut region = Escrow::wake("tokens".into(), HolderId(7), Incarnation(1), None);
    let mut isolate = holder(1);
    let everyone = Party::Everyone;
    for (terms, now) in [
        (&day, NOW),
        (&minute, NOW.plus(700)),
        (&minute, NOW.plus(1_400)),
    ] {
        let ticket = isolate.wait_on(&everyone, None, Need::one(3), now);
        let asked = Message::try_from(isolate.begin(terms.clone(), now).unwrap()).unwrap();
        let tickets = region.wait_on(Tickets::new(), &asked, now).unwrap();
        let up = Message::try_from(region.begin(terms.clone(), now).unwrap()).unwrap();
        let reply = pool.exchange(&up, now).unwrap();
        assert!(region.finish(&reply, now));
        region.unwait(&tickets);
        let reply = region.exchange(&asked, false, now).unwrap();
        assert!(isolate.finish(&reply, now));
        isolate.unwait(ticket.unwrap());
    }
    assert_eq!(isolate.lease().unwrap().ends_at, NOW.plus(MINUTE_MS));
}

#[test]
fn a_longer_window_counts_what_was_lent_in_the_short_one_that_it_covers() {
    let minute = terms(1_000, MINUTE_MS, 1);
    let day = terms(5_000, DAY_MS, 2);
    for forgetful in [false, true] {
        for day in [day.clone(), quota(day.clone())] {
            let mut world = World::new(&minute, NOW);
            world.forgetful = forgetful;
            let mut admitted = world.asks(&minute, 2_000, NOW);
            for second in [1, 59, 61, 119, 121, 86_399] {
                admitted += world.asks(&day, 9_000, NOW.plus(second * 1_000));
            }
            let next = world.asks(&day, 9_000, NOW.plus(DAY_MS));
            assert!(admitted <= 5_000 && next <= 5_000, "{admitted}, {next}");
            // A pool that wakes takes the block that it was lending from for lent.
            assert!(forgetful || (admitted, next) == (5_000, 5_000));
        }
    }
}

#[test]
fn windows_that_were_promised_count_in_a_rolling_one_for_as_long_as_their_own_parts_would() {
    for (window_ms, until_ms) in [(1_000, MINUTE_MS), (6_000, MINUTE_MS + 6_000)] {
        let fixed = Terms {
            standing: 3,
            ..terms(100, window_ms, 1)
        };
        let rolls = rolling(terms(100, MINUTE_MS, 2), 10);
        let mut world = World::new(&fixed, NOW);
        world.holder.hold_slices(3);
        for step in 0..30 {
            let now = NOW.plus(step * window_ms / 30);
            world.asks(&fixed, 2, now);
            world.exchange(&fixed, now.plus(5));
        }
        assert_eq!(world.holder.ahead().len(), 3);
        // The pool hears of them when they are over, and of the edit.
        for window in 1..4 {
            let ms = window * window_ms + window_ms / 2;
            assert_eq!(world.asks(&fixed, 40, NOW.plus(ms)), 40);
        }
        for ms in (30_000..until_ms).step_by(500) {
            assert_eq!(world.asks(&rolls, 200, NOW.plus(ms)), 0, "at {ms}");
        }
        let later = world.asks(&rolls, 200, NOW.plus(2 * MINUTE_MS));
        assert_eq!(later, 100);
    }
}

#[test]
fn minutes_that_were_promised_count_in_the_day_that_takes_their_place() {
    let minute = Terms {
        standing: 3,
        ..terms(100, MINUTE_MS, 1)
    };
    let day = Terms {
        standing: 3,
        ..terms(1_000, DAY_MS, 2)
    };
    for forgetful in [false, true] {
        let mut world = World::new(&minute, NOW);
        world.forgetful = forgetful;
        world.holder.hold_slices(3);
        let mut admitted = 0;
        for second in 0..30 {
            admitted += world.asks(&minute, 2, NOW.plus(second * 1_000));
            world.exchange(&minute, NOW.plus(second * 1_000 + 500));
        }
        assert_eq!(world.holder.ahead().len(), 3);
        // The limit is that of the day at once, in minutes that come as they were promised.
        for minutes in 0..10 {
            let now = NOW.plus(minutes * MINUTE_MS + 40_000);
            admitted += world.asks(&day, 2_000, now);
        }
        assert!(
            admitted <= 1_000 && (forgetful || admitted == 1_000),
            "{admitted}"
        );
    }
}

#[test]
fn what_a_part_lent_counts_in_the_longer_window_that_takes_its_place_though_the_pool_is_dropped() {
    let short = rolling(terms(100, 10_000, 1), 10);
    let hour = terms(100, 60 * MINUTE_MS, 2);
    let mut world = World::new(&short, NOW);
    assert_eq!(world.asks(&short, 100, NOW), 100);
    world.exchange(&hour, NOW.plus(100));
    let row: StoredPool = read_row(&world.row).unwrap();
    for ms in [1_000, 5_000, 1_800_000, 3_599_999] {
        let now = NOW.plus(ms);
        assert!(!world.pool.idle(now), "at {ms}");
        assert!(now < row.expires_at(), "at {ms}");
        assert_eq!(world.asks(&hour, 100, now), 0, "at {ms}");
    }
    assert_eq!(world.asks(&hour, 200, NOW.plus(60 * MINUTE_MS)), 100);
}

#[test]
fn units_promised_for_windows_of_the_old_length_are_spent_under_labels_of_their_own() {
    // Slices of three windows to come, of an hour each.
    let hour = Terms {
        standing: 3,
        ..terms(1_000, 60 * MINUTE_MS, 1)
    };
    for minute in [
        terms(1_000, MINUTE_MS, 2),
        rolling(terms(1_000, MINUTE_MS, 2), 10),
    ] {
        let mut world = World::new(&hour, NOW);
        world.holder.hold_slices(3);
        // Steady demand, so that slices are held.
        for second in 0..30 {
            world.asks(&hour, 20, NOW.plus(second * 1_000));
            world.exchange(&hour, NOW.plus(second * 1_000 + 500));
        }
        let promised: OrderedMap<_, _> = world
            .holder
            .ahead()
            .iter()
            .map(|ahead| (ahead.label, ahead.units))
            .collect();
        assert_eq!(promised.len(), 3, "{promised:?}");
        let mut other = World::new(&hour, NOW);
        other.pool = world.pool.clone();
        other.holder = holder(2);
        for minutes in 1..4 {
            let now = NOW.plus(minutes * MINUTE_MS + 30_000);
            other.asks(&minute, 100, now);
            let label = other.holder.lease().unwrap().label;
            assert!(!promised.contains_key(&label), "{label:?} of {promised:?}");
        }
    }
}

#[test]
fn labels_that_were_promised_are_not_lent_again_though_the_row_is_lost_and_the_windows_changed() {
    let cycles = [
        terms(100, 10_000, 2),
        quota(terms(100, 10_000, 2)),
        rolling(terms(100, 10_000, 2), 1),
        rolling(terms(100, 10_000, 2), 10),
    ];
    for newer in cycles {
        for label in [WindowLabel(70), WindowLabel(7)] {
            let mut world = World::new(&newer, NOW);
            world.pool = Pool::damaged_keyed(Some(label), WindowLabel(0), newer.clone(), NOW);
            let mut admitted = 0;
            for second in 0..60 {
                let now = NOW.plus(second * 1_000);
                let units = world.asks(&newer, 100, now);
                admitted += units;
                if units > 0 {
                    let lent = world.holder.lease().unwrap().label;
                    // Of the next three windows all may have been promised.
                    assert!(lent.0 > label.0 + 3, "{lent:?} after {label:?}: {newer:?}");
                }
            }
            assert!(admitted > 0, "{newer:?}");
        }
    }
}

#[test]
fn a_budget_of_one_isolate_follows_an_edit_of_its_window_too() {
    let local = |limit, window_ms| LocalTerms {
        limit,
        window_ms,
        share: None,
    };
    let everyone = Party::Everyone;
    let admitted = |budget: &mut LocalBudget, ask: u64, now: EpochMs| {
        let checks = (0..ask).filter(|_| budget.check(&everyone, 1, now).admitted());
        checks.count() as u64
    };
    let mut budget = LocalBudget::new(local(1_000, DAY_MS));
    assert_eq!(admitted(&mut budget, 500, NOW), 500);
    budget.retune(local(100, MINUTE_MS));
    assert_eq!(admitted(&mut budget, 500, NOW.plus(20_000)), 0);
    assert_eq!(admitted(&mut budget, 500, NOW.plus(MINUTE_MS)), 100);
    budget.retune(local(800, DAY_MS));
    let later = [70_000, 130_000, DAY_MS - 1].map(|ms| admitted(&mut budget, 500, NOW.plus(ms)));
    assert_eq!(
        later.iter().sum::<u64>(),
        200,
        "{later:?}: 500 and 100 of the day's 800 were used"
    );
    assert_eq!(admitted(&mut budget, 900, NOW.plus(DAY_MS)), 800);
}

#[test]
fn slices_of_windows_to_come_shrink_with_a_lower_limit_once_their_holders_hear_of_it() {
    let hour = 60 * MINUTE_MS;
    let sliced = |limit, revision| Terms {
        standing: 3,
        ..terms(limit, hour, revision)
    };
    let (old, new) = (sliced(1_000, 1), sliced(10, 2));
    let mut pool = Pool::open(old.clone(), NOW);
    let mut worlds = [1, 2].map(|id| {
        let mut holder = holder(id);
        holder.hold_slices(3);
        holder
    });
    let mut admitted: OrderedMap<u64, u64> = OrderedMap::new();
    for minute in 0..240 {
        let now = NOW.plus(minute * MINUTE_MS);
        let (terms, ask) = if minute < 50 { (&old, 10) } else { (&new, 100) };
        for holder in &mut worlds {
            let own = std::mem::replace(holder, self::holder(9));
            let mut world = World::new(terms, now);
            (world.pool, world.holder) = (pool, own);
            *admitted.entry(minute / 60).or_default() += world.asks(terms, ask, now);
            for _ in 0..2 {
                if world.holder.wants_contact(now) {
                    world.exchange(terms, now);
                }
            }
            (pool, *holder) = (world.pool, world.holder);
        }
    }
    assert_eq!(admitted[&0], 1_000, "{admitted:?}");
    for (hour, units) in admitted.range(1..) {
        assert!(*units <= 10, "hour {hour}: {units} of 10 in {admitted:?}");
    }
}
