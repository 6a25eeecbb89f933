//! What is kept back for all members together: less than the sum of their reserves, as not all of them use theirs at once.
//!
//! ```text
//! kept = sum of min(reserve, expected) + z sqrt(sum of expected * cost) + the largest of what is left of the reserves
//! ```
//!
//! The first term is what members are expected to use of their reserves. Where requests come independently, each of at most
//! `cost` units, what they use in all deviates from that by about `sqrt(sum of expected * cost)` (the variance of a compound
//! Poisson sum, Feller, *An Introduction to Probability Theory*, volume 1, XII.2); [`DEVIATIONS`] of those are exceeded about
//! once in a thousand windows. The last term covers one member that was quiet and asks for its whole reserve at once.

use super::rate::{parts, units};

/// How many standard deviations are kept.
pub(super) const DEVIATIONS: f64 = 3.0;

/// What a member has reserved and is expected to ask for, in parts of a unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stake {
    /// What is reserved for it.
    pub reserve: u128,
    /// What it is expected to ask for until the window ends.
    pub expected: u128,
    /// The largest of its costs, in units.
    pub cost_max: u64,
    /// Whether its reserve is kept whole.
    pub whole: bool,
}

/// The sum over members.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pooled {
    expected: u128,
    /// In squared units.
    variance: f64,
    largest: u128,
}

impl Pooled {
    /// Adds a member.
    pub fn add(&mut self, stake: Stake) {
        if stake.whole {
            self.expected = self.expected.saturating_add(stake.reserve);
            return;
        }
        let expected = stake.expected.min(stake.reserve);
        self.expected = self.expected.saturating_add(expected);
        self.variance += as_f64(units(expected)) * as_f64(stake.cost_max);
        self.largest = self.largest.max(stake.reserve - expected);
    }

    /// Parts that are kept for all of them.
    pub fn parts(&self) -> u128 {
        let margin = (DEVIATIONS * libm::sqrt(self.variance)).ceil() as u64;
        self.expected
            .saturating_add(parts(margin))
            .saturating_add(self.largest)
    }
}

fn as_f64(units: u64) -> f64 {
    units as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stake(reserve: u64, expected: u64, cost_max: u64, whole: bool) -> Stake {
        Stake {
            reserve: parts(reserve),
            expected: parts(expected),
            cost_max,
            whole,
        }
    }

    /// Units that are kept for all of these together.
    fn kept(stakes: &[Stake]) -> u64 {
        let mut pooled = Pooled::default();
        for stake in stakes {
            pooled.add(*stake);
        }
        units(pooled.parts())
    }

    #[test]
    fn all_keep_what_is_expected_three_deviations_and_the_largest_rest_of_one() {
        assert_eq!(kept(&[]), 0);
        // 9 expected at costs of 4: 3 x 6; of the reserve 11 are left.
        let one = stake(20, 9, 4, false);
        assert_eq!(kept(&[one]), 9 + 18 + 11);
        // 9 x 4 + 28 x 1 = 64: 3 x 8; of the second reserve 2 are left.
        let other = stake(30, 28, 1, false);
        assert_eq!(kept(&[one, other]), 9 + 28 + 24 + 11);
        assert_eq!(kept(&[other, one]), 9 + 28 + 24 + 11);
    }

    #[test]
    fn no_more_is_expected_of_one_than_its_reserve_and_what_is_set_aside_is_kept_whole() {
        assert_eq!(kept(&[stake(9, 100, 4, false)]), 9 + 18);
        assert_eq!(kept(&[stake(9, 1, 4, true)]), 9);
    }
}
