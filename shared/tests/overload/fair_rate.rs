//! One process.

use std::hint::black_box;

use allocation_counter::measure;
use proptest::prelude::*;
use weir_shared::overload::config::Config;
use weir_shared::overload::resource::{Outcome, Resource};
use weir_shared::units::Revision;

use crate::overload::{START, admits, client, origin, overloaded, weighing};

#[test]
fn nobody_is_denied_before_anything_fails() {
    let mut origin = origin();
    for request in 0..10_000 {
        let verdict = origin.check(&client("noisy"), 1, 0.0, START.plus(request / 100));
        assert!(verdict.admitted && !verdict.contended);
        origin.report(
            &client("noisy"),
            Outcome::Success,
            START.plus(request / 100),
        );
    }
}

#[test]
fn who_is_only_reported_about_is_denied_and_who_is_quiet_passes() {
    let mut origin = overloaded();
    let denied = (0..20).filter(|_| !admits(&mut origin, "noisy", START.plus(100)));
    assert!(denied.count() >= 19);
    for quiet in 0..20 {
        assert!(admits(
            &mut origin,
            &format!("quiet-{quiet}"),
            START.plus(100)
        ));
    }
}

#[test]
fn a_report_of_a_checked_request_charges_nothing_more() {
    let (mut checked, mut told) = (overloaded(), overloaded());
    assert!(admits(&mut checked, "other", START));
    checked.report(&client("other"), Outcome::Success, START);
    told.report(&client("other"), Outcome::Success, START);
    for origin in [&mut checked, &mut told] {
        assert!(
            admits(origin, "other", START),
            "one of 1.55 requests is used"
        );
        assert!(!admits(origin, "other", START), "two are");
    }
}

#[test]
fn retry_after_is_when_the_client_is_admitted() {
    let mut origin = overloaded();
    while admits(&mut origin, "eager", START) {}
    let verdict = origin.check(&client("eager"), 1, 0.5, START);
    let at = START.plus(verdict.retry_after_ms);
    assert!(verdict.retry_after_ms > 10, "{verdict:?}");
    let mut early = origin.clone();
    assert!(!admits(
        &mut early,
        "eager",
        START.plus(verdict.retry_after_ms - 3)
    ));
    assert!(admits(&mut origin, "eager", at));
}

#[test]
fn a_look_changes_nothing() {
    let mut origin = overloaded();
    for _ in 0..10 {
        assert!(origin.check(&client("other"), 0, 0.5, START).admitted);
    }
    assert!(!origin.check(&client("noisy"), 0, 0.5, START).admitted);
    let admitted = (0..10).filter(|_| admits(&mut origin, "other", START));
    assert_eq!(admitted.count(), 2);
}

#[test]
fn what_is_undone_was_never_charged() {
    let mut origin = overloaded();
    assert!(admits(&mut origin, "other", START));
    for _ in 0..100 {
        let tried = origin.check(&client("other"), 1, 0.5, START);
        assert!(tried.admitted);
        origin.undo(&client("other"), 1, START);
    }
    assert!(admits(&mut origin, "other", START));
    assert!(!admits(&mut origin, "other", START));
}

#[test]
fn a_clock_that_steps_back_changes_nothing() {
    let mut origin = overloaded();
    let later = START.plus(1_000);
    while admits(&mut origin, "eager", later) {}
    let before = origin.check(&client("eager"), 0, 0.5, later);
    for back_ms in [1, 1_000, 30_000] {
        let stepped = weir_shared::units::EpochMs(later.0 - back_ms);
        assert_eq!(origin.check(&client("eager"), 0, 0.5, stepped), before);
    }
    assert!(!admits(&mut origin, "noisy", later));
}

#[test]
fn a_rotation_forgives_nobody() {
    let config = Config {
        rotate_ms: 10_000,
        ..Config::default()
    };
    let mut origin = Resource::new(&config, Revision(1), &[7; 32], "origin", START);
    for _ in 0..2_000 {
        origin.report(&client("noisy"), Outcome::Failure, START);
    }
    for second in [9, 11, 21] {
        let now = START.plus(second * 1_000);
        // What keeps the resource failing, so that the rate does not recover.
        for _ in 0..5 {
            origin.report(&client("noisy"), Outcome::Failure, now);
        }
        assert!(!admits(&mut origin, "noisy", now), "after {second} s");
        assert!(admits(&mut origin, &format!("quiet-{second}"), now));
    }
}

/// An origin of 24 requests a second, which fails the first ten of all: eight tenants ask for one a second each, another for 71.
/// What the eight got of what they asked for in the second ten seconds, and how much of the origin all used.
fn after_a_start_that_failed() -> (f64, f64) {
    let mut resource = origin();
    let (mut room, mut first) = (0.0_f64, 10);
    let (mut asked, mut modest, mut all) = (0, 0, 0);
    for ms in 0..20_000 {
        let now = START.plus(ms);
        room = (room + 0.024).min(24.0);
        let quiet = (0..8).filter(|index| ms % 1_000 == index * 5);
        let noisy = (ms % 14 == 0).then_some(8);
        for tenant in quiet.chain(noisy) {
            let name = format!("tenant-{tenant}");
            asked += u32::from(ms >= 10_000 && tenant < 8);
            if !admits(&mut resource, &name, now) {
                continue;
            }
            let served = first == 0 && room >= 1.0;
            let outcome = if served {
                Outcome::Success
            } else {
                Outcome::Failure
            };
            resource.report(&client(&name), outcome, now);
            first -= u32::from(first > 0);
            room -= f64::from(u8::from(served));
            all += u32::from(ms >= 10_000 && served);
            modest += u32::from(ms >= 10_000 && served && tenant < 8);
        }
    }
    (f64::from(modest) / f64::from(asked), f64::from(all) / 240.0)
}

#[test]
fn an_origin_whose_first_answers_all_fail_is_found_as_fast() {
    let (modest, used) = after_a_start_that_failed();
    assert!(modest > 0.9, "{modest}");
    assert!(used > 0.7, "{used}");
}

#[test]
fn memory_depends_on_the_configuration_alone() {
    let mut origin = overloaded();
    let before = origin.bytes();
    for number in 0..20_000 {
        let name = format!("client-{number}");
        admits(&mut origin, &name, START.plus(number));
        origin.report(&client(&name), Outcome::Failure, START.plus(number));
    }
    assert_eq!(origin.bytes(), before);
    assert!(before < 110_000, "{before} bytes");
}

#[test]
fn check_and_report_allocate_nothing() {
    let mut origin = overloaded();
    let names: Vec<String> = (0..100).map(|number| format!("client-{number}")).collect();
    let mut admitted = 0;
    let counted = measure(|| {
        for request in 0..10_000 {
            let now = START.plus(request / 10);
            let client = client(&names[request as usize % names.len()]);
            let verdict = black_box(&mut origin).check(&client, 1, 0.5, now);
            if verdict.admitted {
                admitted += 1;
                let failed = request % 7 == 0;
                let outcome = if failed {
                    Outcome::Failure
                } else {
                    Outcome::Success
                };
                origin.report(&client, outcome, now);
            }
        }
    });
    assert_eq!(counted.count_total, 0);
    assert!((1..10_000).contains(&admitted), "{admitted}");
}

/// Requests admitted of one that asks a hundred times a second for a minute, while the resource keeps failing a little.
fn admitted_in_a_minute(weight: f64, cost: u64) -> f64 {
    let mut origin = origin();
    for turn in 0..100 {
        let outcome = [Outcome::Failure, Outcome::Success][turn % 2];
        origin.report(&client("noisy"), outcome, START);
    }
    let mut admitted = 0.0;
    for tick in 0..6_000 {
        let now = START.plus(tick * 10);
        let failed = tick % 300 == 0;
        let outcome = if failed {
            Outcome::Failure
        } else {
            Outcome::Success
        };
        origin.report(&client("noisy"), outcome, now);
        let asker = weighing("asker", weight);
        admitted += f64::from(u8::from(origin.check(&asker, cost, 0.5, now).admitted));
    }
    admitted
}

#[test]
fn twice_the_weight_is_twice_the_requests_and_twice_the_cost_half_of_them() {
    let one = admitted_in_a_minute(1.0, 4);
    assert!((10.0..5_000.0).contains(&one), "{one}");
    for (weight, cost, expected) in [(2.0, 4, 2.0), (1.0, 8, 0.5), (4.0, 16, 1.0)] {
        let ratio = admitted_in_a_minute(weight, cost) / one;
        assert!(
            (ratio / expected - 1.0).abs() < 0.15,
            "{weight} {cost}: {ratio}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_wait_exceeds_five_minutes_and_no_first_request_is_denied(
        costs in prop::collection::vec(1_u64..1_000_000_000, 1..50),
        weights in prop::collection::vec(1_u32..1_000, 1..10),
    ) {
        let mut origin = overloaded();
        for (turn, cost) in costs.iter().enumerate() {
            let weight = f64::from(weights[turn % weights.len()]) / 10.0;
            let now = START.plus(turn as u64);
            let verdict = origin.check(&weighing("spender", weight), *cost, 0.5, now);
            prop_assert!(verdict.retry_after_ms <= 300_000);
            prop_assert_eq!(verdict.admitted, verdict.retry_after_ms == 0);
        }
        prop_assert!(origin.check(&weighing("newcomer", 1.0), 1, 0.5, START.plus(50)).admitted);
    }
}
