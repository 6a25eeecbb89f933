//! Lease sizes: near the least cost within three windows, and calm.

use proptest::prelude::*;
use weir_reference::sizer::{LeaseCosts, LeaseSizer};
use weir_shared::wire::decimal::Decimal;

/// Costs with up to six decimals.
fn micros() -> impl Strategy<Value = f64> {
    (1_u64..=1_000_000_000).prop_map(|micros| micros as f64 / 1e6)
}

fn costs(per_lease: f64, per_idle_unit: f64) -> LeaseCosts {
    LeaseCosts::new(Decimal(per_lease), Decimal(per_idle_unit)).unwrap()
}

/// `sqrt(2 c D / h)`, between the bounds.
fn optimum(per_lease: f64, per_idle_unit: f64, demand: u64, (min, max): (u64, u64)) -> f64 {
    let root = (2.0 * per_lease * demand as f64 / per_idle_unit).sqrt();
    root.clamp(min as f64, max as f64)
}

/// Within a tenth, or the whole number next to it.
fn is_near(size: u64, optimum: f64) -> bool {
    let off = (size as f64 - optimum).abs();
    off <= 0.1 * optimum || off <= 0.5 + 1e-6 * optimum
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever came before, whatever the costs: three windows of a demand that wobbles by 15% are enough.
    #[test]
    fn a_steady_demand_is_met_within_a_tenth_from_the_third_window_on(
        (per_lease, per_idle_unit) in (micros(), micros()),
        before in proptest::collection::vec(0_u64..1 << 40, 0..6),
        demand in 20_u64..1 << 40,
        wobbles in proptest::collection::vec(85_u64..=115, 3..12),
        min in 1_u64..100,
        span in 0_u64..1 << 50,
    ) {
        let max = min + span;
        let mut sizer = LeaseSizer::new(costs(per_lease, per_idle_unit), min, max, 1).unwrap();
        for demand in before {
            sizer.observe(demand);
        }
        for (window, wobble) in wobbles.into_iter().enumerate() {
            sizer.observe(demand * wobble / 100);
            let optimum = optimum(per_lease, per_idle_unit, demand, (min, max));
            let size = sizer.size();
            prop_assert!((min..=max).contains(&size));
            if window >= 2 {
                prop_assert!(is_near(size, optimum), "{size} where {optimum} is best");
            }
        }
    }

    /// The size lies between the best sizes of the least and the greatest demand of the last three windows.
    #[test]
    fn a_size_never_leaves_the_range_of_what_was_seen(
        (per_lease, per_idle_unit) in (micros(), micros()),
        demands in proptest::collection::vec(0_u64..1 << 40, 3..20),
    ) {
        let costs = costs(per_lease, per_idle_unit);
        let (min, max) = (1, 1_000_000);
        let mut sizer = LeaseSizer::new(costs, min, max, 1).unwrap();
        for three in demands.windows(3) {
            let mut sizer_of_three = LeaseSizer::new(costs, min, max, 1).unwrap();
            for demand in three {
                sizer.observe(*demand);
                sizer_of_three.observe(*demand);
            }
            let best = three.iter().map(|demand| costs.optimum(*demand, 1).clamp(min, max));
            let (least, greatest) = (best.clone().min().unwrap(), best.max().unwrap());
            let size = sizer.size();
            prop_assert_eq!(size, sizer_of_three.size());
            prop_assert!((least..=greatest).contains(&size));
        }
    }
}

#[test]
fn one_window_unlike_the_others_does_not_make_the_size_jump() {
    let mut sizer = LeaseSizer::new(costs(5.0, 0.1), 1, 1_000_000, 16).unwrap();
    let mut sizes = Vec::new();
    for demand in [107, 116, 127, 1 << 40, 129, 145, 0, 132, 134] {
        sizer.observe(demand);
        sizes.push(sizer.size());
    }
    // sqrt(100 D): 103 at 107, 120 at 145.
    let (least, greatest) = (sizes.iter().min(), sizes.iter().max());
    assert!(least >= Some(&103) && greatest <= Some(&120), "{sizes:?}");
}

#[test]
fn costs_that_are_none_are_refused() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e7, 1e-7] {
        assert!(
            LeaseCosts::new(Decimal(bad), Decimal(1.0)).is_err(),
            "{bad}"
        );
        assert!(
            LeaseCosts::new(Decimal(1.0), Decimal(bad)).is_err(),
            "{bad}"
        );
    }
    let costs = costs(1.0, 1.0);
    assert!(LeaseSizer::new(costs, 0, 10, 1).is_err());
    assert!(LeaseSizer::new(costs, 11, 10, 1).is_err());
}
