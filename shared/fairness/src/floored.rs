//! The reserves of members for which something is set aside, in the paced rule.
//!
//! The line of an even pace of such a member has two slopes, that of its weight and that of its floor, so that the points
//! at which it passes from one term of its reserve to another are not known ahead. Each is computed anew when time has
//! passed or members have joined: once an instant, one step a member that has a floor.

use weir_core::ordered::OrderedMap;

use super::ask::{Floor, Moment};
use super::floors::Floors;
use super::rate::{Rate, even, parts};
use super::reserve::Claim;

/// What the reserves of one instant go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pacing {
    /// Of members that the policy names, and of others.
    pub rates: (Rate, Rate),
    pub floors: Floors,
    pub at: Moment,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    claim: Claim,
    known: bool,
    floor: Floor,
    /// Parts that are kept back.
    reserve: u128,
    /// Whether they are more than its smallest cost, and have been since they were stated.
    counts: bool,
    /// Whether they are what an even pace still needs, with a request that is kept until the window ends.
    is_even: bool,
}

/// The reserves of members that have a floor. A member is named by its index.
#[derive(Debug, Clone, Default)]
pub(super) struct Floored {
    slots: OrderedMap<usize, Slot>,
    pacing: Option<Pacing>,
    total: u128,
    lasting: u128,
    /// Members looked at.
    pub operations: u64,
}

impl Floored {
    /// Lets time pass and members join. Neither raises what is kept back.
    pub fn pass(&mut self, pacing: &Pacing) {
        let unlent_aside = |one: &Pacing| Pacing {
            at: Moment {
                unlent: 0,
                ..one.at
            },
            ..*one
        };
        let pacing = unlent_aside(pacing);
        if self.slots.is_empty() || self.pacing == Some(pacing) {
            self.pacing = Some(pacing);
            return;
        }
        self.pacing = Some(pacing);
        (self.total, self.lasting) = (0, 0);
        self.operations = self.operations.saturating_add(self.slots.len() as u64);
        for slot in self.slots.values_mut() {
            slot.fall(&pacing, Some(slot.reserve));
            let (counted, lasting) = slot.counted();
            self.total = self.total.saturating_add(counted);
            self.lasting = self.lasting.saturating_add(lasting);
        }
    }

    /// What the member was last said to claim.
    pub fn claim(&self, index: usize) -> Option<(Claim, Floor)> {
        self.slots.get(&index).map(|slot| (slot.claim, slot.floor))
    }

    /// States or changes a member's claim. Its reserve is computed anew, at most `bound` parts.
    pub fn state(
        &mut self,
        index: usize,
        (claim, floor): (Claim, Floor),
        known: bool,
        bound: Option<u128>,
    ) {
        let Some(pacing) = self.pacing else {
            return self.leave(index);
        };
        let mut slot = Slot {
            claim,
            known,
            floor,
            reserve: 0,
            counts: true,
            is_even: false,
        };
        slot.fall(&pacing, bound);
        self.operations = self.operations.saturating_add(1);
        let (counted, lasting) = slot.counted();
        // One that is there is changed where it is: to take it out and put it in again could allocate.
        if let Some(before) = self.slots.insert(index, slot) {
            self.uncount(&before);
        }
        self.total = self.total.saturating_add(counted);
        self.lasting = self.lasting.saturating_add(lasting);
    }

    fn uncount(&mut self, slot: &Slot) {
        let (counted, lasting) = slot.counted();
        self.total = self.total.saturating_sub(counted);
        self.lasting = self.lasting.saturating_sub(lasting);
    }

    /// Forgets a member.
    pub fn leave(&mut self, index: usize) {
        self.operations = self.operations.saturating_add(1);
        if let Some(slot) = self.slots.remove(&index) {
            self.uncount(&slot);
        }
    }

    /// Parts that are kept back for the member, whether or not its smallest cost fits.
    pub fn of(&self, index: usize) -> u128 {
        self.slots.get(&index).map_or(0, |slot| slot.reserve)
    }

    /// Parts that others have to leave for the member: none if its smallest cost does not fit.
    pub fn counted(&self, index: usize) -> u128 {
        self.slots.get(&index).map_or(0, |slot| slot.counted().0)
    }

    /// The sum of [`Floored::counted`].
    pub fn total(&self) -> u128 {
        self.total
    }

    /// Of [`Floored::total`], the parts that members at an even pace keep until the window ends, `index` left out.
    pub fn lasting(&self, index: usize) -> u128 {
        let own = self.slots.get(&index).map_or(0, |slot| slot.counted().1);
        self.lasting.saturating_sub(own)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }
}

impl Slot {
    /// What is counted, and what of it lasts until the window ends.
    fn counted(&self) -> (u128, u128) {
        match (self.counts, self.is_even) {
            (false, _) => (0, 0),
            (true, false) => (self.reserve, 0),
            (true, true) => (self.reserve, parts(self.claim.burst).min(self.reserve)),
        }
    }

    /// The least of what is left of its guarantee, the line of an even pace, and `bound`; more than the line only as its
    /// `lend_max` says.
    fn fall(&mut self, pacing: &Pacing, bound: Option<u128>) {
        let rate = if self.known {
            pacing.rates.0
        } else {
            pacing.rates.1
        };
        let weight = u128::from(self.claim.weight);
        let floor = pacing.floors.of(self.floor, pacing.at.limit);
        let full = weight
            .saturating_mul(rate.full)
            .saturating_add(parts(floor));
        let guaranteed = |off: u64| full.saturating_sub(parts(off));
        let line = weight
            .saturating_mul(rate.now)
            .saturating_add(even(floor, &pacing.at))
            .saturating_add(parts(self.claim.burst));
        let used = self.claim.used;
        let unlent = |lend: u64| guaranteed(used.saturating_add(lend));
        let most = line.max(self.claim.lend_max.map_or(0, unlent));
        let all = guaranteed(used).min(bound.unwrap_or(u128::MAX));
        self.reserve = all.min(most);
        self.is_even = line < all && self.reserve == line;
        self.counts &= self.reserve >= parts(self.claim.smallest.max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of a window of 100 units is over; 40 are set aside for one that asks at most 5 at once and weighs nothing.
    fn floored(used: u64) -> Floored {
        let floor = Floor {
            units: 40,
            by_name: false,
        };
        let mut floors = Floors::new(0);
        floors.add(floor);
        let pacing = Pacing {
            rates: (Rate::default(), Rate::default()),
            floors,
            at: Moment {
                limit: 100,
                unlent: 100,
                left_ms: 501,
                window_ms: 1_000,
            },
        };
        let claim = Claim {
            weight: 1,
            burst: 5,
            smallest: 2,
            used,
            lend_max: None,
        };
        let mut floored = Floored::default();
        floored.pass(&pacing);
        floored.state(3, (claim, floor), true, None);
        floored
    }

    #[test]
    fn at_an_even_pace_a_request_is_kept_until_the_window_ends_and_not_of_what_is_left_below_it() {
        // An even pace still needs 20, and a request of 5. Of 40 there are left 40, 26, 25, 10, 2, 1.
        let kept = [0, 14, 15, 30, 38, 39].map(|used| {
            let floored = floored(used);
            let lasting = floored.lasting(4);
            assert_eq!(floored.lasting(3), 0, "its own is none of the others'");
            assert_eq!(floored.counted(3), floored.total());
            (floored.total(), lasting)
        });
        let expected = [(25, 5), (25, 5), (25, 0), (10, 0), (2, 0), (0, 0)];
        assert_eq!(
            kept,
            expected.map(|(total, lasting)| (parts(total), parts(lasting)))
        );
    }

    #[test]
    fn what_is_kept_changes_as_time_passes_and_not_with_what_is_lent_meanwhile() {
        let mut floored = floored(0);
        let kept = |floored: &Floored| (floored.total(), floored.lasting(4));
        let pacing = floored.pacing.unwrap();
        let later = |unlent, left_ms| Pacing {
            at: Moment {
                unlent,
                left_ms,
                ..pacing.at
            },
            ..pacing
        };
        let before = floored.operations;
        for unlent in [100, 7] {
            floored.pass(&later(unlent, 501));
            assert_eq!(kept(&floored), (parts(25), parts(5)));
            assert_eq!(floored.operations, before, "nobody is looked at");
        }
        // An even pace still needs 10, and a request of 5.
        floored.pass(&later(7, 251));
        assert_eq!(kept(&floored), (parts(15), parts(5)));
        assert_eq!(floored.operations, before + 1);
    }
}
