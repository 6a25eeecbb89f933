//! The distinct weights of some tenants, and what tenants of each are guaranteed.

use std::ops::{Add, Sub};

use crate::ordered::OrderedMap;

use super::ask::{Floor, Moment};
use super::floors::Floors;
use super::prefix_sums::PrefixSums;

/// Tenants below a bound, and the sum of their keys.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    tenants: u128,
    keys: u128,
}

impl Tally {
    pub(crate) fn of(key: u64) -> Self {
        Self {
            tenants: 1,
            keys: u128::from(key),
        }
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tenants: self.tenants.saturating_add(other.tenants),
            keys: self.keys.saturating_add(other.keys),
        }
    }
}

impl Sub for Tally {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            tenants: self.tenants.saturating_sub(other.tenants),
            keys: self.keys.saturating_sub(other.keys),
        }
    }
}

/// What tenants with one guarantee have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClassKey {
    /// Whether the policy names them.
    pub known: bool,
    /// In micro-units.
    pub weight: u64,
    /// What is set aside for each.
    pub floor: Floor,
    /// Units that each may use in a window; `u64::MAX` for any.
    pub ceiling: u64,
}

/// Tenants with one guarantee.
#[derive(Debug, Clone, Default)]
pub(crate) struct Class {
    /// Seen in this window.
    pub members: u64,
    /// Seen in the last window and not yet in this one.
    pub carried: u64,
    /// As of the last [`Classes::stand`].
    pub guarantee: u64,
    /// Of the members, by what must be below the guarantee for some of it to be kept: used units, and those that are
    /// not kept for them.
    pub keys: PrefixSums<u64, Tally>,
}

/// Sums of weights in micro-units.
#[derive(Debug, Clone, Copy, Default)]
struct Weights {
    known: u128,
    unknown: u128,
}

/// How the weights of tenants without a name in the policy count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scale {
    unknown: u128,
    unknown_max: u128,
}

impl Scale {
    /// The weight as it counts: as it is, but for those without a name in the policy, which count as
    /// `floor(w * max / sum)`, at least 1, where their sum is above `max`.
    pub(crate) fn weight(self, key: ClassKey) -> u128 {
        let weight = u128::from(key.weight);
        if key.known || self.unknown <= self.unknown_max {
            return weight;
        }
        (weight * self.unknown_max / self.unknown).max(1)
    }
}

/// What the unused guarantees come to while weights and limit stand.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unused {
    /// Of members, as far as they are kept.
    pub members: u128,
    /// Of those that are carried.
    pub carried: u128,
}

/// By what guarantees go: how weights count, what they come to, and what they divide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Basis {
    scale: Scale,
    /// Of all weights, at least 1.
    sum: u128,
    floors: Floors,
    /// Units of the window.
    limit: u64,
    /// Units of them that weights divide.
    rest: u64,
}

impl Basis {
    /// The floor and `floor(w * rest / W)`, at most the ceiling.
    pub(crate) fn guarantee(&self, key: ClassKey) -> u64 {
        let share = guarantee(self.scale.weight(key), self.rest, self.sum);
        let floor = self.floors.of(key.floor, self.limit);
        floor.saturating_add(share).min(key.ceiling)
    }

    /// How many units weights have to divide before a guarantee is `units`; `None` where they never do.
    pub(crate) fn rest_for(&self, key: ClassKey, units: u64) -> Option<u64> {
        let floor = self.floors.of(key.floor, self.limit);
        let share = u128::from(units.saturating_sub(floor));
        let rest = share
            .checked_mul(self.sum)?
            .div_ceil(self.scale.weight(key));
        u64::try_from(rest).ok().filter(|_| units <= key.ceiling)
    }
}

/// The classes of some tenants.
#[derive(Debug, Clone)]
pub(crate) struct Classes {
    by_key: OrderedMap<ClassKey, Class>,
    weights: Weights,
    unknown_max: u128,
    floors: Floors,
    /// As of the last [`Classes::stand`].
    now: Basis,
    /// The same without those that are carried.
    later: Basis,
    steps: u64,
}

impl Classes {
    pub(crate) fn new(unknown_max: u64, floors: u64) -> Self {
        Self {
            by_key: OrderedMap::new(),
            weights: Weights::default(),
            unknown_max: u128::from(unknown_max),
            floors: Floors::new(floors),
            now: Basis::default(),
            later: Basis::default(),
            steps: 0,
        }
    }

    pub(crate) fn bound_unknown(&mut self, unknown_max: u64) {
        self.unknown_max = u128::from(unknown_max);
    }

    /// Another word on what is set aside by name.
    pub(crate) fn say_floors(&mut self, units: u64) {
        self.floors.say(units);
    }

    /// What is set aside for those that are not there.
    pub(crate) fn absent(&self, limit: u64) -> u64 {
        if self.floors.is_empty() {
            return 0;
        }
        self.floors.absent(limit)
    }

    /// What weights divide at an instant: as what is set aside for tenants that are not there is released, that too.
    pub(crate) fn rest(&self, at: &Moment) -> u64 {
        if self.floors.is_empty() {
            return at.limit;
        }
        self.floors.rest_at(at)
    }

    /// The class of this key.
    pub(crate) fn of(&mut self, key: ClassKey) -> &mut Class {
        self.by_key.entry(key).or_default()
    }

    pub(crate) fn guarantee(&self, key: ClassKey) -> u64 {
        self.by_key.get(&key).map_or(0, |class| class.guarantee)
    }

    /// One more tenant weighs so much.
    pub(crate) fn weigh(&mut self, key: ClassKey) {
        let sum = self.sum_mut(key);
        *sum = sum.saturating_add(u128::from(key.weight));
        self.floors.add(key.floor);
    }

    /// One less does.
    pub(crate) fn unweigh(&mut self, key: ClassKey) {
        let sum = self.sum_mut(key);
        *sum = sum.saturating_sub(u128::from(key.weight));
        self.floors.remove(key.floor);
    }

    fn sum_mut(&mut self, key: ClassKey) -> &mut u128 {
        if key.known {
            &mut self.weights.known
        } else {
            &mut self.weights.unknown
        }
    }

    /// The next window: members are carried, or nobody is.
    pub(crate) fn roll(&mut self, carried: bool) {
        let by_key = std::mem::take(&mut self.by_key);
        self.weights = Weights::default();
        self.floors = self.floors.of_nobody();
        for (key, class) in by_key {
            self.steps = self.steps.saturating_add(class.keys.steps());
            if !carried || class.members == 0 {
                continue;
            }
            let sum = self.sum_mut(key);
            let weight = u128::from(key.weight) * u128::from(class.members);
            *sum = sum.saturating_add(weight);
            self.floors.add_all(key.floor, class.members);
            self.of(key).carried = class.members;
        }
    }

    /// Those that are carried count no more.
    pub(crate) fn drop_carried(&mut self) {
        let (mut known, mut unknown) = (0, 0);
        for (key, class) in &mut self.by_key {
            let carried = std::mem::take(&mut class.carried);
            let weight = u128::from(key.weight) * u128::from(carried);
            self.floors.remove_all(key.floor, carried);
            if key.known {
                known += weight;
            } else {
                unknown += weight;
            }
        }
        self.weights.known = self.weights.known.saturating_sub(known);
        self.weights.unknown = self.weights.unknown.saturating_sub(unknown);
    }

    /// How weights count, with `more` beside those that are there.
    fn scale(&self, more: Option<ClassKey>) -> Scale {
        let more = more.filter(|key| !key.known).map_or(0, |key| key.weight);
        Scale {
            unknown: self.weights.unknown.saturating_add(u128::from(more)),
            unknown_max: self.unknown_max,
        }
    }

    /// The sum of all weights as they count, at least 1, with `more` beside those that are there.
    fn sum(&self, scale: Scale, more: Option<ClassKey>) -> u128 {
        let classes = self.by_key.iter().map(|(key, class)| {
            let tenants = class.members.saturating_add(class.carried);
            scale.weight(*key).saturating_mul(u128::from(tenants))
        });
        let more = more.map_or(0, |key| scale.weight(key));
        classes.fold(more, u128::saturating_add).max(1)
    }

    /// By what guarantees of a window of `limit` units go of which weights divide `rest`, with `more` beside those that
    /// are there.
    pub(crate) fn basis(&self, more: Option<ClassKey>, limit: u64, rest: u64) -> Basis {
        let scale = self.scale(more);
        let mut floors = self.floors;
        let mut rest = rest;
        if let Some(key) = more {
            let before = floors.rest(limit);
            floors.add(key.floor);
            rest = rest.saturating_sub(before - floors.rest(limit).min(before));
        }
        Basis {
            scale,
            sum: self.sum(scale, more),
            floors,
            limit,
            rest,
        }
    }

    /// As of the last [`Classes::stand`].
    pub(crate) fn now(&self) -> &Basis {
        &self.now
    }

    /// The same when those that are carried have gone.
    pub(crate) fn later(&self) -> &Basis {
        &self.later
    }

    /// Sets every guarantee, and sums up what of them is unused.
    pub(crate) fn stand(&mut self, limit: u64, rest: u64) -> Unused {
        self.by_key
            .retain(|_, class| class.members > 0 || class.carried > 0);
        let basis = self.basis(None, limit, rest);
        let mut unused = Unused::default();
        for (key, class) in &mut self.by_key {
            self.steps = self.steps.saturating_add(2);
            let guarantee = basis.guarantee(*key);
            class.guarantee = guarantee;
            let below = class.keys.while_fits(|key, _| *key < guarantee);
            let all = below.tenants.saturating_mul(u128::from(guarantee));
            unused.members += all.saturating_sub(below.keys);
            unused.carried += u128::from(guarantee) * u128::from(class.carried);
        }
        self.now = basis;
        self.later = self.members_alone(basis);
        unused
    }

    fn members_alone(&self, basis: Basis) -> Basis {
        let weight = |(key, class): (&ClassKey, &Class), weight: u128| {
            (key.known, weight.saturating_mul(u128::from(class.members)))
        };
        let unknown = self
            .by_key
            .iter()
            .map(|entry| weight(entry, u128::from(entry.0.weight)));
        let unknown = unknown
            .filter(|(known, _)| !known)
            .map(|(_, weight)| weight);
        let scale = Scale {
            unknown: unknown.fold(0, u128::saturating_add),
            unknown_max: self.unknown_max,
        };
        let counted = self
            .by_key
            .iter()
            .map(|entry| weight(entry, scale.weight(*entry.0)).1);
        let carried = self.by_key.iter();
        let floors = carried.fold(basis.floors, |mut floors, (key, class)| {
            floors.remove_all(key.floor, class.carried);
            floors
        });
        let freed = floors.rest(basis.limit) - basis.floors.rest(basis.limit);
        Basis {
            scale,
            sum: counted.fold(0, u128::saturating_add).max(1),
            floors,
            rest: basis.rest.saturating_add(freed),
            ..basis
        }
    }

    /// Steps that were taken so far.
    pub(crate) fn steps(&self) -> u64 {
        let trees = self.by_key.values().map(|class| class.keys.steps());
        trees.fold(self.steps, u64::saturating_add)
    }
}

/// `floor(w * L / W)`, multiplied first.
pub(crate) fn guarantee(weight: u128, limit: u64, sum: u128) -> u64 {
    let units = weight.saturating_mul(u128::from(limit)) / sum.max(1);
    u64::try_from(units).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_are_carried_weigh_until_they_are_dropped_named_or_not() {
        let key = |known| ClassKey {
            known,
            weight: 1_000_000,
            floor: Floor::default(),
            ceiling: u64::MAX,
        };
        for carried in [true, false] {
            let mut classes = Classes::new(9_000_000, 0);
            let carried = key(carried);
            for _ in 0..3 {
                classes.weigh(carried);
                classes.of(carried).members += 1;
            }
            classes.roll(true);
            let one = key(false);
            classes.weigh(one);
            classes.of(one).members += 1;
            assert_eq!(classes.basis(None, 100, 100).guarantee(one), 25);
            classes.drop_carried();
            assert_eq!(classes.basis(None, 100, 100).guarantee(one), 100);
            let sum = [classes.weights.known, classes.weights.unknown];
            assert_eq!(sum, [0, 1_000_000]);
        }
    }

    #[test]
    fn when_those_that_are_carried_have_gone_who_is_there_has_what_they_were_guaranteed_though_it_was_nothing()
     {
        let key = ClassKey {
            known: true,
            weight: 1_000_000,
            floor: Floor::default(),
            ceiling: u64::MAX,
        };
        for (limit, now) in [(2, 0), (8, 2)] {
            let mut classes = Classes::new(1_000_000, 0);
            for _ in 0..3 {
                classes.weigh(key);
                classes.of(key).members += 1;
            }
            classes.roll(true);
            classes.weigh(key);
            classes.of(key).members += 1;
            classes.stand(limit, limit);
            assert_eq!(classes.now().guarantee(key), now);
            assert_eq!(classes.later().guarantee(key), limit);
        }
    }

    #[test]
    fn a_class_is_forgotten_when_none_of_its_tenants_is_there_or_carried() {
        let key = ClassKey {
            known: true,
            weight: 1_000_000,
            floor: Floor::default(),
            ceiling: u64::MAX,
        };
        for (members, carried, kept) in [(0, 0, 0), (1, 0, 1), (0, 1, 1)] {
            let mut classes = Classes::new(1_000_000, 0);
            let class = classes.of(key);
            (class.members, class.carried) = (members, carried);
            classes.stand(100, 100);
            assert_eq!(classes.by_key.len(), kept, "{members}, {carried}");
        }
    }
}
