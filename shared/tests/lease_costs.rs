//! What the sizes of leases cost: calls of the parent, and units that lie idle at holders. The control is the economic
//! order quantity `sqrt(2 c D / h)`, told the demand that was served, and leased behind the same machines.

use weir_reference::sizer::{LeaseCosts, LeaseSizer};
use weir_shared::limits::COST_MAX;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::exchange::LeaseBody;

use crate::simulator::run;
use crate::simulator::setup::Setup;

/// What a unit that lies idle for a window costs, in calls.
const PRICES: [f64; 3] = [0.001, 0.002, 0.005];

/// The served size may cost so many times what the control does.
const COST_MAX_OF_CONTROL: f64 = 1.1;

/// One rate of the curve of BENCHMARKS.md.
#[derive(Debug, Clone, Copy)]
struct Case {
    rate_per_sec: u64,
    window_ms: u64,
    windows: u64,
    regions: usize,
    isolates_per_region: usize,
    /// What is asked for, in parts of the limit.
    load: f64,
}

/// What one holder costs in a window.
#[derive(Debug, Clone, Copy)]
struct Measured {
    calls: f64,
    idle_units: f64,
    /// Units that it used.
    demand: u64,
    used_of_limit: f64,
}

impl Measured {
    fn cost(&self, price: f64) -> f64 {
        self.calls + price * self.idle_units
    }
}

impl Case {
    fn of(rate_per_sec: u64, regions: usize, load: f64) -> Self {
        let isolates = (rate_per_sec / regions as u64).div_ceil(2_500).max(2);
        Self {
            rate_per_sec,
            window_ms: if rate_per_sec >= 1_000 {
                10_000
            } else {
                60_000
            },
            windows: if rate_per_sec >= 10_000 { 2 } else { 4 },
            regions,
            isolates_per_region: isolates as usize,
            load,
        }
    }

    /// A run with leases of `size` units, or as they are served.
    fn measured(&self, size: Option<u64>) -> Measured {
        let demand = self.rate_per_sec as f64 * self.window_ms as f64 / 1_000.0;
        let limit = ((demand / self.load) as u64).max(1);
        let holders = (self.regions, self.isolates_per_region);
        let setup = Setup::measured(23, holders, (limit, self.window_ms), self.windows);
        let mut setup = setup.asks_everywhere(None, 1, demand);
        setup.unchecked = true;
        setup.lease = size.map(|size| LeaseBody {
            min: size,
            max: size,
        });
        let report = run(&setup);
        let used = report.used(&setup);
        let holder_windows = (self.regions * self.isolates_per_region) as u64 * self.windows;
        Measured {
            calls: used.region_calls / holder_windows as f64,
            idle_units: report.truth.idle_seen as f64 / report.truth.looks.max(1) as f64,
            demand: report.truth.admitted_calls() / holder_windows,
            used_of_limit: used.utilization,
        }
    }
}

/// `sqrt(2 c D / h)` with a call as the currency, as the sizer says it after three windows of the same demand.
fn optimum(demand: u64, price: f64) -> u64 {
    let costs = LeaseCosts::new(Decimal(1.0), Decimal(price)).unwrap();
    let mut sizer = LeaseSizer::new(costs, 1, COST_MAX, 1).unwrap();
    for _ in 0..3 {
        sizer.observe(demand);
    }
    sizer.size()
}

fn judge(case: Case) {
    let served = case.measured(None);
    for price in PRICES {
        let size = optimum(served.demand, price);
        let control = case.measured(Some(size));
        let of_control = served.cost(price) / control.cost(price);
        println!(
            "{:6} {:7} {:8} {:4} {:7} {price:5} {:8.1} {:8.1} {size:7} {:8.1} {:8.1} {of_control:5.2}",
            case.rate_per_sec,
            case.regions,
            case.regions * case.isolates_per_region,
            case.load,
            served.demand,
            served.calls,
            served.idle_units,
            control.calls,
            control.idle_units,
        );
        assert!(
            of_control <= COST_MAX_OF_CONTROL,
            "{case:?}, {price}: {served:?} of {control:?}"
        );
        assert!(
            served.used_of_limit >= control.used_of_limit - 0.02,
            "{case:?}: {served:?} of {control:?}"
        );
    }
}

fn heading() {
    println!("                                                served           control");
    println!(
        "rate/s regions isolates load  demand price    calls     idle    size    calls     idle  cost"
    );
}

/// Rates of the curve, and up to `WEIR_RATE_MAX` with more isolates.
#[test]
fn a_served_lease_costs_within_a_tenth_of_the_economic_order_quantity() {
    let most = std::env::var("WEIR_RATE_MAX").map_or(10_000, |most| {
        most.parse().expect("a number of checks a second")
    });
    heading();
    for rate_per_sec in [1, 10, 100, 1_000, 10_000, 100_000] {
        if rate_per_sec <= most {
            judge(Case::of(rate_per_sec, 1, 1.1));
        }
    }
}

#[test]
fn so_it_does_in_three_regions_and_where_half_of_the_limit_is_asked_for() {
    heading();
    for rate_per_sec in [10, 100, 1_000] {
        judge(Case::of(rate_per_sec, 3, 1.1));
        judge(Case::of(rate_per_sec, 1, 0.5));
    }
}

/// The measure tells sizes apart: the control's own, wrong by a factor of 64, is not within a tenth.
#[test]
fn a_size_that_is_a_sixty_fourth_of_it_costs_more() {
    for rate_per_sec in [100, 1_000] {
        let case = Case::of(rate_per_sec, 1, 1.1);
        let price = PRICES[2];
        let size = optimum(case.measured(None).demand, price);
        let [control, wrong] = [size, size / 64].map(|size| case.measured(Some(size)).cost(price));
        println!("{rate_per_sec}: {wrong} of {control}");
        assert!(
            wrong > COST_MAX_OF_CONTROL * control,
            "{wrong} of {control}"
        );
    }
}
