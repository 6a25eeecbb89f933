//! What holds of limits that are counted in parts of a unit.

use crate::machines::{START, algorithm, gap_ms};
use proptest::prelude::*;
use weir_shared::algorithms::Algorithm;
use weir_shared::algorithms::fixed_window::FixedWindow;
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::algorithms::scale::{Scaled, ScaledReceipt, ScaledState};
use weir_shared::limits::JSON_INTEGER_MAX;
use weir_shared::units::EpochMs;

/// Cases of each of the six properties.
const CASES: u32 = 1_700;

/// One charge of a schedule.
#[derive(Debug, Clone, Copy)]
struct Step {
    gap_ms: u64,
    cost: u64,
}

/// One key of a limit, as a schedule leaves it.
#[derive(Debug, Clone)]
struct Key {
    state: Option<ScaledState>,
    now: EpochMs,
}

fn schedule() -> impl Strategy<Value = Vec<Step>> {
    let step = (gap_ms(), 0..=30_u64).prop_map(|(gap_ms, cost)| Step { gap_ms, cost });
    prop::collection::vec(step, 0..=20)
}

fn scale() -> impl Strategy<Value = u64> {
    prop_oneof![Just(1), 2..=12_u64, Just(1_000)]
}

fn scaled(algorithm: &Algorithm, scale: u64) -> Scaled {
    Scaled::new(algorithm, scale).unwrap()
}

impl Key {
    const COLD: Self = Self {
        state: None,
        now: START,
    };

    fn after(machine: &Scaled, steps: &[Step]) -> Self {
        let mut key = Self::COLD;
        for step in steps {
            key.now = key.now.plus(step.gap_ms);
            let checked = machine.check(key.state.as_ref(), step.cost, key.now);
            key.state = checked.next.or(key.state);
        }
        key
    }

    /// Whole units that it still admits.
    fn units(&self, machine: &Scaled, now: EpochMs) -> u64 {
        machine.remaining(self.state.as_ref(), now) / machine.scale()
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whole_units_are_decided_as_in_units(
        algorithm in algorithm(), scale in scale(), steps in schedule(),
    ) {
        let (units, parts) = (Scaled::whole(algorithm.clone()), scaled(&algorithm, scale));
        let (mut in_units, mut in_parts) = (Key::COLD, Key::COLD);
        for Step { gap_ms, cost } in steps {
            let (now, cost) = (in_units.now.plus(gap_ms), cost.max(1));
            let one = units.check(in_units.state.as_ref(), cost, now);
            let other = parts.check(in_parts.state.as_ref(), cost * scale, now);
            prop_assert_eq!(one.decision, other.decision);
            in_units = Key { state: one.next.or(in_units.state), now };
            in_parts = Key { state: other.next.or(in_parts.state), now };
        }
        prop_assert_eq!(units.quota_policy(), parts.quota_policy());
        prop_assert_eq!(units.ceiling(), parts.ceiling() / scale);
    }

    #[test]
    fn another_scale_never_refunds(
        algorithm in algorithm(), from in scale(), to in scale(), steps in schedule(), later in gap_ms(),
    ) {
        let (before, after) = (scaled(&algorithm, from), scaled(&algorithm, to));
        let steps: Vec<_> = steps
            .into_iter()
            .map(|step| Step { cost: step.cost * from / 7, ..step })
            .collect();
        let key = Key::after(&before, &steps);
        for now in [key.now, key.now.plus(later)] {
            prop_assert!(key.units(&after, now) <= key.units(&before, now));
        }
    }

    #[test]
    fn a_finer_scale_decides_the_same(
        algorithm in algorithm(), from in 1..=12_u64, finer in 2..=9_u64, steps in schedule(), last in 1..=30_u64,
    ) {
        let (before, after) = (scaled(&algorithm, from), scaled(&algorithm, from * finer));
        let key = Key::after(&before, &steps);
        let one = before.check(key.state.as_ref(), last, key.now).decision;
        let other = after.check(key.state.as_ref(), last * finer, key.now).decision;
        prop_assert_eq!(one, other);
    }

    #[test]
    fn a_charge_is_given_back_under_its_own_scale_alone(
        algorithm in algorithm(), from in 1..=6_u64, to in 1..=6_u64, parts in 1..=6_u64,
    ) {
        let (before, after) = (scaled(&algorithm, from), scaled(&algorithm, to));
        let Some(state) = before.check(None, parts, START).next else { return Ok(()) };
        let receipt = before.receipt(&state);
        let given_back = before.refund(&state, &receipt, parts, START).unwrap();
        prop_assert_eq!(before.remaining(Some(&given_back), START), before.ceiling());
        prop_assert!(from == to || after.refund(&state, &receipt, parts, START).is_none());
    }

    #[test]
    fn a_state_is_read_as_it_was_written_and_within_its_bytes(
        algorithm in algorithm(), scale in scale(), steps in schedule(),
    ) {
        let machine = scaled(&algorithm, scale);
        let mut state = None;
        let mut now = START;
        for step in steps {
            now = now.plus(step.gap_ms);
            let Some(next) = machine.check(state.as_ref(), step.cost * scale / 7, now).next else { continue };
            let json = serde_json::to_string(&next).unwrap();
            prop_assert!(json.len() as u64 <= machine.state_bytes_max(), "{json}");
            prop_assert_eq!(json.contains("scale"), scale != 1);
            prop_assert_eq!(&serde_json::from_str::<ScaledState>(&json).unwrap(), &next);
            let receipt = machine.receipt(&next);
            let json = serde_json::to_string(&receipt).unwrap();
            prop_assert_eq!(serde_json::from_str::<ScaledReceipt>(&json).unwrap(), receipt);
            state = Some(next);
        }
    }

    #[test]
    fn a_key_is_cold_from_when_it_expires_and_used_up_when_it_is_lost(
        algorithm in algorithm(), scale in scale(), steps in schedule(),
    ) {
        let machine = scaled(&algorithm, scale);
        let key = Key::after(&machine, &steps);
        if let Some(state) = &key.state {
            let cold_at = machine.expires_at(state).max(key.now);
            let cold = machine.remaining(None, cold_at);
            prop_assert_eq!(machine.remaining(Some(state), cold_at), cold);
        }
        let lost = machine.exhausted(key.now);
        prop_assert_eq!(machine.remaining(Some(&lost), key.now), 0);
    }
}

#[test]
fn a_scale_that_leaves_what_is_exact_is_refused() {
    let gcra = Algorithm::Gcra(Gcra::new(JSON_INTEGER_MAX, 1_000, 10).unwrap());
    let window = Algorithm::FixedWindow(FixedWindow::new(JSON_INTEGER_MAX, 1_000).unwrap());
    for algorithm in [gcra, window] {
        assert_eq!(Scaled::new(&algorithm, 0), None);
        assert_eq!(
            Scaled::new(&algorithm, 1),
            Some(Scaled::whole(algorithm.clone()))
        );
        assert!(Scaled::new(&algorithm, 1_000).is_some());
        assert_eq!(Scaled::new(&algorithm, 1_000_000), None);
    }
}
