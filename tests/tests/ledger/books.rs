//! The driver's own books.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::limits::CALL_MS_MAX;
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::accounting::{MeterTally, Tally};
use weir_shared::wire::check::DecisionBody;
use weir_shared::wire::count::Count;
use weir_tests::again::answered;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, LIMIT};

use crate::ledger::{GUARD, METER, SETTLING};

/// What the driver was answered, for one tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Own {
    pub budget: Tally,
    pub limit: Tally,
    pub shadow: Tally,
    pub meter: MeterTally,
    pub allowed: Count,
    pub rejected_concurrency: Count,
}

/// What the driver was answered, by tenant.
#[derive(Debug, Default)]
pub struct Books(pub OrderedMap<String, Own>);

impl Books {
    /// One round of questions of a tenant at one isolate.
    pub async fn round(&mut self, client: &Client, tenant: &str, step: u64) {
        let cost = 1 + step * 5 % 7;
        let spend = json!({ "tenant": tenant, "budget": BUDGET, "cost": cost });
        let allowed = decide(client, &spend).await.allowed;
        let own = self.0.entry(tenant.to_owned()).or_default();
        tally(&mut own.budget, allowed, cost);
        let limit = json!({ "tenant": tenant, "limit": LIMIT, "key": format!("k{}", step % 2), "cost": cost });
        tally(&mut own.limit, decide(client, &limit).await.allowed, cost);
        let meter = json!({ "tenant": tenant, "meter": METER, "cost": cost });
        if decide(client, &meter).await.allowed {
            own.meter.admitted_calls += 1;
            own.meter.admitted_units += cost;
        } else {
            own.meter.shed_calls += 1;
            own.meter.shed_units += cost;
        }
        let path = format!("/v1/guards/{GUARD}/acquire");
        let question = json!({ "tenant": tenant });
        // The guard is out of reach of a busy machine for a moment.
        let acquired = answered(async || client.post(&path, &question).await).await;
        match acquired.status {
            200 => own.allowed += 1,
            429 => own.rejected_concurrency += 1,
            other => panic!("{other}: {}", acquired.text()),
        }
    }
}

/// The decision. An isolate that has just been started may have waited for its region in vain: then there is none, and none is
/// counted.
pub async fn decide(client: &Client, question: &Value) -> DecisionBody {
    let begun = now();
    loop {
        let asked = now();
        match client.decide(question).await {
            Ok(checked) => return checked.decision,
            Err(error) => {
                let waited = asked.elapsed() >= Duration::from_millis(CALL_MS_MAX);
                assert!(waited && begun.elapsed() < SETTLING, "{error:#}");
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub fn tally(tally: &mut Tally, allowed: bool, units: u64) {
    if allowed {
        tally.admitted_calls += 1;
        tally.admitted_units += units;
    } else {
        tally.denied_calls += 1;
        tally.denied_units += units;
    }
}
