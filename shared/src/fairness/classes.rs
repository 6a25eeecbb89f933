//! The distinct weights of some tenants, and what tenants of each are guaranteed.

use std::collections::BTreeMap;
use std::ops::{Add, Sub};

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
#[derive(Debug, Clone, Copy, Default)]
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

/// The classes of some tenants.
#[derive(Debug, Clone)]
pub(crate) struct Classes {
    by_key: BTreeMap<ClassKey, Class>,
    weights: Weights,
    unknown_max: u128,
    /// How weights count, and their sum, without those that are carried; as of the last [`Classes::stand`].
    later: (Scale, u128),
    steps: u64,
}

impl Classes {
    pub(crate) fn new(unknown_max: u64) -> Self {
        Self {
            by_key: BTreeMap::new(),
            weights: Weights::default(),
            unknown_max: u128::from(unknown_max),
            later: (Scale::default(), 1),
            steps: 0,
        }
    }

    pub(crate) fn bound_unknown(&mut self, unknown_max: u64) {
        self.unknown_max = u128::from(unknown_max);
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
    }

    /// One less does.
    pub(crate) fn unweigh(&mut self, key: ClassKey) {
        let sum = self.sum_mut(key);
        *sum = sum.saturating_sub(u128::from(key.weight));
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
        for (key, class) in by_key {
            self.steps = self.steps.saturating_add(class.keys.steps());
            if !carried || class.members == 0 {
                continue;
            }
            let sum = self.sum_mut(key);
            let weight = u128::from(key.weight) * u128::from(class.members);
            *sum = sum.saturating_add(weight);
            self.of(key).carried = class.members;
        }
    }

    /// Those that are carried count no more.
    pub(crate) fn drop_carried(&mut self) {
        let (mut known, mut unknown) = (0, 0);
        for (key, class) in &mut self.by_key {
            let weight = u128::from(key.weight) * u128::from(std::mem::take(&mut class.carried));
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
    pub(crate) fn scale(&self, more: Option<ClassKey>) -> Scale {
        let more = more.filter(|key| !key.known).map_or(0, |key| key.weight);
        Scale {
            unknown: self.weights.unknown.saturating_add(u128::from(more)),
            unknown_max: self.unknown_max,
        }
    }

    /// The sum of all weights as they count, at least 1, with `more` beside those that are there.
    pub(crate) fn sum(&self, scale: Scale, more: Option<ClassKey>) -> u128 {
        let classes = self.by_key.iter().map(|(key, class)| {
            let tenants = class.members.saturating_add(class.carried);
            scale.weight(*key).saturating_mul(u128::from(tenants))
        });
        let more = more.map_or(0, |key| scale.weight(key));
        classes.fold(more, u128::saturating_add).max(1)
    }

    /// What a member is guaranteed when those that are carried have gone.
    pub(crate) fn later(&self, limit: u64, key: ClassKey) -> u64 {
        let (scale, sum) = self.later;
        guarantee(scale.weight(key), limit, sum)
    }

    /// Sets every guarantee, and sums up what of them is unused.
    pub(crate) fn stand(&mut self, limit: u64) -> Unused {
        self.by_key
            .retain(|_, class| class.members > 0 || class.carried > 0);
        let scale = self.scale(None);
        let sum = self.sum(scale, None);
        let mut unused = Unused::default();
        for (key, class) in &mut self.by_key {
            self.steps = self.steps.saturating_add(2);
            let guarantee = guarantee(scale.weight(*key), limit, sum);
            class.guarantee = guarantee;
            let below = class.keys.while_fits(|key, _| *key < guarantee);
            let all = below.tenants.saturating_mul(u128::from(guarantee));
            unused.members += all.saturating_sub(below.keys);
            unused.carried += u128::from(guarantee) * u128::from(class.carried);
        }
        self.later = if unused.carried > 0 {
            self.members_alone()
        } else {
            (scale, sum)
        };
        unused
    }

    fn members_alone(&self) -> (Scale, u128) {
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
        (scale, counted.fold(0, u128::saturating_add).max(1))
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
