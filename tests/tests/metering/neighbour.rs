//! The noisy neighbour: a tenant that offers fifty times as much as another costs the other nothing. The same load under
//! one tenant's name has to fail the bound: else the bound would show nothing.

use std::time::Duration;

use serde_json::json;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::workerd::Setup;

use crate::metering::{charge, meter, offer, start, take};

/// How long the neighbours run.
const RUN: Duration = Duration::from_secs(4);

/// The modest tenant's calls: 40 a second, of a meter of 100 a second.
const MODEST_EVERY: Duration = Duration::from_millis(25);

/// The heavy tenant's: fifty times as much, in batches from each of two isolates.
const HEAVY_EVERY: Duration = Duration::from_millis(50);
const HEAVY_BATCH: usize = 50;

/// What became of the modest tenant's calls.
#[derive(Debug)]
struct Modest {
    asked: u32,
    shed: u32,
    latencies: Vec<Duration>,
}

impl Modest {
    /// The promise: nothing is shed, and half of the calls take less than the source's 25 ms.
    fn held(&self) -> Result<(), String> {
        let mut sorted = self.latencies.clone();
        sorted.sort();
        let (half, worst) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
        println!(
            "{} asked, {} shed, half within {half:?}, worst {worst:?}",
            self.asked, self.shed
        );
        if self.shed > 0 {
            return Err(format!("{} of {} shed", self.shed, self.asked));
        }
        if half > Duration::from_millis(25) {
            return Err(format!("half of the calls took {half:?} or more"));
        }
        Ok(())
    }
}

async fn modest(client: &Client, tenant: &str) -> Modest {
    let started = now();
    let (mut asked, mut shed, mut latencies) = (0, 0, Vec::new());
    while started.elapsed() < RUN {
        let sent = now();
        let decision = take(client, tenant, "results", 1).await;
        latencies.push(sent.elapsed());
        asked += 1;
        shed += u32::from(!decision.allowed);
        tokio::time::sleep((MODEST_EVERY * asked).saturating_sub(started.elapsed())).await;
    }
    Modest {
        asked,
        shed,
        latencies,
    }
}

/// What the heavy tenant got of what it offered.
async fn heavy(client: &Client, tenant: &str) -> (u64, u64) {
    let started = now();
    let (mut offered, mut admitted, mut rounds) = (0, 0, 0);
    while started.elapsed() < RUN {
        admitted += offer(client, tenant, "results", HEAVY_BATCH).await;
        offered += HEAVY_BATCH as u64;
        rounds += 1;
        tokio::time::sleep((HEAVY_EVERY * rounds).saturating_sub(started.elapsed())).await;
    }
    (offered, admitted)
}

/// Both at once, over two regions; what became of the modest one, and of the heavy one.
async fn together(modest_name: &str, heavy_name: &str) -> (Modest, u64, u64) {
    let meters = json!({ "results": meter(100.0, 1.0) });
    let workerd = start(Setup::isolates(&["weur", "apac"]), meters, json!({})).await;
    let clients = workerd.clients().unwrap();
    for client in &clients {
        // Warm: the first call of an isolate finds its objects.
        client
            .decide(&charge("free:warm", "results", 1))
            .await
            .unwrap();
    }
    let (quiet, one, two) = tokio::join!(
        modest(&clients[0], modest_name),
        heavy(&clients[0], heavy_name),
        heavy(&clients[1], heavy_name)
    );
    (quiet, one.0 + two.0, one.1 + two.1)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_fifty_times_as_loud_costs_the_other_nothing_and_the_same_name_shows_that_it_could()
 {
    let (quiet, offered, admitted) = together("pro:modest", "pro:heavy").await;
    println!("the heavy one got {admitted} of {offered}");
    assert!(
        offered >= 10 * u64::from(quiet.asked),
        "it was loud: {offered}"
    );
    // The bucket, what flows in while it runs, and what is under way at the end.
    assert!((300..=101 + 600).contains(&admitted), "{admitted}");
    quiet.held().expect("the modest tenant is not touched");

    // Isolation switched off: both are one tenant.
    let (quiet, offered, _) = together("pro:same", "pro:same").await;
    assert!(
        offered >= 10 * u64::from(quiet.asked),
        "it was loud: {offered}"
    );
    let broken = quiet
        .held()
        .expect_err("without isolation the bound must not hold");
    assert!(broken.contains("shed"), "{broken}");
}
