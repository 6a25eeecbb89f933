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
use weir_shared::wire::check::{CheckRequest, DecisionBody, Reason};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{gcra, policy, with};
use weir_tests::workerd::{Setup, Workerd};

/// Far longer than a test: nothing comes back while it runs.
const HOUR_MS: u64 = 3_600_000;

/// Thirty days. Windows begin at multiples of their length, so a test almost never straddles one.
const LONG_MS: u64 = 30 * 24 * HOUR_MS;

/// How long what was decided may take to be counted on a busy machine.
const COUNTED: Duration = Duration::from_secs(30);

/// How often what is charged to the unit is begun anew, where a holder was out of reach: what it charged is back only later.
const TRIES: u32 = 10;

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

/// The admission of what is there. Where a holder was out of reach, it is asked again: what was charged for an answer that came
/// too late is back a little later.
async fn admitted(client: &Client, request: &CheckRequest) -> DecisionBody {
    let (begun, mut was_away) = (now(), false);
    loop {
        let decision = client.check(request).await.unwrap().decision;
        if decision.allowed {
            return decision;
        }
        was_away |= decision.reason == Reason::Unavailable;
        assert!(was_away && begun.elapsed() < COUNTED, "{decision:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A budget of 1,000, and a limit of 6 an hour in bursts of 20: neither refills while a test runs.
fn still() -> Value {
    with(
        policy(1_000, LONG_MS),
        "/limits/per_ip",
        gcra(6, HOUR_MS, 20),
    )
}
