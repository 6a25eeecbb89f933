//! Demand of many shapes, of seeds that nothing was tuned by: one table, each row beside whoever comes first. `WEIR_SEEDS=n` is the
//! mean of so many.

use super::{Figures, SIZE, WINDOW_MS, figures};
use crate::simulator::setup::Setup;
use weir_shared::fairness::ask::{Above, Floor, SetAside};
use weir_shared::fairness::weight::Weight;
use weir_shared::wire::exchange::RuleBody;

const LIMIT: u64 = 20_000;
const WINDOWS: u64 = 6;
const PLACES: usize = SIZE.0 * SIZE.1;
const FIRST_SEED: u64 = 101;

/// What is asked for beyond the limit, in all.
const DEMAND: f64 = 1.1;

/// Demand of one shape: the tenants' weights are all the same.
type Shape = fn(seed: u64) -> Setup;

fn tenants(seed: u64, limit: u64, count: usize) -> Setup {
    let setup = Setup::measured(seed, SIZE, (limit, WINDOW_MS), WINDOWS);
    setup.shared_by(RuleBody::Pooled, &vec![1.0; count])
}

/// A hundred tenants, the second of which asks `2^exponent` times less often than the first, the third `3^exponent` times.
fn zipf(seed: u64, exponent: f64, demand: f64) -> Setup {
    let ranks = (1..=100_u32).map(|rank| f64::from(rank).powf(-exponent));
    let all: f64 = ranks.clone().sum();
    let setup = tenants(seed, LIMIT, 100);
    ranks.enumerate().fold(setup, |setup, (tenant, part)| {
        setup.asks_everywhere(Some(tenant), 1, demand * LIMIT as f64 * part / all)
    })
}

/// Everybody asks at twice the rate, every other second.
fn bursts(seed: u64) -> Setup {
    let mut setup = zipf(seed, 1.1, 2.0 * DEMAND);
    for asker in &mut setup.askers {
        (asker.late_ms, asker.every_ms) = (1_000, 2_000);
    }
    setup
}

/// Each tenant is quiet for half of its own time, of 3 to 9 s.
fn on_and_off(seed: u64) -> Setup {
    let mut setup = zipf(seed, 0.8, 2.0 * DEMAND);
    for asker in &mut setup.askers {
        let every_ms = 3_000 + asker.tenant.unwrap_or(0) as u64 * 61;
        (asker.late_ms, asker.every_ms) = (every_ms / 2, every_ms);
    }
    setup
}

/// One tenant asks for three times the limit at two isolates; the other 99 want less than their share, .6 of the limit in all.
fn flood(seed: u64) -> Setup {
    let setup = tenants(seed, LIMIT, 100);
    let setup = [0, 7].iter().fold(setup, |setup, place| {
        setup.asks(*place, Some(0), 1, 1.5 * LIMIT as f64)
    });
    (1..100).fold(setup, |setup, tenant| {
        setup.asks_everywhere(Some(tenant), 1, 0.6 * LIMIT as f64 / 99.0)
    })
}

/// One of three regions is quiet for a window and a half, and returns.
fn quiet_region(seed: u64) -> Setup {
    let mut setup = zipf(seed, 1.1, DEMAND * 1.2);
    let here = |place: usize| place.is_multiple_of(SIZE.0);
    for asker in setup.askers.iter_mut().filter(|one| here(one.place)) {
        (asker.late_ms, asker.every_ms) = (15_000, 30_000);
    }
    setup
}

/// Requests of 1, 10 and 1,000 units, each a third of the demand.
fn mixed_costs(seed: u64) -> Setup {
    const UNITS: u64 = 50 * LIMIT;
    let setup = tenants(seed, UNITS, 30);
    (0..30).fold(setup, |setup, tenant| {
        let cost = [1, 10, 1_000][tenant % 3];
        // What costs a unit is asked for at one isolate: else it would be all of the run.
        let units = DEMAND * UNITS as f64 / 30.0;
        match cost {
            1 => setup.asks(tenant % PLACES, Some(tenant), 1, units),
            _ => setup.asks_everywhere(Some(tenant), cost, units),
        }
    })
}

/// Thirty of a hundred are below one of three times their weight, which may borrow little; ten have a ceiling.
fn nested(seed: u64) -> Setup {
    let mut setup = zipf(seed, 0.8, DEMAND);
    for (index, tenant) in setup.tenants.iter_mut().enumerate() {
        let claim = &mut tenant.claimant.claim;
        match index % 10 {
            0 => claim.ceiling = Some(LIMIT / 50),
            1..=3 => claim.above.push(Above {
                name: "group".to_owned(),
                weight: Weight::try_from(3.0).unwrap(),
                borrow_max: Some(LIMIT / 10),
                lend_max: None,
                ceiling: None,
                floor: Floor::default(),
                floors: SetAside::default(),
            }),
            _ => {}
        }
    }
    setup
}

fn mean(of: impl Fn(u64) -> Figures) -> Figures {
    let seeds = std::env::var("WEIR_SEEDS").map_or(1, |seeds| seeds.parse().expect("a number"));
    let all: Vec<Figures> = (FIRST_SEED..FIRST_SEED + seeds).map(of).collect();
    let mean = |number: fn(&Figures) -> f64| all.iter().map(number).sum::<f64>() / all.len() as f64;
    Figures {
        used: mean(|one| one.used),
        waited: mean(|one| one.waited),
        denied: mean(|one| one.denied),
        calls: mean(|one| one.calls),
        off: mean(|one| one.off),
    }
}

#[test]
fn whatever_shape_demand_has_a_pooled_budget_is_used_up_and_fewer_wait_than_where_the_first_is_served()
 {
    let shapes: [(&str, Shape); 8] = [
        ("Zipf 0.8", |seed| zipf(seed, 0.8, DEMAND)),
        ("Zipf 1.1", |seed| zipf(seed, 1.1, DEMAND)),
        ("Zipf 1.4", |seed| zipf(seed, 1.4, DEMAND)),
        ("bursts", bursts),
        ("on and off", on_and_off),
        ("a flood", flood),
        ("a quiet region", quiet_region),
        ("costs 1, 10, 1,000", mixed_costs),
    ];
    println!("demand              rule        used  waited  denied  calls a check  off max-min");
    for (name, shape) in shapes {
        let first_come = row(name, shape, None);
        let pooled = row(name, shape, Some(RuleBody::Pooled));
        assert!(
            pooled.used >= first_come.used - 0.045,
            "{name}: {pooled:?}, {first_come:?}"
        );
        assert!(
            pooled.waited <= first_come.waited,
            "{name}: {pooled:?}, {first_come:?}"
        );
        assert!(
            pooled.off <= 0.6 * first_come.off,
            "{name}: {pooled:?}, {first_come:?}"
        );
    }
    // Bounds keep units from those who ask for them: what of the limit they leave is nobody's.
    let bounded = row("nested, bounded", nested, Some(RuleBody::Pooled));
    assert!(bounded.used >= 0.7 && bounded.waited <= 0.25, "{bounded:?}");
}

fn row(name: &str, shape: Shape, rule: Option<RuleBody>) -> Figures {
    let one = mean(|seed| {
        let mut setup = shape(seed);
        setup.rule = rule;
        figures(setup)
    });
    println!(
        "{name:18}  {:10}  {:.3}  {:.4}  {:.4}  {:13.3}  {:11.3}",
        rule.map_or("first come", |_| "pooled"),
        one.used,
        one.waited,
        one.denied,
        one.calls,
        one.off
    );
    one
}
