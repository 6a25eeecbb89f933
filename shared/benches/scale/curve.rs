//! Fees over rates: what leasing uses comes from the simulator, what goes on beside it from the rounds of the code.

use weir_shared::limits::{CONTACT_MS_MIN, CONTACT_MS_PER_HOLDER, POLICY_POLL_MS};

use crate::prices::Used;
use crate::simulator::run;
use crate::simulator::setup::Setup;
use crate::simulator::shapes::Shape;

/// Rows that objects may write in a day on the free plan, and their requests, and those of Workers.
pub const FREE_ROWS_A_DAY: f64 = 100_000.0;
/// See [`FREE_ROWS_A_DAY`].
pub const FREE_REQUESTS_A_DAY: f64 = 100_000.0;

/// Checks a second over the whole deployment.
const RATES: [u64; 6] = [1, 10, 100, 1_000, 10_000, 100_000];

/// Checks a second that one isolate is given, from two isolates a region on.
const RATE_PER_ISOLATE: u64 = 2_500;

/// A region tells its ledger once in so many milliseconds, and home of windows; each frame is a row written and dropped.
const FRAME_MS: f64 = 1_000.0;
const WINDOWS_MS: f64 = 2_000.0;
const ROWS_PER_FRAME: f64 = 2.0;

/// Rows that a ledger writes each minute at most: totals, the minute's, marks, the alarm.
const ROWS_PER_FOLD: f64 = 32.0 + 17.0 + 1.0 + 1.0;

/// Of a window: kept while it is open, dropped, recorded.
const ROWS_PER_WINDOW: f64 = 3.0;

/// One point of the curve.
pub struct Point {
    pub used: Used,
    isolates: usize,
    utilization: f64,
}

/// Windows of ten seconds where that is many requests, else of a minute.
fn window_ms(rate: u64) -> u64 {
    if rate >= 1_000 { 10_000 } else { 60_000 }
}

pub fn point(shape: Shape, rate: u64, regions: usize) -> Point {
    let most = (rate / regions as u64).div_ceil(RATE_PER_ISOLATE);
    let isolates_per_region = usize::try_from(most).unwrap_or(usize::MAX).max(2);
    let window_ms = window_ms(rate);
    let windows = if rate > 10_000 { 3 } else { 6 };
    let mut setup = Setup::shaped(
        shape,
        rate,
        (regions, isolates_per_region),
        window_ms,
        windows,
    );
    setup.unchecked = true;
    let leasing = run(&setup).used(&setup);
    let isolates = regions * isolates_per_region;
    let beside = beside(regions, isolates_per_region, window_ms);
    Point {
        used: Used {
            checks: leasing.checks,
            seconds: leasing.seconds,
            calls: leasing.calls() + beside.calls * leasing.seconds,
            rows: leasing.rows + beside.rows * leasing.seconds,
            rows_read: leasing.rows + beside.rows * leasing.seconds,
            awake: (2 * regions + 2) as f64,
        },
        isolates,
        utilization: leasing.utilization,
    }
}

/// Calls and rows a second beside leasing: counters, records of windows, questions for a newer policy. Counters are taken
/// to travel by themselves, though they travel with a message of leasing where there is one.
fn beside(regions: usize, isolates_per_region: usize, window_ms: u64) -> PerSecond {
    let regions = regions as f64;
    let contact_ms = CONTACT_MS_MIN.max(CONTACT_MS_PER_HOLDER * isolates_per_region as u64);
    let contacts = regions * isolates_per_region as f64 * 1_000.0 / contact_ms as f64;
    let frames = regions * (1_000.0 / FRAME_MS + 1_000.0 / WINDOWS_MS);
    let polls = regions * 1_000.0 / POLICY_POLL_MS as f64;
    let folds = regions * ROWS_PER_FOLD / 60.0;
    let records = ROWS_PER_WINDOW * 1_000.0 / window_ms as f64;
    PerSecond {
        calls: contacts + frames + polls,
        rows: frames * ROWS_PER_FRAME + folds + records,
    }
}

struct PerSecond {
    calls: f64,
    rows: f64,
}

/// The tables.
pub fn print() {
    println!("### Over rates, from the simulator\n");
    println!(
        "| traffic | checks/s | regions | isolates | used of the limit | object calls | rows written | requests | rows | \
         awake | **objects** | checks a day that the free plan's rows carry |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for shape in Shape::ALL {
        for regions in [1, 3, 6] {
            for rate in RATES {
                // The other shapes where the aim is said, and beside it.
                let beside = shape != Shape::Steady || regions == 6;
                if beside && !(100..=10_000).contains(&rate) {
                    continue;
                }
                eprintln!("{} {rate}/s, {regions} regions", shape.name());
                row(shape, rate, regions, &point(shape, rate, regions));
            }
        }
    }
    println!(
        "\nAll figures but the first five are for a million checks. Every object is taken to be awake all the time, and every \
         isolate to tell something twice a second. Of the free plan's {FREE_REQUESTS_A_DAY:.0} requests a day each check is \
         one, each batch too; its object requests carry more checks than its rows do wherever rows written are more than \
         calls."
    );
}

fn row(shape: Shape, rate: u64, regions: usize, point: &Point) {
    let (used, fees) = (&point.used, point.used.fees());
    let rows = used.per_million(used.rows);
    println!(
        "| {} | {rate} | {regions} | {} | {:.3} | {:.0} | {rows:.0} | ${:.4} | ${:.4} | ${:.4} | **${:.4}** | {:.0} |",
        shape.name(),
        point.isolates,
        point.utilization,
        used.per_million(used.calls),
        fees.requests,
        fees.rows,
        fees.awake,
        fees.all(),
        FREE_ROWS_A_DAY / rows * 1e6,
    );
}
