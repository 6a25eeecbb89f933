//! What one check of the generic cell rate algorithm costs, beside the `governor` crate.
//!
//! Criterion times each contender by itself. Then all of them take turns, so that what else the machine does hits them
//! alike, and the ratio of one run is printed. One thread. Time is told to both, by one addition a check: neither
//! reads a clock of the machine.

#[cfg(not(target_arch = "wasm32"))]
mod clock;
#[cfg(not(target_arch = "wasm32"))]
mod many_keys;
#[cfg(not(target_arch = "wasm32"))]
mod one_key;
#[cfg(not(target_arch = "wasm32"))]
mod turns;

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    let mut scenarios = one_key::scenarios();
    scenarios.extend(many_keys::scenarios());
    let mut criterion = criterion::Criterion::default().configure_from_args();
    for scenario in &mut scenarios {
        scenario.time_each(&mut criterion);
    }
    criterion.final_summary();
    // `cargo test --benches` runs this too, to see that it does.
    if std::env::args().any(|arg| arg == "--bench") {
        for scenario in &mut scenarios {
            scenario.time_in_turns();
        }
    }
}

#[cfg(target_arch = "wasm32")]
fn main() {}
