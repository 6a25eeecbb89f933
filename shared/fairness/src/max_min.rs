//! Weighted max-min, exact in whole units: who has least for its weight gets the next unit.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::classes::guarantee;
use crate::weight::Weight;

/// Divides `limit` units among tenants by demand and weight: as if one unit at a time went to the one with the lowest
/// `given / weight` whose demand is not met, the first of equals. Answers the units of each, in the same order; those
/// beyond the shorter of the two lists are ignored.
///
/// ```
/// use weir_fairness::max_min::allocate;
/// use weir_fairness::weight::Weight;
/// let weights = [1.0, 2.0, 4.0].map(|weight| Weight::try_from(weight).unwrap());
/// // 70 by 1 : 2 : 4 would be 10, 20, 40; the last wants 12, and the 28 that it leaves go 1 : 2.
/// assert_eq!(allocate(&[100, 100, 12], &weights, 70), [20, 38, 12]);
/// ```
#[must_use]
pub fn allocate(demands: &[u64], weights: &[Weight], limit: u64) -> Vec<u64> {
    allocation(demands, weights, limit).0
}

/// What each of some tenants is guaranteed of `limit` units: `floor(w * L / W)`, multiplied first. What rounding leaves
/// is nobody's.
///
/// ```
/// use weir_fairness::max_min::guarantees;
/// use weir_fairness::weight::Weight;
/// let weights = [6.0, 4.0, 1.0].map(|weight| Weight::try_from(weight).unwrap());
/// // 6 * 99 / 11 = 54, where floats have 53.99.
/// assert_eq!(guarantees(&weights, 99), [54, 36, 9]);
/// ```
#[must_use]
pub fn guarantees(weights: &[Weight], limit: u64) -> Vec<u64> {
    let micros = weights.iter().map(|weight| u128::from(weight.micros()));
    let sum = micros.clone().fold(0, u128::saturating_add);
    micros.map(|weight| guarantee(weight, limit, sum)).collect()
}

/// One tenant of an allocation.
#[derive(Debug, Clone, Copy)]
struct Claim {
    index: usize,
    weight: u64,
    demand: u64,
    given: u64,
}

impl Claim {
    /// Whether its demand is met at a lower level than that of the other.
    fn met_before(&self, other: &Self) -> Ordering {
        let one = u128::from(self.demand) * u128::from(other.weight);
        one.cmp(&(u128::from(other.demand) * u128::from(self.weight)))
    }
}

/// A claim by when its next unit comes: the greatest is the next.
#[derive(Debug, PartialEq, Eq)]
struct Next {
    given: u64,
    weight: u64,
    index: usize,
    demand: u64,
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> Ordering {
        let one = u128::from(self.given) * u128::from(other.weight);
        let level = one.cmp(&(u128::from(other.given) * u128::from(self.weight)));
        level.then(self.index.cmp(&other.index)).reverse()
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The allocation, and the units that were given one at a time: at most one for each tenant.
///
/// With `n` tenants, water is filled up to the level at which `limit - n` units are spent. Every unit below that level
/// comes before any above it, and rounding each tenant up to whole units adds less than `n`.
fn allocation(demands: &[u64], weights: &[Weight], limit: u64) -> (Vec<u64>, u64) {
    let mut claims: Vec<Claim> = demands
        .iter()
        .zip(weights)
        .enumerate()
        .map(|(index, (demand, weight))| Claim {
            index,
            weight: weight.micros(),
            demand: *demand,
            given: 0,
        })
        .collect();
    let mut given = vec![0; demands.len()];
    claims.sort_unstable_by(Claim::met_before);
    let tenants = claims.len() as u64;
    fill(&mut claims, limit.saturating_sub(tenants));
    let spent = claims.iter().map(|claim| u128::from(claim.given));
    let spent = spent.fold(0, u128::saturating_add);
    let left = u128::from(limit).saturating_sub(spent);
    let mut hungry = Vec::with_capacity(claims.len());
    for claim in &claims {
        if let Some(slot) = given.get_mut(claim.index) {
            *slot = claim.given;
        }
        if claim.given < claim.demand {
            hungry.push(Next {
                given: claim.given,
                weight: claim.weight,
                index: claim.index,
                demand: claim.demand,
            });
        }
    }
    let mut next = BinaryHeap::from(hungry);
    let mut dripped = 0;
    while u128::from(dripped) < left {
        let Some(mut first) = next.peek_mut() else {
            break;
        };
        first.given += 1;
        dripped += 1;
        if let Some(slot) = given.get_mut(first.index) {
            *slot = first.given;
        }
        if first.given == first.demand {
            PeekMut::pop(first);
        }
    }
    (given, dripped)
}

/// Gives each of the claims, which are in the order in which their demands are met, `ceil(min(d, w * level))` for the
/// level at which `min(d, w * level)` sums up to `units`.
fn fill(claims: &mut [Claim], units: u64) {
    let weights = claims.iter().map(|claim| u128::from(claim.weight));
    let mut weight = weights.fold(0, u128::saturating_add);
    let mut units = u128::from(units);
    let mut is_full = false;
    for claim in claims {
        let (own, demand) = (u128::from(claim.weight), u128::from(claim.demand));
        if !is_full && demand * weight <= units * own {
            claim.given = claim.demand;
            units -= demand;
            weight -= own;
            continue;
        }
        is_full = true;
        let part = (own * units).div_ceil(weight.max(1)).min(demand);
        claim.given = u64::try_from(part).unwrap_or(claim.demand);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_one_unit_for_each_tenant_is_given_by_itself() {
        for (tenants, limit) in [(1, 1_000_000), (100, 10_000_000), (10_000, 5_000_000_000)] {
            let numbers = (1..=tenants).map(|index| index * 7_919 % 1_000_003);
            let demands: Vec<u64> = numbers.clone().map(|number| number * 10).collect();
            let weights: Option<Vec<Weight>> = numbers
                .map(|number| Weight::from_micros(1 + number).ok())
                .collect();
            let weights = weights.expect("weights in bounds");
            let (given, dripped) = allocation(&demands, &weights, limit);
            let wanted: u64 = demands.iter().sum();
            assert_eq!(given.iter().sum::<u64>(), wanted.min(limit));
            assert!(dripped <= tenants, "{dripped} units for {tenants} tenants");
        }
    }
}
