//! Contenders, timed one after the other and in turns.

#![allow(
    clippy::disallowed_methods,
    reason = "the ban is for wasm32; the benchmark runs natively only"
)]

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};

/// Turns of each contender.
const TURNS: usize = 301;

/// Runs so many checks.
type Checks = Box<dyn FnMut(u64)>;

/// One way to do the same.
pub struct Contender {
    name: &'static str,
    run: Checks,
}

/// Ways to do the same, the first two of which are compared.
pub struct Scenario {
    /// What they do.
    pub name: &'static str,
    /// Checks of one turn.
    pub checks: u64,
    /// The ways.
    pub contenders: Vec<Contender>,
}

impl Contender {
    /// A way to run so many checks.
    pub fn new(name: &'static str, run: impl FnMut(u64) + 'static) -> Self {
        let run = Box::new(run);
        Self { name, run }
    }

    fn time(&mut self, checks: u64) -> Duration {
        let start = Instant::now();
        (self.run)(checks);
        start.elapsed()
    }
}

impl Scenario {
    /// Criterion's figures of each.
    pub fn time_each(&mut self, criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group(self.name);
        group.throughput(Throughput::Elements(1));
        for contender in &mut self.contenders {
            group.bench_function(contender.name, |bencher| {
                bencher.iter_custom(|checks| contender.time(checks));
            });
        }
        group.finish();
    }

    /// Prints the nanoseconds of a check, and how many times as long the first takes as each.
    pub fn time_in_turns(&mut self) {
        let mut turns = vec![Vec::with_capacity(TURNS); self.contenders.len()];
        for turn in 0..TURNS {
            for index in 0..self.contenders.len() {
                let index = (index + turn) % self.contenders.len();
                let taken = self.contenders[index].time(self.checks);
                turns[index].push(taken.as_nanos() as f64 / self.checks as f64);
            }
        }
        println!(
            "\n{}: median [10th to 90th percentile] of {TURNS} turns",
            self.name
        );
        for (contender, taken) in self.contenders.iter().zip(&turns) {
            let ratios = turns[0].iter().zip(taken).map(|(first, this)| first / this);
            let (ns, ratio) = (Spread::of(taken.iter().copied()), Spread::of(ratios));
            println!("  {:<20} {ns} ns   weir / this: {ratio}", contender.name);
        }
    }
}

/// The middle of many figures, and where four in five of them lie.
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    fn of(figures: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.collect();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| sorted[(part * (sorted.len() - 1) as f64) as usize];
        Self {
            low: at(0.1),
            median: at(0.5),
            high: at(0.9),
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { low, median, high } = self;
        write!(f, "{median:7.2} [{low:.2} to {high:.2}]")
    }
}
