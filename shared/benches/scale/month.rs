//! What a month costs, of three deployments: what the simulator counts, by list prices and what they include.

use crate::curve::{FREE_REQUESTS_A_DAY, FREE_ROWS_A_DAY, point};
use crate::prices::{
    DURATION_PER_MILLION_GB_S, OBJECT_GB, OBJECT_REQUESTS_PER_MILLION, ROWS_WRITTEN_PER_MILLION,
};
use crate::simulator::shapes::Shape;

/// The paid plan, a month. <https://developers.cloudflare.com/workers/platform/pricing/>
const PLAN: f64 = 5.0;

/// Requests to Workers beyond what the plan includes.
const WORKER_REQUESTS_PER_MILLION: f64 = 0.30;

/// What the plan includes each month.
const WORKER_REQUESTS_INCLUDED: f64 = 10e6;
const OBJECT_REQUESTS_INCLUDED: f64 = 1e6;
const ROWS_WRITTEN_INCLUDED: f64 = 50e6;
const GB_S_INCLUDED: f64 = 400_000.0;

/// What objects may be awake in a day on the free plan.
const FREE_GB_S_A_DAY: f64 = 13_000.0;

const DAYS: f64 = 30.4;

/// A deployment, and how its callers come.
struct Deployment {
    name: &'static str,
    shape: Shape,
    checks_per_sec: u64,
    hours_a_day: f64,
    regions: usize,
}

const DEPLOYMENTS: [Deployment; 3] = [
    Deployment {
        name: "a side project: 3 hours a day, one region",
        shape: Shape::Steady,
        checks_per_sec: 1,
        hours_a_day: 3.0,
        regions: 1,
    },
    Deployment {
        name: "a SaaS: three regions",
        shape: Shape::Steady,
        checks_per_sec: 50,
        hours_a_day: 24.0,
        regions: 3,
    },
    Deployment {
        name: "an LLM gateway: 10,000 tenants by Zipf's law, three regions",
        shape: Shape::Zipf,
        checks_per_sec: 2_000,
        hours_a_day: 24.0,
        regions: 3,
    },
];

/// What is billed in a time.
#[derive(Clone, Copy)]
struct Billed {
    checks: f64,
    calls: f64,
    rows: f64,
    gb_s: f64,
}

impl Billed {
    fn times(self, factor: f64) -> Self {
        Self {
            checks: self.checks * factor,
            calls: self.calls * factor,
            rows: self.rows * factor,
            gb_s: self.gb_s * factor,
        }
    }

    /// Dollars for what a month is beyond the paid plan, without processor time: Workers, then objects.
    fn dollars(self) -> (f64, f64) {
        let beyond = |count: f64, included: f64, price| (count - included).max(0.0) / 1e6 * price;
        let objects = beyond(
            self.calls,
            OBJECT_REQUESTS_INCLUDED,
            OBJECT_REQUESTS_PER_MILLION,
        ) + beyond(self.rows, ROWS_WRITTEN_INCLUDED, ROWS_WRITTEN_PER_MILLION)
            + beyond(self.gb_s, GB_S_INCLUDED, DURATION_PER_MILLION_GB_S);
        let workers = beyond(
            self.checks,
            WORKER_REQUESTS_INCLUDED,
            WORKER_REQUESTS_PER_MILLION,
        );
        (workers, objects)
    }

    /// Whether a day of it is within the free plan.
    fn is_free(self) -> bool {
        self.checks <= FREE_REQUESTS_A_DAY
            && self.calls <= FREE_REQUESTS_A_DAY
            && self.rows <= FREE_ROWS_A_DAY
            && self.gb_s <= FREE_GB_S_A_DAY
    }
}

/// The table.
pub fn print() {
    println!("### What a month costs\n");
    println!(
        "| deployment | checks/s | checks a month | object calls | rows written | GB-s awake | Workers | objects | \
         **a month** | an object's call and a row a check |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    DEPLOYMENTS.iter().for_each(row);
    println!(
        "\nIn dollars at list price, with what the paid plan (${PLAN}) includes; processor time comes on top with any limiter. \
         The last column is the same demand with a call and a row for each check, by objects that are awake all the time, \
         however many it takes at 200 calls a second."
    );
}

fn row(deployment: &Deployment) {
    let rate = deployment.checks_per_sec;
    eprintln!("a month: {}", deployment.name);
    let used = point(deployment.shape, rate, deployment.regions).used;
    let second = Billed {
        checks: used.checks / used.seconds,
        calls: used.calls / used.seconds,
        rows: used.rows / used.seconds,
        gb_s: used.awake * OBJECT_GB,
    };
    let day = second.times(deployment.hours_a_day * 3_600.0);
    let month = day.times(DAYS);
    let objects = (rate as f64 / 200.0).ceil();
    let control = Billed {
        calls: day.checks,
        rows: day.checks,
        gb_s: objects * OBJECT_GB * deployment.hours_a_day * 3_600.0,
        ..day
    };
    let (workers, of_objects) = month.dollars();
    println!(
        "| {} | {rate} | {:.1} M | {:.2} M | {:.2} M | {:.0} | ${workers:.2} | ${of_objects:.2} | **{}** | {} |",
        deployment.name,
        month.checks / 1e6,
        month.calls / 1e6,
        month.rows / 1e6,
        month.gb_s,
        total(day),
        total(control),
    );
}

/// What a month of such days comes to.
fn total(day: Billed) -> String {
    if day.is_free() {
        return "$0 on the free plan".to_owned();
    }
    let (workers, objects) = day.times(DAYS).dollars();
    format!("${:.2}", PLAN + workers + objects)
}
