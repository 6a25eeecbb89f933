//! The scenarios of the fairness layer that this serves, with their numbers.

use weir_shared::algorithms::deficit_bucket::{DeficitBucket, DeficitBucketState};
use weir_shared::algorithms::guard::{Guard, GuardState};
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;

use super::START;

/// 100 units a second, a burst of one second.
fn meter() -> DeficitBucket {
    DeficitBucket::new(Decimal(100.0), Decimal(1.0), 60_000).unwrap()
}

/// Units of `offers`, each of one unit at its time, that are admitted.
fn admitted(
    meter: &DeficitBucket,
    state: &mut Option<DeficitBucketState>,
    offers: impl IntoIterator<Item = EpochMs>,
) -> u64 {
    offers
        .into_iter()
        .map(|now| {
            let checked = meter.check(state.as_ref(), 1, now);
            *state = checked.next.or(*state);
            u64::from(checked.decision.admitted())
        })
        .sum()
}

#[test]
fn of_a_thousand_units_at_once_a_burst_is_admitted_and_a_second_later_again() {
    for spread_ms in [0, 5, 9] {
        let (meter, mut a, mut b) = (meter(), None, None);
        let flood = |from: EpochMs| (0..1_000).map(move |n| from.plus(n * spread_ms / 1_000));
        let first = admitted(&meter, &mut a, flood(START));
        assert!((100..=101).contains(&first), "{first}");
        assert_eq!(admitted(&meter, &mut b, (0..50).map(|_| START)), 50);
        let second = admitted(&meter, &mut a, flood(START.plus(1_000)));
        assert!((100..=101).contains(&second), "{second}");
    }
}

#[test]
fn a_batch_of_500_blocks_through_exactly_four_seconds() {
    let meter = meter();
    let batch = meter.check(None, 500, START);
    assert!(batch.decision.admitted());
    let state = batch.next.unwrap();
    for ms in 0..=4_000 {
        let decision = meter.check(Some(&state), 1, START.plus(ms)).decision;
        assert!(!decision.admitted(), "at {ms} ms");
        assert_eq!(decision.retry.after_ms(), Some(4_001 - ms));
    }
    assert!(
        meter
            .check(Some(&state), 1, START.plus(4_001))
            .decision
            .admitted()
    );
    // The next batch needs only a part of a token.
    assert!(
        meter
            .check(Some(&state), 500, START.plus(4_001))
            .decision
            .admitted()
    );
    assert!(
        meter
            .check(Some(&state), 500, START.plus(5_000))
            .decision
            .admitted()
    );
}

#[test]
fn three_hundred_queries_at_the_allowed_rate_are_all_admitted() {
    let guard = Guard::new(Some(4), Some(300), 30_000).unwrap();
    let mut state: Option<GuardState> = None;
    for n in 0..300 {
        let now = START.plus(n * 200); // five a second
        let taken = guard.check(state.as_ref(), 1, now);
        assert!(taken.decision.admitted(), "the {n}th");
        let taken = taken.next.unwrap();
        let slot = guard.receipt(&taken).slot;
        state = guard.release(&taken, slot, now.plus(50)).next;
    }
    let mut state = None;
    let evenly = (0..300).map(|n| START.plus(n * 10));
    assert_eq!(admitted(&meter(), &mut state, evenly), 300);
}

#[test]
fn a_modest_tenant_beside_one_that_sends_fifty_times_as_much_sheds_nothing() {
    let (meter, mut heavy, mut modest) = (meter(), None, None);
    let (mut heavy_units, mut modest_units) = (0, 0);
    for ms in (0..10_000).step_by(2) {
        let now = START.plus(ms);
        heavy_units += admitted(&meter, &mut heavy, (0..5).map(|_| now)); // 2,500 a second
        if ms % 20 == 0 {
            modest_units += admitted(&meter, &mut modest, [now]); // 50 a second
        }
    }
    assert_eq!(modest_units, 500);
    // 100 at first, and 100 in each of the ten seconds; the last unit found a part of a token.
    assert!((1_099..=1_101).contains(&heavy_units), "{heavy_units}");
}
