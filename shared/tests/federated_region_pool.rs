//! The pool that regions share: what holds whatever they ask for, and what a stored one may not say.

use proptest::prelude::*;
use weir_reference::limits::WEIGHT_SUM_MICROS_MAX;
use weir_reference::region_pool::{RegionPool, RegionPoolState, WeightSum};
use weir_shared::federation::partition::{Partition, slice};
use weir_shared::limits::REGIONS_MAX;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use weir_shared::wire::stored::read_row;

fn weight(units: u128) -> WeightSum {
    WeightSum::from_micros(units * 1_000_000).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Never more than the limit, never less than before, and a region that asks for more than its guarantee leaves the
    /// others theirs.
    #[test]
    fn grants_keep_to_the_limit_and_leave_the_guarantees_of_others(
        limit in 1_u64..1 << 53,
        asks in proptest::collection::vec(
            (0..6_usize, 1..=u128::from(WEIGHT_SUM_MICROS_MAX), any::<u64>()), 1..60),
    ) {
        let mut pool = RegionPool::new(limit, 1_000).unwrap();
        let mut had: OrderedMap<usize, u64> = OrderedMap::new();
        for (region, micros, want) in asks {
            let before = had.get(&region).copied().unwrap_or(0);
            let weight = WeightSum::from_micros(micros).unwrap();
            let granted = pool.grant(&format!("r{region}"), weight, want, EpochMs(5)).unwrap();
            had.insert(region, granted);
            prop_assert!(granted >= before && granted <= before.max(want));
            prop_assert!(pool.granted_total() <= limit);
            let sum: u128 = pool.regions().iter().map(|one| u128::from(one.weight.micros())).sum();
            let owed: u128 = pool
                .regions()
                .iter()
                .filter(|one| one.region != format!("r{region}"))
                .map(|one| {
                    let guarantee = u128::from(one.weight.micros()) * u128::from(limit) / sum;
                    guarantee.saturating_sub(one.granted.into())
                })
                .sum();
            if granted > before {
                prop_assert!(owed <= u128::from(limit - pool.granted_total()));
            }
        }
    }

    /// All slices together are the limit, none is more than one unit from another, and the first are the larger ones.
    #[test]
    fn slices_add_up(limit in any::<u64>(), count in 1..200_usize) {
        let slices: Vec<u64> = (0..count).map(|index| slice(limit, index, count)).collect();
        prop_assert_eq!(slices.iter().map(|units| u128::from(*units)).sum::<u128>(), limit.into());
        prop_assert!(slices.is_sorted_by(|a, b| a >= b));
        prop_assert!(slices[0] - slices[count - 1] <= 1);
        prop_assert_eq!(slice(limit, count, count), 0);
    }
}

#[test]
fn a_busy_region_does_not_take_what_another_is_guaranteed() {
    let mut pool = RegionPool::new(400, 1_000).unwrap();
    assert_eq!(pool.grant("oc", weight(3), 1, EpochMs(5)).unwrap(), 1);
    // 100 of 400 are weur's; of the 300 of oc 299 stay reserved.
    let flood = pool.grant("weur", weight(1), 1_000, EpochMs(6)).unwrap();
    assert_eq!(flood, 100);
    assert_eq!(
        pool.grant("oc", weight(3), 1_000, EpochMs(900)).unwrap(),
        300
    );
}

#[test]
fn windows_only_roll_forward() {
    let mut pool = RegionPool::new(400, 1_000).unwrap();
    assert_eq!(
        pool.grant("oc", weight(1), 400, EpochMs(5_000)).unwrap(),
        400
    );
    assert_eq!(
        pool.grant("weur", weight(1), 400, EpochMs(4_999)).unwrap(),
        0
    );
    assert_eq!(
        pool.grant("weur", weight(1), 400, EpochMs(6_000)).unwrap(),
        400
    );
}

#[test]
fn more_regions_than_a_policy_has_are_refused() {
    let mut pool = RegionPool::new(400, 1_000).unwrap();
    for region in 0..REGIONS_MAX {
        pool.grant(&format!("r{region}"), weight(1), 1, EpochMs(5))
            .unwrap();
    }
    let before = pool.clone();
    let refused = pool
        .grant("one more", weight(1), 1, EpochMs(5))
        .unwrap_err();
    assert_eq!((refused.field.as_str(), pool), ("/region", before));
    let names: Vec<String> = (0..=REGIONS_MAX)
        .map(|region| format!("r{region}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(Partition::new(400, &names).unwrap_err().field, "/regions");
    assert_eq!(Partition::new(400, &[]).unwrap_err().field, "/regions");
    assert_eq!(
        Partition::new(400, &["oc", "oc"]).unwrap_err().field,
        "/regions"
    );
    assert_eq!(Partition::new(0, &["oc"]).unwrap_err().field, "/limit");
}

#[test]
fn weights_that_are_none_are_refused() {
    for micros in [0, u128::from(WEIGHT_SUM_MICROS_MAX) + 1, u128::MAX] {
        assert!(WeightSum::from_micros(micros).is_err(), "{micros}");
    }
    assert!(WeightSum::from_micros(WEIGHT_SUM_MICROS_MAX.into()).is_ok());
}

#[test]
fn a_stored_pool_that_contradicts_itself_is_not_read() {
    let mut pool = RegionPool::new(100, 1_000).unwrap();
    pool.grant("oc", weight(1), 60, EpochMs(5_000)).unwrap();
    pool.grant("weur", weight(1), 60, EpochMs(5_000)).unwrap();
    let row = serde_json::to_string(&pool.state()).unwrap();
    let read = |row: &str| read_row::<RegionPoolState>(row);
    assert_eq!(RegionPool::try_from(read(&row).unwrap()).unwrap(), pool);
    for (good, bad) in [
        (r#""limit":100"#, r#""limit":99"#),
        (r#""limit":100"#, r#""limit":0"#),
        (r#""granted":60"#, r#""granted":61"#),
        (r#""region":"weur""#, r#""region":"oc""#),
        (r#""weight_micros":1000000"#, r#""weight_micros":0"#),
        (r#""opened_at":5000"#, r#""opened_at":null"#),
        (r#""version":"#, r#""version":9"#),
        ("{", "["),
    ] {
        let damaged = row.replacen(good, bad, 1);
        assert_ne!(damaged, row, "{good}");
        assert!(read(&damaged).is_err(), "{damaged}");
    }
}
