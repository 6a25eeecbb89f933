//! The batch allocation.

use proptest::prelude::*;
use weir_shared::fairness::max_min::{allocate, guarantees};
use weir_shared::fairness::weight::Weight;

use super::world::{Numbers, weight};

/// One unit at a time to the lowest `given / weight` below its demand, the first of equals.
fn drip(demands: &[u64], weights: &[Weight], limit: u64) -> Vec<u64> {
    let mut given = vec![0_u64; demands.len()];
    for _ in 0..limit {
        let hungry = (0..demands.len()).filter(|index| given[*index] < demands[*index]);
        let level = |index: usize, other: usize| {
            u128::from(given[index]) * u128::from(weights[other].micros())
        };
        let next = hungry.min_by(|one, other| level(*one, *other).cmp(&level(*other, *one)));
        let Some(next) = next else { break };
        given[next] += 1;
    }
    given
}

fn any_world() -> impl Strategy<Value = (Vec<u64>, Vec<Weight>, u64)> {
    let micros = prop_oneof![
        Just(1_000_000_u64),
        (1..=10_u64).prop_map(|weight| weight * 500_000),
        1..=1_000_000_000_000_u64,
        1..=20_u64,
    ];
    let tenant = (prop_oneof![0..=5_u64, 0..=300_u64], micros);
    (prop::collection::vec(tenant, 0..12), 0..=600_u64).prop_map(|(tenants, limit)| {
        let (demands, micros): (Vec<u64>, Vec<u64>) = tenants.into_iter().unzip();
        (demands, micros.into_iter().map(weight).collect(), limit)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_allocation_equals_one_unit_at_a_time((demands, weights, limit) in any_world()) {
        prop_assert_eq!(allocate(&demands, &weights, limit), drip(&demands, &weights, limit));
    }

    #[test]
    fn the_allocation_spends_all_that_is_wanted_and_no_more((demands, weights, limit) in any_world()) {
        let given = allocate(&demands, &weights, limit);
        prop_assert_eq!(given.iter().sum::<u64>(), limit.min(demands.iter().sum()));
        for (given, demand) in given.iter().zip(&demands) {
            prop_assert!(given <= demand);
        }
    }

    /// The sharing incentive. Each of the `n - 1` others may be one unit ahead, so whoever still wants more is short of
    /// its guarantee by less than its weight's part of them.
    #[test]
    fn who_wants_it_has_its_guarantee((demands, weights, limit) in any_world()) {
        let given = allocate(&demands, &weights, limit);
        let guaranteed = guarantees(&weights, limit);
        let sum: u128 = weights.iter().map(|weight| u128::from(weight.micros())).sum();
        for index in 0..demands.len() {
            let others = demands.len() as u128 - 1;
            let ahead = (others * u128::from(weights[index].micros())).div_ceil(sum) as u64;
            let least = guaranteed[index].min(demands[index]);
            prop_assert!(given[index] + ahead >= least, "{index}: {given:?}, {guaranteed:?}");
        }
    }
}

fn crowd(tenants: u64) -> (Vec<u64>, Vec<Weight>, u64) {
    let mut numbers = Numbers(tenants);
    let demands: Vec<u64> = (0..tenants).map(|_| numbers.below(1_000_000)).collect();
    let weights = (0..tenants).map(|_| weight(1 + numbers.below(10_000_000)));
    let weights = weights.collect();
    let limit = demands.iter().sum::<u64>() / 2;
    (demands, weights, limit)
}

/// 5 * 10^9 units are 5 * 10^9 steps one at a time.
#[test]
#[expect(clippy::disallowed_methods, reason = "a native test reads the clock")]
fn ten_thousand_tenants_are_allocated_at_once() {
    let (demands, weights, limit) = crowd(10_000);
    let began = std::time::Instant::now();
    let given = allocate(&demands, &weights, limit);
    println!("10,000 tenants, {limit} units: {:?}", began.elapsed());
    assert_eq!(given.iter().sum::<u64>(), limit);
    // Nobody could have had the last unit of another earlier: `(a - 1) / w <= b / v` for each `b` below its demand.
    let hungry = (0..demands.len()).filter(|index| given[*index] < demands[*index]);
    let lowest = hungry
        .min_by(|one, other| {
            let level = |index: usize, other: usize| {
                u128::from(given[index]) * u128::from(weights[other].micros())
            };
            level(*one, *other).cmp(&level(*other, *one))
        })
        .expect("half of the demand is not met");
    for index in 0..demands.len() {
        let last =
            u128::from(given[index].saturating_sub(1)) * u128::from(weights[lowest].micros());
        assert!(last <= u128::from(given[lowest]) * u128::from(weights[index].micros()));
    }
}
