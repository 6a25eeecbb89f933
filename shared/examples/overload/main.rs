//! How fair an overloaded resource is under each rule: the source's scenarios and others, default settings.
//!
//! `cargo run --release -p weir-shared --example overload [SEEDS [SCENARIO]]`

mod limiter;
mod random;
mod run;
mod scenario;
mod world;

use weir_shared::wire::overload::Steering as Rule;

use limiter::{Coreless, Limiter, Nobody, Process};
use run::{Measured, run};
use scenario::Scenario;
use world::World;

/// Makes a limiter from a seed.
type Make = fn(u64) -> Box<dyn Limiter>;

fn limiters() -> [(&'static str, Make); 5] {
    [
        ("none", |_| Box::new(Nobody)),
        ("blue", |seed| Box::new(Process::new(Rule::Blue, seed))),
        ("coreless", |seed| Box::new(Coreless::new(seed))),
        ("fair_rate", |seed| {
            Box::new(Process::new(Rule::FairRate, seed))
        }),
        ("fair_rate 3x3", |seed| Box::new(World::new(seed))),
    ]
}

fn mean(runs: &[Measured], of: impl Fn(&Measured) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

fn show(scenario: &Scenario, seeds: u64) {
    println!("\n{} ({seeds} seeds)", scenario.name);
    println!(
        "  rule            Jain    (least)  utilization  worst  failed  success and units served by class; recovered"
    );
    for (name, limiter) in limiters() {
        let runs = (1..=seeds).map(|seed| run(scenario, limiter(seed).as_mut(), seed));
        let runs: Vec<Measured> = runs.collect();
        let least = runs.iter().map(|run| run.jain).fold(1.0, f64::min);
        let classes = (0..scenario.classes.len()).map(|class| {
            let success = mean(&runs, |run| run.success[class]);
            let units = mean(&runs, |run| run.served[class]);
            format!("{success:.3} ({units:.0})")
        });
        let classes: Vec<String> = classes.collect();
        let slowest = runs
            .iter()
            .map(|run| run.recovered_s.unwrap_or(f64::INFINITY));
        let slowest = slowest.fold(0.0, f64::max);
        let recovered = match scenario.changes.is_empty() {
            true => String::new(),
            false => format!("; {slowest} s at most"),
        };
        println!(
            "  {name:<14} {:.4}  ({least:.4})  {:.4}       {:.3}  {:.4}  {}{recovered}",
            mean(&runs, |run| run.jain),
            mean(&runs, |run| run.utilization),
            mean(&runs, |run| run.worst),
            mean(&runs, |run| run.failed),
            classes.join(" "),
        );
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seeds = arguments.next().and_then(|seeds| seeds.parse().ok());
    let only = arguments.next();
    let mut scenarios = scenario::published();
    scenarios.extend([scenario::one_heavy(), scenario::recovery()]);
    scenarios.extend(scenario::fresh());
    scenarios.extend(scenario::further());
    for scenario in &scenarios {
        if only.as_deref().is_none_or(|only| only == scenario.name) {
            show(scenario, seeds.unwrap_or(30));
        }
    }
}
