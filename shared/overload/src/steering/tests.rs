//! When a resource counts as failing, as calm, and as asked for more than it serves.

use super::*;

const NOW: EpochMs = EpochMs(1_000_000_000);

/// A resource whose rate binds, though nothing failed or was denied.
fn bound() -> Steering {
    let mut steering = Steering::new(10.0, NOW);
    steering.restore(true);
    steering
}

/// Whether it counts as failing: a parent's word that all is well opens those that do not.
fn is_failing(mut steering: Steering) -> bool {
    steering.follow(10.0, false, steering.mark(), NOW);
    steering.contended()
}

#[test]
fn a_resource_fails_when_more_than_half_a_percent_of_its_requests_do() {
    // Of a thousand at once, each counts half: ten that fail are a failing part of half a percent, exactly.
    for (failed, failing) in [(1, false), (10, false), (11, true), (500, true)] {
        let told = |mut steering: Steering| {
            steering.outcomes(1_000 - failed, failed, NOW);
            steering
        };
        assert_eq!(
            told(Steering::new(10.0, NOW)).contended(),
            failing,
            "open, {failed}"
        );
        assert_eq!(is_failing(told(bound())), failing, "bound, {failed}");
        let mut led = bound();
        led.follow(10.0, true, led.mark(), NOW);
        assert_eq!(is_failing(told(led)), failing, "led, {failed}");
    }
}

#[test]
fn a_resource_is_open_when_nothing_failed_and_nobody_was_denied_for_longer_than_the_calm() {
    type Happens<'a> = &'a dyn Fn(&mut Steering);

    // One of a thousand is no failing resource.
    let failed = |steering: &mut Steering| steering.outcomes(999, 1, NOW);
    let denied = |steering: &mut Steering| steering.denied(NOW);
    let told = |steering: &mut Steering| steering.told(100.0, NOW);
    let cases: [(&str, Happens<'_>); 3] =
        [("failed", &failed), ("denied", &denied), ("told", &told)];
    for (name, happens) in cases {
        for (elapsed_ms, open) in [(CALM_MS - 1, false), (CALM_MS, false), (CALM_MS + 1, true)] {
            let mut steering = bound();
            happens(&mut steering);
            steering.outcomes(3, 0, NOW.plus(elapsed_ms));
            assert_eq!(!steering.contended(), open, "{name}, {elapsed_ms} ms");
        }
    }
}

#[test]
fn a_resource_that_became_open_stays_so_while_nothing_fails_however_few_ask() {
    let mut steering = Steering::new(10.0, NOW);
    steering.outcomes(0, 1, NOW);
    assert!(steering.contended());
    for second in 1..=30 {
        steering.outcomes(1, 0, NOW.plus(second * 1_000));
        assert_eq!(steering.contended(), second < 7, "second {second}");
    }
}

#[test]
fn a_rate_is_raised_towards_what_the_resource_bears_while_somebody_is_denied() {
    // It serves 3 in its first second: what it bears is as much, more, or was never seen.
    let serves = |capacity_per_s, wants_at| {
        let mut steering = bound();
        steering.outcomes(1, 0, NOW);
        steering.outcomes(2, 0, NOW.plus(1_000));
        steering.capacity_per_s = capacity_per_s;
        steering.denied(NOW);
        steering.unused(NOW.plus(wants_at))
    };
    let served = {
        let mut steering = bound();
        steering.outcomes(1, 0, NOW);
        steering.outcomes(2, 0, NOW.plus(1_000));
        steering.served_per_s()
    };
    assert_eq!(
        serves(0.0, WANTED_MS - 1),
        SEARCH_PER_S,
        "it was never seen"
    );
    assert_eq!(serves(100.0 * served, WANTED_MS - 1), SEARCH_PER_S);
    assert_eq!(
        serves(served, WANTED_MS - 1),
        0.0,
        "it serves what it bears"
    );
    let missing = serves(2.0 * served, WANTED_MS - 1);
    assert!((missing - libm::log(2.0 * USED)).abs() < 1e-9, "{missing}");
    assert_eq!(serves(2.0 * served, WANTED_MS), 0.0, "nobody wants more");
    let mut idle = bound();
    idle.denied(NOW);
    assert_eq!(idle.unused(NOW), 0.0, "nothing was served");
}

#[test]
fn more_than_the_resource_has_told_is_let_through_only_while_somebody_wants_it() {
    let rises = |elapsed_ms: u64| {
        let mut steering = bound();
        steering.denied(NOW);
        let at = NOW.plus(elapsed_ms);
        steering.told(1_000.0, at);
        let before = steering.mark();
        steering.outcomes(1, 0, at);
        steering.mark() > before
    };
    assert_eq!((rises(WANTED_MS - 1), rises(WANTED_MS)), (true, false));
}

#[test]
fn for_a_while_after_a_parents_word_failures_here_do_not_move_the_rate() {
    for (elapsed_ms, moves) in [(0, false), (FOLLOW_MS - 1, false), (FOLLOW_MS, true)] {
        let mut steering = bound();
        steering.follow(10.0, true, steering.mark(), NOW);
        let before = steering.mark();
        steering.outcomes(500, 500, NOW.plus(elapsed_ms));
        assert_eq!(steering.mark() < before, moves, "{elapsed_ms} ms");
    }
}

#[test]
fn an_outcome_is_heard_of_when_it_is_told_and_never_earlier_than_the_one_before() {
    let mut steering = bound();
    assert_eq!(steering.heard_at(), NOW);
    steering.outcomes(1, 0, NOW.plus(5));
    assert_eq!(steering.heard_at(), NOW.plus(5));
    steering.outcomes(1, 0, NOW);
    assert_eq!(steering.heard_at(), NOW.plus(5));
}

#[test]
fn a_resource_ceases_to_fail_when_less_than_half_of_what_makes_it_fail_does() {
    let half = FAILING / 2.0;
    for (failing_part, failing) in [(half, true), (half * 0.999, false)] {
        let mut steering = Steering {
            failing: true,
            failing_part,
            failed_at: NOW,
            ..bound()
        };
        steering.recover(1, 0.0, NOW);
        assert_eq!(steering.failing, failing, "{failing_part}");
    }
}
