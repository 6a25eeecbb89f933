//! The cap and its companions, over many seeded runs of a simulated deployment.
//!
//! `WEIR_SEED=n` replays one seed and prints every event; `WEIR_SEEDS=n` runs that many.

use std::env;

use crate::simulator::run;
use crate::simulator::setup::Setup;

const SEEDS: u64 = 500;

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
    )
}

/// Runs what `drawn` makes of many seeds and prints what came of it.
fn runs(name: &str, drawn: impl Fn(u64) -> Setup) {
    let one = number("WEIR_SEED");
    let seeds = one.map_or(0..number("WEIR_SEEDS").unwrap_or(SEEDS), |seed| {
        seed..seed + 1
    });
    let (mut events, mut admitted, mut denied, mut unavailable) = (0, 0, 0, 0);
    let (mut dropped, mut given_back, mut moves) = ([0; 3], [0; 2], 0);
    let mut failed = Vec::new();
    for seed in seeds.clone() {
        let mut setup = drawn(seed);
        setup.traced = one.is_some();
        let report = run(&setup);
        let truth = report.truth;
        events += report.events;
        denied += truth.denials.len();
        unavailable += truth.unavailable;
        admitted += truth.admitted_calls();
        moves += truth.moves;
        let parts = [
            truth.holders_dropped,
            truth.escrows_dropped,
            truth.pools_dropped,
        ];
        for (sum, dropped) in dropped.iter_mut().zip(parts) {
            *sum += dropped;
        }
        for (sum, back) in given_back.iter_mut().zip([truth.unspends, truth.refunds]) {
            *sum += back;
        }
        if let Some(violation) = truth.violation {
            println!(
                "{name} WEIR_SEED={seed}: {violation:?} of {} in {} ms {:?} under {:?}",
                setup.limit, setup.window_ms, setup.cycle, setup.faults
            );
            failed.push(seed);
        }
    }
    println!(
        "{name}: {} runs, {events} events: {admitted} calls admitted, {denied} denied, {unavailable} unavailable; \
         dropped {} holders, {} escrows, {} pools; given back {} in the isolate, {} in the region; {moves} moves",
        seeds.end - seeds.start,
        dropped[0],
        dropped[1],
        dropped[2],
        given_back[0],
        given_back[1],
    );
    assert!(
        failed.is_empty(),
        "{} runs failed: {failed:?}",
        failed.len()
    );
}

#[test]
fn no_run_breaks_an_invariant() {
    runs("budget", Setup::drawn);
}

#[test]
fn no_run_of_a_key_that_comes_and_goes_breaks_an_invariant() {
    runs("key", Setup::windows);
}

#[test]
fn no_run_of_a_shared_pool_breaks_an_invariant() {
    runs("shared", Setup::shared);
}

#[test]
fn no_run_with_slices_of_windows_to_come_breaks_an_invariant() {
    runs("standing", Setup::standing);
}

#[test]
fn no_run_of_a_rolling_window_breaks_an_invariant() {
    runs("rolling", Setup::rolling);
}

#[test]
fn no_run_with_edits_of_everything_breaks_an_invariant() {
    runs("edited", Setup::edited);
}

#[test]
fn no_run_of_objects_that_write_exactly_what_they_lent_before_they_sleep_breaks_an_invariant() {
    runs("resting", Setup::resting);
}

#[test]
fn no_run_of_regions_with_branches_that_come_and_go_breaks_an_invariant() {
    runs("branched", Setup::branched);
}

/// Without faults and with demand above the limit every whole window is used to the last unit, by costs of one.
#[test]
fn steady_demand_above_the_limit_uses_windows_to_the_last_unit() {
    for (limit, permille) in [(60, 2_000), (300, 1_300), (1_000, 1_200)] {
        let mut windows = 0;
        for seed in 0..20 {
            let report = run(&Setup::steady(seed, limit, permille));
            assert_eq!(report.truth.violation, None, "seed {seed}");
            for (label, window) in &report.truth.windows {
                // The first window was short, the last is not over.
                if *label < 2 || window.ends_at_ms > report.ended_ms {
                    continue;
                }
                windows += 1;
                assert_eq!(window.admitted, limit, "seed {seed}, window {label}");
            }
        }
        println!("limit {limit}, demand {permille} permille: all of {windows} windows used whole");
        assert!(windows >= 20 * 3, "{windows} windows were measured");
    }
}

/// Without faults and with demand above the limit most of a rolling window is used. What is not was leased when a part
/// ended, so parts have to be long beside a round trip, which takes 80 ms here from an isolate to the coordinator.
#[test]
fn steady_demand_above_the_limit_uses_most_of_a_rolling_window() {
    const WINDOWS: u64 = 5;
    for (window_ms, parts, least) in [(60_000, 10, 950), (10_000, 10, 850), (10_000, 1, 930)] {
        let (mut admitted, mut all) = (0, 0);
        for (limit, permille) in [(60, 2_000), (300, 1_300), (1_000, 1_200)] {
            for seed in 0..4 {
                let setup = Setup::steady_rolling(seed, limit, permille, (window_ms, parts));
                let report = run(&setup);
                assert_eq!(report.truth.violation, None, "seed {seed}");
                let from_ms = report.ended_ms - WINDOWS * window_ms;
                admitted += report.truth.admitted_between(from_ms, report.ended_ms);
                all += WINDOWS * limit;
            }
        }
        let used = admitted * 1_000 / all;
        println!("a window of {window_ms} ms in {parts} parts: {used} permille used");
        assert!((least..=1_050).contains(&used), "{used} permille");
    }
}
