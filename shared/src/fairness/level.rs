//! The water level of tenants that come, go and use units while it is asked for: at level `x` each has
//! `min(cap, max(used, w * x))`, and at the level all have the limit together.
//!
//! That sum is a line between the points `used / w` and `cap / w` at which a tenant starts and stops to rise. They are
//! kept in order, each with what the line changes by there, so the level is found on one way down a tree: `O(log n)`,
//! whatever changed since.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::{Add, Sub};

use super::prefix_sums::PrefixSums;
use crate::limits::JSON_INTEGER_MAX;
use crate::policy::weight::Weight;

/// What one tenant has and wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Its weight.
    pub weight: Weight,
    /// Units that it has already.
    pub used: u64,
    /// Units that it wants in all; at least `used`, and counted as at most 2^53 - 1.
    pub cap: u64,
}

/// An exact ratio of units to micro-units of weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    /// Units.
    pub units: u128,
    /// Micro-units of weight, at least 1.
    pub weight: u128,
}

impl Ratio {
    /// Units of a weight at this level, rounded down.
    ///
    /// ```
    /// use weir_shared::fairness::level::Ratio;
    /// use weir_shared::policy::weight::Weight;
    /// let level = Ratio { units: 100, weight: 3_000_000 };
    /// assert_eq!(level.of(Weight::WHOLE), 33);
    /// ```
    #[must_use]
    pub fn of(self, weight: Weight) -> u64 {
        let units = self.units.saturating_mul(u128::from(weight.micros())) / self.weight.max(1);
        u64::try_from(units).unwrap_or(u64::MAX)
    }
}

/// Where a tenant starts or stops to rise: `units / weight`.
#[derive(Debug, Clone, Copy)]
struct Point {
    units: u64,
    weight: u64,
}

impl Ord for Point {
    fn cmp(&self, other: &Self) -> Ordering {
        let one = u128::from(self.units) * u128::from(other.weight);
        one.cmp(&(u128::from(other.units) * u128::from(self.weight)))
    }
}

impl PartialOrd for Point {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Point {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Point {}

/// `units + weight * level`: the line, or what it changes by.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    units: i128,
    weight: i128,
}

impl Add for Line {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            units: self.units.saturating_add(other.units),
            weight: self.weight.saturating_add(other.weight),
        }
    }
}

impl Sub for Line {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            units: self.units.saturating_sub(other.units),
            weight: self.weight.saturating_sub(other.weight),
        }
    }
}

/// The level of some tenants.
///
/// ```
/// use weir_shared::fairness::level::{Level, Need, Ratio};
/// use weir_shared::policy::weight::Weight;
/// let mut level = Level::default();
/// level.set("idle", Need { weight: Weight::WHOLE, used: 10, cap: 10 });
/// level.set("a", Need { weight: Weight::WHOLE, used: 0, cap: 1_000 });
/// level.set("b", Need { weight: Weight::WHOLE, used: 50, cap: 1_000 });
/// // 10 are gone, and "a" and "b" rise to 45 each; but "b" is at 50 already, so "a" has 40.
/// assert_eq!(level.at(100).unwrap().of(Weight::WHOLE), 40);
/// assert_eq!(level.at(3_000), None, "everyone has all that it wants");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Level<Id: Ord> {
    needs: BTreeMap<Id, Need>,
    points: PrefixSums<Point, Line>,
    used: i128,
}

impl<Id: Ord> Level<Id> {
    /// Adds a tenant, or says anew what it has and wants.
    pub fn set(&mut self, id: Id, need: Need) {
        let used = need.used.min(JSON_INTEGER_MAX);
        let need = Need {
            used,
            cap: need.cap.clamp(used, JSON_INTEGER_MAX),
            ..need
        };
        if let Some(before) = self.needs.insert(id, need) {
            self.forget(&before);
        }
        self.used = self.used.saturating_add(i128::from(need.used));
        for (point, line) in changes(&need) {
            self.points.insert(point, line);
        }
    }

    /// Takes a tenant out, with what it has.
    pub fn remove(&mut self, id: &Id) {
        if let Some(need) = self.needs.remove(id) {
            self.forget(&need);
        }
    }

    fn forget(&mut self, need: &Need) {
        self.used = self.used.saturating_sub(i128::from(need.used));
        for (point, line) in changes(need) {
            self.points.remove(point, line);
        }
    }

    /// What a tenant has and wants.
    #[must_use]
    pub fn get(&self, id: &Id) -> Option<&Need> {
        self.needs.get(id)
    }

    /// The level at which all have `limit` units together; the lowest where there are several, 0 where they have more
    /// already. `None` where all that they want is less than the limit: it has no bound then.
    pub fn at(&mut self, limit: u64) -> Option<Ratio> {
        let (used, limit) = (self.used, i128::from(limit));
        let line = self.points.while_fits(|point, line| {
            let weight = i128::from(point.weight);
            let fixed = (used.saturating_add(line.units)).saturating_mul(weight);
            let rising = line.weight.saturating_mul(i128::from(point.units));
            fixed.saturating_add(rising) < limit.saturating_mul(weight)
        });
        let units = limit.saturating_sub(used.saturating_add(line.units));
        if line.weight <= 0 {
            let is_spent = units <= 0 && !self.needs.is_empty();
            return is_spent.then_some(Ratio {
                units: 0,
                weight: 1,
            });
        }
        Some(Ratio {
            units: u128::try_from(units).unwrap_or(0),
            weight: u128::try_from(line.weight).unwrap_or(1),
        })
    }

    /// Steps that were taken so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.points.steps()
    }
}

/// What the line changes by where the tenant starts and where it stops to rise.
fn changes(need: &Need) -> [(Point, Line); 2] {
    let weight = need.weight.micros();
    let point = |units| Point { units, weight };
    let rises = i128::from(weight);
    let starts = Line {
        units: -i128::from(need.used),
        weight: rises,
    };
    let stops = Line {
        units: i128::from(need.cap),
        weight: -rises,
    };
    [(point(need.used), starts), (point(need.cap), stops)]
}
