//! Numbers that change, as an override starts and ends: what was used stays used.

use proptest::prelude::*;
use weir_shared::algorithms::deficit_bucket::{DeficitBucket, DeficitBucketState};
use weir_shared::algorithms::guard::Guard;
use weir_shared::decision::Reason;
use weir_shared::units::EpochMs;

use super::drawn::{Numbers, numbers, schedule};
use super::{START, config};

/// Whether at least as much is missing in `after` as in `before`, at one instant.
fn at_least_as_much_is_missing(before: &DeficitBucketState, after: &DeficitBucketState) -> bool {
    let of = |state: &DeficitBucketState, other: &DeficitBucketState| {
        let per_token = u128::from(state.ticks_per_token);
        let ticks = u128::from(state.missing) * per_token + u128::from(state.ticks);
        ticks * u128::from(other.ticks_per_token)
    };
    of(after, before) >= of(before, after)
}

/// The state as the bucket writes it after a charge of one unit and its refund.
fn rewritten(
    bucket: &DeficitBucket,
    state: &DeficitBucketState,
    now: EpochMs,
) -> DeficitBucketState {
    let charged = bucket.check(Some(state), 1, now).next;
    charged.map_or(*state, |charged| {
        let receipt = bucket.receipt(&charged);
        bucket.refund(&charged, &receipt, 1, now).unwrap_or(charged)
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn phases_that_come_and_go_never_refund(
        (first, steps) in schedule(8),
        others in prop::collection::vec(numbers(), 1..4),
    ) {
        let bucket = first.bucket().unwrap();
        let (mut now, mut state) = (START, None);
        for step in &steps {
            now = now.plus(step.gap_ms.unsigned_abs());
            state = bucket.check(state.as_ref(), step.cost, now).next.or(state);
        }
        let Some(state) = state else {
            return Ok(());
        };
        let now = EpochMs(state.latest_ms);
        let mut after = state;
        for other in &others {
            after = rewritten(&other.bucket().unwrap(), &after, now);
            prop_assert!(at_least_as_much_is_missing(&state, &after), "{state:?} {after:?}");
        }
        let back = bucket.check(Some(&after), 0, now).decision;
        prop_assert!(back.remaining <= bucket.check(Some(&state), 0, now).decision.remaining);
    }

    #[test]
    fn each_phase_admits_no_more_than_a_full_bucket_of_its_own(
        (first, steps) in schedule(8),
        second in numbers(),
    ) {
        let (before, after) = (first.bucket().unwrap(), second.bucket().unwrap());
        let (mut now, mut state) = (START, None);
        for step in &steps {
            now = now.plus(step.gap_ms.unsigned_abs());
            state = before.check(state.as_ref(), step.cost, now).next.or(state);
        }
        prop_assert!(after.at_once(state.as_ref(), now) <= after.ceiling());
        let remaining = after.check(state.as_ref(), 0, now).decision.remaining;
        prop_assert!(remaining <= after.check(None, 0, now).decision.remaining);
    }
}

#[test]
fn a_batch_of_a_generous_phase_is_paid_back_at_the_rate_that_follows() {
    let (base, phase) = (
        Numbers::whole(10, 1, 1_000),
        Numbers::whole(1_000, 1, 1_000),
    );
    let (base, phase) = (base.bucket().unwrap(), phase.bucket().unwrap());
    let state = phase.check(None, 500, START).next.unwrap();
    // 500 are missing in a bucket of 10: 490 are owed, at 10 a second.
    let denied = base.check(Some(&state), 1, START).decision;
    assert_eq!(denied.retry.after_ms(), Some(49_001));
    // In the generous phase the same 500 are missing in a bucket of 1,000.
    assert_eq!(phase.check(Some(&state), 0, START).decision.remaining, 500);
}

#[test]
fn fewer_slots_than_are_held_deny_until_enough_have_lapsed() {
    let wide = Guard::new(Some(4), None, 30_000).unwrap();
    let narrow = Guard::new(Some(2), None, 30_000).unwrap();
    let mut state = None;
    for n in 0..4 {
        state = wide.check(state.as_ref(), 1, START.plus(n * 1_000)).next;
    }
    let now = START.plus(4_000);
    let denied = narrow.check(state.as_ref(), 1, now).decision;
    assert_eq!((denied.reason, denied.limit), (Reason::Concurrency, 2));
    // Of four that end at 30, 31, 32 and 33 s, three have to end.
    assert_eq!(denied.retry.after_ms(), Some(28_000));
    assert!(
        narrow
            .check(state.as_ref(), 1, START.plus(32_000))
            .decision
            .admitted()
    );
}

#[test]
fn a_budget_that_was_used_before_an_unlimited_phase_is_used_after_it() {
    let limited = Guard::new(None, Some(60), 1_000).unwrap();
    let unlimited = Guard::new(None, None, 1_000).unwrap();
    let used = limited.check(None, 60, START).next.unwrap();
    let meanwhile = unlimited
        .check(Some(&used), 1, START.plus(500))
        .next
        .unwrap();
    let denied = limited.check(Some(&meanwhile), 1, START.plus(500)).decision;
    assert_eq!(denied.reason, Reason::LimitExceeded);
    assert_eq!(denied.retry.after_ms(), Some(500), "one a second flows in");
    assert!(
        limited
            .check(Some(&meanwhile), 1, START.plus(1_000))
            .decision
            .admitted()
    );
}

#[test]
fn a_changed_lease_does_not_shorten_what_is_held() {
    let long = Guard::new(Some(1), None, 60_000).unwrap();
    let short = Guard::new(Some(1), None, 1_000).unwrap();
    let taken = long.check(None, 1, START).next.unwrap();
    let slot = long.receipt(&taken).slot;
    let renewed = short.renew(&taken, slot, START.plus(10));
    assert_eq!(renewed.expires_at, Some(START.plus(60_000)));
}
