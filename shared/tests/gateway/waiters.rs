//! Requests that wait in place of a denial: nobody for longer than it may, nobody passed by who has used less, nobody asked
//! for nothing.

use proptest::prelude::*;
use weir_shared::fairness::weight::Weight;
use weir_shared::gateway::waiters::{Arriving, Look, Ticket, Waiters};
use weir_shared::limits::{WAITER_ASKED_MS_MAX, WAITER_LATE_MS, WAITING_LEFT_MS, WAITING_MAX};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, WindowLabel};

const WINDOW_MS: u64 = 1_000;

const LINE: &str = "tokens";

/// A request to come.
#[derive(Debug, Clone)]
struct Coming {
    at_ms: u64,
    tenant: u8,
    cost: u64,
    wait_ms: u64,
    /// Whether its client goes, of which nobody hears: the platform ends it.
    dies: bool,
}

/// A request that waits.
#[derive(Debug)]
struct Waiting {
    coming: Coming,
    ticket: Ticket,
    due_ms: u64,
    looks_at_ms: u64,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ended {
    admitted: bool,
    waited_ms: u64,
    asks: u64,
}

/// A budget that whoever comes first gets, in windows, with a line before it.
struct World {
    units: u64,
    weights: Vec<u64>,
    waiters: Waiters,
    waiting: Vec<Waiting>,
    /// Units of the open window that are left, and which window that is.
    left: (u64, u64),
    /// Units that tenants got of it who had waited.
    used: OrderedMap<u8, u64>,
    asks: OrderedMap<u64, u64>,
    looks: u64,
    ended: Vec<(Coming, Ended)>,
}

impl World {
    fn new(units: u64, weights: Vec<u64>) -> Self {
        Self {
            units,
            weights,
            waiters: Waiters::default(),
            waiting: Vec::new(),
            left: (units, 0),
            used: OrderedMap::new(),
            asks: OrderedMap::new(),
            looks: 0,
            ended: Vec::new(),
        }
    }

    fn run(mut self, mut coming: Vec<Coming>, shuffle: u64) -> Result<Self, TestCaseError> {
        coming.sort_by_key(|one| one.at_ms);
        coming.reverse();
        let mut at_ms = 0;
        while !(coming.is_empty() && self.waiting.iter().all(|one| one.coming.dies)) {
            while coming.last().is_some_and(|next| next.at_ms <= at_ms) {
                let next = coming.pop().unwrap();
                self.comes(next, at_ms);
            }
            // Timers of one instant fire in whatever order.
            let mut due: Vec<u64> = self.numbers(at_ms);
            let mut dice = shuffle ^ at_ms;
            while !due.is_empty() {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let number = due.swap_remove((dice >> 33) as usize % due.len());
                self.looks(number, at_ms)?;
            }
            prop_assert!(self.waiters.len() <= WAITING_MAX);
            at_ms += 1;
        }
        Ok(self)
    }

    fn numbers(&self, at_ms: u64) -> Vec<u64> {
        let living = self.waiting.iter().filter(|one| !one.coming.dies);
        let due = living.filter(|one| one.looks_at_ms <= at_ms);
        due.map(|one| number(&one.ticket)).collect()
    }

    fn comes(&mut self, coming: Coming, at_ms: u64) {
        let tenant = coming.tenant.to_string();
        let queued_until = self.waiters.queued_until(LINE, &tenant, EpochMs(at_ms));
        if queued_until.is_none() && self.take(coming.cost, at_ms) {
            return self.end(coming, true, (at_ms, 0));
        }
        let due = queued_until.map_or(next_window(at_ms), |due| due.0);
        match self.enters(&coming, due, at_ms) {
            Some(ticket) => self.waiting.push(Waiting {
                coming,
                ticket,
                due_ms: due,
                looks_at_ms: at_ms,
            }),
            None => {
                let admitted = queued_until.is_some() && self.take(coming.cost, at_ms);
                self.end(coming, admitted, (at_ms, 0));
            }
        }
    }

    fn enters(&mut self, coming: &Coming, due_ms: u64, at_ms: u64) -> Option<Ticket> {
        let weight = self.weights[usize::from(coming.tenant)];
        let who = Arriving {
            tenant: coming.tenant.to_string(),
            weight: Weight::try_from(weight as f64).unwrap(),
            cost: coming.cost,
            until: EpochMs(coming.at_ms + coming.wait_ms),
            due: EpochMs(due_ms),
        };
        self.waiters.enter(LINE, who, EpochMs(at_ms))
    }

    fn looks(&mut self, of: u64, at_ms: u64) -> Result<(), TestCaseError> {
        self.looks += 1;
        let now = EpochMs(at_ms);
        let index = self
            .waiting
            .iter()
            .position(|one| number(&one.ticket) == of);
        let index = index.unwrap();
        let ticket = self.waiting[index].ticket.clone();
        match self.waiters.look(&ticket, now) {
            Look::SleepMs(ms) => {
                prop_assert!(ms >= 1);
                self.waiting[index].looks_at_ms = at_ms + ms;
            }
            Look::Over => {
                self.waiters.leave(&ticket);
                let Waiting { coming, .. } = self.waiting.remove(index);
                self.end(coming, false, (at_ms, of));
            }
            Look::Ask => self.asked(index, at_ms)?,
        }
        Ok(())
    }

    fn asked(&mut self, index: usize, at_ms: u64) -> Result<(), TestCaseError> {
        let ticket = self.waiting[index].ticket.clone();
        *self.asks.entry(number(&ticket)).or_default() += 1;
        prop_assert!(self.waiting[index].due_ms <= at_ms, "asked before its time");
        if self.take(self.waiting[index].coming.cost, at_ms) {
            self.passes_nobody_by(index, at_ms)?;
            let Waiting { coming, .. } = self.waiting.remove(index);
            let window = WindowLabel(at_ms / WINDOW_MS);
            self.waiters.admitted(&ticket, Some(window));
            *self.used.entry(coming.tenant).or_default() += coming.cost;
            self.end(coming, true, (at_ms, number(&ticket)));
            return Ok(());
        }
        let due_ms = next_window(at_ms);
        if self.waiters.denied(&ticket, EpochMs(due_ms)) {
            let waiting = &mut self.waiting[index];
            (waiting.due_ms, waiting.looks_at_ms) = (due_ms, at_ms);
        } else {
            let Waiting { coming, .. } = self.waiting.remove(index);
            self.end(coming, false, (at_ms, number(&ticket)));
        }
        Ok(())
    }

    /// Whoever else could be asked has had as much for its weight, or is of the same tenant and came later.
    fn passes_nobody_by(&self, index: usize, at_ms: u64) -> Result<(), TestCaseError> {
        let served = &self.waiting[index];
        let level = |tenant: u8, other: u8| {
            self.used.get(&tenant).copied().unwrap_or(0) * self.weights[usize::from(other)]
        };
        for other in &self.waiting {
            let (mine, theirs) = (served.coming.tenant, other.coming.tenant);
            if other.coming.dies
                || other.due_ms > at_ms
                || other.coming.wait_ms + other.coming.at_ms <= at_ms
            {
                continue;
            }
            if mine == theirs {
                prop_assert!(
                    number(&served.ticket) <= number(&other.ticket),
                    "{served:?} before {other:?}"
                );
            } else {
                prop_assert!(
                    level(mine, theirs) <= level(theirs, mine),
                    "{served:?} before {other:?}, {:?}",
                    self.used
                );
            }
        }
        Ok(())
    }

    fn take(&mut self, cost: u64, at_ms: u64) -> bool {
        let window = at_ms / WINDOW_MS;
        if window != self.left.1 {
            self.left = (self.units, window);
            self.used.clear();
        }
        let admitted = cost <= self.left.0;
        if admitted {
            self.left.0 -= cost;
        }
        admitted
    }

    fn end(&mut self, coming: Coming, admitted: bool, (at_ms, number): (u64, u64)) {
        let ended = Ended {
            admitted,
            waited_ms: at_ms - coming.at_ms,
            asks: self.asks.remove(&number).unwrap_or(0),
        };
        self.ended.push((coming, ended));
    }
}

/// What tells a ticket from others.
fn number(ticket: &Ticket) -> u64 {
    ticket.number()
}

fn next_window(at_ms: u64) -> u64 {
    (at_ms / WINDOW_MS + 1) * WINDOW_MS
}

fn requests() -> impl Strategy<Value = Vec<Coming>> {
    let at_ms = prop_oneof![3 => Just(10_u64), 2 => 0..=2_500_u64, 1 => 980..=1_020_u64];
    let wait_ms = prop_oneof![3 => 1..=4_000_u64, 1 => Just(1), 1 => 900..=1_100_u64];
    let cost = prop_oneof![4 => Just(1_u64), 1 => 1..=4_u64];
    let one = (at_ms, 0..4_u8, cost, wait_ms, prop::bool::weighted(0.1));
    let one = one.prop_map(|(at_ms, tenant, cost, wait_ms, dies)| Coming {
        at_ms,
        tenant,
        cost,
        wait_ms,
        dies,
    });
    prop::collection::vec(one, 1..=50)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nobody_waits_beyond_its_time_or_is_passed_by_or_is_asked_for_nothing(
        units in 1..=12_u64, weights in prop::collection::vec(1..=4_u64, 4), coming in requests(), shuffle in any::<u64>()
    ) {
        let dead = coming.iter().filter(|one| one.dies).count();
        let all = coming.len();
        let world = World::new(units, weights).run(coming, shuffle)?;
        prop_assert!(world.ended.len() >= all - dead);
        for (coming, ended) in &world.ended {
            prop_assert!(ended.waited_ms <= coming.wait_ms, "{coming:?}: {ended:?}");
            let windows = (coming.at_ms + ended.waited_ms) / WINDOW_MS - coming.at_ms / WINDOW_MS;
            prop_assert!(ended.asks <= windows + 1, "{coming:?}: {ended:?}");
        }
        // Who died without a word is forgotten, later.
        let mut waiters = world.waiters;
        let later = EpochMs(10_000 + WAITING_LEFT_MS);
        let who = Arriving {
            tenant: "later".to_owned(), weight: Weight::WHOLE, cost: 1, until: later.plus(2), due: later.plus(1),
        };
        let ticket = waiters.enter(LINE, who, later).unwrap();
        prop_assert_eq!(waiters.len(), 1);
        waiters.leave(&ticket);
        prop_assert!(waiters.is_empty());
    }
}

fn coming(tenant: u8) -> Coming {
    Coming {
        at_ms: 10,
        tenant,
        cost: 1,
        wait_ms: 9_000,
        dies: false,
    }
}

#[test]
fn ten_with_one_request_each_come_before_the_rest_of_one_with_fifty() {
    // Twenty of the fifty are served when they come; of the next window's 20 units the ten get theirs.
    let mut requests = vec![coming(0); 50];
    requests.extend((1..=10).map(coming));
    let world = World::new(20, vec![1; 11]).run(requests, 7).unwrap();
    for (request, ended) in &world.ended {
        assert!(ended.admitted, "{request:?}");
        if request.tenant > 0 {
            assert!(ended.waited_ms <= 1_050, "{request:?}: {ended:?}");
        }
    }
    // By arrival they would have come after all fifty: in the third window.
    let last = world.ended.iter().map(|(_, ended)| ended.waited_ms).max();
    assert!(last >= Some(1_990), "{last:?}");
}

#[test]
fn a_thousand_that_wake_at_once_are_asked_in_turn_with_few_looks() {
    for shuffle in 0..4 {
        let requests: Vec<_> = (0..WAITING_MAX)
            .map(|number| coming((number % 16) as u8))
            .collect();
        let count = requests.len() as u64;
        let mut world = World::new(0, vec![1; 16]);
        world.left = (0, 0);
        world.units = 10_000;
        let world = world.run(requests, shuffle).unwrap();
        let (mut admitted, mut longest) = (0, 0);
        for (_, ended) in &world.ended {
            admitted += u64::from(ended.admitted);
            longest = longest.max(ended.waited_ms);
            assert_eq!(ended.asks, 1);
        }
        assert_eq!(admitted, count);
        let looks = world.looks / count;
        assert!(looks <= 20, "{looks} looks each");
        assert!(
            longest <= 990 + 700,
            "the last was asked after {longest} ms"
        );
    }
}

/// A request of one unit that came at the start.
fn entered(
    waiters: &mut Waiters,
    (tenant, weight): (&str, f64),
    (due_ms, until_ms): (u64, u64),
) -> Ticket {
    let who = Arriving {
        tenant: tenant.to_owned(),
        weight: Weight::try_from(weight).unwrap(),
        cost: 1,
        until: EpochMs(until_ms),
        due: EpochMs(due_ms),
    };
    waiters.enter(LINE, who, EpochMs(0)).unwrap()
}

#[test]
fn one_that_has_gone_without_a_word_holds_nobody_up_for_long() {
    let mut waiters = Waiters::default();
    let mut enter = |tenant: &str| entered(&mut waiters, (tenant, 1.0), (1_000, 5_000));
    let (_gone, stays) = (enter("a"), enter("b"));
    assert_eq!(waiters.look(&stays, EpochMs(1_000)), Look::SleepMs(1));
    let late = EpochMs(1_000 + WAITER_LATE_MS);
    assert_eq!(waiters.look(&stays, late), Look::SleepMs(1));
    assert_eq!(waiters.look(&stays, late.plus(1)), Look::Ask);
}

#[test]
fn one_that_the_platform_ended_while_it_was_decided_keeps_no_slot() {
    let mut waiters = Waiters::default();
    let mut enter = |tenant: &str| entered(&mut waiters, (tenant, 1.0), (0, 30_000));
    let (ended, next) = (enter("a"), enter("b"));
    let mut look = |ticket, now| waiters.look_for_slot(ticket, (1, 1), |_| 0, EpochMs(now));
    assert_eq!(look(&ended, 0), Look::Ask);
    assert!(
        matches!(look(&next, 0), Look::SleepMs(_)),
        "the slot is its own"
    );
    assert!(matches!(look(&next, WAITER_ASKED_MS_MAX), Look::SleepMs(_)));
    assert_eq!(look(&next, WAITER_ASKED_MS_MAX + 1), Look::Ask);
}

#[test]
fn who_comes_stands_behind_its_own_and_behind_those_that_are_being_asked() {
    let mut waiters = Waiters::default();
    let who = |tenant: &str, due: u64| Arriving {
        tenant: tenant.to_owned(),
        weight: Weight::WHOLE,
        cost: 1,
        until: EpochMs(5_000),
        due: EpochMs(due),
    };
    assert_eq!(waiters.queued_until(LINE, "a", EpochMs(0)), None);
    let first = waiters.enter(LINE, who("a", 1_000), EpochMs(0)).unwrap();
    assert_eq!(waiters.look(&first, EpochMs(0)), Look::SleepMs(1_000));
    assert_eq!(
        waiters.queued_until(LINE, "a", EpochMs(500)),
        Some(EpochMs(1_000))
    );
    assert_eq!(
        waiters.queued_until(LINE, "b", EpochMs(500)),
        None,
        "its share is its own"
    );
    assert_eq!(
        waiters.queued_until(LINE, "b", EpochMs(1_000)),
        Some(EpochMs(1_000))
    );
    assert_eq!(
        waiters.enter(LINE, who("b", 5_000), EpochMs(1_000)),
        None,
        "too late"
    );
    waiters.leave(&first);
    waiters.leave(&first);
    assert_eq!(waiters.queued_until(LINE, "a", EpochMs(1_000)), None);
    assert_eq!(waiters.look(&first, EpochMs(1_000)), Look::Over);
}

#[test]
fn a_weight_and_what_was_used_say_who_is_first() {
    let mut waiters = Waiters::default();
    let mut enter =
        |tenant: &str, weight: f64| entered(&mut waiters, (tenant, weight), (1_000, 5_000));
    let (light, heavy) = (enter("light", 1.0), enter("heavy", 4.0));
    // 2 of 1 is more than 6 of 4.
    waiters.told(LINE, "light", 2, WindowLabel(3));
    waiters.told(LINE, "heavy", 6, WindowLabel(3));
    // Of a window that is over nothing is taken.
    waiters.told(LINE, "light", 0, WindowLabel(2));
    assert_eq!(waiters.look(&light, EpochMs(1_000)), Look::SleepMs(1));
    assert_eq!(waiters.look(&heavy, EpochMs(1_000)), Look::Ask);
    // In a new window nobody has used anything but who was admitted in it.
    waiters.admitted(&heavy, Some(WindowLabel(4)));
    assert_eq!(waiters.look(&light, EpochMs(1_000)), Look::Ask);
}
