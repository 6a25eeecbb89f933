//! The cap and its companions, over many seeded runs of a simulated deployment.
//!
//! `WEIR_SEED=n` replays one seed and prints every event; `WEIR_SEEDS=n` runs that many.

#![cfg(not(target_arch = "wasm32"))]

mod simulator;

use std::env;

use simulator::run;
use simulator::setup::Setup;

const SEEDS: u64 = 2_000;

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
    )
}

#[test]
fn no_run_breaks_an_invariant() {
    let one = number("WEIR_SEED");
    let seeds = one.map_or(0..number("WEIR_SEEDS").unwrap_or(SEEDS), |seed| {
        seed..seed + 1
    });
    let (mut events, mut admitted, mut denied, mut unavailable) = (0, 0, 0, 0);
    let mut failed = Vec::new();
    for seed in seeds.clone() {
        let mut setup = Setup::drawn(seed);
        setup.traced = one.is_some();
        let report = run(&setup);
        events += report.events;
        denied += report.truth.denied;
        unavailable += report.truth.unavailable;
        admitted += report.truth.admitted_calls();
        if let Some(violation) = report.truth.violation {
            println!("WEIR_SEED={seed}: {violation:?} under {:?}", setup.faults);
            failed.push(seed);
        }
    }
    println!(
        "{} runs, {events} events: {admitted} calls admitted, {denied} denied, {unavailable} unavailable",
        seeds.end - seeds.start
    );
    assert!(
        failed.is_empty(),
        "{} runs failed: {failed:?}",
        failed.len()
    );
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
