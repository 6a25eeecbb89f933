//! A resource that is only watched: decided and counted, never enforced.

use std::time::Duration;

use serde_json::{Value, json};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::workerd::Setup;

use super::{ORIGIN, THERE, check, document, fail_under, start, start_with};

/// What a tenant's checks of the resource came to: calls admitted, and those that were denied or would have been. None where it
/// cannot be known now.
async fn counted(client: &Client, tenant: &str, refused: &str) -> (u64, u64) {
    let reply = client.get("/operator/v1/fairness").await.unwrap();
    if reply.status == 503 {
        return (0, 0);
    }
    let view: Value = reply.ok().unwrap();
    let tenants = view["tenants"].as_array().unwrap();
    let report = tenants.iter().find(|report| report["tenant"] == tenant);
    let tally = report.map_or(&Value::Null, |report| &report["overload"][ORIGIN]);
    let calls = |name: &str| tally[name].as_u64().unwrap_or(0);
    (calls("admitted_calls"), calls(refused))
}

async fn await_counted(client: &Client, tenant: &str, refused: &str, calls: u64) -> (u64, u64) {
    let start = now();
    loop {
        let seen = counted(client, tenant, refused).await;
        if seen.0 + seen.1 == calls {
            return seen;
        }
        let late = start.elapsed() > THERE;
        assert!(
            !late,
            "{seen:?} calls of {tenant} were counted, not {calls}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_in_shadow_denies_nobody_and_counts_whom_it_would_have() {
    let documents = [
        document(json!({ "shadow": true })),
        with(document(json!({})), "/enforcing", json!(false)),
    ];
    for document in documents {
        let workerd = start_with(Setup::isolates(&["weur"]), document).await;
        let client = workerd.client(0).unwrap();
        assert_eq!(fail_under(&client, "noisy", 300).await, 300);
        assert!(check(&client, "quiet").await.allowed);
        let (_, denied) = await_counted(&client, "noisy", "would_deny_calls", 300).await;
        assert!(denied >= 100, "{denied} would have been denied");
        assert_eq!(
            await_counted(&client, "quiet", "denied_calls", 1).await,
            (1, 0)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_decision_about_a_resource_is_counted_once() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    let admitted = u64::from(fail_under(&client, "noisy", 300).await);
    let counted = await_counted(&client, "noisy", "denied_calls", 300).await;
    assert_eq!(counted, (admitted, 300 - admitted));
    let metrics = client.get("/metrics").await.unwrap().text();
    let lines = metrics.lines().filter(|line| line.contains(ORIGIN));
    assert!(lines.count() >= 1, "{metrics}");
}
