//! Windows that an edit takes away and another brings back: nothing that was used is given back with them.

use weir_shared::fairness::ask::Party;
use weir_shared::fairness::local::{LocalBudget, LocalTerms};
use weir_shared::federation::stored::StoredPool;
use weir_shared::wire::exchange::Terms;
use weir_shared::wire::stored::read_row;

use super::{DAY_MS, MINUTE_MS, NOW, World, quota, rolling, terms};

#[test]
fn a_rolling_window_that_becomes_one_that_starts_anew_and_back_admits_no_more_than_the_limit() {
    let rolls = |revision| rolling(terms(100, MINUTE_MS, revision), 10);
    let anew = [terms(100, MINUTE_MS, 2), quota(terms(100, MINUTE_MS, 2))];
    for anew in anew {
        for forgetful in [false, true] {
            let mut world = World::new(&rolls(1), NOW);
            world.forgetful = forgetful;
            let mut admitted = world.asks(&rolls(1), 300, NOW);
            for ms in [3_000, 6_500] {
                admitted += world.asks(&anew, 300, NOW.plus(ms));
            }
            for ms in [7_000, 12_500, 18_500, 59_000] {
                admitted += world.asks(&rolls(3), 300, NOW.plus(ms));
            }
            assert!(admitted <= 100, "{admitted} in one minute");
            assert!(forgetful || admitted == 100, "{admitted}");
        }
    }
}

#[test]
fn a_day_that_becomes_minutes_and_a_day_again_counts_all_that_was_used_in_it() {
    let day = |revision| terms(1_000, DAY_MS, revision);
    let minute = terms(100, MINUTE_MS, 2);
    for minute in [minute.clone(), rolling(minute.clone(), 10), quota(minute)] {
        for forgetful in [false, true] {
            let mut world = World::new(&day(1), NOW);
            world.forgetful = forgetful;
            let used = world.asks(&day(1), 2_000, NOW);
            assert!(forgetful || used == 1_000, "{used}");
            // Who has used the day up waits for a minute at most.
            world.asks(&minute, 200, NOW.plus(20_000));
            let short = world.asks(&minute, 200, NOW.plus(3 * MINUTE_MS));
            assert!((1..=100).contains(&short), "{short}");
            for ms in [210_000, 240_000, 300_000, DAY_MS / 2, DAY_MS - 1] {
                let again = world.asks(&day(3), 2_000, NOW.plus(ms));
                assert_eq!(again, 0, "{minute:?}, at {ms}");
            }
            let next = world.asks(&day(3), 2_000, NOW.plus(DAY_MS));
            assert!(next <= 1_000 && (forgetful || next == 1_000), "{next}");
        }
    }
}

#[test]
fn edits_back_and_forth_give_nothing_of_a_day_back() {
    let day = |revision| terms(1_000, DAY_MS, revision);
    let minute = |revision| terms(100, MINUTE_MS, revision);
    let mut world = World::new(&day(1), NOW);
    let mut of_day = world.asks(&day(1), 600, NOW);
    let (mut now, mut revision, mut of_minutes) = (NOW, 1, 0);
    for _ in 0..10 {
        revision += 1;
        now = now.plus(90_000);
        world.exchange(&minute(revision), now);
        now = now.plus(60_000);
        of_minutes += world.asks(&minute(revision), 30, now);
        revision += 1;
        now = now.plus(30_000);
        of_day += world.asks(&day(revision), 2_000, now);
    }
    // 600, and what the first 30 of a minute left, less what leases had beyond what was asked.
    assert!((950..=970).contains(&of_day), "{of_day}");
    assert_eq!(of_minutes, 300);
    assert_eq!(world.asks(&day(revision), 2_000, NOW.plus(DAY_MS)), 1_000);
}

#[test]
fn a_day_that_was_in_force_for_seconds_counts_what_was_lent_meanwhile_when_it_comes_back() {
    let minute = |revision| terms(100, MINUTE_MS, revision);
    let day = |revision| terms(150, DAY_MS, revision);
    let mut world = World::new(&minute(1), NOW);
    assert_eq!(world.asks(&minute(1), 200, NOW), 100);
    assert_eq!(world.asks(&day(2), 200, NOW.plus(10_000)), 50);
    assert_eq!(world.asks(&minute(3), 200, NOW.plus(20_000)), 0);
    assert_eq!(world.asks(&minute(3), 200, NOW.plus(70_000)), 100);
    for ms in [80_000, 130_000, DAY_MS - 1] {
        assert_eq!(world.asks(&day(4), 200, NOW.plus(ms)), 0, "at {ms}");
    }
    assert_eq!(world.asks(&day(4), 200, NOW.plus(DAY_MS)), 150);
}

#[test]
fn a_rolling_window_that_becomes_a_shorter_one_and_back_counts_what_it_lent() {
    let rolls = |revision| rolling(terms(100, MINUTE_MS, revision), 10);
    let second = terms(30, 1_000, 2);
    // The pool hears of it within the last short window, or long after that.
    for heard_ms in [6_500, 30_000] {
        let mut world = World::new(&rolls(1), NOW);
        assert_eq!(world.asks(&rolls(1), 300, NOW), 100);
        assert_eq!(world.asks(&second, 300, NOW.plus(3_000)), 0);
        assert_eq!(world.asks(&second, 300, NOW.plus(6_000)), 30);
        for ms in [heard_ms, 31_000, 59_999] {
            assert_eq!(world.asks(&rolls(3), 300, NOW.plus(ms)), 0, "at {ms}");
        }
        assert_eq!(world.asks(&rolls(3), 300, NOW.plus(73_100)), 100);
    }
}

#[test]
fn a_day_with_slices_that_is_back_before_it_closed_ends_as_it_was_to() {
    let day = |revision| Terms {
        standing: 3,
        ..terms(1_000, DAY_MS, revision)
    };
    let minute = terms(100, MINUTE_MS, 2);
    for forgetful in [false, true] {
        // Nobody asks between the edits, or somebody, and the second is heard before the day would close, or after that.
        for (between, again_ms) in [(false, 30_000), (true, 30_000), (true, 70_000)] {
            let mut world = World::new(&day(1), NOW);
            world.forgetful = forgetful;
            world.holder.hold_slices(3);
            let mut of_day = 0;
            for second in 0..20 {
                of_day += world.asks(&day(1), 60, NOW.plus(second * 1_000));
                world.exchange(&day(1), NOW.plus(second * 1_000 + 500));
            }
            let slices: Vec<_> = world.holder.ahead().to_vec();
            assert_eq!(slices.len(), 3);
            if between {
                of_day += world.asks(&minute, 60, NOW.plus(20_000));
            }
            world.exchange(&minute, NOW.plus(21_000));
            for ms in [again_ms, 90_000, DAY_MS / 2, DAY_MS - 1] {
                of_day += world.asks(&day(3), 2_000, NOW.plus(ms));
            }
            assert!(
                of_day <= 1_000 && (forgetful || of_day == 1_000),
                "{of_day}"
            );
            assert_eq!(world.pool.window().ends_at, NOW.plus(DAY_MS));
            let kept = world.holder.ahead().iter().map(|ahead| ahead.starts_at);
            assert!(
                kept.zip(1..)
                    .all(|(at, days)| at.0 + 1_000 > NOW.0 + days * DAY_MS)
            );
            let next = world.asks(&day(3), 2_000, NOW.plus(DAY_MS + 1_000));
            assert!(next <= 1_000 && (forgetful || next == 1_000), "{next}");
        }
    }
}

#[test]
fn a_key_is_kept_for_as_long_as_the_day_that_an_edit_closed() {
    let (day, minute) = (terms(1_000, DAY_MS, 1), terms(100, MINUTE_MS, 2));
    let mut world = World::new(&day, NOW);
    assert_eq!(world.asks(&day, 1_000, NOW), 1_000);
    world.exchange(&minute, NOW.plus(20_000));
    assert_eq!(world.asks(&minute, 1, NOW.plus(3 * MINUTE_MS)), 1);
    let row: StoredPool = read_row(&world.row).unwrap();
    assert_eq!(row.expires_at(), NOW.plus(DAY_MS));
    assert!(!world.pool.idle(NOW.plus(DAY_MS - 1)));
    assert!(world.pool.idle(NOW.plus(DAY_MS)));
    // Nothing is kept of a key that used nothing.
    let mut world = World::new(&day, NOW);
    world.exchange(&day, NOW);
    world.exchange(&minute, NOW.plus(20_000));
    assert!(world.pool.idle(NOW.plus(5 * MINUTE_MS)));
}

#[test]
fn edits_back_and_forth_give_nothing_of_the_day_of_one_isolate_back() {
    let local = |limit, window_ms| LocalTerms {
        limit,
        window_ms,
        share: None,
    };
    let (day, minute) = (local(1_000, DAY_MS), local(100, MINUTE_MS));
    let everyone = Party::Everyone;
    let mut budget = LocalBudget::new(day);
    assert!(budget.check(&everyone, 900, NOW).admitted());
    let mut of_day = 0;
    for minutes in 1..10 {
        let now = NOW.plus(minutes * 3 * MINUTE_MS);
        budget.retune(minute);
        budget.check(&everyone, 1, now);
        assert!(budget.check(&everyone, 10, now.plus(MINUTE_MS)).admitted());
        budget.retune(day);
        let at = now.plus(MINUTE_MS + 30_000);
        of_day += (0..500)
            .filter(|_| budget.check(&everyone, 1, at).admitted())
            .count();
    }
    // 900, and 10 of the first minute.
    assert_eq!(of_day, 90);
    assert!(!budget.is_idle(NOW.plus(DAY_MS - 1)));
    assert!(budget.check(&everyone, 1_000, NOW.plus(DAY_MS)).admitted());
}
