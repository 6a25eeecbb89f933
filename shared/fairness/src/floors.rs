//! What is set aside for tenants with one parent before weights divide the rest.
//!
//! Floors that are said by name come first and are whole where they come to no more than the limit, which a policy
//! sees to. Floors of tiers count for whoever is there: where they come to more than what is left, each counts as its
//! part of that.

use super::ask::{Floor, Moment};

/// The floors of some tenants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Floors {
    /// Of all tenants that have one by name, whether they are there or not.
    said: u64,
    /// Of those that are there and have one by name.
    named: u128,
    /// Of those that are there and have one of their tier.
    of_tiers: u128,
}

impl Floors {
    /// Nobody is there, and so many units are said by name.
    pub fn new(said: u64) -> Self {
        Self {
            said,
            ..Self::default()
        }
    }

    /// Another word on what is said by name.
    pub fn say(&mut self, said: u64) {
        self.said = said;
    }

    /// The same with nobody there.
    pub fn of_nobody(&self) -> Self {
        Self::new(self.said)
    }

    /// One more is there.
    pub fn add(&mut self, floor: Floor) {
        self.add_all(floor, 1);
    }

    /// So many more are there, each with this floor.
    pub fn add_all(&mut self, floor: Floor, tenants: u64) {
        let units = u128::from(floor.units) * u128::from(tenants);
        let sum = self.sum_mut(floor);
        *sum = sum.saturating_add(units);
    }

    /// One less is there.
    pub fn remove(&mut self, floor: Floor) {
        self.remove_all(floor, 1);
    }

    /// So many less are there.
    pub fn remove_all(&mut self, floor: Floor, tenants: u64) {
        let units = u128::from(floor.units) * u128::from(tenants);
        let sum = self.sum_mut(floor);
        *sum = sum.saturating_sub(units);
    }

    fn sum_mut(&mut self, floor: Floor) -> &mut u128 {
        if floor.by_name {
            &mut self.named
        } else {
            &mut self.of_tiers
        }
    }

    /// Whether nothing is set aside for anybody.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// All that is said by name.
    fn by_name(&self) -> u128 {
        self.named.max(u128::from(self.said))
    }

    /// What floors of tiers may come to.
    fn left_by_names(&self, limit: u64) -> u64 {
        limit.saturating_sub(units(self.by_name()))
    }

    /// What one floor comes to.
    pub fn of(&self, floor: Floor, limit: u64) -> u64 {
        if floor.units == 0 {
            return 0;
        }
        if floor.by_name {
            part(floor.units.into(), limit, self.by_name())
        } else {
            part(floor.units.into(), self.left_by_names(limit), self.of_tiers)
        }
    }

    /// What is set aside for those that are not there.
    pub fn absent(&self, limit: u64) -> u64 {
        let absent = self.by_name() - self.named;
        part(absent, limit, self.by_name())
    }

    /// What weights divide.
    pub fn rest(&self, limit: u64) -> u64 {
        let left = self.left_by_names(limit);
        left.saturating_sub(units(self.of_tiers))
    }

    /// What weights divide where what is set aside for those that are not there is divided too as it is released: all but
    /// what is still kept at an even pace.
    pub fn rest_at(&self, at: &Moment) -> u64 {
        let absent = self.absent(at.limit);
        self.rest(at.limit)
            .saturating_add(absent - kept(absent, at))
    }
}

/// What is still kept of units at an even pace: the part that the window has left, rounded up.
pub(super) fn kept(units: u64, at: &Moment) -> u64 {
    // Of most budgets: a division of 128 bits would be a good part of a decision.
    if units == 0 {
        return 0;
    }
    let window_ms = u128::from(at.window_ms.max(1));
    let left_ms = u128::from(at.left_ms).min(window_ms);
    let kept = (u128::from(units) * left_ms).div_ceil(window_ms);
    u64::try_from(kept).unwrap_or(units)
}

/// `floor`, or where all come to more than there is, its part of that.
fn part(floor: u128, most: u64, all: u128) -> u64 {
    if all <= u128::from(most) {
        return units(floor);
    }
    // Below 2^64 x 2^64.
    units(floor.min(u128::from(u64::MAX)) * u128::from(most) / all)
}

fn units(units: u128) -> u64 {
    u64::try_from(units).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floor(units: u64, by_name: bool) -> Floor {
        Floor { units, by_name }
    }

    #[test]
    fn floors_by_name_are_whole_and_those_of_tiers_share_what_they_leave() {
        let mut floors = Floors::new(60);
        floors.add(floor(20, true));
        // 60 by name, of which 40 for those that are not there; 40 are left.
        assert_eq!((floors.absent(100), floors.rest(100)), (40, 40));
        for _ in 0..4 {
            floors.add(floor(20, false));
        }
        // 80 of tiers in 40: each counts half.
        assert_eq!(floors.of(floor(20, false), 100), 10);
        assert_eq!(floors.of(floor(20, true), 100), 20);
        assert_eq!(floors.rest(100), 0);
    }

    #[test]
    fn what_is_said_by_name_beyond_a_lower_limit_counts_in_part() {
        let mut floors = Floors::new(100);
        floors.add(floor(60, true));
        assert_eq!(floors.of(floor(60, true), 50), 30);
        assert_eq!((floors.absent(50), floors.rest(50)), (20, 0));
    }

    #[test]
    fn what_nobody_came_for_is_divided_as_it_is_released() {
        let floors = Floors::new(50);
        let at = |left_ms| Moment {
            limit: 100,
            unlent: 100,
            left_ms,
            window_ms: 1_000,
        };
        let rest = [1_000, 500, 1, 0].map(|left_ms| floors.rest_at(&at(left_ms)));
        assert_eq!(rest, [50, 75, 99, 100]);
    }

    #[test]
    fn numbers_that_cannot_be_do_not_wrap() {
        let mut floors = Floors::new(u64::MAX);
        floors.add(floor(u64::MAX, true));
        floors.add(floor(u64::MAX, true));
        floors.add(floor(u64::MAX, false));
        assert!(floors.of(floor(u64::MAX, true), 10) <= 5);
        assert_eq!((floors.absent(10), floors.rest(10)), (0, 0));
        assert_eq!(floors.of(floor(u64::MAX, false), 10), 0);
        floors.remove(floor(u64::MAX, false));
        floors.remove(floor(u64::MAX, false));
        assert_eq!(floors.rest(u64::MAX), 0);
    }
}
