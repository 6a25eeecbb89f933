//! What the weights of members come to.

use super::ask::Moment;
use super::rate::Rate;
use crate::weight::Weight;

/// Sums of weights in micro-units. Members that the policy does not name count as no more than a bound together.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeightSum {
    known: u128,
    unknown: u128,
    unknown_max: Weight,
}

impl WeightSum {
    /// No members.
    pub fn new(unknown_max: Weight) -> Self {
        Self {
            known: 0,
            unknown: 0,
            unknown_max,
        }
    }

    /// Another bound.
    pub fn bound_unknown(&mut self, unknown_max: Weight) {
        self.unknown_max = unknown_max;
    }

    /// One more member.
    pub fn add(&mut self, weight: Weight, known: bool) {
        *self.sum_mut(known) += u128::from(weight.micros());
    }

    /// One member less.
    pub fn remove(&mut self, weight: Weight, known: bool) {
        let sum = self.sum_mut(known);
        *sum = sum.saturating_sub(u128::from(weight.micros()));
    }

    fn sum_mut(&mut self, known: bool) -> &mut u128 {
        if known {
            &mut self.known
        } else {
            &mut self.unknown
        }
    }

    fn most(&self) -> u128 {
        u128::from(self.unknown_max.micros())
    }

    /// The sum as it counts, at least 1.
    fn sum(&self) -> u128 {
        (self.known + self.unknown.min(self.most())).max(1)
    }

    /// A weight as it counts, at least 1.
    pub fn counted(&self, weight: Weight, known: bool) -> u128 {
        let weight = u128::from(weight.micros());
        if known || self.unknown <= self.most() {
            return weight;
        }
        (weight * self.most() / self.unknown).max(1)
    }

    /// `floor(w * L / W)`.
    pub fn guarantee(&self, weight: Weight, known: bool, limit: u64) -> u64 {
        let units = self.counted(weight, known) * u128::from(limit) / self.sum();
        u64::try_from(units).unwrap_or(u64::MAX)
    }

    /// What a micro-unit of weight is worth for members that the policy names, and for others.
    pub fn rates(&self, at: &Moment) -> (Rate, Rate) {
        let known = Rate::at(at, self.sum(), None);
        if self.unknown <= self.most() {
            return (known, known);
        }
        let most = Some((self.unknown_max.micros(), self.unknown));
        (known, Rate::at(at, self.sum(), most))
    }

    /// More parts of a unit than the rounding of all reserves comes to: two for each micro-unit of weight, and what a
    /// rate's intermediate result rounds.
    pub fn rounding(&self) -> u128 {
        2 * (self.known + self.unknown) + (1 << 36)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_comes_to_no_more_than_two_parts_for_each_micro_unit_named_or_not() {
        let mut sum = WeightSum::new(Weight::WHOLE);
        let none = sum.rounding();
        for known in [true, false, true] {
            sum.add(Weight::WHOLE, known);
        }
        assert_eq!(sum.rounding() - none, 2 * 3_000_000);
        assert!(none > 1 << 32, "a rate rounds beside");
        sum.remove(Weight::WHOLE, false);
        assert_eq!(sum.rounding() - none, 2 * 2_000_000);
    }

    #[test]
    fn those_that_the_policy_does_not_name_weigh_no_more_than_their_bound_together() {
        let mut sum = WeightSum::new(Weight::WHOLE);
        sum.add(Weight::WHOLE, true);
        sum.add(Weight::WHOLE, false);
        // One of each: halves.
        assert_eq!(sum.guarantee(Weight::WHOLE, false, 100), 50);
        sum.add(Weight::WHOLE, false);
        assert_eq!(sum.guarantee(Weight::WHOLE, true, 100), 50);
        assert_eq!(sum.guarantee(Weight::WHOLE, false, 100), 25);
    }
}
