//! Properties of the token bucket, over drawn capacities and rates with decimals.

use crate::drawn::{Bucket, START_MS, bucket, config};
use proptest::prelude::*;
use weir_shared::algorithms::token_bucket::{TokenBucket, TokenBucketState};
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::invalid::Fault;
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;

/// The same bucket as a count of the tokens that are there, in parts of which all of its numbers are whole.
struct Available {
    part: u128,
    capacity: u128,
    per_ms: u128,
    there: u128,
    at: EpochMs,
}

impl Available {
    fn full(bucket: Bucket) -> Self {
        let capacity_parts = 10_u128.pow(bucket.capacity_decimals);
        let rate_parts = 1_000 * 10_u128.pow(bucket.rate_decimals);
        let capacity = u128::from(bucket.capacity) * rate_parts;
        Self {
            part: capacity_parts * rate_parts,
            capacity,
            per_ms: u128::from(bucket.rate) * capacity_parts,
            there: capacity,
            at: EpochMs(0),
        }
    }

    fn check(&mut self, cost: u64, now: EpochMs) -> Decision {
        let at = now.max(self.at);
        let elapsed_ms = u128::from(at.since(self.at));
        let refilled = elapsed_ms.saturating_mul(self.per_ms);
        let there = self.capacity.min(self.there.saturating_add(refilled));
        let asked = u128::from(cost.max(1)) * self.part;
        let wait = |parts: u128| {
            let ms = u64::try_from(parts.div_ceil(self.per_ms)).unwrap();
            at.plus(ms)
        };
        let (reason, retry, left) = if asked > self.capacity {
            (Reason::Never, Retry::Never, there)
        } else if asked > there {
            let after_ms = wait(asked - there).since(now);
            (Reason::LimitExceeded, Retry::AfterMs(after_ms), there)
        } else {
            let charged = if cost > 0 { asked } else { 0 };
            (Reason::Admitted, Retry::Now, there - charged)
        };
        let decision = Decision {
            reason,
            limit: u64::try_from(self.capacity / self.part).unwrap(),
            remaining: u64::try_from(left / self.part).unwrap(),
            reset_at: wait(self.capacity - left),
            retry,
        };
        if decision.admitted() && cost > 0 {
            (self.there, self.at) = (left, at);
        }
        decision
    }
}

/// Gaps, forth and back, and costs of a schedule.
pub(crate) fn steps(bucket: Bucket) -> impl Strategy<Value = Vec<(i64, u64)>> {
    let floor = bucket.floor();
    let token_ms = 1_000 * 10_u128.pow(bucket.rate_decimals) / u128::from(bucket.rate);
    let token_ms = i64::try_from(token_ms).unwrap();
    let gap_ms = prop_oneof![
        3 => Just(0),
        2 => 0..=3_i64,
        3 => 0..=2 * token_ms + 1,
        1 => -2 * token_ms - 3..=0,
    ];
    let cost = prop_oneof![
        1 => Just(0),
        4 => Just(1),
        3 => 1..=floor.clamp(1, 5),
        2 => 1..=floor.max(1),
        1 => floor..=floor + 2,
    ];
    prop::collection::vec((gap_ms, cost), 1..=20)
}

fn bucket_and_steps() -> impl Strategy<Value = (Bucket, Vec<(i64, u64)>)> {
    bucket().prop_flat_map(|bucket| (Just(bucket), steps(bucket)))
}

/// The parts of `bucket`'s rate and capacity that `units` in `ms` are: at most those of its promise.
pub(crate) fn within_the_bound(bucket: Bucket, units: u128, ms: u64) -> Result<(), TestCaseError> {
    let model = Available::full(bucket);
    let most = model.capacity + u128::from(ms) * model.per_ms;
    prop_assert!(units * model.part <= most, "{units} tokens in {ms} ms");
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_decision_equals_that_of_an_exact_count((bucket, steps) in bucket_and_steps()) {
        let (token_bucket, mut model) = (bucket.token_bucket().unwrap(), Available::full(bucket));
        let (mut now, mut state) = (EpochMs(START_MS), None);
        for (gap_ms, cost) in steps {
            now = EpochMs(now.0.saturating_add_signed(gap_ms));
            let checked = token_bucket.check(state.as_ref(), cost, now);
            prop_assert_eq!(checked.decision, model.check(cost, now));
            state = checked.next.or(state);
        }
        if let Some(state) = state {
            // Full at the millisecond that is told, and not earlier.
            let full_at = token_bucket.expires_at(&state);
            let missing = |now| token_bucket.check(Some(&state), 0, now).decision.reset_at.since(now);
            prop_assert_eq!(missing(full_at), 0);
            prop_assert!(missing(EpochMs(full_at.0 - 1)) > 0);
        }
    }

    #[test]
    fn no_interval_takes_more_than_the_capacity_and_what_flows_in_during_it(
        (bucket, steps) in bucket_and_steps(),
    ) {
        let token_bucket = bucket.token_bucket().unwrap();
        let (mut now, mut state) = (EpochMs(START_MS), None);
        // By a clock that stands still while the other goes back behind the latest charge.
        let (mut latest, mut taken) = (EpochMs(0), Vec::new());
        for (gap_ms, cost) in steps {
            now = EpochMs(now.0.saturating_add_signed(gap_ms));
            let checked = token_bucket.check(state.as_ref(), cost, now);
            if checked.next.is_some() {
                latest = latest.max(now);
                taken.push((latest, u128::from(cost)));
            }
            state = checked.next.or(state);
        }
        for (first, (from, _)) in taken.iter().enumerate() {
            let mut tokens = 0;
            for (to, cost) in &taken[first..] {
                tokens += cost;
                within_the_bound(bucket, tokens, to.since(*from))?;
            }
        }
    }

    #[test]
    fn a_full_bucket_gives_exactly_its_whole_capacity_at_up_to_ten_million_a_second(
        capacity in 1..=20_000_000_u64,
        rate in 1..=10_000_000_u64,
    ) {
        let bucket = TokenBucket::new(Decimal(capacity as f64), Decimal(rate as f64)).unwrap();
        let now = EpochMs(START_MS);
        let all_but_one = bucket.check(None, capacity - 1, now);
        let last = bucket.check(all_but_one.next.as_ref(), 1, now);
        prop_assert!(last.decision.admitted());
        prop_assert_eq!(last.decision.remaining, 0);
        prop_assert!(!bucket.check(last.next.as_ref(), 1, now).decision.admitted());
    }

    #[test]
    fn a_changed_bucket_keeps_what_is_missing(
        (before, steps) in bucket_and_steps(),
        after in bucket(),
    ) {
        let bucket = before.token_bucket().unwrap();
        let (mut now, mut state): (_, Option<TokenBucketState>) = (EpochMs(START_MS), None);
        for (gap_ms, cost) in steps {
            now = EpochMs(now.0.saturating_add_signed(gap_ms));
            state = bucket.check(state.as_ref(), cost, now).next.or(state);
        }
        let Some(state) = state else {
            return Ok(());
        };
        let at = EpochMs(state.latest_ms);
        let looked = after.token_bucket().unwrap().check(Some(&state), 0, at).decision;
        let missing = state.missing + u64::from(state.ticks > 0);
        let kept = after.floor().saturating_sub(state.missing);
        prop_assert!(looked.remaining <= kept, "{looked:?} of {state:?}");
        prop_assert!(looked.remaining >= after.floor().saturating_sub(missing));
    }
}

#[test]
fn a_clock_that_wobbles_refills_a_bucket_only_once() {
    let bucket = TokenBucket::new(Decimal(10.0), Decimal(1.0)).unwrap();
    let (early, late) = (EpochMs(START_MS), EpochMs(START_MS + 2_000));
    let mut state = bucket.check(None, 10, early).next.unwrap();
    let mut taken = 0;
    for _ in 0..1_000 {
        for now in [late, early] {
            let checked = bucket.check(Some(&state), 1, now);
            taken += u64::from(checked.decision.admitted());
            state = checked.next.unwrap_or(state);
        }
    }
    assert_eq!(taken, 2, "two seconds have passed, however often");
}

#[test]
fn numbers_out_of_range_are_refused_with_their_field() {
    let cases = [
        (
            0.0,
            1.0,
            "/capacity",
            "0 is outside 0.000000000000001 to 9007199254740991",
        ),
        (
            -1.0,
            1.0,
            "/capacity",
            "-1 is outside 0.000000000000001 to 9007199254740991",
        ),
        (
            f64::NAN,
            1.0,
            "/capacity",
            "NaN is outside 0.000000000000001 to 9007199254740991",
        ),
        (
            f64::INFINITY,
            1.0,
            "/capacity",
            "inf is outside 0.000000000000001 to 9007199254740991",
        ),
        (
            0.1 + 0.2,
            1.0,
            "/capacity",
            "0.30000000000000004 has more than 15 decimals",
        ),
        (
            1.0,
            0.0,
            "/refill_per_sec",
            "0 is outside 0.000000000000001 to 1000000000",
        ),
        (
            1.0,
            1e10,
            "/refill_per_sec",
            "10000000000 is outside 0.000000000000001 to 1000000000",
        ),
        (
            1.0,
            1e-16,
            "/refill_per_sec",
            "0.0000000000000001 has more than 15 decimals",
        ),
        (
            1_000_000.5,
            0.001,
            "/capacity",
            "1000000.5 (refills in 1000000500000 ms) is outside what is above 0 to what refills in 315360000000 ms",
        ),
    ];
    for (capacity, rate, field, message) in cases {
        let refused = TokenBucket::new(Decimal(capacity), Decimal(rate)).unwrap_err();
        assert_eq!(
            (refused.field.as_str(), refused.fault.to_string().as_str()),
            (field, message)
        );
        assert!(matches!(
            refused.fault,
            Fault::OutOfRange { .. } | Fault::Decimals { .. }
        ));
    }
}

#[test]
fn the_largest_bucket_and_the_fastest_rate_are_exact() {
    let bucket = TokenBucket::new(
        Decimal(9_007_199_254_740_991.0),
        Decimal(999_999_999.999_999),
    )
    .unwrap();
    let now = EpochMs(START_MS);
    let all = bucket.check(None, 9_007_199_254_740_991, now);
    assert!(all.decision.admitted());
    // 9 007 199 254 740 991 / 999 999.999 999 999 ms = 9 007 199 254.740 999...
    assert_eq!(all.decision.reset_at, now.plus(9_007_199_255));
    let denied = bucket.check(all.next.as_ref(), 1_000_000, now).decision;
    assert_eq!(denied.retry, Retry::AfterMs(2)); // 999 999.999 999 999 flow in during the first
}
