//! How far the design goes before one object passes 200 calls a second: the formula of each class of objects, and what
//! the simulator counts as isolates, regions, rates and tenants grow.

#![allow(missing_docs, reason = "a benchmark has no interface")]

mod branches;
mod curve;
mod formula;
mod month;
mod prices;
#[path = "../../tests"]
mod promises {
    pub(crate) mod random;
    pub(crate) mod simulator;
}

use promises::{random, simulator};
use simulator::run;
use simulator::setup::Setup;
use simulator::shapes::{Shape, Used};

/// The window of the simulated budget.
const WINDOW_MS: u64 = 10_000;

const WINDOWS: u64 = 3;

fn main() {
    let asked = |name: &str| std::env::args().any(|argument| argument == name);
    if asked("month") {
        return month::print();
    }
    if asked("branches") {
        return branches::print();
    }
    formula::print();
    println!(
        "\n### What the simulator counts\n\nOne budget, steady demand of 1.1 of its limit, windows of 10 s, no branches. Calls a second \
         of one object; those of the region are the exchanges that the simulator counts, and the contacts by formula, as if \
         none of these carried an exchange.\n"
    );
    println!(
        "| what grows | checks/s | regions | isolates a region | tenants | `Region`: exchanges | and contacts | \
         `Coordinator` | used of the limit | first past {} |",
        formula::CALLS_PER_SEC_MAX
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for rate in [100, 1_000, 10_000, 50_000] {
        row("rate", rate, (3, 4), 0);
    }
    for isolates in [1, 4, 16, 32, 64, 128, 256] {
        row("isolates", 10_000, (1, isolates), 0);
    }
    for regions in [1, 3, 6, 16] {
        row("regions", 10_000, (regions, 4), 0);
    }
    for tenants in [1, 10, 100, 1_000] {
        row("tenants that share", 2_000, (3, 4), tenants);
    }
    formula::print_capacity();
    println!();
    curve::print();
}

fn row(what: &str, rate: u64, (regions, isolates): (usize, usize), tenants: usize) {
    eprintln!("{what}: {rate}/s, {regions} x {isolates}, {tenants} tenants");
    let mut setup = if tenants == 0 {
        Setup::shaped(Shape::Steady, rate, (regions, isolates), WINDOW_MS, WINDOWS)
    } else {
        let shape = Shape::ZipfShared;
        Setup::shaped_by(
            shape,
            tenants,
            rate,
            (regions, isolates),
            WINDOW_MS,
            WINDOWS,
        )
    };
    setup.unchecked = true;
    let used: Used = run(&setup).used(&setup);
    let exchanges = used.region_calls / used.seconds / regions as f64;
    let contacts = formula::contacts_per_sec(isolates as f64);
    let coordinator = used.coordinator_calls / used.seconds;
    let first = formula::first_past(exchanges + contacts, coordinator);
    println!(
        "| {what} | {rate} | {regions} | {isolates} | {} | {exchanges:.1} | {contacts:.1} | {coordinator:.1} | {:.3} | {first} |",
        if tenants == 0 {
            "-".to_owned()
        } else {
            tenants.to_string()
        },
        used.utilization,
    );
}
