//! How many unassigned units a tenant with a ceiling may take.
//!
//! Units of a window that opened with what had been lent ahead go to whoever is short, before the root has heard of it. A
//! tenant with a ceiling `C`, and all below one that has it together, take no more than their part of them: `C` times
//! what this holder was lent of the window, by the limit. All holders together then take no more than the ceiling, and
//! the root counts that as used while a holder has units of which it has not said whose they are.

use weir_core::ordered::OrderedMap;
use weir_fairness::ask::Party;

/// What of a ceiling is the part of who was lent `early` of the `limit` units of a window.
///
/// ```
/// use weir_federation::holder::ceiling_part;
/// // A quarter of a limit of 1,000: a quarter of 30.
/// assert_eq!(ceiling_part(30, 250, 1_000), 7);
/// ```
#[must_use]
pub fn ceiling_part(ceiling: u64, early: u64, limit: u64) -> u64 {
    let part = u128::from(ceiling) * u128::from(early);
    let part = part.checked_div(u128::from(limit)).unwrap_or(0);
    u64::try_from(part).unwrap_or(u64::MAX).min(ceiling)
}

/// The unassigned units of the open window, and what those with a ceiling took of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Bounded {
    /// Units that this holder was lent before the window opened, without those that it had lent on.
    early: u64,
    /// Units of the whole window.
    limit: u64,
    taken: OrderedMap<String, u64>,
}

impl Bounded {
    /// Another window.
    pub fn open(&mut self, early: u64, limit: u64) {
        self.early = early;
        self.limit = limit;
        self.taken.clear();
    }

    /// More was lent of the window before it opened at the parent.
    pub fn grow(&mut self, units: u64) {
        self.early = self.early.saturating_add(units);
    }

    /// Units that a tenant may take, whatever there is.
    pub fn most(&self, party: &Party) -> u64 {
        let left = party.ceilings().map(|(name, ceiling)| {
            let taken = self.taken.get(name).copied().unwrap_or(0);
            ceiling_part(ceiling, self.early, self.limit).saturating_sub(taken)
        });
        left.min().unwrap_or(u64::MAX)
    }

    /// Notes that a tenant took units.
    pub fn take(&mut self, party: &Party, units: u64) {
        if units == 0 {
            return;
        }
        for (name, _) in party.ceilings() {
            match self.taken.get_mut(name) {
                Some(taken) => *taken = taken.saturating_add(units),
                None => {
                    self.taken.insert(name.to_owned(), units);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_fairness::ask::{Above, Claimant, Floor, SetAside, TenantClaim};
    use weir_fairness::weight::Weight;

    use super::*;

    fn party(name: &str, ceiling: Option<u64>, above: Option<u64>) -> Party {
        let above = above.map(|ceiling| Above {
            name: "above".to_owned(),
            weight: Weight::WHOLE,
            borrow_max: None,
            lend_max: None,
            ceiling: Some(ceiling),
            floor: Floor::default(),
            floors: SetAside::default(),
        });
        let claim = TenantClaim {
            ceiling,
            above: above.into_iter().collect(),
            ..TenantClaim::default()
        };
        let name = name.to_owned();
        Claimant { name, claim }.into()
    }

    #[test]
    fn those_below_a_ceiling_take_its_part_together() {
        let mut bounded = Bounded::default();
        bounded.open(50, 100);
        let (one, other) = (party("a", None, Some(20)), party("b", Some(4), Some(20)));
        assert_eq!((bounded.most(&one), bounded.most(&other)), (10, 2));
        bounded.take(&one, 9);
        assert_eq!((bounded.most(&one), bounded.most(&other)), (1, 1));
        bounded.take(&other, 1);
        assert_eq!((bounded.most(&one), bounded.most(&other)), (0, 0));
        assert_eq!(bounded.most(&party("c", None, None)), u64::MAX);
        bounded.open(100, 100);
        assert_eq!(bounded.most(&other), 4);
    }

    #[test]
    fn where_nothing_is_known_of_the_window_nothing_is_taken() {
        let bounded = Bounded::default();
        assert_eq!(bounded.most(&party("a", Some(u64::MAX), None)), 0);
    }
}
