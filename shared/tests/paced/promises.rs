//! What the paced rule promises whatever others do: properties over drawn tenants and adversaries.

use proptest::prelude::*;
use weir_shared::fairness::ask::Ask;
use weir_shared::fairness::max_min::allocate;
use weir_shared::fairness::paced::Paced;
use weir_shared::fairness::weight::Weight;

use crate::drawn::cases;

use super::world::{Budget, Habit, claim, one, paced};

/// A tenant that stays within its guarantee at an even pace.
#[derive(Debug, Clone)]
struct Even {
    weight: u64,
    /// It asks the largest first, so that it is known, and then these in turn.
    costs: Vec<u64>,
    from_ms: u64,
    /// By how many percent it waits longer than an even pace demands.
    slower: Vec<u64>,
}

fn even() -> impl Strategy<Value = Even> {
    (
        1..6_u64,
        prop::collection::vec(1..9_u64, 1..4),
        0..2_000_u64,
        prop::collection::vec(0..80_u64, 1..5),
    )
        .prop_map(|(weight, mut costs, from_ms, slower)| {
            costs.sort_unstable_by(|a, b| b.cmp(a));
            Even {
                weight,
                costs,
                from_ms,
                slower,
            }
        })
}

/// Someone who asks at any time for anything.
#[derive(Debug, Clone, Copy)]
struct Flood {
    who: u64,
    at_ms: u64,
    ask: Ask,
}

fn flood(window_ms: u64) -> impl Strategy<Value = Flood> {
    let ask = (1..400_u64, 1..40_u64, 0..200_u64, 0..500_u64, 1..4_u64);
    (0..4_u64, 0..window_ms, ask).prop_map(|(who, at_ms, ask)| Flood {
        who,
        at_ms,
        ask: Ask {
            waiting: ask.0,
            smallest: ask.1.min(ask.0),
            expected: ask.2,
            denied: ask.3,
            holders: ask.4,
        },
    })
}

const BUDGET: Budget = Budget {
    limit: 1_000,
    window_ms: 2_000,
};

/// When and what an even tenant with a guarantee of `guarantee` units asks in one window.
fn schedule(even: &Even, guarantee: u64) -> Vec<(u64, u64)> {
    let mut asks = Vec::new();
    let (mut at_ms, mut used) = (even.from_ms, 0);
    let turns = even.costs.iter().cycle().zip(even.slower.iter().cycle());
    for (cost, slower) in turns {
        if at_ms >= BUDGET.window_ms || used + cost > guarantee {
            return asks;
        }
        asks.push((at_ms, *cost));
        used += cost;
        let gap_ms = (cost * BUDGET.window_ms).div_ceil(guarantee);
        at_ms += gap_ms + gap_ms * slower / 100;
    }
    asks
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn an_even_pace_within_the_guarantee_is_never_denied(
        evens in prop::collection::vec(even(), 1..6),
        floods in prop::collection::vec(flood(BUDGET.window_ms), 0..400),
        windows in 1..4_u64,
    ) {
        let mut rule = paced();
        let weights: u64 = evens.iter().map(|even| even.weight).sum::<u64>() + 4;
        // All are members, and their largest costs are known.
        for (i, even) in evens.iter().enumerate() {
            let habit = Habit::new(format!("even-{i}"), even.weight).cost(even.costs[0]);
            prop_assert!(BUDGET.ask(&mut rule, &habit, 0));
        }
        for who in 0..4 {
            BUDGET.ask(&mut rule, &Habit::new(format!("flood-{who}"), 1), 0);
        }
        for _ in 0..windows {
            rule.roll();
            let mut events: Vec<(u64, Option<usize>, u64, Ask)> = Vec::new();
            for (i, even) in evens.iter().enumerate() {
                let guarantee = even.weight * BUDGET.limit / weights;
                for (at_ms, cost) in schedule(even, guarantee) {
                    events.push((at_ms, Some(i), 0, one(cost)));
                }
            }
            for flood in &floods {
                events.push((flood.at_ms, None, flood.who, flood.ask));
            }
            events.sort_by_key(|(at_ms, even, ..)| (*at_ms, even.is_some()));
            for (at_ms, even, who, ask) in events {
                let (name, weight) = match even {
                    Some(i) => (format!("even-{i}"), evens[i].weight),
                    None => (format!("flood-{who}"), 1),
                };
                let at = BUDGET.at(rule.used_total(), at_ms);
                let room = rule.room(&name, &claim(weight), &ask, &at);
                prop_assert!(room.waiting + room.ahead <= at.unlent);
                rule.charge(&name, room.waiting + room.ahead);
                if even.is_some() {
                    prop_assert_eq!(room.waiting, ask.waiting, "{} at {} ms", name, at_ms);
                }
            }
        }
    }
}

/// A tenant that always has something waiting.
#[derive(Debug, Clone)]
struct Backlogged {
    weight: u64,
    costs: Vec<u64>,
    every_ms: u64,
    next: usize,
}

impl Backlogged {
    fn cost(&self) -> u64 {
        self.costs[self.next % self.costs.len()]
    }
}

fn backlogged() -> impl Strategy<Value = Backlogged> {
    let costs = prop::collection::vec(prop_oneof![4 => 1..30_u64, 1 => 30..600_u64], 1..4);
    (1..8_u64, costs, 1..40_u64).prop_map(|(weight, costs, every_ms)| Backlogged {
        weight,
        costs,
        every_ms,
        next: 0,
    })
}

/// Asks for each whose turn it is; whether anyone was admitted.
fn serve(rule: &mut Paced, tenants: &mut [Backlogged], now_ms: u64, all: bool) -> bool {
    let mut any = false;
    for (i, tenant) in tenants.iter_mut().enumerate() {
        if all || now_ms.is_multiple_of(tenant.every_ms) {
            let habit = Habit::new(format!("t{i}"), tenant.weight).cost(tenant.cost());
            if BUDGET.ask(rule, &habit, now_ms) {
                tenant.next += 1;
                any = true;
            }
        }
    }
    any
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn when_all_are_backlogged_less_than_the_smallest_waiting_cost_is_left(
        tenants in prop::collection::vec(backlogged(), 1..9),
    ) {
        let mut tenants = tenants;
        let mut rule = paced();
        for window in 0..3 {
            rule.roll();
            for now_ms in (0..BUDGET.window_ms).step_by(5) {
                serve(&mut rule, &mut tenants, now_ms, false);
            }
            // A denial tells what its tenant can use, so the others are asked once more.
            let mut idle = 0;
            while idle < 2 {
                let any = serve(&mut rule, &mut tenants, BUDGET.window_ms - 1, true);
                idle = if any { 0 } else { idle + 1 };
            }
            let left = BUDGET.limit - rule.used_total();
            let smallest = tenants.iter().map(Backlogged::cost).min().unwrap();
            prop_assert!(left < smallest, "window {}: {} left, smallest {}", window, left, smallest);
        }
    }
}

/// What may happen to the accounts.
#[derive(Debug, Clone)]
enum Event {
    Ask(u64, Ask),
    Settle(u64, u64),
    Lower(u64, u64),
    Weigh(u64, u64),
    Pass(u64),
    Roll,
    Limit(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => flood(1).prop_map(|flood| Event::Ask(flood.who, flood.ask)),
        1 => (0..6_u64, 0..700_u64).prop_map(|(who, used)| Event::Settle(who, used)),
        2 => (0..6_u64, 0..90_u64).prop_map(|(who, units)| Event::Lower(who, units)),
        1 => (0..6_u64, 1..20_u64).prop_map(|(who, weight)| Event::Weigh(who, weight)),
        4 => (1..300_u64).prop_map(Event::Pass),
        1 => Just(Event::Roll),
        1 => (1..3_000_u64).prop_map(Event::Limit),
    ]
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn nothing_beyond_the_pool_is_ever_granted_and_a_denial_consumes_nothing(
        events in prop::collection::vec(event(), 1..150),
        borrow_max in prop::option::of(0..300_u64),
        lend_max in prop::option::of(0..300_u64),
    ) {
        let mut rule = paced();
        let mut weights = [1_u64; 6];
        let mut used = [0_u64; 6];
        let mut budget = BUDGET;
        let mut now_ms = 0;
        for event in events {
            let claim = |who: u64, weight| {
                let mut claim = claim(weight);
                claim.known = who != 3;
                if who == 1 {
                    (claim.borrow_max, claim.lend_max) = (borrow_max, lend_max);
                }
                claim
            };
            match event {
                Event::Ask(who, ask) => {
                    let index = who as usize;
                    let sum: u64 = used.iter().sum();
                    let mut at = Budget { limit: budget.limit, ..budget }.at(0, now_ms);
                    at.unlent = budget.limit.saturating_sub(sum);
                    let name = format!("t{who}");
                    let room = rule.room(&name, &claim(who, weights[index]), &ask, &at);
                    prop_assert_eq!(rule.used_total(), sum);
                    prop_assert!(room.waiting + room.ahead + room.left <= at.unlent);
                    prop_assert!(room.waiting <= ask.waiting && room.ahead <= ask.expected);
                    prop_assert!(room.waiting == 0 || room.waiting >= ask.smallest);
                    prop_assert!(room.waiting == ask.waiting || room.ahead + room.left == 0);
                    let each = (room.ceiling - used[index] - room.waiting) / (2 * ask.holders);
                    prop_assert!(room.waiting < ask.waiting || room.ahead <= each);
                    rule.charge(&name, room.waiting + room.ahead);
                    used[index] += room.waiting + room.ahead;
                }
                Event::Settle(who, units) => {
                    rule.set_used(&format!("t{who}"), &claim(who, weights[who as usize]), units);
                    used[who as usize] = units;
                }
                Event::Lower(who, units) => {
                    rule.lower(&format!("t{who}"), units);
                    used[who as usize] = used[who as usize].saturating_sub(units);
                }
                Event::Weigh(who, weight) => weights[who as usize] = weight,
                Event::Pass(ms) => now_ms = (now_ms + ms).min(budget.window_ms),
                Event::Roll => {
                    rule.roll();
                    (used, now_ms) = ([0; 6], 0);
                }
                Event::Limit(limit) => budget.limit = limit,
            }
            for (who, used) in used.iter().enumerate() {
                prop_assert_eq!(rule.used(&format!("t{who}")), *used);
            }
            prop_assert_eq!(rule.used_total(), used.iter().sum::<u64>());
        }
    }
}

/// A tenant whose requests of one cost come at one rate, with some disorder.
#[derive(Debug, Clone)]
struct Steady {
    weight: u64,
    cost: u64,
    /// Units that it asks for in a window.
    demand: u64,
    jitter: Vec<u64>,
}

fn steady() -> impl Strategy<Value = Steady> {
    let jitter = prop::collection::vec(50..150_u64, 1..9);
    (1..8_u64, 1..5_u64, 5..2_500_u64, jitter).prop_map(|(weight, cost, demand, jitter)| Steady {
        weight,
        cost,
        demand,
        jitter,
    })
}

/// The share of the limit by which the tenants' units differ from weighted max-min of their demands.
fn error(tenants: &[Steady], budget: Budget, windows: u64) -> f64 {
    let mut rule = paced();
    let mut asked = Vec::new();
    for _ in 0..windows {
        rule.roll();
        let mut events: Vec<(u64, usize)> = Vec::new();
        for (i, tenant) in tenants.iter().enumerate() {
            let gap = (budget.window_ms * 1_000 * tenant.cost / tenant.demand).max(1);
            let mut at = 0;
            for jitter in tenant.jitter.iter().cycle() {
                if at / 1_000 >= budget.window_ms {
                    break;
                }
                events.push((at / 1_000, i));
                at += gap * jitter / 100;
            }
        }
        events.sort_unstable();
        asked = vec![0; tenants.len()];
        for (now_ms, i) in events {
            let tenant = &tenants[i];
            let habit = Habit::new(format!("t{i}"), tenant.weight).cost(tenant.cost);
            asked[i] += tenant.cost;
            budget.ask(&mut rule, &habit, now_ms);
        }
    }
    let weights: Vec<Weight> = tenants
        .iter()
        .map(|tenant| Weight::from_micros(tenant.weight * 1_000_000).unwrap())
        .collect();
    let ideal = allocate(&asked, &weights, budget.limit);
    let differ: u64 = ideal
        .iter()
        .enumerate()
        .map(|(i, ideal)| rule.used(&format!("t{i}")).abs_diff(*ideal))
        .sum();
    differ as f64 / budget.limit as f64
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn steady_demands_are_served_near_weighted_max_min(tenants in prop::collection::vec(steady(), 2..9)) {
        let costs: u64 = tenants.iter().map(|tenant| tenant.cost).sum();
        let error = error(&tenants, BUDGET, 3);
        let bound = (3 * costs) as f64 / BUDGET.limit as f64 + 0.01;
        prop_assert!(error <= bound, "{} above {}", error, bound);
    }
}
