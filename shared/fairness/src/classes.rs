//! The distinct weights of some tenants, and what tenants of each are guaranteed.

#[cfg(test)]
mod tests;

use std::ops::{Add, Sub};

use weir_core::ordered::OrderedMap;

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

/// Names a class for as long as it has tenants: members and what is asked of them are looked up by it, without a
/// comparison of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClassId(u32);

/// Tenants with one guarantee.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    /// What they have in common.
    pub key: ClassKey,
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

impl Class {
    fn new(key: ClassKey) -> Self {
        Self {
            key,
            members: 0,
            carried: 0,
            guarantee: 0,
            keys: PrefixSums::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.members == 0 && self.carried == 0
    }
}

/// Sums of weights in micro-units.
#[derive(Debug, Clone, Copy, Default)]
struct Weights {
    known: u128,
    unknown: u128,
}

impl Weights {
    fn of_mut(&mut self, key: ClassKey) -> &mut u128 {
        if key.known {
            &mut self.known
        } else {
            &mut self.unknown
        }
    }
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
    by_key: OrderedMap<ClassKey, ClassId>,
    /// By number; the place of one that is not in `by_key` any more is taken by the next that is made.
    classes: Vec<Class>,
    free: Vec<ClassId>,
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
            classes: Vec::new(),
            free: Vec::new(),
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

    /// The class of this key, made where there is none.
    pub(crate) fn id(&mut self, key: ClassKey) -> ClassId {
        if let Some(id) = self.by_key.get(&key) {
            return *id;
        }
        let class = Class::new(key);
        let id = match self.free.pop() {
            Some(id) => id,
            None => ClassId(u32::try_from(self.classes.len()).unwrap_or(u32::MAX)),
        };
        match self.classes.get_mut(id.0 as usize) {
            Some(place) => {
                let before = std::mem::replace(place, class);
                self.steps = self.steps.saturating_add(before.keys.steps());
            }
            None => self.classes.push(class),
        }
        self.by_key.insert(key, id);
        id
    }

    pub(crate) fn get(&self, id: ClassId) -> Option<&Class> {
        self.classes.get(id.0 as usize)
    }

    pub(crate) fn get_mut(&mut self, id: ClassId) -> Option<&mut Class> {
        self.classes.get_mut(id.0 as usize)
    }

    pub(crate) fn guarantee(&self, id: ClassId) -> u64 {
        self.get(id).map_or(0, |class| class.guarantee)
    }

    /// One more member.
    pub(crate) fn enter(&mut self, id: ClassId) {
        if let Some(class) = self.get_mut(id) {
            class.members = class.members.saturating_add(1);
        }
    }

    /// One member less, which its keys knew by `placed`.
    pub(crate) fn leave(&mut self, id: ClassId, placed: Option<u64>) {
        if let Some(class) = self.get_mut(id) {
            class.members = class.members.saturating_sub(1);
            if let Some(key) = placed {
                class.keys.remove(key, Tally::of(key));
            }
        }
    }

    /// One of those that were carried has come, or goes.
    pub(crate) fn uncarry(&mut self, id: ClassId) {
        if let Some(class) = self.get_mut(id) {
            class.carried = class.carried.saturating_sub(1);
        }
    }

    fn all(&self) -> impl Iterator<Item = &Class> {
        // Those that are free have no tenants, and count for nothing.
        self.classes.iter()
    }

    /// Forgets the classes without tenants.
    fn sweep(&mut self) {
        let (classes, free) = (&self.classes, &mut self.free);
        self.by_key.retain(|_, id| {
            let is_empty = classes.get(id.0 as usize).is_none_or(Class::is_empty);
            if is_empty {
                free.push(*id);
            }
            !is_empty
        });
    }

    /// One more tenant weighs so much.
    pub(crate) fn weigh(&mut self, key: ClassKey) {
        let sum = self.weights.of_mut(key);
        *sum = sum.saturating_add(u128::from(key.weight));
        self.floors.add(key.floor);
    }

    /// One less does.
    pub(crate) fn unweigh(&mut self, key: ClassKey) {
        let sum = self.weights.of_mut(key);
        *sum = sum.saturating_sub(u128::from(key.weight));
        self.floors.remove(key.floor);
    }

    /// The next window: members are carried, or nobody is.
    pub(crate) fn roll(&mut self, carried: bool) {
        self.weights = Weights::default();
        self.floors = self.floors.of_nobody();
        for class in &mut self.classes {
            self.steps = self.steps.saturating_add(class.keys.steps());
            let before = std::mem::replace(class, Class::new(class.key));
            if !carried || before.members == 0 {
                continue;
            }
            class.carried = before.members;
            let weight = u128::from(class.key.weight) * u128::from(before.members);
            let sum = self.weights.of_mut(class.key);
            *sum = sum.saturating_add(weight);
            self.floors.add_all(class.key.floor, before.members);
        }
        self.sweep();
        if self.by_key.is_empty() {
            self.classes.clear();
            self.free.clear();
        }
    }

    /// Those that are carried count no more.
    pub(crate) fn drop_carried(&mut self) {
        for class in &mut self.classes {
            let (key, carried) = (class.key, std::mem::take(&mut class.carried));
            self.floors.remove_all(key.floor, carried);
            let weight = u128::from(key.weight) * u128::from(carried);
            let sum = self.weights.of_mut(key);
            *sum = sum.saturating_sub(weight);
        }
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
        let classes = self.all().map(|class| {
            let tenants = class.members.saturating_add(class.carried);
            scale.weight(class.key).saturating_mul(u128::from(tenants))
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
        self.sweep();
        let basis = self.basis(None, limit, rest);
        let mut unused = Unused::default();
        for class in self.classes.iter_mut().filter(|class| !class.is_empty()) {
            self.steps = self.steps.saturating_add(2);
            let guarantee = basis.guarantee(class.key);
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
        let weight = |class: &Class, weight: u128| weight.saturating_mul(u128::from(class.members));
        let unknown = self.all().filter(|class| !class.key.known);
        let unknown = unknown.map(|class| weight(class, u128::from(class.key.weight)));
        let scale = Scale {
            unknown: unknown.fold(0, u128::saturating_add),
            unknown_max: self.unknown_max,
        };
        let counted = self
            .all()
            .map(|class| weight(class, scale.weight(class.key)));
        let floors = self.all().fold(basis.floors, |mut floors, class| {
            floors.remove_all(class.key.floor, class.carried);
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
        let trees = self.all().map(|class| class.keys.steps());
        trees.fold(self.steps, u64::saturating_add)
    }
}

/// `floor(w * L / W)`, multiplied first.
pub(crate) fn guarantee(weight: u128, limit: u64, sum: u128) -> u64 {
    let units = weight.saturating_mul(u128::from(limit)) / sum.max(1);
    u64::try_from(units).unwrap_or(u64::MAX)
}
