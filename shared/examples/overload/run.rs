//! One run: an origin that serves at most its capacity, as a bucket of one second's units that refills all the time and
//! fails what finds it empty at once; and what is measured of it.

use weir_shared::units::EpochMs;

use super::limiter::{Limiter, START};
use super::random::Random;
use super::scenario::Scenario;

/// What is measured.
pub struct Measured {
    /// Jain's index of what each client was served over its max-min entitlement to what the origin could serve.
    pub jain: f64,
    /// Units served of those that could have been: the capacity, or all that was asked for.
    pub utilization: f64,
    /// The least of those ratios.
    pub worst: f64,
    /// The part of the admitted requests that failed.
    pub failed: f64,
    /// The part of the requests that were served, by class.
    pub success: Vec<f64>,
    /// Units served, by class.
    pub served: Vec<f64>,
    /// Seconds from the last change of the capacity until the last client was served 95% of its requests over 5 s.
    pub recovered_s: Option<f64>,
}

pub fn run(scenario: &Scenario, limiter: &mut dyn Limiter, seed: u64) -> Measured {
    let askers = scenario.askers();
    let arrivals = scenario.arrivals(&mut Random::new(seed));
    let mut asked = vec![0.0; askers.len()];
    let mut served = vec![0.0; askers.len()];
    let (mut bucket, mut filled_s) = (scenario.capacity, 0.0);
    let (mut admitted, mut failed) = (0.0, 0.0);
    let mut last = vec![(0.0, 0.0); scenario.seconds as usize + 1];
    for arrival in arrivals {
        let asker = &askers[arrival.asker];
        let now = EpochMs(START.0 + (arrival.at_s * 1_000.0) as u64);
        let cost = asker.cost as f64;
        asked[arrival.asker] += cost;
        let is_last = arrival.asker + 1 == askers.len();
        let second = &mut last[arrival.at_s as usize];
        second.0 += f64::from(u8::from(is_last));
        if !limiter.check(asker, now) {
            continue;
        }
        admitted += 1.0;
        let capacity = scenario.capacity_at(arrival.at_s);
        bucket = (bucket + (arrival.at_s - filled_s) * capacity).min(capacity);
        filled_s = arrival.at_s;
        let fails = bucket < cost;
        if fails {
            failed += 1.0;
        } else {
            bucket -= cost;
            served[arrival.asker] += cost;
            second.1 += f64::from(u8::from(is_last));
        }
        limiter.report(asker, fails, now);
    }
    let weights: Vec<f64> = askers.iter().map(|asker| asker.weight as f64).collect();
    let capacity = scenario.capacity_units();
    let entitled = max_min(&asked, &weights, capacity);
    let ratios = served
        .iter()
        .zip(&entitled)
        .filter(|(_, units)| **units > 0.0);
    let ratios: Vec<f64> = ratios.map(|(served, units)| served / units).collect();
    let by_class = |units: &[f64]| {
        let mut sums = vec![0.0; scenario.classes.len()];
        for (asker, units) in askers.iter().zip(units) {
            sums[asker.class] += units;
        }
        sums
    };
    let served_by_class = by_class(&served);
    let success = served_by_class.iter().zip(by_class(&asked));
    Measured {
        jain: jain(&ratios),
        utilization: served.iter().sum::<f64>() / asked.iter().sum::<f64>().min(capacity),
        worst: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        failed: failed / admitted,
        success: success.map(|(served, asked)| served / asked).collect(),
        served: served_by_class,
        recovered_s: recovered(scenario, &last),
    }
}

fn recovered(scenario: &Scenario, last: &[(f64, f64)]) -> Option<f64> {
    const WINDOW_S: usize = 5;
    let from = scenario.changes.last()?.0 as usize;
    let found = (from + WINDOW_S..last.len()).find(|&until| {
        let window = &last[until - WINDOW_S..until];
        let asked: f64 = window.iter().map(|second| second.0).sum();
        let served: f64 = window.iter().map(|second| second.1).sum();
        served >= 0.95 * asked
    })?;
    Some((found - from) as f64)
}

/// Jain's index (Jain, Chiu and Hawe, 1984).
pub fn jain(ratios: &[f64]) -> f64 {
    let sum: f64 = ratios.iter().sum();
    let squares: f64 = ratios.iter().map(|ratio| ratio * ratio).sum();
    sum * sum / (ratios.len() as f64 * squares)
}

/// What each is entitled to: what it asked for, or its weight's part of what those leave that ask for less.
pub fn max_min(asked: &[f64], weights: &[f64], mut capacity: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..asked.len()).collect();
    order.sort_by(|&a, &b| (asked[a] / weights[a]).total_cmp(&(asked[b] / weights[b])));
    let mut weight: f64 = weights.iter().sum();
    let mut entitled = vec![0.0; asked.len()];
    for index in order {
        entitled[index] = asked[index].min(capacity * weights[index] / weight);
        capacity -= entitled[index];
        weight -= weights[index];
    }
    entitled
}
