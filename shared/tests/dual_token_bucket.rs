//! Properties of the token bucket with a peak rate, over drawn capacities and rates with decimals.

use crate::drawn::{DualBucket, START_MS, config, dual_bucket};
use crate::token_bucket::{steps, within_the_bound};
use proptest::prelude::*;
use serde_json::json;
use weir_shared::algorithms::State;
use weir_shared::algorithms::dual_token_bucket::DualTokenBucket;
use weir_shared::decision::Reason;
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;

fn bucket_and_steps() -> impl Strategy<Value = (DualBucket, Vec<(i64, u64)>)> {
    dual_bucket().prop_flat_map(|bucket| (Just(bucket), steps(bucket.peak)))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_charge_takes_from_both_buckets_or_from_neither((drawn, steps) in bucket_and_steps()) {
        let dual = drawn.dual_token_bucket().unwrap();
        let singles = [drawn.sustained, drawn.peak].map(|bucket| bucket.token_bucket().unwrap());
        let (mut now, mut state, mut apart) = (EpochMs(START_MS), None, [None, None]);
        for (gap_ms, cost) in steps {
            now = EpochMs(now.0.saturating_add_signed(gap_ms));
            let checked = dual.check(state.as_ref(), cost, now);
            let each = [0, 1].map(|index| singles[index].check(apart[index].as_ref(), cost, now));
            let looks = [0, 1].map(|index| singles[index].check(apart[index].as_ref(), 0, now));
            let decision = checked.decision;
            prop_assert_eq!(decision.admitted(), each.iter().all(|one| one.decision.admitted()));
            prop_assert_eq!(decision.retry, each.iter().map(|one| one.decision.retry).max().unwrap());
            let told = if decision.admitted() { &each } else { &looks };
            let told = told.iter().map(|one| one.decision);
            prop_assert_eq!(decision.remaining, told.clone().map(|one| one.remaining).min().unwrap());
            prop_assert_eq!(decision.reset_at, told.clone().map(|one| one.reset_at).max().unwrap());
            prop_assert_eq!(decision.limit, dual.ceiling());
            if let Some(next) = checked.next {
                state = Some(next);
                apart = each.map(|one| one.next);
                prop_assert!(apart.iter().all(Option::is_some));
            }
        }
        if let (Some(state), [Some(sustained), Some(peak)]) = (state, apart) {
            let ends = [singles[0].expires_at(&sustained), singles[1].expires_at(&peak)];
            prop_assert_eq!(dual.expires_at(&state), ends[0].max(ends[1]));
        }
    }

    #[test]
    fn no_interval_takes_more_than_either_bucket_lets_through((drawn, steps) in bucket_and_steps()) {
        let dual = drawn.dual_token_bucket().unwrap();
        let (mut now, mut state) = (EpochMs(START_MS), None);
        let (mut latest, mut taken) = (EpochMs(0), Vec::new());
        for (gap_ms, cost) in steps {
            now = EpochMs(now.0.saturating_add_signed(gap_ms));
            let checked = dual.check(state.as_ref(), cost, now);
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
                within_the_bound(drawn.sustained, tokens, to.since(*from))?;
                within_the_bound(drawn.peak, tokens, to.since(*from))?;
            }
        }
    }
}

fn dual(numbers: [f64; 4]) -> Result<DualTokenBucket, String> {
    let [capacity, refill, peak, peak_refill] = numbers.map(Decimal);
    let bucket = DualTokenBucket::new(capacity, refill, peak, peak_refill);
    bucket.map_err(|refused| format!("{} {}", refused.field, refused.fault))
}

#[test]
fn a_peak_that_would_never_decide_is_refused_by_its_own_field() {
    for (numbers, refusal) in [
        ([0.0, 1.0, 1.0, 1.0], "/capacity 0 is outside"),
        ([10.0, 0.0, 1.0, 1.0], "/refill_per_sec 0 is outside"),
        ([10.0, 1.0, 0.0, 1.0], "/peak_capacity 0 is outside"),
        ([10.0, 1.0, 1.0, 0.0], "/peak_per_sec 0 is outside"),
        (
            [10.0, 1.0, 10.5, 2.0],
            "/peak_capacity 10.5 is outside what is above 0 to 10",
        ),
        (
            [10.0, 1.0, 5.0, 0.5],
            "/peak_per_sec 0.5 is outside 1 to 1000000000",
        ),
    ] {
        let refused = dual(numbers).unwrap_err();
        assert!(refused.starts_with(refusal), "{refused}");
    }
    dual([10.0, 1.0, 10.0, 1.0]).unwrap();
}

#[test]
fn a_cost_above_the_peak_is_never_admitted_though_the_bucket_holds_it() {
    let bucket = dual([100.0, 1.0, 10.0, 20.0]).unwrap();
    let decision = bucket.check(None, 11, EpochMs(START_MS)).decision;
    assert_eq!((decision.reason, decision.limit), (Reason::Never, 10));
    assert_eq!(decision.remaining, 10);
}

#[test]
fn the_longest_state_is_as_long_as_is_said() {
    let most = u64::MAX;
    let one = json!({
        "missing": most, "ticks": most, "ticks_per_token": most, "latest_ms": most, "tally": [most, most, most]
    });
    let longest = json!({ "dual_token_bucket": { "sustained": one, "peak": one } });
    let state: State = serde_json::from_value(longest).unwrap();
    let bytes = serde_json::to_string(&state).unwrap().len();
    let bucket = dual([100.0, 1.0, 10.0, 20.0]).unwrap();
    assert_eq!(bytes as u64, bucket.state_bytes_max());
}
