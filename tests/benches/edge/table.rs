//! The figures as Markdown.

use weir_tests::spread::{Spread, quantile};

use crate::contenders::{BASE, BATCHED, CALLED, CALLED_WEIR, SINGLE};
use crate::turns::{Turn, Turns};

pub fn print(all: &[Turns]) {
    let base = &all[BASE];
    println!(
        "`POST /v1/check` through plain `workerd serve`, each contender warm, {} turns of each; 16 kept connections. The \
         median of the turns, and between which bounds the middle half of them lies; ratios are of turns of the same \
         round. Processor time is that of the whole workerd process: contacts with objects, accounting and garbage \
         collection are in it, the load generator is not.\n",
        base.turns.len()
    );
    println!("| request | answers/s | of (a) | CPU us an answer | (a) of it | p50 ms | p99 ms |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for row in all {
        println!(
            "| {} | {:.0} | {:.2} | {:.1} | {:.2} | {:.1} | {:.1} |",
            row.name,
            row.spread(|turn| turn.answers_per_sec),
            ratio(row, base, |turn| turn.answers_per_sec),
            row.spread(|turn| turn.cpu_us),
            ratio(base, row, |turn| turn.cpu_us),
            row.latency_ms(0.5),
            row.latency_ms(0.99),
        );
    }
    let (batch, single) = (&all[BATCHED], &all[SINGLE]);
    let decisions = batch.decisions as f64;
    println!(
        "\nDecisions of a batch over those of single checks: {:.1} times as many a second, {:.1} times as many in the \
         same processor time.",
        scaled(ratio(batch, single, |turn| turn.answers_per_sec), decisions),
        scaled(ratio(single, batch, |turn| turn.cpu_us), decisions),
    );
    let (weir, called) = (&all[CALLED_WEIR], &all[CALLED]);
    println!(
        "\nCalls of `check` over a service binding: {:.2} of those of (c) a second, {:.2} in the same processor time.",
        ratio(weir, called, |turn| turn.answers_per_sec),
        ratio(called, weir, |turn| turn.cpu_us),
    );
}

/// Each request to Weir and to the version before, given by their places; nothing where there is none.
pub fn print_pairs(all: &[Turns], pairs: &[(usize, usize)]) {
    if pairs.is_empty() {
        return;
    }
    println!("\nThe version before in the same run, and Weir in ratios to it:\n");
    println!(
        "| request | before: answers/s | CPU us an answer | Weir: answers of it | CPU of it |"
    );
    println!("| --- | --- | --- | --- | --- |");
    for &(now, before) in pairs {
        let (now, before) = (&all[now], &all[before]);
        println!(
            "| {} | {:.0} | {:.1} | {:.2} | {:.2} |",
            now.name,
            before.spread(|turn| turn.answers_per_sec),
            before.spread(|turn| turn.cpu_us),
            ratio(now, before, |turn| turn.answers_per_sec),
            ratio(now, before, |turn| turn.cpu_us),
        );
    }
}

/// Of each round one ratio.
fn ratio(one: &Turns, other: &Turns, of: fn(&Turn) -> f64) -> Spread {
    let pairs = one.turns.iter().zip(&other.turns);
    Spread::of(pairs.map(|(one, other)| of(one) / of(other)))
}

fn scaled(spread: Spread, by: f64) -> Spread {
    Spread {
        low: spread.low * by,
        median: spread.median * by,
        high: spread.high * by,
    }
}

impl Turns {
    fn spread(&self, of: fn(&Turn) -> f64) -> Spread {
        Spread::of(self.turns.iter().map(of))
    }

    /// The median of the turns' quantiles.
    fn latency_ms(&self, part: f64) -> f64 {
        let quantiles = self.turns.iter();
        Spread::of(quantiles.map(|turn| f64::from(quantile(&turn.latencies_us, part)) / 1e3)).median
    }
}
