//! Properties of the deficit bucket, over drawn meters and schedules.

use proptest::prelude::*;
use serde_json::Value;
use weir_shared::algorithms::deficit_bucket::{DeficitBucket, DeficitBucketState};
use weir_shared::algorithms::{Algorithm, Receipt, State};
use weir_shared::decision::{Reason, Retry};
use weir_shared::units::EpochMs;

use super::drawn::{Numbers, Step, numbers, schedule};
use super::model::Tokens;
use super::{START, config};

/// A meter at work.
struct Key {
    bucket: DeficitBucket,
    state: Option<DeficitBucketState>,
    now: EpochMs,
}

impl Key {
    fn cold(numbers: Numbers) -> Self {
        Self {
            bucket: numbers.bucket().unwrap(),
            state: None,
            now: START,
        }
    }

    fn after(numbers: Numbers, steps: &[Step]) -> Self {
        let mut key = Self::cold(numbers);
        for step in steps {
            key.step(step);
        }
        key
    }

    /// Whether the step's cost was charged.
    fn step(&mut self, step: &Step) -> bool {
        self.now = EpochMs(self.now.0.saturating_add_signed(step.gap_ms));
        let checked = self.bucket.check(self.state.as_ref(), step.cost, self.now);
        let charged = checked.next.is_some();
        self.state = checked.next.or(self.state);
        charged
    }

    fn check(&self, cost: u64, now: EpochMs) -> weir_shared::decision::Decision {
        self.bucket.check(self.state.as_ref(), cost, now).decision
    }

    fn at_once(&self) -> u64 {
        self.bucket.at_once(self.state.as_ref(), self.now)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_decision_equals_that_of_an_exact_count((numbers, steps) in schedule(20)) {
        let (mut key, mut model) = (Key::cold(numbers), Tokens::full(numbers));
        for step in steps {
            let before = key.state;
            key.now = EpochMs(key.now.0.saturating_add_signed(step.gap_ms));
            let checked = key.bucket.check(before.as_ref(), step.cost, key.now);
            prop_assert_eq!(checked.decision, model.check(step.cost, key.now));
            let charged = checked.decision.admitted() && step.cost > 0;
            prop_assert_eq!(checked.next.is_some(), charged, "a denial and a look change nothing");
            key.state = checked.next.or(before);
        }
        if let Some(state) = key.state {
            // Full at the millisecond that is told, and not earlier.
            let full_at = key.bucket.expires_at(&state);
            prop_assert_eq!(model.there(full_at), model.capacity);
            let one_ms_earlier = EpochMs(full_at.0 - 1);
            prop_assert!(model.there(one_ms_earlier) < model.capacity || full_at.0 <= state.latest_ms);
        }
    }

    #[test]
    fn no_interval_admits_more_than_its_time_brings_a_full_bucket_and_the_debt(
        (numbers, steps) in schedule(20),
    ) {
        let (mut key, model) = (Key::cold(numbers), Tokens::full(numbers));
        let mut charges = Vec::new();
        for step in &steps {
            // A clock that steps back brings nothing: the bound is over the time that passed.
            let step = Step { gap_ms: step.gap_ms.max(0), ..*step };
            if key.step(&step) {
                charges.push((key.now, i128::from(step.cost)));
            }
        }
        for first in 0..charges.len() {
            let mut units = 0;
            for (at, cost) in &charges[first..] {
                units += cost;
                let ms = i128::from(at.since(charges[first].0));
                let most = ms * model.per_ms + model.capacity + model.debt;
                prop_assert!(units * model.part <= most, "{units} units in {ms} ms");
            }
        }
    }

    #[test]
    fn a_batch_of_at_most_the_debt_passes_whenever_any_token_is_there(
        (numbers, steps) in schedule(12),
        part in any::<u64>(),
    ) {
        let (key, mut model) = (Key::after(numbers, &steps), Tokens::full(numbers));
        let mut now = START;
        for step in &steps {
            now = EpochMs(now.0.saturating_add_signed(step.gap_ms));
            model.check(step.cost, now);
        }
        let debt = model.whole(model.debt);
        prop_assume!(debt > 0);
        for cost in [1, 1 + part % debt, debt] {
            let latest = EpochMs(key.state.map_or(0, |state| state.latest_ms)).max(now);
            prop_assert_eq!(key.check(cost, now).admitted(), model.there(latest) > 0, "{}", cost);
        }
    }

    #[test]
    fn what_is_admitted_at_once_is_told_to_the_unit((numbers, steps) in schedule(12)) {
        let key = Key::after(numbers, &steps);
        let most = key.at_once();
        prop_assert!(most == 0 || key.check(most, key.now).admitted());
        prop_assert!(!key.check(most + 1, key.now).admitted());
        prop_assert!(key.check(0, key.now).remaining <= most);
        prop_assert_eq!(Key::cold(numbers).at_once(), key.bucket.ceiling());
    }

    #[test]
    fn what_remains_is_how_many_single_units_are_admitted(
        (numbers, steps) in schedule(8),
    ) {
        let mut key = Key::after(numbers, &steps);
        let remaining = key.check(0, key.now).remaining;
        // All of them but the last three as one batch, then one by one.
        let at_first = remaining.saturating_sub(3);
        let one_by_one = Step { gap_ms: 0, cost: 1, refund: None };
        let batch = Step { cost: at_first, ..one_by_one };
        prop_assert!(at_first == 0 || key.step(&batch));
        for _ in at_first..remaining {
            prop_assert!(key.step(&one_by_one));
        }
        prop_assert_eq!(key.check(0, key.now).remaining, 0);
        prop_assert!(!key.step(&one_by_one));
    }

    #[test]
    fn never_is_said_with_the_largest_admissible_size_of_what_is_above_it_and_of_nothing_else(
        (numbers, steps) in schedule(10),
        cost in any::<u64>(),
    ) {
        let key = Key::after(numbers, &steps);
        let ceiling = key.bucket.ceiling();
        for cost in [1, ceiling, ceiling + 1, cost.max(1), 1 + cost % ceiling] {
            let decision = key.check(cost, key.now);
            prop_assert_eq!(decision.reason == Reason::Never, cost > ceiling);
            prop_assert_eq!(decision.retry == Retry::Never, cost > ceiling);
            prop_assert_eq!(decision.limit, ceiling);
        }
        let full = Key::cold(numbers);
        prop_assert!(full.check(ceiling, START).admitted());
        prop_assert_eq!(full.check(ceiling + 1, START).reason, Reason::Never);
    }

    #[test]
    fn no_batch_blocks_a_unit_for_longer_than_the_debt_lasts(
        (numbers, steps) in schedule(12),
    ) {
        let (mut key, model) = (Key::cold(numbers), Tokens::full(numbers));
        // Below one token of debt a unit waits for itself, as in a token bucket.
        prop_assume!(model.debt >= model.part);
        for step in &steps {
            key.step(step);
            let latest = key.state.map_or(key.now, |state| key.now.max(EpochMs(state.latest_ms)));
            let wait_ms = key.check(1, latest).retry.after_ms().unwrap();
            prop_assert!(wait_ms <= numbers.max_debt_ms + 1, "{wait_ms}");
        }
    }

    #[test]
    fn a_retry_is_admitted_at_its_hint_and_not_a_millisecond_earlier(
        (numbers, steps) in schedule(12),
        cost in any::<u64>(),
        back_ms in prop_oneof![Just(0), 0..=5_000_u64],
    ) {
        let key = Key::after(numbers, &steps);
        let ceiling = key.bucket.ceiling();
        let now = EpochMs(key.now.0 - back_ms);
        for cost in [1, 1 + cost % ceiling, ceiling] {
            let decision = key.check(cost, now);
            let Retry::AfterMs(after_ms) = decision.retry else {
                prop_assert!(decision.admitted());
                continue;
            };
            prop_assert!(after_ms >= 1);
            prop_assert!(key.check(cost, now.plus(after_ms)).admitted());
            prop_assert!(!key.check(cost, now.plus(after_ms - 1)).admitted());
        }
    }

    #[test]
    fn a_clock_that_steps_back_neither_drains_nor_refills(
        (numbers, steps) in schedule(12),
        back_ms in prop_oneof![1..=3_u64, 1..=100_000_u64],
    ) {
        let mut key = Key::after(numbers, &steps);
        prop_assume!(key.state.is_some());
        let latest = EpochMs(key.state.unwrap().latest_ms);
        let (there, then) = (key.check(0, latest), EpochMs(latest.0 - back_ms));
        let looked = key.check(0, then);
        prop_assert_eq!((looked.remaining, looked.reset_at), (there.remaining, there.reset_at));
        // And what is charged meanwhile is not forgotten when it goes on.
        key.now = then;
        let charged = key.step(&Step { gap_ms: 0, cost: 1, refund: None });
        let after = key.check(0, latest);
        prop_assert_eq!(after.remaining, there.remaining - u64::from(charged));
    }

    #[test]
    fn a_refund_leaves_it_no_more_generous_than_if_the_units_had_never_been_charged(
        (numbers, steps) in schedule(12),
    ) {
        let mut key = Key::cold(numbers);
        let mut charges: Vec<(u64, EpochMs, Receipt)> = Vec::new();
        let algorithm = Algorithm::DeficitBucket(key.bucket);
        for step in &steps {
            if key.step(step) {
                let state = key.state.unwrap();
                let receipt = algorithm.receipt(&State::DeficitBucket(state));
                charges.push((step.cost, EpochMs(state.latest_ms), receipt));
            }
            if let (Some((which, part)), Some(state)) = (step.refund, key.state) {
                if charges.is_empty() {
                    continue;
                }
                let charge = which.index(charges.len());
                let units = u128::from(charges[charge].0) * u128::from(part) / 255;
                let units = u64::try_from(units).unwrap();
                let state = State::DeficitBucket(state);
                let refunded = algorithm.refund(&state, &charges[charge].2, units, key.now);
                if let Some(State::DeficitBucket(refunded)) = refunded {
                    prop_assert!(units > 0);
                    key.state = Some(refunded);
                    charges[charge].0 -= units;
                }
            }
            let mut without = Tokens::full(numbers);
            for (cost, at, _) in &charges {
                without.take(*cost, *at);
            }
            let latest = key.state.map_or(key.now, |state| key.now.max(EpochMs(state.latest_ms)));
            let there = without.there(latest).max(0);
            let remaining = i128::from(key.check(0, latest).remaining);
            let most = (there + without.part - 1) / without.part;
            prop_assert!(remaining <= most, "{remaining} of {most}");
        }
    }

    #[test]
    fn what_was_just_charged_is_given_back_in_full(
        (numbers, steps) in schedule(8),
        cost in any::<u64>(),
    ) {
        let mut key = Key::after(numbers, &steps);
        let latest = key.state.map_or(key.now, |state| key.now.max(EpochMs(state.latest_ms)));
        let latest = latest.plus(key.check(1, latest).retry.after_ms().unwrap());
        key.now = latest;
        let (before, most) = (key.check(0, latest), key.at_once());
        let cost = 1 + cost % most;
        let step = Step { gap_ms: 0, cost, refund: None };
        prop_assert!(key.step(&step));
        let state = key.state.unwrap();
        let receipt = key.bucket.receipt(&state);
        key.state = key.bucket.refund(&state, &receipt, cost, latest);
        let after = key.check(0, latest);
        prop_assert_eq!(after.remaining, before.remaining);
        prop_assert_eq!(after.reset_at, before.reset_at);
    }

    #[test]
    fn parts_of_a_unit_decide_as_units_do(
        (numbers, steps) in schedule(12),
        scale in prop_oneof![Just(2), Just(10), 1..=1_000_000_u64],
    ) {
        let mut key = Key::cold(numbers);
        let Some(parts) = key.bucket.scaled(scale) else {
            return Ok(());
        };
        let mut state = None;
        let ceiling = key.bucket.ceiling();
        for step in steps.iter().filter(|step| step.cost <= ceiling + 3) {
            let cost = step.cost.max(1) * scale;
            key.step(&Step { cost: step.cost.max(1), ..*step });
            let checked = parts.check(state.as_ref(), cost, key.now);
            state = checked.next.or(state);
            let decision = key.check(1, key.now);
            let again = parts.check(state.as_ref(), scale, key.now).decision;
            prop_assert_eq!((again.reason, again.retry), (decision.reason, decision.retry));
        }
        prop_assert_eq!(parts.ceiling() / scale, ceiling);
    }

    #[test]
    fn a_state_is_read_as_it_was_written_and_no_longer_than_told((numbers, steps) in schedule(12)) {
        let key = Key::after(numbers, &steps);
        let exhausted = key.bucket.exhausted(key.now);
        for state in key.state.into_iter().chain([exhausted]) {
            let state = State::DeficitBucket(state);
            let json = serde_json::to_string(&state).unwrap();
            prop_assert!(json.len() as u64 <= key.bucket.state_bytes_max(), "{json}");
            prop_assert_eq!(serde_json::from_str::<State>(&json).unwrap(), state);
        }
    }

    #[test]
    fn an_exhausted_meter_admits_nothing_at_once_and_is_back_after_its_debt(numbers in numbers()) {
        let mut key = Key::cold(numbers);
        key.state = Some(key.bucket.exhausted(START));
        let model = Tokens::full(numbers);
        prop_assume!(model.debt >= model.part);
        let decision = key.check(1, START);
        prop_assert_eq!((decision.admitted(), decision.remaining), (false, 0));
        // Where the capacity is no whole number of ticks, the part of a tick that it ends with is left at once.
        let wait_ms = decision.retry.after_ms().unwrap();
        prop_assert!((numbers.max_debt_ms..=numbers.max_debt_ms + 1).contains(&wait_ms));
        let full_at = key.bucket.expires_at(&key.state.unwrap());
        prop_assert!(key.check(key.bucket.ceiling(), full_at).admitted());
    }

    #[test]
    fn a_state_with_any_numbers_is_decided_without_a_panic(
        (numbers, steps) in schedule(6),
        hostile in prop::collection::vec((any::<prop::sample::Index>(), hostile_number()), 1..6),
        cost in prop_oneof![0..=3_u64, any::<u64>()],
        now in prop_oneof![Just(START.0), any::<u64>()],
    ) {
        let key = Key::after(numbers, &steps);
        let algorithm = Algorithm::DeficitBucket(key.bucket);
        let state = State::DeficitBucket(key.state.unwrap_or(key.bucket.exhausted(START)));
        let mut json = serde_json::to_value(&state).unwrap();
        let mut receipt = serde_json::to_value(algorithm.receipt(&state)).unwrap();
        for (index, number) in hostile {
            super::forms::replace_number(&mut json, index, number);
            super::forms::replace_number(&mut receipt, index, number);
        }
        let state: State = serde_json::from_value(json).unwrap();
        let receipt: Receipt = serde_json::from_value(receipt).unwrap();
        let now = EpochMs(now);
        let checked = algorithm.check(Some(&state), cost, now);
        let _refunded = algorithm.refund(&state, &receipt, cost, now);
        let _expires_at = algorithm.expires_at(&state);
        if let Some(next) = checked.next {
            prop_assert!(serde_json::to_value(next).unwrap() != Value::Null);
        }
    }
}

fn hostile_number() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(u64::MAX - 1),
        any::<u64>()
    ]
}
