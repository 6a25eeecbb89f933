//! Cases of the guard, each with its arithmetic.

use weir_shared::algorithms::State;
use weir_shared::algorithms::guard::{Guard, GuardState};
use weir_shared::decision::{Reason, Retry};
use weir_shared::limits::{
    GUARD_LEASE_MS_MAX, GUARD_LEASE_MS_MIN, GUARD_PER_MINUTE_MAX, GUARD_SLOTS_MAX,
};

use super::START;

#[test]
fn numbers_out_of_their_range_are_refused_with_their_field() {
    let field = |concurrency, per_minute, lease_ms| {
        let guard = Guard::new(concurrency, per_minute, lease_ms);
        guard.err().map(|invalid| invalid.field)
    };
    for bad in [0, GUARD_SLOTS_MAX + 1, u64::MAX] {
        assert_eq!(
            field(Some(bad), None, 30_000),
            Some("/concurrency".to_owned())
        );
    }
    for bad in [0, GUARD_PER_MINUTE_MAX + 1, u64::MAX] {
        assert_eq!(
            field(None, Some(bad), 30_000),
            Some("/per_minute".to_owned())
        );
    }
    for bad in [0, GUARD_LEASE_MS_MIN - 1, GUARD_LEASE_MS_MAX + 1] {
        assert_eq!(field(None, None, bad), Some("/lease_ms".to_owned()));
    }
    let most = (Some(GUARD_SLOTS_MAX), Some(GUARD_PER_MINUTE_MAX));
    assert_eq!(field(most.0, most.1, GUARD_LEASE_MS_MAX), None);
    assert_eq!(field(None, None, GUARD_LEASE_MS_MIN), None);
}

#[test]
fn slots_are_looked_at_before_the_budget_and_a_denial_takes_of_neither() {
    let guard = Guard::new(Some(2), Some(3), 30_000).unwrap();
    let take = |state: &mut Option<GuardState>| {
        let checked = guard.check(state.as_ref(), 1, START);
        *state = checked.next.or(state.take());
        checked.decision
    };
    let release = |state: &mut Option<GuardState>| {
        let held = state.take().unwrap();
        let slot = guard.receipt(&held).slot;
        *state = guard.release(&held, slot, START).next;
    };
    let mut state = None;
    assert!(take(&mut state).admitted() && take(&mut state).admitted());
    for _ in 0..5 {
        let denied = take(&mut state);
        assert_eq!((denied.reason, denied.limit), (Reason::Concurrency, 2));
        assert_eq!(denied.retry, Retry::AfterMs(30_000));
    }
    release(&mut state);
    assert!(
        take(&mut state).admitted(),
        "the denials took nothing of the three"
    );
    release(&mut state);
    let denied = take(&mut state);
    assert_eq!((denied.reason, denied.limit), (Reason::LimitExceeded, 3));
    assert_eq!(
        denied.retry,
        Retry::AfterMs(20_000),
        "three a minute flow in evenly"
    );
    let held = guard.in_flight(state.as_ref(), START);
    assert_eq!(held.slots, 1, "nor did it take a slot");
}

#[test]
fn a_holder_that_dies_loses_its_slot_when_its_lease_ends() {
    let guard = Guard::new(Some(1), None, 30_000).unwrap();
    let taken = guard.check(None, 1, START).next.unwrap();
    let denied = guard.check(Some(&taken), 1, START.plus(29_999)).decision;
    assert_eq!(
        (denied.reason, denied.retry),
        (Reason::Concurrency, Retry::AfterMs(1))
    );
    assert!(
        guard
            .check(Some(&taken), 1, START.plus(30_000))
            .decision
            .admitted()
    );
}

#[test]
fn a_denial_for_want_of_slots_waits_for_the_budget_too() {
    let guard = Guard::new(Some(1), Some(1), 30_000).unwrap();
    let taken = guard.check(None, 1, START).next.unwrap();
    let denied = guard.check(Some(&taken), 1, START).decision;
    assert_eq!(denied.reason, Reason::Concurrency);
    assert_eq!(
        denied.retry,
        Retry::AfterMs(60_000),
        "the slot is free after half of it"
    );
}

#[test]
fn names_that_ran_ahead_of_the_clock_are_not_given_again_after_the_state_was_forgotten() {
    let guard = Guard::new(None, None, 1_000).unwrap();
    let mut state: Option<GuardState> = None;
    let mut last = 0;
    for _ in 0..3_000 {
        let next = guard.check(state.as_ref(), 1, START).next.unwrap();
        let slot = guard.receipt(&next).slot;
        assert!(slot > last);
        last = slot;
        state = guard.release(&next, slot, START).next;
    }
    let expires_at = guard.expires_at(&state.unwrap());
    assert_eq!(expires_at, START.plus(3), "1,024 names a millisecond");
    let fresh = guard.check(None, 1, expires_at).next.unwrap();
    assert!(guard.receipt(&fresh).slot > last);
}

#[test]
fn unlimited_slots_are_told_up_to_a_bound_and_their_state_stays_within_it() {
    let guard = Guard::new(None, None, 30_000).unwrap();
    let mut state: Option<GuardState> = None;
    for n in 0..GUARD_SLOTS_MAX + 50 {
        let checked = guard.check(state.as_ref(), 1, START.plus(n));
        assert!(checked.decision.admitted());
        state = checked.next;
    }
    let state = state.unwrap();
    let now = START.plus(GUARD_SLOTS_MAX + 50);
    assert_eq!(guard.in_flight(Some(&state), now).slots, GUARD_SLOTS_MAX);
    let newest = guard.receipt(&state).slot;
    assert!(guard.renew(&state, newest, now).expires_at.is_some());
    let json = serde_json::to_string(&State::Guard(state)).unwrap();
    assert!(json.len() as u64 <= guard.state_bytes_max());
}
