//! Properties of the guard, over drawn guards and schedules.

use proptest::prelude::*;
use weir_shared::algorithms::guard::{Guard, GuardReceipt, GuardState};
use weir_shared::algorithms::{Algorithm, Receipt, State};
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::limits::{GUARD_SLOTS_MAX, JSON_INTEGER_MAX};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

use super::{START, config};

/// The numbers of a guard.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    concurrency: Option<u64>,
    per_minute: Option<u64>,
    lease_ms: u64,
}

impl Numbers {
    fn guard(self) -> Guard {
        Guard::new(self.concurrency, self.per_minute, self.lease_ms).unwrap()
    }
}

/// What happens next.
#[derive(Debug, Clone, Copy)]
enum Step {
    Take {
        cost: u64,
    },
    Renew(prop::sample::Index),
    Release(prop::sample::Index),
    Undo(prop::sample::Index),
    /// The state is dropped as soon as that changes nothing.
    Forget,
    Wait {
        ms: i64,
    },
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let concurrency = prop::option::weighted(0.8, 1..=5_u64);
    let per_minute = prop::option::weighted(0.8, prop_oneof![1..=10_u64, 1..=6_000_u64]);
    let lease_ms = prop_oneof![Just(1_000), 1_000..=60_000_u64];
    (concurrency, per_minute, lease_ms).prop_map(|(concurrency, per_minute, lease_ms)| Numbers {
        concurrency,
        per_minute,
        lease_ms,
    })
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        1 => Just(Step::Take { cost: 0 }),
        6 => Just(Step::Take { cost: 1 }),
        1 => (2..=6_u64).prop_map(|cost| Step::Take { cost }),
        1 => any::<prop::sample::Index>().prop_map(Step::Renew),
        2 => any::<prop::sample::Index>().prop_map(Step::Release),
        1 => any::<prop::sample::Index>().prop_map(Step::Undo),
        1 => Just(Step::Forget),
        3 => (0..=2_000_i64).prop_map(|ms| Step::Wait { ms }),
        1 => (0..=70_000_i64).prop_map(|ms| Step::Wait { ms }),
        1 => (-5_000..=0_i64).prop_map(|ms| Step::Wait { ms }),
    ];
    prop::collection::vec(step, 1..=most)
}

/// The same guard as a list of slots and a count of what is left of the budget, in parts of one 60,000th.
#[derive(Debug, Clone)]
struct Model {
    numbers: Numbers,
    ends: OrderedMap<u64, EpochMs>,
    left: i128,
    at: EpochMs,
}

const PART: i128 = 60_000;

impl Model {
    fn new(numbers: Numbers) -> Self {
        Self {
            numbers,
            ends: OrderedMap::new(),
            left: i128::from(numbers.per_minute.unwrap_or(0)) * PART,
            at: EpochMs(0),
        }
    }

    /// As it is at `now`, or at its latest change where that is later.
    fn at(&self, now: EpochMs) -> Self {
        let at = now.max(self.at);
        let per_minute = i128::from(self.numbers.per_minute.unwrap_or(0));
        let refilled = i128::from(at.since(self.at)) * per_minute;
        let mut open = Self {
            left: (self.left + refilled).min(per_minute * PART),
            at,
            ..self.clone()
        };
        open.ends.retain(|_, end| at < *end);
        open
    }

    fn take(&mut self, slots: std::ops::RangeInclusive<u64>) {
        let end = self.at.plus(self.numbers.lease_ms);
        for slot in slots {
            self.ends.insert(slot, end);
            self.left -= self.numbers.per_minute.map_or(0, |_| PART);
        }
    }

    fn remaining(&self) -> u64 {
        let held = self.ends.len() as u64;
        let free = self.numbers.concurrency.map(|most| most - held);
        let left = u64::try_from(self.left / PART).unwrap();
        let left = self.numbers.per_minute.map(|_| left);
        free.unwrap_or(JSON_INTEGER_MAX)
            .min(left.unwrap_or(JSON_INTEGER_MAX))
    }

    /// The reason of a question for `wanted` slots.
    fn reason(&self, wanted: u64) -> Reason {
        let above = |most: Option<u64>| most.is_some_and(|most| wanted > most);
        let held = self.ends.len() as u64;
        if above(self.numbers.concurrency) || above(self.numbers.per_minute) {
            Reason::Never
        } else if self
            .numbers
            .concurrency
            .is_some_and(|most| held + wanted > most)
        {
            Reason::Concurrency
        } else if self.numbers.per_minute.is_some() && self.left < i128::from(wanted) * PART {
            Reason::LimitExceeded
        } else {
            Reason::Admitted
        }
    }
}

/// A guard at work.
struct Key {
    guard: Guard,
    state: Option<GuardState>,
    now: EpochMs,
    receipts: Vec<(u64, GuardReceipt)>,
}

impl Key {
    fn cold(numbers: Numbers) -> Self {
        Self {
            guard: numbers.guard(),
            state: None,
            now: START,
            receipts: Vec::new(),
        }
    }

    fn check(&self, cost: u64, now: EpochMs) -> Decision {
        self.guard.check(self.state.as_ref(), cost, now).decision
    }

    fn take(&mut self, cost: u64) -> (Decision, Option<u64>) {
        let checked = self.guard.check(self.state.as_ref(), cost, self.now);
        let receipt = checked.next.as_ref().map(|next| self.guard.receipt(next));
        self.state = checked.next.or(self.state.take());
        self.receipts.extend(receipt.map(|receipt| (cost, receipt)));
        (checked.decision, receipt.map(|receipt| receipt.slot))
    }

    fn receipt(&self, index: prop::sample::Index) -> Option<(u64, GuardReceipt)> {
        let some = !self.receipts.is_empty();
        some.then(|| self.receipts[index.index(self.receipts.len())])
    }

    /// A step of a schedule without undoing.
    fn step(&mut self, step: Step) {
        match step {
            Step::Take { cost } => {
                self.take(cost);
            }
            Step::Renew(index) | Step::Release(index) => {
                let Some((_, receipt)) = self.receipt(index) else {
                    return;
                };
                let Some(state) = &self.state else {
                    return;
                };
                let slotted = match step {
                    Step::Renew(_) => self.guard.renew(state, receipt.slot, self.now),
                    _ => self.guard.release(state, receipt.slot, self.now),
                };
                self.state = slotted.next.or(self.state.take());
            }
            Step::Undo(index) => {
                let (Some((cost, receipt)), Some(state)) = (self.receipt(index), &self.state)
                else {
                    return;
                };
                let undone = self.guard.refund(state, &receipt, cost, self.now);
                self.state = undone.or(self.state.take());
                self.receipts.retain(|(_, other)| *other != receipt);
            }
            Step::Forget => {
                let expired = |state: &GuardState| self.guard.expires_at(state) <= self.now;
                if self.state.as_ref().is_some_and(expired) {
                    self.state = None;
                }
            }
            Step::Wait { ms } => self.now = EpochMs(self.now.0.saturating_add_signed(ms)),
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_decision_equals_that_of_a_list_of_slots_and_an_exact_budget(
        numbers in numbers(),
        steps in steps(25),
    ) {
        let (mut key, mut model) = (Key::cold(numbers), Model::new(numbers));
        for step in steps {
            match step {
                Step::Take { cost } => {
                    let mut open = model.at(key.now);
                    let reason = open.reason(cost.max(1));
                    let (decision, slot) = key.take(cost);
                    prop_assert_eq!(decision.reason, reason);
                    if let Some(last) = slot {
                        open.take(last - cost + 1..=last);
                        model = open.clone();
                    }
                    prop_assert_eq!(decision.remaining, open.remaining());
                }
                Step::Renew(index) | Step::Release(index) => {
                    let slot = key.receipt(index).map(|(_, receipt)| receipt.slot);
                    let open = model.at(key.now);
                    if let Some(slot) = slot.filter(|slot| open.ends.contains_key(slot)) {
                        model = open;
                        let end = model.at.plus(numbers.lease_ms);
                        match step {
                            Step::Renew(_) => model.ends.insert(slot, end),
                            _ => model.ends.remove(&slot),
                        };
                    }
                    key.step(step);
                }
                Step::Undo(_) | Step::Forget => {}
                _ => key.step(step),
            }
            let (held, open) = (key.guard.in_flight(key.state.as_ref(), key.now), model.at(key.now));
            prop_assert_eq!(held.slots, open.ends.len() as u64);
            let last = open.ends.values().max().copied();
            prop_assert!(last.is_none_or(|last| held.until == last));
        }
    }

    #[test]
    fn no_more_slots_are_held_than_there_are_and_no_name_comes_twice(
        numbers in numbers(),
        steps in steps(30),
    ) {
        let mut key = Key::cold(numbers);
        let (mut last, mut forgotten_at) = (0, START);
        for step in steps {
            let before = key.receipts.len();
            key.step(step);
            if key.receipts.len() > before {
                let (cost, receipt) = key.receipts[before];
                prop_assert!(receipt.slot - cost >= last);
                prop_assert!(receipt.slot <= JSON_INTEGER_MAX);
                last = receipt.slot;
            }
            // Without a state the object's clock alone stands still instead of stepping back.
            if key.state.is_none() {
                forgotten_at = forgotten_at.max(key.now);
                key.now = forgotten_at;
            }
            let held = key.guard.in_flight(key.state.as_ref(), key.now).slots;
            prop_assert!(held <= numbers.concurrency.unwrap_or(GUARD_SLOTS_MAX), "{held}");
        }
    }

    #[test]
    fn a_retry_is_admitted_at_its_hint_and_not_a_millisecond_earlier(
        numbers in numbers(),
        steps in steps(20),
        wanted in 1..=6_u64,
        back_ms in prop_oneof![Just(0), 0..=5_000_u64],
    ) {
        let mut key = Key::cold(numbers);
        steps.into_iter().for_each(|step| key.step(step));
        let now = EpochMs(key.now.0 - back_ms);
        let decision = key.check(wanted, now);
        if let Retry::AfterMs(ms) = decision.retry {
            prop_assert!(ms >= 1);
            prop_assert!(key.check(wanted, now.plus(ms)).admitted());
            prop_assert!(!key.check(wanted, now.plus(ms - 1)).admitted());
        } else {
            prop_assert_eq!(decision.admitted(), wanted <= key.guard.ceiling());
        }
    }

    #[test]
    fn a_denial_and_a_look_change_nothing(
        numbers in numbers(),
        steps in steps(20),
        wanted in 1..=6_u64,
    ) {
        let mut key = Key::cold(numbers);
        steps.into_iter().for_each(|step| key.step(step));
        prop_assert_eq!(&key.guard.check(key.state.as_ref(), 0, key.now).next, &None);
        let checked = key.guard.check(key.state.as_ref(), wanted, key.now);
        prop_assert_eq!(checked.next.is_some(), checked.decision.admitted());
        let (looked, one) = (key.check(0, key.now), key.check(1, key.now));
        prop_assert_eq!((looked.reason, looked.retry), (one.reason, one.retry));
    }

    #[test]
    fn undoing_leaves_slots_and_budget_as_they_were(
        numbers in numbers(),
        steps in steps(12),
        cost in 1..=4_u64,
    ) {
        let mut key = Key::cold(numbers);
        steps.into_iter().for_each(|step| key.step(step));
        let latest = key.state.as_ref().map_or(key.now, |state| {
            key.guard.check(Some(state), 0, key.now).decision.reset_at.max(key.now)
        });
        // From where the state's own clock is.
        key.now = latest;
        let before = (key.check(0, key.now), key.guard.in_flight(key.state.as_ref(), key.now));
        if key.take(cost).1.is_none() {
            return Ok(());
        }
        let (_, receipt) = *key.receipts.last().unwrap();
        let state = key.state.clone().unwrap();
        key.state = key.guard.refund(&state, &receipt, cost, key.now);
        prop_assert!(key.state.is_some());
        let after = (key.check(0, key.now), key.guard.in_flight(key.state.as_ref(), key.now));
        prop_assert_eq!(after, before);
        // Once: what is undone already does not come back again.
        let again = key.guard.refund(key.state.as_ref().unwrap(), &receipt, cost, key.now);
        let left = again.as_ref().map(|state| key.guard.check(Some(state), 0, key.now).decision);
        prop_assert!(left.is_none_or(|left| left.remaining <= before.0.remaining));
    }

    #[test]
    fn a_slot_is_released_once_and_renewed_only_while_it_is_held(
        numbers in numbers(),
        steps in steps(12),
        index in any::<prop::sample::Index>(),
        later_ms in 0..=70_000_u64,
    ) {
        let mut key = Key::cold(numbers);
        steps.into_iter().for_each(|step| key.step(step));
        let (Some((_, receipt)), Some(state)) = (key.receipt(index), key.state.clone()) else {
            return Ok(());
        };
        let now = key.now.plus(later_ms);
        let renewed = key.guard.renew(&state, receipt.slot, now);
        let released = key.guard.release(&state, receipt.slot, now);
        prop_assert_eq!(released.expires_at, None);
        prop_assert_eq!(released.next.is_some(), renewed.expires_at.is_some(), "held, or not");
        let Some(released) = released.next else {
            return Ok(());
        };
        let again = key.guard.release(&released, receipt.slot, now);
        prop_assert_eq!((again.expires_at, again.next), (None, None));
        let late = key.guard.renew(&released, receipt.slot, now);
        prop_assert_eq!((late.expires_at, late.next), (None, None));
        let held = |state: &GuardState| key.guard.in_flight(Some(state), now).slots;
        prop_assert_eq!(held(&released) + 1, held(&state));
        prop_assert_eq!(held(&renewed.next.unwrap()), held(&state));
        let ends_at = renewed.expires_at.unwrap();
        prop_assert!(ends_at >= now.plus(numbers.lease_ms));
    }

    #[test]
    fn an_expired_state_is_no_different_from_a_cold_key(
        numbers in numbers(),
        steps in steps(20),
        later_ms in 0..=10_000_u64,
    ) {
        let mut key = Key::cold(numbers);
        steps.into_iter().for_each(|step| key.step(step));
        let Some(state) = &key.state else {
            return Ok(());
        };
        let now = key.guard.expires_at(state).plus(later_ms);
        for cost in 0..=3 {
            prop_assert_eq!(key.check(cost, now), key.guard.check(None, cost, now).decision);
        }
        let slot = |state| {
            let next = key.guard.check(state, 1, now).next;
            key.guard.receipt(&next.unwrap()).slot
        };
        prop_assert_eq!(slot(Some(state)), slot(None), "nor are its names");
    }

    #[test]
    fn an_exhausted_guard_admits_nothing_and_is_back_after_a_lease(numbers in numbers()) {
        let guard = numbers.guard();
        let state = guard.exhausted(START);
        prop_assert_eq!(guard.release(&state, 0, START).next, None, "nobody's slots stay");
        let decision = guard.check(Some(&state), 1, START).decision;
        if numbers.concurrency.is_none() && numbers.per_minute.is_none() {
            prop_assert!(decision.admitted(), "there is nothing to have used up");
            return Ok(());
        }
        prop_assert!(!decision.admitted());
        let back_at = guard.expires_at(&state);
        prop_assert!(back_at <= START.plus(numbers.lease_ms.max(60_000)));
        prop_assert!(guard.check(Some(&state), guard.ceiling(), back_at).decision.admitted());
    }

    #[test]
    fn a_state_with_any_numbers_is_decided_without_a_panic(
        numbers in numbers(),
        steps in steps(8),
        hostile in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 1..6),
        cost in prop_oneof![0..=3_u64, any::<u64>()],
        now in prop_oneof![Just(START.0), Just(u64::MAX), any::<u64>()],
    ) {
        let mut key = Key::cold(numbers);
        steps.into_iter().for_each(|step| key.step(step));
        let state = State::Guard(key.state.unwrap_or(key.guard.exhausted(START)));
        let algorithm = Algorithm::Guard(key.guard);
        let mut json = serde_json::to_value(&state).unwrap();
        let mut receipt = serde_json::to_value(algorithm.receipt(&state)).unwrap();
        for (index, number) in hostile {
            super::forms::replace_number(&mut json, index, number);
            super::forms::replace_number(&mut receipt, index, number);
        }
        let state: State = serde_json::from_value(json).unwrap();
        let receipt: Receipt = serde_json::from_value(receipt).unwrap();
        let now = EpochMs(now);
        let next = algorithm.check(Some(&state), cost, now).next;
        prop_assert!(next.is_none() || cost <= algorithm.ceiling());
        let _refunded = algorithm.refund(&state, &receipt, cost, now);
        let _expires_at = algorithm.expires_at(&state);
        let State::Guard(state) = state else {
            unreachable!();
        };
        let _renewed = key.guard.renew(&state, cost, now);
        let _released = key.guard.release(&state, cost, now);
    }
}

#[test]
fn a_denial_names_the_number_that_denied() {
    // Three at a time, and one a minute.
    let guard = Guard::new(Some(3), Some(1), 600_000).unwrap();
    let mut state = None;
    for at_ms in [0, 60_000, 120_000] {
        let checked = guard.check(state.as_ref(), 1, EpochMs(at_ms));
        assert_eq!(checked.decision.reason, Reason::Admitted, "at {at_ms}");
        state = checked.next;
    }
    let denied = |at_ms| {
        let decision = guard.check(state.as_ref(), 1, EpochMs(at_ms)).decision;
        (decision.reason, decision.limit)
    };
    // All slots are taken, and nothing of the minute is left.
    assert_eq!(denied(120_000), (Reason::Concurrency, 3));
    assert_eq!(denied(150_000), (Reason::Concurrency, 3));
}
