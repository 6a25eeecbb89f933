//! The tables.

use allocation_counter::measure;

use weir_shared::ordered::OrderedMap;

use super::kernel::{GROUPS, Kernel};
use super::turns::{Spread, in_turns};
use super::{beside, in_v8};

/// Turns and runs of a turn.
const TURNS: usize = 41;
const RUNS: u64 = 20_000;

/// What the systems publish that the algorithms come from, or what was measured of them: figures of another machine.
const SOURCES: [(&str, &str); 5] = [
    ("leased spend", "10 ns (ThrottleKit)"),
    (
        "GCRA, admitted",
        "170 ns published, 214 ns measured (ThrottleKit)",
    ),
    ("fair, deny, 10,000 tenants, uniform", "53 us (ThrottleKit)"),
    ("federated, deny, 10,000 tenants", "264 us (ThrottleKit)"),
    (
        "overload: check and report",
        "2.8 us, 12 allocations (FAIR)",
    ),
];

struct Row {
    name: String,
    ns: Spread,
    allocations: f64,
}

/// Prints all of it, or what `only` names (`overload`, or `overload/report` of it): with times, and with those of V8, where
/// that is asked for.
///
/// # Errors
/// What of the module for V8 could not be built or run.
pub fn print(timed: bool, wasm: bool, only: &[String]) -> Result<(), String> {
    let (turns, runs) = if timed { (TURNS, RUNS) } else { (1, 100) };
    let groups = if timed { &GROUPS[..] } else { &GROUPS[..3] };
    let groups = groups
        .iter()
        .filter(|(name, _)| is_wanted(name, None, only));
    let rows: Vec<Row> = groups
        .flat_map(|(group, make)| {
            let mut kernels = make();
            kernels.retain(|kernel| is_wanted(group, Some(&kernel.name), only));
            rows(kernels, turns, runs)
        })
        .collect();
    let in_v8 = if wasm {
        eprintln!("building for V8, by the profile that ships");
        in_v8::time(TURNS, RUNS)?
    } else {
        OrderedMap::new()
    };
    println!(
        "Nanoseconds a decision: median [10th to 90th percentile] of {turns} turns of {runs} decisions.\n"
    );
    println!("| decision | native | V8 | allocations | the source |");
    println!("| --- | --- | --- | --- | --- |");
    for Row {
        name,
        ns,
        allocations,
    } in &rows
    {
        let in_v8 = in_v8
            .get(name)
            .map_or_else(|| "-".to_owned(), Spread::to_string);
        let source = SOURCES.iter().find(|(of, _)| of == name);
        let source = source.map_or("", |(_, told)| told);
        println!("| {name} | {ns} | {in_v8} | {allocations} | {source} |");
    }
    println!();
    if is_wanted("beside governor", None, only) {
        beside::print(turns);
    }
    Ok(())
}

/// Whether a part of the name of the group is asked for, and with it a part of the kernel's or none.
fn is_wanted(group: &str, kernel: Option<&str>, only: &[String]) -> bool {
    let names = |word: &String| {
        let (of_group, of_kernel) = word.split_once('/').unwrap_or((word, ""));
        group.contains(of_group) && kernel.is_none_or(|kernel| kernel.contains(of_kernel))
    };
    only.is_empty() || only.iter().any(names)
}

fn rows(mut kernels: Vec<Kernel>, turns: usize, runs: u64) -> Vec<Row> {
    if let Some(first) = kernels.first() {
        eprintln!("{} and {} more", first.name, kernels.len() - 1);
    }
    for kernel in &mut kernels {
        kernel.run(runs);
    }
    let taken = in_turns(kernels.len(), turns, runs, |index, runs| {
        kernels[index].run(runs)
    });
    let rows = kernels.iter_mut().zip(taken).map(|(kernel, taken)| {
        let counted = measure(|| kernel.run(runs));
        eprintln!("{}: {}", kernel.name, Spread::of(taken.iter().copied()));
        Row {
            name: kernel.name.clone(),
            ns: Spread::of(taken),
            allocations: counted.count_total as f64 / runs as f64,
        }
    });
    rows.collect()
}
