//! How fair the default settings are, measured against controls in the same run: no limiter, and `blue`. The figures of
//! thirty seeds come from `cargo run --release -p weir-shared --example overload`.

use crate::overload_simulation::limiter::{Limiter, Nobody, Process};
use crate::overload_simulation::run::{Measured, jain, max_min, run};
use crate::overload_simulation::scenario::{self, Scenario};
use crate::overload_simulation::world::World;
use weir_shared::wire::overload::Steering;

const SEEDS: u64 = 3;

fn mean(
    scenario: &Scenario,
    limiter: impl Fn(u64) -> Box<dyn Limiter>,
    of: impl Fn(&Measured) -> f64,
) -> f64 {
    let runs = (1..=SEEDS).map(|seed| of(&run(scenario, limiter(seed).as_mut(), seed)));
    runs.sum::<f64>() / SEEDS as f64
}

fn nobody(_: u64) -> Box<dyn Limiter> {
    Box::new(Nobody)
}

fn blue(seed: u64) -> Box<dyn Limiter> {
    Box::new(Process::new(Steering::Blue, seed))
}

fn fair_rate(seed: u64) -> Box<dyn Limiter> {
    Box::new(Process::new(Steering::FairRate, seed))
}

fn shared(seed: u64) -> Box<dyn Limiter> {
    Box::new(World::new(seed))
}

#[test]
fn the_measure_is_jains_index_of_max_min_shares() {
    assert_eq!(max_min(&[1.0, 10.0, 10.0], &[1.0; 3], 9.0), [1.0, 4.0, 4.0]);
    assert_eq!(max_min(&[9.0, 9.0], &[1.0, 2.0], 9.0), [3.0, 6.0]);
    assert_eq!(jain(&[1.0, 1.0]), 1.0);
    assert_eq!(jain(&[1.0, 0.0]), 0.5);
}

#[test]
fn noisy_neighbours_get_little_more_than_their_share() {
    let scenario = &scenario::published()[0];
    let fair = mean(scenario, fair_rate, |run| run.jain);
    let used = mean(scenario, fair_rate, |run| run.utilization);
    println!("noisy neighbours: {fair} of an equal share, {used} used");
    assert!(fair > 0.94, "{fair}");
    assert!(used > 0.99, "{used}");
    assert!(mean(scenario, nobody, |run| run.jain) < 0.25);
    assert!(mean(scenario, blue, |run| run.jain) < 0.75);
    let apart = mean(scenario, shared, |run| run.jain);
    println!("three regions: {apart} of {fair}");
    assert!(apart > fair - 0.025, "{apart} of {fair}");
}

#[test]
fn equals_are_served_more_alike_than_without_a_limiter() {
    let scenario = &scenario::published()[1];
    let fair = mean(scenario, fair_rate, |run| run.jain);
    let control = mean(scenario, nobody, |run| run.jain);
    assert!(fair > control + 0.005, "{fair} {control}");
    assert!(mean(scenario, blue, |run| run.jain) < control);
    assert!(mean(scenario, shared, |run| run.jain) > control);
}

#[test]
fn a_surge_leaves_most_to_those_who_were_there() {
    let scenario = &scenario::published()[2];
    let fair = mean(scenario, fair_rate, |run| run.jain);
    assert!(fair > 0.993, "{fair}");
    let used = mean(scenario, fair_rate, |run| run.utilization);
    println!("a surge: {fair}, {used} used");
    assert!(used > 0.91, "{used}");
    assert!(used > mean(scenario, blue, |run| run.utilization));
    assert!(mean(scenario, nobody, |run| run.jain) < 0.8);
    let apart = mean(scenario, shared, |run| run.jain);
    println!("three regions: {apart} of {fair}");
    assert!(apart > fair - 0.02, "{apart} of {fair}");
}

#[test]
fn twenty_modest_clients_hardly_notice_one_that_asks_fifty_times_as_often() {
    let scenario = scenario::one_heavy();
    let success = mean(&scenario, fair_rate, |run| run.success[0]);
    println!("modest clients beside one heavy: {success}");
    assert!(success > 0.99, "{success}");
    assert!(mean(&scenario, nobody, |run| run.success[0]) < 0.65);
}

#[test]
fn a_heavy_client_is_back_soon_after_the_contention_ends() {
    let scenario = scenario::recovery();
    let slowest = |limiter: fn(u64) -> Box<dyn Limiter>| {
        let runs = (1..=SEEDS).map(|seed| run(&scenario, limiter(seed).as_mut(), seed));
        let seconds = runs.map(|run| run.recovered_s.unwrap_or(f64::INFINITY));
        seconds.fold(0.0, f64::max)
    };
    assert!(slowest(fair_rate) <= 30.0);
    assert!(slowest(blue) > 60.0);
}

#[test]
fn the_rate_of_an_origin_that_nobody_knows_is_found_within_seconds() {
    for scenario in scenario::fresh() {
        let name = scenario.name;
        let modest = mean(&scenario, fair_rate, |run| run.success[0]);
        let used = mean(&scenario, fair_rate, |run| run.utilization);
        assert!(modest > 0.94, "{name}: {modest}");
        assert!(used > 0.85, "{name}: {used}");
        let control = mean(&scenario, nobody, |run| run.success[0]);
        assert!(control < 0.5, "{name}: {control}");
    }
}

#[test]
fn weights_and_costs_are_honoured() {
    let further = scenario::further();
    let [light, middle, heavy] =
        [0, 1, 2].map(|class| mean(&further[0], fair_rate, |run| run.served[class]));
    assert!(
        (middle / light / 2.0 - 1.0).abs() < 0.1,
        "{middle} of {light}"
    );
    assert!(
        (heavy / middle / 2.0 - 1.0).abs() < 0.1,
        "{heavy} of {middle}"
    );
    let [cheap, dear] = [0, 1].map(|class| mean(&further[1], fair_rate, |run| run.served[class]));
    assert!((dear / cheap - 1.0).abs() < 0.2, "{dear} of {cheap}");
}
