//! What is kept back for all members of the paced rule, and for those that are set something aside and are not there.

use super::ask::Floor;
use super::floored::{Floored, Pacing};
use super::rate::even;
use super::reserve::{Claim, Reserves};

/// In which book a member's reserve is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Whether the policy names it.
    pub known: bool,
    /// What is set aside for it.
    pub floor: Floor,
}

/// The reserves of all members: a book for each rate, and one for those that have a floor.
#[derive(Debug, Clone, Default)]
pub(super) struct Books {
    known: Reserves,
    unknown: Reserves,
    floored: Floored,
    /// Parts that are kept for those that have a floor by name and are not there.
    absent: u128,
}

impl Books {
    /// No members, at the start of a window.
    pub fn open(pacing: &Pacing) -> Self {
        let mut books = Self {
            known: Reserves::open(pacing.rates.0),
            unknown: Reserves::open(pacing.rates.1),
            floored: Floored::default(),
            absent: absent(pacing),
        };
        books.floored.pass(pacing);
        books
    }

    /// Lets time pass and members join.
    pub fn pass(&mut self, pacing: &Pacing) {
        self.known.pass(pacing.rates.0);
        self.unknown.pass(pacing.rates.1);
        self.floored.pass(pacing);
        self.absent = absent(pacing);
    }

    /// States or changes a member's claim. Its reserve is computed anew, at most `bound` parts.
    pub fn state(&mut self, place: Place, id: usize, claim: Claim, bound: Option<u128>) {
        match place {
            Place { known, floor } if floor.units > 0 => {
                self.floored.state(id, (claim, floor), known, bound);
            }
            Place { known: true, .. } => self.known.state(id, claim, bound),
            Place { known: false, .. } => self.unknown.state(id, claim, bound),
        }
    }

    /// Forgets a member.
    pub fn leave(&mut self, place: Place, id: usize) {
        match place {
            Place { floor, .. } if floor.units > 0 => self.floored.leave(id),
            Place { known: true, .. } => self.known.leave(id),
            Place { known: false, .. } => self.unknown.leave(id),
        }
    }

    /// What the member was last said to claim.
    pub fn claim(&self, place: Place, id: usize) -> Option<Claim> {
        match place {
            Place { floor, .. } if floor.units > 0 => {
                let claim = self.floored.claim(id);
                claim
                    .filter(|(_, known)| *known == floor)
                    .map(|(claim, _)| claim)
            }
            Place { known: true, .. } => self.known.claim(id),
            Place { known: false, .. } => self.unknown.claim(id),
        }
    }

    /// Parts that are kept back for the member, whether or not its smallest cost fits.
    pub fn of(&self, place: Place, id: usize) -> u128 {
        match place {
            Place { floor, .. } if floor.units > 0 => self.floored.of(id),
            Place { known: true, .. } => self.known.of(id),
            Place { known: false, .. } => self.unknown.of(id),
        }
    }

    /// Parts that others have to leave for the member: none if its smallest cost does not fit.
    pub fn counted(&self, place: Place, id: usize) -> u128 {
        match place {
            Place { floor, .. } if floor.units > 0 => self.floored.counted(id),
            Place { known: true, .. } => self.known.counted(id),
            Place { known: false, .. } => self.unknown.counted(id),
        }
    }

    /// Parts that are kept back for all.
    pub fn total(&self) -> u128 {
        let members = self.known.total().saturating_add(self.unknown.total());
        let floored = self.floored.total().saturating_add(self.absent);
        members.saturating_add(floored)
    }

    /// Parts that are kept for those that have a floor by name and are not there.
    pub fn absent(&self) -> u128 {
        self.absent
    }

    /// Of what is kept back for others than a member, the parts that are kept until the window ends.
    pub fn lasting(&self, id: usize) -> u128 {
        let members = self
            .known
            .lasting(id)
            .saturating_add(self.unknown.lasting(id));
        members.saturating_add(self.floored.lasting(id))
    }

    /// More parts than the rounding of floors comes to: each line is rounded up by less than half of the fraction's bits.
    pub fn rounding(&self) -> u128 {
        ((self.floored.len() as u128) + 1) << 33
    }

    /// Members looked at and entries moved so far.
    pub fn operations(&self) -> u64 {
        self.known.operations + self.unknown.operations + self.floored.operations
    }
}

fn absent(pacing: &Pacing) -> u128 {
    even(pacing.floors.absent(pacing.at.limit), &pacing.at)
}

#[cfg(test)]
mod tests {
    use super::super::ask::Moment;
    use super::super::floors::Floors;
    use super::super::rate::{Rate, parts};
    use super::*;

    #[test]
    fn what_is_said_by_name_is_kept_at_an_even_pace_for_who_is_not_there() {
        let pacing = |left_ms| {
            let mut floors = Floors::new(60);
            floors.add(Floor {
                units: 20,
                by_name: true,
            });
            Pacing {
                rates: (Rate::default(), Rate::default()),
                floors,
                at: Moment {
                    limit: 100,
                    unlent: 100,
                    left_ms,
                    window_ms: 1_000,
                },
            }
        };
        // 40 of 60 are for others than who is there.
        let mut books = Books::open(&pacing(1_001));
        assert_eq!((books.absent(), books.total()), (parts(40), parts(40)));
        books.pass(&pacing(501));
        assert_eq!((books.absent(), books.total()), (parts(20), parts(20)));
        books.pass(&pacing(1));
        assert_eq!((books.absent(), books.total()), (0, 0));
    }

    #[test]
    fn who_leaves_has_nothing_in_its_book_and_each_step_is_counted() {
        let at = Moment {
            limit: 100,
            unlent: 100,
            left_ms: 501,
            window_ms: 1_000,
        };
        let claim = Claim {
            weight: 1,
            burst: 5,
            smallest: 2,
            used: 0,
            lend_max: None,
        };
        let floor = |units| Floor {
            units,
            by_name: false,
        };
        for (known, units) in [(true, 0), (false, 0), (true, 40), (false, 40)] {
            let place = Place {
                known,
                floor: floor(units),
            };
            let mut floors = Floors::new(0);
            floors.add(place.floor);
            let rate = Rate::at(&at, 4, None);
            let rates = (rate, rate);
            let mut books = Books::open(&Pacing { rates, floors, at });
            let before = books.operations();
            books.state(place, 3, claim, None);
            assert!(books.operations() > before, "{place:?}");
            assert_eq!(books.claim(place, 3), Some(claim), "{place:?}");
            assert!(books.counted(place, 3) > 0, "{place:?}");
            assert_eq!(books.total(), books.counted(place, 3), "{place:?}");
            books.leave(place, 3);
            assert_eq!(books.claim(place, 3), None, "{place:?}");
            assert_eq!((books.of(place, 3), books.total()), (0, 0), "{place:?}");
        }
    }
}
