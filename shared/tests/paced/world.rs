//! Tenants of drawn habits that share one budget by a rule, on a clock that the test steps.

use weir_shared::fairness::ask::{Ask, Moment, Room, TenantClaim};
use weir_shared::fairness::paced::Paced;
use weir_shared::fairness::pinned::Pinned;
use weir_shared::fairness::share::{Rule, ShareTerms};
use weir_shared::fairness::weight::Weight;

/// A rule under test. The pinned one is the control.
pub trait Sharing {
    fn room(&mut self, name: &str, claim: &TenantClaim, ask: &Ask, at: &Moment) -> Room;
    fn charge(&mut self, name: &str, units: u64);
    fn used(&self, name: &str) -> u64;
    fn used_total(&self) -> u64;
}

macro_rules! sharing {
    ($rule:ty) => {
        impl Sharing for $rule {
            fn room(&mut self, name: &str, claim: &TenantClaim, ask: &Ask, at: &Moment) -> Room {
                <$rule>::room(self, name, claim, ask, at)
            }
            fn charge(&mut self, name: &str, units: u64) {
                <$rule>::charge(self, name, units);
            }
            fn used(&self, name: &str) -> u64 {
                <$rule>::used(self, name)
            }
            fn used_total(&self) -> u64 {
                <$rule>::used_total(self)
            }
        }
    };
}

sharing!(Paced);
sharing!(Pinned);

pub fn terms(rule: Rule) -> ShareTerms {
    ShareTerms {
        rule,
        tenants_max: 1_000_000,
        unknown_weight_max: Weight::WHOLE,
        carried: true,
        floors: 0,
    }
}

pub fn paced() -> Paced {
    Paced::new(terms(Rule::Paced))
}

pub fn pinned() -> Pinned {
    Pinned::new(terms(Rule::Pinned))
}

pub fn claim(weight: u64) -> TenantClaim {
    TenantClaim {
        weight: Weight::from_micros(weight * 1_000_000).unwrap(),
        ..TenantClaim::default()
    }
}

pub fn one(cost: u64) -> Ask {
    Ask {
        waiting: cost,
        smallest: cost,
        holders: 1,
        ..Ask::default()
    }
}

/// When a tenant asks.
#[derive(Debug, Clone)]
pub struct Habit {
    pub name: String,
    pub weight: u64,
    pub cost: u64,
    /// Requests in each step in which it asks.
    pub requests: u64,
    /// It asks every so many milliseconds, from `from_ms` until `until_ms` of each window.
    pub every_ms: u64,
    pub from_ms: u64,
    pub until_ms: u64,
}

impl Habit {
    pub fn new(name: impl Into<String>, weight: u64) -> Self {
        Self {
            name: name.into(),
            weight,
            cost: 1,
            requests: 1,
            every_ms: 1,
            from_ms: 0,
            until_ms: u64::MAX,
        }
    }

    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = cost;
        self
    }

    pub fn asks(mut self, requests: u64, every_ms: u64) -> Self {
        (self.requests, self.every_ms) = (requests, every_ms);
        self
    }

    pub fn between(mut self, from_ms: u64, until_ms: u64) -> Self {
        (self.from_ms, self.until_ms) = (from_ms, until_ms);
        self
    }

    fn due(&self, now_ms: u64) -> u64 {
        let is_due = (self.from_ms..self.until_ms).contains(&now_ms)
            && (now_ms - self.from_ms).is_multiple_of(self.every_ms);
        if is_due { self.requests } else { 0 }
    }
}

/// Light tenants that ask evenly, `asks` times a window from its start on, and a hungry one.
pub fn light_and_hungry(light: u64, cost: u64, asks: u64, window_ms: u64) -> Vec<Habit> {
    let every_ms = window_ms.div_ceil(asks);
    let light = (1..=light).map(|i| {
        Habit::new(format!("light-{i}"), 1)
            .cost(cost)
            .asks(1, every_ms)
    });
    light
        .chain([Habit::new("hungry", 1).cost(cost).asks(20, 1)])
        .collect()
}

/// A budget.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    pub limit: u64,
    pub window_ms: u64,
}

impl Budget {
    pub fn at(&self, used_total: u64, now_ms: u64) -> Moment {
        Moment {
            limit: self.limit,
            unlent: self.limit - used_total,
            left_ms: self.window_ms - now_ms,
            window_ms: self.window_ms,
        }
    }

    /// Asks once; whether it was admitted.
    pub fn ask(&self, rule: &mut dyn Sharing, habit: &Habit, now_ms: u64) -> bool {
        let at = self.at(rule.used_total(), now_ms);
        let room = rule.room(&habit.name, &claim(habit.weight), &one(habit.cost), &at);
        assert!(room.waiting == 0 || room.waiting == habit.cost);
        assert!(room.waiting <= at.unlent, "beyond the pool");
        if room.waiting > 0 {
            rule.charge(&habit.name, room.waiting);
        }
        room.waiting > 0
    }

    /// Lets one millisecond pass, and says how many requests each was denied. The tenants take turns.
    pub fn step(&self, rule: &mut dyn Sharing, habits: &[Habit], now_ms: u64) -> Vec<u64> {
        let mut denied = vec![0; habits.len()];
        let most = habits.iter().map(|habit| habit.due(now_ms)).max();
        for turn in 0..most.unwrap_or(0) {
            for (habit, denied) in habits.iter().zip(&mut denied) {
                if turn < habit.due(now_ms) && !self.ask(rule, habit, now_ms) {
                    *denied += 1;
                }
            }
        }
        denied
    }

    /// Runs one window, and says how many requests each was denied.
    pub fn window(&self, rule: &mut dyn Sharing, habits: &[Habit]) -> Vec<u64> {
        let mut denied = vec![0; habits.len()];
        for now_ms in 0..self.window_ms {
            let more = self.step(rule, habits, now_ms);
            denied
                .iter_mut()
                .zip(more)
                .for_each(|(sum, more)| *sum += more);
        }
        assert!(rule.used_total() <= self.limit);
        denied
    }
}

pub fn used(rule: &dyn Sharing, habits: &[Habit]) -> Vec<u64> {
    habits.iter().map(|habit| rule.used(&habit.name)).collect()
}
