//! Many isolates of one region: what its objects are asked.

use std::time::Duration;

use weir_tests::checker::{admitted_by_window, full_windows, violations};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, policy};
use weir_tests::history::outcomes;
use weir_tests::workerd::Setup;
use weir_tests::workload::Workload;

use super::{BRANCHED, BRANCHING, branches};

/// Isolates of the normal run, and how many of them a branch is meant to serve. 200 with branches as they are shipped:
/// `WEIR_ISOLATES=200`.
const ISOLATES: usize = 12;
const EACH: &str = "3";

/// For how long a region has no branches for certain: it decides on them ten seconds after its first request.
const ALONE: Duration = Duration::from_millis(6_500);

/// What an object is meant to carry.
const CALLS_PER_SEC_MAX: f64 = 200.0;

const LIMIT: u64 = 800;
const WINDOW: Duration = Duration::from_secs(2);

/// Calls of objects of the class of regions so far.
async fn calls(client: &Client) -> f64 {
    let text = client.get("/metrics").await.expect("the metrics").text();
    let calls = text.lines().filter(|line| {
        line.starts_with("weir_object_calls_total{") && line.contains("class=\"region\"")
    });
    let value = |line: &str| line.rsplit(' ').next()?.parse::<f64>().ok();
    calls.filter_map(value).sum()
}

/// Calls a second over so long.
async fn calls_per_sec(client: &Client, over: Duration) -> f64 {
    let (before, begun) = (calls(client).await, now());
    tokio::time::sleep(over).await;
    (calls(client).await - before) / begun.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_of_many_isolates_spread_over_branches() {
    let asked = std::env::var("WEIR_ISOLATES").ok();
    let asked = asked.map(|text| text.parse().expect("a number of isolates"));
    let isolates = asked.unwrap_or(ISOLATES);
    let setup = Setup::isolates(&vec!["weur"; isolates]);
    let setup = match asked {
        Some(_) => setup,
        None => setup.variable("WEIR_BRANCH_ISOLATES", EACH),
    };
    let mut workerd = setup.start().await.expect("workerd starts");
    let document = policy(LIMIT, WINDOW.as_millis() as u64);
    workerd.apply(&document).await.expect("the policy is saved");
    let clients = workerd.clients().unwrap();
    let admin = clients[0].clone();
    // 500 requests a second in all.
    let workload = Workload {
        workers: 1,
        pause: Duration::from_millis(2 * isolates as u64),
        ..Workload::new(clients, BUDGET)
    };
    let running = workload.start();
    let alone = calls_per_sec(&admin, ALONE).await;
    tokio::time::sleep(BRANCHING).await;
    let spread = calls_per_sec(&admin, BRANCHED).await;
    let operations = running.stop().await.unwrap();
    let (decided, _) = branches(&mut workerd);
    println!(
        "{isolates} isolates: one object had {alone:.0} calls a second, {decided:?} branches with it {spread:.0}; \
         admitted by window {:?}, {:?}",
        admitted_by_window(&operations),
        outcomes(&operations)
    );
    assert_eq!(violations(&operations, LIMIT, WINDOW), []);
    assert!(full_windows(&operations).len() >= 4, "few full windows");
    assert_eq!(decided.len(), 1, "the region has branches");
    // Each branch with its isolates, and the region's own object with its branches.
    let objects = 1.0 + decided[0] as f64;
    let each = spread / objects;
    assert!(each <= CALLS_PER_SEC_MAX, "{each:.0} calls a second");
    assert!(each <= 0.75 * alone, "{each:.0} of {alone:.0}");
}
