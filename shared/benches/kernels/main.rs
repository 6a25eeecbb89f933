//! What one decision costs, natively and in V8, beside the `governor` crate and what others publish of theirs.
//!
//! Prints the section of BENCHMARKS.md, or of it what arguments name (`leased gcra`, `overload/report`; `--native`: without
//! V8); what it does meanwhile goes to stderr. One thread. Time is told to whoever is
//! timed, by one addition a check: nobody reads a clock of the machine.

#[cfg(not(target_arch = "wasm32"))]
mod beside;
#[cfg(not(target_arch = "wasm32"))]
mod in_v8;
#[cfg(not(target_arch = "wasm32"))]
mod kernel;
#[cfg(not(target_arch = "wasm32"))]
mod table;
#[cfg(not(target_arch = "wasm32"))]
mod turns;

#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), String> {
    // `cargo test --benches` runs this too, to see that it does.
    let timed = std::env::args().any(|arg| arg == "--bench");
    let wasm = !std::env::args().any(|arg| arg == "--native");
    let only: Vec<String> = std::env::args().skip(1).collect();
    let only: Vec<String> = only
        .into_iter()
        .filter(|arg| !arg.starts_with("--"))
        .collect();
    table::print(timed, timed && wasm, &only)
}

#[cfg(target_arch = "wasm32")]
fn main() {}
