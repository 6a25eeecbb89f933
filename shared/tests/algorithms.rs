//! What every algorithm promises, over drawn limits and schedules.

use crate::drawn::{Drawn, Key, START_MS, any_limit, config, schedule};
use proptest::prelude::*;
use serde_json::Value;
use weir_shared::algorithms::fixed_window::FixedWindow;
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::algorithms::scale::{Scaled, ScaledState};
use weir_shared::algorithms::token_bucket::TokenBucket;
use weir_shared::algorithms::{Algorithm, Receipt, State};
use weir_shared::decision::{Reason, Retry};
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_cold_key_admits_exactly_its_ceiling(
        drawn in any_limit(),
        parts in prop::collection::vec(any::<u64>(), 0..6),
    ) {
        let mut key = Key::cold(&drawn.algorithm);
        let mut left = drawn.algorithm.ceiling();
        for part in parts {
            let cost = (1 + part % (left / 2 + 1)).min(left);
            prop_assert!(cost == 0 || key.check(cost).decision.admitted());
            left -= cost;
            prop_assert_eq!(key.remaining(), left);
            prop_assert!(!key.check(left + 1).decision.admitted());
        }
        prop_assert!(left == 0 || key.check(left).decision.admitted());
        prop_assert_eq!(key.remaining(), 0);
        prop_assert!(!key.check(1).decision.admitted());
    }

    #[test]
    fn a_denial_and_a_look_change_nothing(
        (drawn, steps) in schedule(any_limit(), 10),
        above in any::<u64>(),
        later_ms in 0..=2_000_u64,
    ) {
        let mut key = Key::after(&drawn.algorithm, &steps);
        key.now = key.now.plus(later_ms);
        let looked = key.at(0, key.now);
        prop_assert_eq!(&looked.next, &None);
        let least = looked.decision.remaining + 1;
        for cost in [least, least.saturating_add(above)] {
            let denied = key.check(cost);
            prop_assert!(!denied.decision.admitted());
            prop_assert_eq!(denied.next, None);
            prop_assert_eq!(denied.decision.remaining, looked.decision.remaining);
            prop_assert_eq!(denied.decision.reset_at, looked.decision.reset_at);
            prop_assert_eq!(&key.at(0, key.now), &looked);
        }
        let one = key.at(1, key.now).decision;
        prop_assert_eq!((looked.decision.reason, looked.decision.retry), (one.reason, one.retry));
    }

    #[test]
    fn a_retry_is_admitted_at_its_hint_and_not_a_millisecond_earlier(
        (drawn, steps) in schedule(any_limit(), 10),
        cost in any::<u64>(),
        back_ms in prop_oneof![Just(0), 0..=5_000_u64],
    ) {
        let mut key = Key::after(&drawn.algorithm, &steps);
        key.check(1);
        key.now = EpochMs(key.now.0.saturating_sub(back_ms));
        let (remaining, ceiling) = (key.remaining(), drawn.algorithm.ceiling());
        prop_assume!(remaining < ceiling);
        let denied = key.at(remaining + 1 + cost % (ceiling - remaining), key.now).decision;
        prop_assert_eq!(denied.reason, Reason::LimitExceeded);
        let cost = remaining + 1 + cost % (ceiling - remaining);
        let after_ms = denied.retry.after_ms().unwrap();
        prop_assert!(after_ms >= 1);
        prop_assert!(key.at(cost, key.now.plus(after_ms)).decision.admitted());
        prop_assert!(!key.at(cost, key.now.plus(after_ms - 1)).decision.admitted());
    }

    #[test]
    fn never_is_said_of_what_is_above_the_ceiling_and_of_nothing_else(
        (drawn, steps) in schedule(any_limit(), 10),
        cost in any::<u64>(),
        later_ms in any::<u32>(),
    ) {
        let key = Key::after(&drawn.algorithm, &steps);
        let now = key.now.plus(u64::from(later_ms));
        let ceiling = drawn.algorithm.ceiling();
        for cost in [ceiling, ceiling + 1, cost.max(1), 1 + cost % ceiling] {
            let decision = key.at(cost, now).decision;
            prop_assert_eq!(decision.reason == Reason::Never, cost > ceiling);
            prop_assert_eq!(decision.retry == Retry::Never, cost > ceiling);
        }
    }

    #[test]
    fn waiting_never_makes_a_decision_worse(
        (drawn, steps) in schedule(any_limit(), 10),
        cost in any::<u64>(),
        waits in prop::collection::vec((any::<prop::sample::Index>(), 0..=3_u64), 1..6),
    ) {
        let key = Key::after(&drawn.algorithm, &steps);
        let cost = 1 + cost % drawn.algorithm.ceiling();
        let mut now = key.now;
        let mut before = key.at(cost, now).decision;
        for (wait, more_ms) in waits {
            let units_ms = drawn.unit_ms.saturating_mul(2).min(drawn.full_ms);
            let wait_ms = wait.index(usize::try_from(units_ms + 1).unwrap()) as u64 + more_ms;
            let retry_at = now.plus(before.retry.after_ms().unwrap());
            now = now.plus(wait_ms);
            let after = key.at(cost, now).decision;
            let charged = |admitted| if admitted { cost } else { 0 };
            let (left, left_before) = (
                after.remaining + charged(after.admitted()),
                before.remaining + charged(before.admitted()),
            );
            prop_assert!(left >= left_before, "{before:?}, then {after:?}");
            prop_assert!(after.admitted() || !before.admitted(), "{before:?}, then {after:?}");
            if let Retry::AfterMs(ms) = after.retry {
                prop_assert_eq!(now.plus(ms), retry_at, "the same instant");
            }
            before = after;
        }
    }

    #[test]
    fn what_comes_before_the_latest_charge_is_taken_at_it(
        (drawn, steps) in schedule(any_limit(), 10),
        cost in any::<u64>(),
        back_ms in prop_oneof![1..=3_u64, 1..=100_000_u64, 1..=START_MS],
    ) {
        let mut key = Key::after(&drawn.algorithm, &steps);
        if !key.check(1).decision.admitted() {
            key.now = drawn.algorithm.expires_at(key.state.as_ref().unwrap());
            prop_assert!(key.check(1).decision.admitted());
        }
        let cost = 1 + cost % drawn.algorithm.ceiling();
        let (at, then) = (key.now, EpochMs(key.now.0 - back_ms));
        let (latest, earlier) = (key.at(cost, at).decision, key.at(cost, then).decision);
        prop_assert_eq!(earlier.reason, latest.reason);
        prop_assert_eq!(earlier.remaining, latest.remaining);
        prop_assert_eq!(earlier.reset_at, latest.reset_at);
        if let (Retry::AfterMs(earlier_ms), Retry::AfterMs(ms)) = (earlier.retry, latest.retry) {
            prop_assert_eq!(earlier_ms, ms + back_ms);
        }
        // And is kept there: the clock gains nothing by going back and forth.
        key.now = then;
        key.check(cost);
        let (at, then) = (key.at(0, at).decision, key.at(0, then).decision);
        prop_assert_eq!(at.remaining, then.remaining);
    }

    #[test]
    fn an_expired_state_is_no_different_from_a_cold_key(
        (drawn, steps) in schedule(any_limit(), 10),
        cost in any::<u64>(),
        later_ms in 0..=10_000_u64,
    ) {
        let mut key = Key::after(&drawn.algorithm, &steps);
        key.check(1);
        let state = key.state.as_ref().unwrap();
        let now = drawn.algorithm.expires_at(state).plus(later_ms);
        let cold = Key::cold(&drawn.algorithm);
        for cost in [0, 1, cost % (drawn.algorithm.ceiling() + 2)] {
            prop_assert_eq!(key.at(cost, now).decision, cold.at(cost, now).decision);
        }
    }

    #[test]
    fn parts_of_a_unit_decide_as_units_do(
        (drawn, steps) in schedule(any_limit(), 12),
        scale in prop_oneof![Just(2), Just(10), 1..=1_000_000_u64],
    ) {
        let Some(parts) = Scaled::new(&drawn.algorithm, scale) else {
            return Ok(());
        };
        let mut key = Key::cold(&drawn.algorithm);
        let mut state: Option<ScaledState> = None;
        for step in steps {
            key.now = key.now.plus(step.gap_ms);
            let cost = step.cost.max(1);
            let decision = key.check(cost).decision;
            let checked = parts.check(state.as_ref(), cost * scale, key.now);
            prop_assert_eq!(checked.decision, decision);
            state = checked.next.or(state);
        }
    }

    #[test]
    fn another_scale_never_refunds_and_loses_little(
        (drawn, steps) in schedule(any_limit(), 10),
        (from, to) in (1..=20_u64, 1..=20_u64),
    ) {
        let scales = (Scaled::new(&drawn.algorithm, from), Scaled::new(&drawn.algorithm, to));
        let (Some(before), Some(after)) = scales else {
            return Ok(());
        };
        let (mut now, mut state) = (EpochMs(START_MS), None);
        for step in &steps {
            now = now.plus(step.gap_ms);
            let parts = step.cost.max(1).saturating_mul(from) - step.cost % from;
            state = before.check(state.as_ref(), parts, now).next.or(state);
        }
        let (was, is) = (before.remaining(state.as_ref(), now), after.remaining(state.as_ref(), now));
        let (was, is) = (u128::from(was) * u128::from(to), u128::from(is) * u128::from(from));
        // In parts of 1 / (from * to). What is told is whole parts, and each count may be rounded up by one.
        let (scale, counts) = (u128::from(from), steps.len() as u128 + 1);
        prop_assert!(is < was + u128::from(to), "{is} of {was}");
        prop_assert!(is + scale * counts + scale >= was, "{is} of {was}");
    }

    #[test]
    fn a_state_is_read_as_it_was_written_and_no_longer_than_told(
        (drawn, steps) in schedule(any_limit(), 12),
    ) {
        let mut key = Key::after(&drawn.algorithm, &steps);
        key.check(1);
        let exhausted = drawn.algorithm.exhausted(key.now);
        for state in key.state.iter().chain([&exhausted]) {
            let json = serde_json::to_string(state).unwrap();
            prop_assert!(json.len() as u64 <= drawn.algorithm.state_bytes_max(), "{json}");
            prop_assert_eq!(&serde_json::from_str::<State>(&json).unwrap(), state);
            let receipt = drawn.algorithm.receipt(state);
            let json = serde_json::to_string(&receipt).unwrap();
            prop_assert_eq!(serde_json::from_str::<Receipt>(&json).unwrap(), receipt);
        }
    }

    #[test]
    fn an_exhausted_key_admits_nothing_at_once_and_all_when_it_has_expired(drawn in any_limit()) {
        let mut key = Key::cold(&drawn.algorithm);
        let exhausted = drawn.algorithm.exhausted(key.now);
        let expires_at = drawn.algorithm.expires_at(&exhausted);
        key.state = Some(exhausted);
        let decision = key.at(1, key.now).decision;
        prop_assert_eq!((decision.admitted(), decision.remaining), (false, 0));
        prop_assert!(expires_at > key.now);
        key.now = expires_at;
        prop_assert!(key.at(drawn.algorithm.ceiling(), key.now).decision.admitted());
    }

    #[test]
    fn a_state_of_another_algorithm_is_charged_and_names_no_receipt((drawn, steps) in schedule(any_limit(), 6)) {
        let mut key = Key::after(&drawn.algorithm, &steps);
        key.check(1);
        let state = key.state.as_ref().unwrap();
        let other = match drawn.algorithm {
            Algorithm::Gcra(_) => Algorithm::FixedWindow(FixedWindow::new(9, 1_000).unwrap()),
            _ => Algorithm::Gcra(Gcra::new(9, 1_000, 9).unwrap()),
        };
        let remaining = |state| other.check(state, 0, key.now).decision.remaining;
        prop_assert!(remaining(Some(state)) < remaining(None));
        prop_assert!(other.expires_at(state) <= key.now);
        prop_assert_eq!(other.receipt(state), Receipt::Nothing);
        prop_assert_eq!(other.refund(state, &key.receipt(), 1, key.now), None);
    }

    #[test]
    fn a_state_with_any_numbers_is_decided_without_a_panic(
        (drawn, steps) in schedule(any_limit(), 6),
        numbers in prop::collection::vec(hostile_number(), 1..6),
        cost in prop_oneof![0..=3_u64, any::<u64>()],
        now in prop_oneof![Just(START_MS), any::<u64>()],
    ) {
        let mut key = Key::after(&drawn.algorithm, &steps);
        key.check(1);
        let state = key.state.take().unwrap();
        let (mut json, mut receipt) = (
            serde_json::to_value(&state).unwrap(),
            serde_json::to_value(drawn.algorithm.receipt(&state)).unwrap(),
        );
        for (index, number) in numbers {
            damage(&mut json, index, number);
            damage(&mut receipt, index, number);
        }
        key.now = EpochMs(now);
        if let Ok(state) = serde_json::from_value::<State>(json) {
            exercise(&drawn, &state, cost, key.now);
            if let Ok(receipt) = serde_json::from_value(receipt) {
                let refunded = drawn.algorithm.refund(&state, &receipt, cost, key.now);
                prop_assert!(refunded.is_none() || cost > 0);
            }
        }
    }
}

#[test]
fn the_longest_state_of_a_rate_is_as_long_as_told() {
    let most = u64::MAX;
    let row = |kind: &str, names: &str| {
        let numbers = names.split(' ').map(|name| format!(r#""{name}":{most},"#));
        let numbers: String = numbers.collect();
        format!(r#"{{"{kind}":{{{numbers}"tally":[{most},{most},{most}]}}}}"#)
    };
    let gcra = row("gcra", "ms ticks ticks_per_ms ticks_per_unit latest_ms");
    let bucket = row("token_bucket", "missing ticks ticks_per_token latest_ms");
    let cases = [
        (gcra, Algorithm::Gcra(Gcra::new(1, 1, 1).unwrap())),
        (
            bucket,
            Algorithm::TokenBucket(TokenBucket::new(Decimal(1.0), Decimal(1.0)).unwrap()),
        ),
    ];
    for (json, algorithm) in cases {
        let state: State = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&state).unwrap(), json);
        assert_eq!(json.len() as u64, algorithm.state_bytes_max());
    }
}

fn hostile_number() -> impl Strategy<Value = (prop::sample::Index, u64)> {
    let number = prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(u64::MAX - 1),
        Just(i64::MAX as u64),
        Just(START_MS),
        any::<u64>(),
    ];
    (any::<prop::sample::Index>(), number)
}

/// Puts `number` in the place of one of the numbers of `json`.
fn damage(json: &mut Value, index: prop::sample::Index, number: u64) {
    let mut numbers = Vec::new();
    collect(json, &mut numbers);
    if !numbers.is_empty() {
        *numbers.swap_remove(index.index(numbers.len())) = Value::from(number);
    }
}

fn collect<'a>(json: &'a mut Value, numbers: &mut Vec<&'a mut Value>) {
    match json {
        Value::Number(_) => numbers.push(json),
        Value::Array(values) => values.iter_mut().for_each(|value| collect(value, numbers)),
        Value::Object(values) => values
            .values_mut()
            .for_each(|value| collect(value, numbers)),
        _ => {}
    }
}

fn exercise(drawn: &Drawn, state: &State, cost: u64, now: EpochMs) {
    let algorithm: &Algorithm = &drawn.algorithm;
    let checked = algorithm.check(Some(state), cost, now);
    assert!(checked.decision.remaining <= checked.decision.limit);
    let _ = algorithm.receipt(checked.next.as_ref().unwrap_or(state));
    let _ = algorithm.expires_at(state);
    let _ = algorithm.spendable_until(state, now);
    let written = ScaledState {
        scale: cost,
        state: state.clone(),
    };
    let scaled = Scaled::new(algorithm, 3).unwrap_or(Scaled::whole(algorithm.clone()));
    let _ = scaled.check(Some(&written), cost, now);
}
