//! The figures as Markdown.

use std::time::Duration;

use weir_tests::load::Sample;
use weir_tests::spread::quantile;

use crate::Seen;
use crate::deployment::{LOADS, WINDOW_MS};

/// How far from the end of a window a check counts as one at its roll.
const ROLL_MS: u64 = 500;

pub fn print(all: &[Seen]) {
    println!(
        "Two isolates in two regions, windows of 10 s, demand of half the limit; requests at a fixed pace, late ones \
         included; all distances at the same time, their windows out of step. The distance is there and back, of each call from `Region` to \
         `Coordinator`. Rolls: from {ROLL_MS} ms before the end of a window to {ROLL_MS} ms after it. Milliseconds.\n"
    );
    println!(
        "| load, a budget | distance | checks | steady p50 | p99 | p99.9 | checks at rolls | p50 | p99 | p99.9 | not admitted |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (index, load) in LOADS.iter().enumerate() {
        for seen in all {
            let samples = &seen.loads[index];
            let (rolls, steady): (Vec<_>, Vec<_>) = samples.iter().partition(|one| is_roll(one));
            let refused = samples.iter().filter(|sample| !sample.is_wanted).count();
            println!(
                "| {} | {} ms | {} | {} | {refused} |",
                load.name,
                seen.distance_ms,
                figures(&steady),
                figures(&rolls)
            );
        }
    }
    println!("\nThe first check of an isolate whose region is busy:\n");
    println!("| distance | isolates | median | least | most |");
    println!("| --- | --- | --- | --- | --- |");
    for seen in all {
        let mut cold = seen.cold.clone();
        cold.sort_unstable();
        let at = |part| ms(quantile(&cold, part));
        println!(
            "| {} ms | {} | {} | {} | {} |",
            seen.distance_ms,
            cold.len(),
            at(0.5),
            at(0.0),
            at(1.0)
        );
    }
}

fn is_roll(sample: &Sample) -> bool {
    let into = sample.due_at_ms % WINDOW_MS;
    !(ROLL_MS..WINDOW_MS - ROLL_MS).contains(&into)
}

/// How many, and three of their quantiles.
fn figures(samples: &[&Sample]) -> String {
    let mut latencies: Vec<Duration> = samples.iter().map(|sample| sample.latency).collect();
    latencies.sort_unstable();
    if latencies.is_empty() {
        return "0 | | | ".to_owned();
    }
    let at = |part| ms(quantile(&latencies, part));
    format!(
        "{} | {} | {} | {}",
        latencies.len(),
        at(0.5),
        at(0.99),
        at(0.999)
    )
}

fn ms(latency: Duration) -> String {
    format!("{:.1}", latency.as_secs_f64() * 1e3)
}
