//! What a check allocates.

#![cfg(not(target_arch = "wasm32"))]

use std::hint::black_box;

use allocation_counter::measure;
use weir_shared::algorithms::calendar::{Period, Zone};
use weir_shared::algorithms::deficit_bucket::DeficitBucket;
use weir_shared::algorithms::fixed_window::FixedWindow;
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::algorithms::quota::Quota;
use weir_shared::algorithms::scale::{Scaled, ScaledState};
use weir_shared::algorithms::sliding_log::SlidingLog;
use weir_shared::algorithms::sliding_window::SlidingWindow;
use weir_shared::algorithms::token_bucket::TokenBucket;
use weir_shared::algorithms::{Algorithm, State};
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::policy::Cadence;

const START: EpochMs = EpochMs(1_700_000_000_000);
const CHECKS: u64 = 1_000;

/// What is kept is a few numbers.
fn of_fixed_size() -> [(&'static str, Algorithm); 5] {
    let months = Period::calendar(Cadence::CalendarMonth, Zone::offset(60).unwrap(), 1).unwrap();
    [
        ("gcra", Algorithm::Gcra(Gcra::new(7, 3_000, 20).unwrap())),
        (
            "token_bucket",
            Algorithm::TokenBucket(TokenBucket::new(Decimal(20.5), Decimal(2.25)).unwrap()),
        ),
        (
            "fixed_window",
            Algorithm::FixedWindow(FixedWindow::new(20, 3_000).unwrap()),
        ),
        ("quota", Algorithm::Quota(Quota::new(20, months).unwrap())),
        (
            "meter",
            // 18, and a debt of 2.25.
            Algorithm::DeficitBucket(
                DeficitBucket::new(Decimal(2.25), Decimal(8.0), 1_000).unwrap(),
            ),
        ),
    ]
}

/// What is kept is a list.
fn of_any_size() -> [(&'static str, Algorithm); 3] {
    [
        (
            "sliding_window",
            Algorithm::SlidingWindow(SlidingWindow::new(20, 3_000, 10).unwrap()),
        ),
        (
            "sliding_log",
            Algorithm::SlidingLog(SlidingLog::new(20, 3_000).unwrap()),
        ),
        (
            "rolling quota",
            Algorithm::Quota(Quota::rolling(20, 3_000, 10).unwrap()),
        ),
    ]
}

/// Allocations of `CHECKS` checks that come `step_ms` apart, and how many of them were admitted.
fn allocated(
    limit: &Scaled,
    state: &mut Option<ScaledState>,
    cost: u64,
    step_ms: u64,
) -> (u64, u64) {
    let mut admitted = 0;
    let counted = measure(|| {
        let mut now = START;
        for _ in 0..CHECKS {
            now = now.plus(step_ms);
            let checked = black_box(limit).check(state.as_ref(), cost, now);
            admitted += u64::from(checked.decision.admitted());
            if let Some(next) = checked.next {
                *state = Some(next);
            }
        }
    });
    (counted.count_total, admitted)
}

fn warm(limit: &Scaled, units: u64) -> Option<ScaledState> {
    limit.check(None, units, START).next
}

#[test]
fn allocations_are_counted() {
    let counted = measure(|| drop(black_box(vec![0_u64; 8])));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn a_check_of_a_warm_key_allocates_nothing_where_the_state_is_a_few_numbers() {
    for (name, algorithm) in of_fixed_size() {
        let limit = Scaled::whole(algorithm);
        let mut state = warm(&limit, 10);
        // Admitted and denied by turns, over several windows and refills.
        let (allocations, admitted) = allocated(&limit, &mut state, 1, 100);
        assert_eq!(allocations, 0, "{name}");
        assert!((1..CHECKS).contains(&admitted), "{name}: {admitted}");
        assert_eq!(
            allocated(&limit, &mut state, 0, 100).0,
            0,
            "a look at {name}"
        );
    }
}

#[test]
fn a_denial_allocates_nothing_whatever_the_algorithm() {
    for (name, algorithm) in of_fixed_size().into_iter().chain(of_any_size()) {
        let limit = Scaled::whole(algorithm);
        let mut state = warm(&limit, 20);
        assert_eq!(allocated(&limit, &mut state, 1, 0), (0, 0), "{name}");
        assert_eq!(
            allocated(&limit, &mut state, 21, 0),
            (0, 0),
            "never, {name}"
        );
    }
}

#[test]
fn an_admitted_check_allocates_the_list_once_where_the_state_is_one() {
    for (name, algorithm) in of_any_size() {
        let limit = Scaled::whole(algorithm);
        let mut state = warm(&limit, 10);
        let (allocations, admitted) = allocated(&limit, &mut state, 1, 100);
        assert_eq!(allocations, admitted, "{name}");
        assert!((1..CHECKS).contains(&admitted), "{name}: {admitted}");
    }
}

#[test]
fn the_transition_itself_allocates_nothing_on_a_cold_key_either() {
    for (name, algorithm) in of_fixed_size() {
        let counted = measure(|| {
            let checked = black_box(&algorithm).check(None, 1, START);
            let next: Option<State> = black_box(checked.next);
            assert!(next.is_some());
        });
        assert_eq!(counted.count_total, 0, "{name}");
    }
}
