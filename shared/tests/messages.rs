//! What deciding in leases costs in messages and rows, and that nobody waits between two windows: tables that the run
//! prints, each with its bound.

use crate::simulator::setup::Setup;
use crate::simulator::shapes::Shape;
use crate::simulator::{Report, run};
use weir_shared::wire::exchange::RuleBody;

const WINDOWS: u64 = 4;

/// Calls per million checks by the formula `1.2e6 H (1 + ln(L / H)) / checks per window`: each lease is half of what is
/// left for its holder, until one unit is.
fn formula(limit: u64, holders: u64, checks: f64) -> f64 {
    let (limit, holders) = (limit as f64, holders as f64);
    1.2e6 * holders * (1.0 + (limit / holders).ln()) / checks
}

/// Demand of 1.1 times the limit, evenly over three regions, by `tenants` that share or by everyone.
fn steady(limit: u64, isolates_per_region: usize, window_ms: u64, tenants: usize) -> Setup {
    let mut setup = Setup::measured(23, (3, isolates_per_region), (limit, window_ms), WINDOWS);
    if tenants > 0 {
        setup = setup.shared_by(RuleBody::Paced, &vec![1.0; tenants]);
    }
    let demand = 1.1 * limit as f64;
    let parts: Vec<Option<usize>> = if tenants > 0 {
        (0..tenants).map(Some).collect()
    } else {
        vec![None]
    };
    for tenant in &parts {
        setup = setup.asks_everywhere(*tenant, 1, demand / parts.len() as f64);
    }
    setup
}

struct Cost {
    region: f64,
    coordinator: f64,
    used: f64,
    rows: f64,
    checks: f64,
}

/// Calls for a million checks; rows and checks a window.
fn cost(setup: &Setup, report: &Report) -> Cost {
    let used = report.used(setup);
    Cost {
        region: used.per_million(used.region_calls),
        coordinator: used.per_million(used.coordinator_calls),
        used: used.utilization,
        rows: used.rows / WINDOWS as f64,
        checks: used.checks / WINDOWS as f64,
    }
}

#[test]
fn messages_per_million_checks_stay_near_the_formula() {
    println!("     L    H  L/H  window    Region  Coordinator   formula   used  rows/window");
    for (limit, isolates_per_region, window_ms) in [
        (300, 2, 1_000),
        (1_200, 2, 1_000),
        (2_400, 2, 1_000),
        (2_400, 2, 5_000),
        (4_800, 4, 1_000),
        (12_000, 2, 1_000),
        (19_200, 16, 1_000),
        (24_000, 16, 1_000),
    ] {
        let setup = steady(limit, isolates_per_region, window_ms, 0);
        let report = run(&setup);
        let cost = cost(&setup, &report);
        let holders = 3 * isolates_per_region as u64;
        let formula = formula(limit, holders, cost.checks);
        println!(
            "{limit:6} {holders:4} {:4} {window_ms:7} {:9.0}  {:11.0} {formula:9.0}  {:.3}  {:11.1}",
            limit / holders,
            cost.region,
            cost.coordinator,
            cost.used,
            cost.rows
        );
        assert!(cost.used >= 0.99, "{} used", cost.used);
        assert!(cost.region <= 2.0 * formula, "{} calls", cost.region);
        if limit / holders >= 400 && holders >= 48 {
            assert!(cost.region <= 1.25 * formula && cost.coordinator <= 2_000.0);
        }
        if limit / holders >= 500 {
            assert!(cost.region <= 20_000.0 && cost.coordinator <= 2_000.0);
        }
    }
}

/// What a deployment uses for a million checks at a thousand a second, and the rows that it writes in a minute, whatever
/// the shape of the traffic: bounds with a third to spare of what is counted. A call and a row a check use a million each.
#[test]
fn each_shape_of_traffic_stays_within_its_bound() {
    println!("traffic                 regions  calls/M   rows/M  rows/min   used");
    for (shape, regions, calls_max, rows_max) in [
        (Shape::Steady, 1, 7_500.0, 7_000.0),
        (Shape::Steady, 3, 24_000.0, 21_000.0),
        (Shape::Bursty, 1, 11_000.0, 13_000.0),
        (Shape::Bursty, 3, 35_000.0, 39_000.0),
        (Shape::Zipf, 1, 7_500.0, 7_000.0),
        (Shape::Zipf, 3, 24_000.0, 21_000.0),
    ] {
        let setup = Setup::shaped(shape, 1_000, (regions, 2), 10_000, WINDOWS);
        let used = run(&setup).used(&setup);
        let (calls, rows) = (used.per_million(used.calls()), used.per_million(used.rows));
        println!(
            "{:22}  {regions:7}  {calls:7.0}  {rows:7.0}  {:8.0}  {:.3}",
            shape.name(),
            used.rows * 60.0 / used.seconds,
            used.utilization
        );
        assert!(used.utilization >= 0.99, "{used:?}");
        assert!(calls <= calls_max && rows <= rows_max, "{used:?}");
        // The control: a call and a row for each check.
        assert!(25.0 * used.calls() <= used.checks && 25.0 * used.rows <= used.checks);
    }
}

#[test]
fn rows_are_written_whatever_the_count_of_tenants() {
    println!("tenants  rows/window    Region  Coordinator");
    let mut rows = Vec::new();
    for tenants in [1, 8, 32] {
        let setup = steady(24_000, 2, 5_000, tenants);
        let report = run(&setup);
        let cost = cost(&setup, &report);
        println!(
            "{tenants:7}  {:11.1} {:9.0}  {:11.0}",
            cost.rows, cost.region, cost.coordinator
        );
        rows.push(cost.rows);
    }
    let (one, many) = (rows[0], rows[rows.len() - 1]);
    assert!(many <= 2.0 * one, "{rows:?}");
}

#[test]
fn a_crowd_that_no_message_has_room_for_is_served() {
    for isolates in [3, 4] {
        let shape = Shape::ZipfShared;
        let mut setup = Setup::shaped_by(shape, 1_000, 2_000, (1, isolates), 5_000, 2);
        setup.unchecked = true;
        let report = run(&setup);
        let used = report.used(&setup).utilization;
        assert_eq!(report.truth.unavailable, 0, "{isolates} isolates");
        assert!(used > 0.5, "{isolates} isolates use {used}");
    }
}

#[test]
fn nobody_waits_between_two_windows() {
    for tenants in [0, 3] {
        let mut setup = Setup::measured(29, (3, 2), (6_000, 10_000), 8);
        if tenants > 0 {
            setup = setup.shared_by(RuleBody::Paced, &[1.0, 2.0, 4.0]);
        }
        let parts: Vec<Option<usize>> = match tenants {
            0 => vec![None],
            _ => (0..tenants).map(Some).collect(),
        };
        for tenant in &parts {
            setup = setup.asks_everywhere(*tenant, 1, 4_000.0 / parts.len() as f64);
        }
        let waits = run(&setup).waits_at_rolls(&setup);
        setup.without_ahead = true;
        let control = run(&setup).waits_at_rolls(&setup);
        println!(
            "{tenants} tenants: {waits} requests waited at rolls, {control} with nothing lent ahead"
        );
        assert_eq!(waits, 0);
        assert!(control > 0);
    }
}
