//! The ledger, end to end: what it counted is what the driver did, on every surface, whatever dies.

mod books;
mod deaths;
mod records;
mod scrape;
mod settlements;
mod surfaces;
mod writes;

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use weir_tests::again::answered;
use weir_tests::client::Client;
use weir_tests::fixtures::{BUDGET, policy, with};
use weir_tests::workerd::{Setup, Workerd};

/// Thirty days: a window that ends in no test.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// How long what was counted may take to reach the ledgers on a busy machine.
const SETTLING: Duration = Duration::from_secs(30);

/// The meter of these tests.
const METER: &str = "results_ingested";

/// The guard of these tests.
const GUARD: &str = "queries";

/// A limit that is never enforced.
const SHADOW: &str = "in_shadow";

/// A policy with a budget, a limit, a meter that gives 20 units and a guard of two slots.
fn document(limit: u64, window_ms: u64) -> Value {
    let meter = json!({ "per_sec": 0.001, "burst_seconds": 20_000, "max_debt_ms": 1 });
    let guard = json!({ "concurrency": 2, "per_minute": "unlimited", "lease_ms": 600_000 });
    let base = with(policy(limit, window_ms), "/meters", json!({ METER: meter }));
    with(base, "/guards", json!({ GUARD: guard }))
}

async fn start(document: &Value) -> Workerd {
    let workerd = Setup::three_regions()
        .start()
        .await
        .expect("workerd starts");
    workerd.apply(document).await.expect("the policy is saved");
    workerd
}

/// What a path answers, once a busy machine has time for it.
async fn read<T: DeserializeOwned>(client: &Client, path: &str) -> T {
    let ask = async || client.get(path).await;
    answered(ask).await.ok().unwrap()
}

/// A question about a budget.
fn spend(tenant: &str, cost: u64) -> Value {
    json!({ "tenant": tenant, "budget": BUDGET, "cost": cost })
}
