//! A check, end to end: what is answered, what is charged, what is counted.

mod accounting;
mod budget;
mod forms;
mod headers;
mod limit;
mod live;
mod prepared;
mod shipped;
mod ways;

use std::time::Duration;

use serde_json::Value;
use weir_tests::fixtures::{gcra, policy, with};
use weir_tests::workerd::{Setup, Workerd};

/// Far longer than a test: nothing comes back while it runs.
const HOUR_MS: u64 = 3_600_000;

/// Thirty days. Windows begin at multiples of their length, so a test almost never straddles one.
const LONG_MS: u64 = 30 * 24 * HOUR_MS;

/// How long what was decided may take to be counted on a busy machine.
const COUNTED: Duration = Duration::from_secs(10);

async fn deployment(setup: Setup, document: Value) -> (Workerd, u64) {
    let workerd = setup.start().await.expect("workerd starts");
    let revision = workerd
        .apply(&document)
        .await
        .expect("the policy is saved")
        .revision()
        .unwrap();
    (workerd, revision)
}

/// A budget of 1,000, and a limit of 6 an hour in bursts of 20: neither refills while a test runs.
fn still() -> Value {
    with(
        policy(1_000, LONG_MS),
        "/limits/per_ip",
        gcra(6, HOUR_MS, 20),
    )
}
