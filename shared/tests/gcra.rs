//! Properties of the generic cell rate algorithm, over drawn limits and schedules.

use proptest::prelude::*;
use weir_shared::algorithms::Checked;
use weir_shared::algorithms::gcra::{Gcra, GcraState};
use weir_shared::decision::{Reason, Retry};
use weir_shared::limits::{JSON_INTEGER_MAX, WINDOW_MS_MAX};
use weir_shared::units::EpochMs;

/// Cases of each property.
const CASES: u32 = 10_000;

/// When schedules start: a time of the present.
const START_MS: u64 = 1_700_000_000_000;

/// The numbers of a limit.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    limit: u64,
    period_ms: u64,
    burst: u64,
}

/// One check of a schedule.
#[derive(Debug, Clone, Copy)]
struct Step {
    gap_ms: u64,
    cost: u64,
}

impl Numbers {
    fn gcra(self) -> Gcra {
        Gcra::new(self.limit, self.period_ms, self.burst).unwrap()
    }

    /// Whole milliseconds in which `units` become due.
    fn due_ms(self, units: u64) -> u64 {
        let ms = u128::from(units) * u128::from(self.period_ms) / u128::from(self.limit);
        u64::try_from(ms).unwrap()
    }

    /// The most that any interval of `ms` may admit.
    fn units_max(self, ms: u64) -> u128 {
        let added = u128::from(self.limit) * u128::from(ms) / u128::from(self.period_ms);
        u128::from(self.burst) + added
    }
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let drawn = prop_oneof![
        3 => (1..=50_u64, 1..=5_000_u64, 1..=20_u64),
        // Several units a millisecond.
        2 => (1_001..=1_000_000_u64, 1..=1_000_u64, 1..=5_000_u64),
        // 10^7 a second.
        2 => (Just(10_000_000_u64), Just(1_000_u64), 1..=20_000_000_u64),
        2 => (1..=JSON_INTEGER_MAX, 1..=WINDOW_MS_MAX, 1..=JSON_INTEGER_MAX),
        1 => (Just(JSON_INTEGER_MAX), Just(1_u64), Just(JSON_INTEGER_MAX)),
    ];
    drawn.prop_filter_map(
        "a burst refills in ten years",
        |(limit, period_ms, burst)| {
            Gcra::new(limit, period_ms, burst).ok()?;
            Some(Numbers {
                limit,
                period_ms,
                burst,
            })
        },
    )
}

/// A schedule of up to `steps_max` checks whose gaps and costs matter to the limit: around one unit, around the
/// burst, around nothing.
fn schedule(steps_max: usize) -> impl Strategy<Value = (Numbers, Vec<Step>)> {
    numbers().prop_flat_map(move |numbers| {
        (
            Just(numbers),
            prop::collection::vec(step(numbers), 1..=steps_max),
        )
    })
}

fn step(numbers: Numbers) -> impl Strategy<Value = Step> {
    let gap_ms = prop_oneof![
        3 => Just(0),
        2 => 0..=3_u64,
        3 => 0..=numbers.due_ms(3) + 1,
        1 => 0..=numbers.due_ms(numbers.burst) + 2,
    ];
    let cost = prop_oneof![
        1 => Just(0),
        4 => Just(1),
        3 => 1..=numbers.burst.min(5),
        2 => 1..=numbers.burst,
        1 => Just(numbers.burst),
        1 => numbers.burst + 1..=numbers.burst + 3,
    ];
    (gap_ms, cost).prop_map(|(gap_ms, cost)| Step { gap_ms, cost })
}

/// A key with its state, at a time that the schedule moves.
struct Key {
    gcra: Gcra,
    state: Option<GcraState>,
    now: EpochMs,
}

impl Key {
    fn cold(numbers: Numbers) -> Self {
        Self {
            gcra: numbers.gcra(),
            state: None,
            now: EpochMs(START_MS),
        }
    }

    /// The key as a schedule leaves it.
    fn after(numbers: Numbers, steps: &[Step]) -> Self {
        let mut key = Self::cold(numbers);
        for step in steps {
            key.take(*step);
        }
        key
    }

    fn take(&mut self, step: Step) -> Checked<GcraState> {
        self.now = self.now.plus(step.gap_ms);
        self.check(step.cost)
    }

    fn check(&mut self, cost: u64) -> Checked<GcraState> {
        let checked = self.at(cost, self.now);
        self.state = checked.next.or(self.state);
        checked
    }

    /// What a check would come to, without keeping it.
    fn at(&self, cost: u64, now: EpochMs) -> Checked<GcraState> {
        self.gcra.check(self.state.as_ref(), cost, now)
    }
}

/// Fails if any interval of `admitted` holds more than the limit allows.
fn within_every_interval(numbers: Numbers, admitted: &[(u64, u64)]) -> Result<(), TestCaseError> {
    for (first, (from_ms, _)) in admitted.iter().enumerate() {
        let mut units = 0_u128;
        for (to_ms, cost) in &admitted[first..] {
            units += u128::from(*cost);
            let ms = to_ms - from_ms;
            prop_assert!(units <= numbers.units_max(ms), "{units} units in {ms} ms");
        }
    }
    Ok(())
}

/// The same limit as a leaking meter: `level` is what was admitted and has not leaked, in parts of a unit of which
/// each holds `period_ms`; every millisecond leaks `limit` parts.
struct Meter {
    numbers: Numbers,
    level: u128,
    at: EpochMs,
}

impl Meter {
    /// (reason, remaining, reset_at, retry)
    fn check(&mut self, cost: u64, now: EpochMs) -> (Reason, u64, EpochMs, Retry) {
        let (leak, unit) = (
            u128::from(self.numbers.limit),
            u128::from(self.numbers.period_ms),
        );
        let elapsed_ms = u128::from(now.since(self.at));
        self.level = self.level.saturating_sub(leak * elapsed_ms);
        self.at = now;
        let size = u128::from(self.numbers.burst) * unit;
        let level_after = self.level + u128::from(cost.max(1)) * unit;
        let (reason, retry) = if cost.max(1) > self.numbers.burst {
            (Reason::Never, Retry::Never)
        } else if level_after <= size {
            (Reason::Admitted, Retry::Now)
        } else {
            let after_ms = (level_after - size).div_ceil(leak);
            (
                Reason::LimitExceeded,
                Retry::AfterMs(u64::try_from(after_ms).unwrap()),
            )
        };
        if reason == Reason::Admitted && cost > 0 {
            self.level = level_after;
        }
        let remaining = u64::try_from((size - self.level) / unit).unwrap();
        let reset_ms = u64::try_from(self.level.div_ceil(leak)).unwrap();
        (reason, remaining, now.plus(reset_ms), retry)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_interval_admits_more_than_the_burst_and_what_its_length_makes_due(
        (numbers, steps) in schedule(40)
    ) {
        let mut key = Key::cold(numbers);
        let mut admitted = Vec::new();
        for step in steps {
            if key.take(step).decision.admitted() {
                admitted.push((key.now.0, step.cost));
            }
        }
        within_every_interval(numbers, &admitted)?;
    }

    #[test]
    fn a_cold_key_admits_exactly_its_burst(
        numbers in numbers(),
        parts in prop::collection::vec(any::<u64>(), 0..8),
    ) {
        let mut key = Key::cold(numbers);
        let mut left = numbers.burst;
        for part in parts {
            let cost = (1 + part % (numbers.burst / 4 + 1)).min(left);
            prop_assert!(cost == 0 || key.check(cost).decision.admitted());
            left -= cost;
            prop_assert_eq!(key.at(0, key.now).decision.remaining, left);
            prop_assert!(!key.check(left + 1).decision.admitted());
        }
        prop_assert!(left == 0 || key.check(left).decision.admitted());
        let one_more = key.check(1).decision;
        prop_assert_eq!((one_more.admitted(), one_more.remaining), (false, 0));
    }

    #[test]
    fn a_denial_changes_nothing((numbers, steps) in schedule(30), cost in any::<u64>()) {
        let mut key = Key::after(numbers, &steps);
        // The least that is denied, and something above it.
        let least = key.at(0, key.now).decision.remaining + 1;
        for cost in [least, least.saturating_add(cost % numbers.burst)] {
            let looked = key.at(0, key.now);
            let denied = key.check(cost);
            prop_assert!(!denied.decision.admitted());
            prop_assert_eq!(denied.next, None);
            prop_assert_eq!(denied.decision.remaining, looked.decision.remaining);
            prop_assert_eq!(denied.decision.reset_at, looked.decision.reset_at);
            prop_assert_eq!(key.at(0, key.now), looked);
        }
    }

    #[test]
    fn a_retry_is_admitted_at_its_hint_and_not_a_millisecond_earlier(
        (numbers, steps) in schedule(30),
        cost in any::<u64>(),
    ) {
        let mut key = Key::after(numbers, &steps);
        key.check(1);
        let remaining = key.at(0, key.now).decision.remaining;
        let cost = remaining + 1 + cost % (numbers.burst - remaining);
        let denied = key.at(cost, key.now).decision;
        prop_assert_eq!(denied.reason, Reason::LimitExceeded);
        let after_ms = denied.retry.after_ms().unwrap();
        prop_assert!(after_ms >= 1);
        prop_assert!(key.at(cost, key.now.plus(after_ms)).decision.admitted());
        prop_assert!(!key.at(cost, key.now.plus(after_ms - 1)).decision.admitted());
    }

    #[test]
    fn a_cost_above_the_burst_is_never(
        (numbers, steps) in schedule(20),
        above in 1..=JSON_INTEGER_MAX,
        later_ms in 0..=WINDOW_MS_MAX,
    ) {
        let key = Key::after(numbers, &steps);
        let cost = (numbers.burst + above).min(JSON_INTEGER_MAX).max(numbers.burst + 1);
        let checked = key.at(cost, key.now.plus(later_ms));
        prop_assert_eq!(checked.decision.reason, Reason::Never);
        prop_assert_eq!(checked.decision.retry.after_ms(), None);
        prop_assert_eq!(checked.next, None);
    }

    #[test]
    fn a_cost_of_0_changes_nothing_and_tells_what_one_unit_meets(
        (numbers, steps) in schedule(30),
        later_ms in 0..=2_000_u64,
    ) {
        let key = Key::after(numbers, &steps);
        let now = key.now.plus(later_ms);
        let (looked, one) = (key.at(0, now), key.at(1, now));
        prop_assert_eq!(looked.next, None);
        prop_assert_eq!(looked.decision.reason, one.decision.reason);
        prop_assert_eq!(looked.decision.retry, one.decision.retry);
        let charged = u64::from(one.decision.admitted());
        prop_assert_eq!(looked.decision.remaining, one.decision.remaining + charged);
    }

    #[test]
    fn a_clock_that_steps_back_never_admits_more_than_a_clamped_one(
        (numbers, steps) in schedule(40),
        back in prop::collection::vec(any::<bool>(), 40),
    ) {
        let (mut stepping, mut clamped) = (Key::cold(numbers), Key::cold(numbers));
        let (mut mixed, mut mixed_admitted) = (Key::cold(numbers), Vec::new());
        let (mut units, mut units_clamped) = (0, 0);
        clamped.now = EpochMs(0);
        for (step, back) in steps.into_iter().zip(back) {
            let now = if back {
                EpochMs(stepping.now.0.saturating_sub(step.gap_ms))
            } else {
                stepping.now.plus(step.gap_ms)
            };
            (stepping.now, mixed.now) = (now, now);
            clamped.now = clamped.now.max(now);
            units += u64::from(stepping.check(1).decision.admitted());
            units_clamped += u64::from(clamped.check(1).decision.admitted());
            prop_assert!(units <= units_clamped);
            // Each admission is one that the clamped clock allows, at the time that it shows.
            let cost = step.cost.clamp(1, numbers.burst);
            if mixed.check(cost).decision.admitted() {
                mixed_admitted.push((clamped.now.0, cost));
            }
        }
        within_every_interval(numbers, &mixed_admitted)?;
    }

    #[test]
    fn a_changed_limit_never_refunds(
        (before, steps) in schedule(20),
        limit in 1..=1_000_000_000_u64,
        period_ms in 1..=1_000_000_u64,
    ) {
        let mut key = Key::after(before, &steps);
        key.check(1);
        let state = key.state.unwrap();
        // A burst of over a millisecond and one unit, so that a unit is admitted at `state.ms`.
        let after = Numbers { limit, period_ms, burst: limit / period_ms + 3 };
        let gcra = after.gcra();
        let same = key.gcra.check(Some(&state), 0, EpochMs(state.ms)).decision.reset_at;
        let looked = gcra.check(Some(&state), 0, EpochMs(state.ms)).decision;
        prop_assert_eq!(looked.reset_at, same, "in whole milliseconds nothing moves");
        let next = gcra.check(Some(&state), 1, EpochMs(state.ms)).next.unwrap();
        if before.limit > 1_000_000_000 {
            return Ok(()); // the products below would pass 128 bits
        }
        // next - one unit >= state, and less than one tick above it, in parts of
        // 1 / (state's ticks x next's ticks x limit) of a millisecond.
        let (old, new) = (u128::from(state.ticks_per_ms), u128::from(next.ticks_per_ms));
        let limit = u128::from(limit);
        let due = u128::from(state.ticks) * new * limit;
        let kept = (u128::from(next.ms - state.ms) * new + u128::from(next.ticks)) * old * limit
            - u128::from(period_ms) * old * new;
        prop_assert!(due <= kept && kept < due + old * limit, "{due} became {kept}");
    }

    #[test]
    fn every_decision_equals_that_of_an_exact_leaking_meter((numbers, steps) in schedule(60)) {
        let mut key = Key::cold(numbers);
        let mut meter = Meter { numbers, level: 0, at: key.now };
        for step in steps {
            let decision = key.take(step).decision;
            let expected = meter.check(step.cost, key.now);
            let got = (decision.reason, decision.remaining, decision.reset_at, decision.retry);
            prop_assert_eq!(got, expected);
            prop_assert_eq!(decision.limit, numbers.burst);
            if let Some(state) = key.state {
                let cold = |now| key.gcra.check(None, 1, now).decision;
                prop_assert_eq!(key.at(1, state.cold_at()).decision, cold(state.cold_at()));
                let earlier = EpochMs(state.cold_at().0 - 1);
                prop_assert_ne!(key.at(1, earlier).decision, cold(earlier));
            }
        }
    }
}

#[test]
fn an_exhausted_key_admits_nothing_until_one_unit_is_due() {
    for (limit, period_ms, burst) in [(10, 1_000, 2), (7, 1_000, 3), (10_000_000, 1_000, 500)] {
        let numbers = Numbers {
            limit,
            period_ms,
            burst,
        };
        let mut key = Key::cold(numbers);
        key.state = Some(key.gcra.exhausted(key.now));
        let decision = key.check(1).decision;
        let unit_ms = period_ms.div_ceil(limit);
        assert_eq!(decision.remaining, 0);
        assert_eq!(decision.retry, Retry::AfterMs(unit_ms), "{numbers:?}");
    }
}
