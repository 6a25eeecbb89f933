//! What is compared takes turns, so that what else the machine does hits all of it alike.

#![allow(
    clippy::disallowed_methods,
    reason = "the ban is for wasm32; the benchmark runs natively only"
)]

use std::time::Instant;

/// The middle of many figures, and where four in five of them lie.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    /// Of at least one figure.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
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
        let digits = if *median < 10.0 { 1 } else { 0 };
        write!(f, "{median:.digits$} [{low:.digits$} to {high:.digits$}]")
    }
}

/// Nanoseconds of one act in each of `turns` turns of `acts` acts, for each contender: `run(contender, acts)`.
pub fn in_turns(
    contenders: usize,
    turns: usize,
    acts: u64,
    mut run: impl FnMut(usize, u64),
) -> Vec<Vec<f64>> {
    let mut taken = vec![Vec::with_capacity(turns); contenders];
    for turn in 0..turns {
        for index in 0..contenders {
            let index = (index + turn) % contenders;
            let start = Instant::now();
            run(index, acts);
            taken[index].push(start.elapsed().as_nanos() as f64 / acts as f64);
        }
    }
    taken
}
