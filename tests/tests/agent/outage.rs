//! An agent whose deployment is lost does as its budgets say.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::client::Client;
use weir_tests::clock::{self, epoch_ms};
use weir_tests::fixtures::with;
use weir_tests::proxy::{Proxy, Weather};
use weir_tests::witness::Fault;
use weir_tests::workerd::Setup;

use crate::agent::{Deployed, LONG_MS, SETTLING};

/// Asks until something is denied for want of the deployment: what was admitted until then.
async fn drained(client: &Client, budget: &str) -> u64 {
    for admitted in 0.. {
        let decision = client
            .check_budget("pro:acme", budget, 1)
            .await
            .unwrap()
            .decision;
        if !decision.allowed {
            assert_eq!(decision.reason, Reason::Unavailable, "{decision:?}");
            return admitted;
        }
        assert!(admitted < 1_000, "more than {budget} has");
    }
    unreachable!("it is drained")
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_deployment_what_is_held_is_spent_and_then_the_budget_says_what_passes() {
    let deployed = Deployed::with(|document| {
        let budget = |on_unavailable: &str| {
            json!({
                "limit": 1_000, "window_ms": LONG_MS, "sharing": "first_come", "scope": "global",
                "on_unavailable": on_unavailable,
            })
        };
        let document = with(document, "/budgets/closed", budget("deny"));
        with(document, "/budgets/open", budget("allow"))
    })
    .await;
    let proxy = Proxy::start(deployed.admin.origin().to_owned())
        .await
        .unwrap();
    let agent = deployed.agent_at(&proxy.origin()).await;
    let client = agent.client().unwrap();
    for budget in ["closed", "open"] {
        for _ in 0..20 {
            let checked = client.check_budget_once_there("pro:acme", budget, 1).await;
            assert!(checked.decision.allowed);
        }
    }
    proxy.set(Weather::Gone);
    let lost = |health: &Value| health["deployment"] == "lost";
    agent.await_health(lost, SETTLING).await.unwrap();
    let held = drained(&client, "closed").await;
    assert!(held < 900, "{held} units were held");
    for _ in 0..1_100 {
        let decision = client
            .check_budget("pro:acme", "open", 1)
            .await
            .unwrap()
            .decision;
        assert!(decision.allowed, "{decision:?}");
    }
    // While there is no use in waiting, nobody waits: 20 who did would take 40 seconds.
    let begin = clock::now();
    for _ in 0..20 {
        drained(&client, "closed").await;
    }
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
    proxy.set(Weather::Fair);
    let up = |health: &Value| health["deployment"] == "up";
    agent.await_health(up, SETTLING).await.unwrap();
    crate::agent::eventually("it is served again", async || {
        let checked = client.check_budget("pro:acme", "closed", 1).await.unwrap();
        checked.decision.allowed
    })
    .await;
}

/// What an agent admits in the windows after its region has lost the coordinator.
async fn without_the_coordinator(outage: &str) -> u64 {
    const WINDOW_MS: u64 = 3_000;
    let setup = Setup::isolates(&["weur"]).witnessed();
    let deployed = Deployed::of(setup, |document| {
        let budget = json!({
            "limit": 240, "window_ms": WINDOW_MS, "sharing": "first_come", "scope": "global", "outage": outage,
        });
        with(document, "/budgets/tokens", budget)
    })
    .await;
    let agent = deployed.agent().await;
    let client = agent.client().unwrap();
    let asked = async |time: Duration| {
        let (begin, mut admitted) = (clock::now(), 0);
        while begin.elapsed() < time {
            let decision = client
                .check_budget("pro:acme", "tokens", 1)
                .await
                .unwrap()
                .decision;
            admitted += u64::from(decision.allowed);
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
        admitted
    };
    asked(Duration::from_secs(10)).await;
    let witness = deployed.workerd.witness().unwrap();
    let forever = u64::from(u32::MAX);
    witness
        .fault("Coordinator/exchange", Fault::Refuse, forever)
        .await
        .unwrap();
    let window = || epoch_ms() / WINDOW_MS;
    let (lost_in, moment) = (window(), Duration::from_millis(50));
    // What is lent of the present window, and ahead of the next, is spent first.
    while window() < lost_in + 2 {
        asked(moment).await;
    }
    let mut admitted = 0;
    while window() < lost_in + 4 {
        admitted += asked(moment).await;
    }
    admitted
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_goes_on_with_the_slices_of_its_region_where_the_budget_says_so() {
    let admitted = without_the_coordinator("regional_only").await;
    assert!(admitted > 0, "the region has slices of three windows");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_admits_nothing_without_the_coordinator_where_the_budget_is_closed() {
    let admitted = without_the_coordinator("fail_closed").await;
    assert_eq!(admitted, 0);
}
