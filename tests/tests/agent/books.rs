//! What an agent decided arrives in the deployment's accounts to the unit, and what it held comes back when it ends.

use weir_tests::fixtures::{BUDGET, with};

use crate::agent::{Deployed, LONG_MS, eventually, shared};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_ends_hands_over_its_counters_and_gives_back_what_it_held() {
    let deployed =
        Deployed::with(|document| with(document, "/budgets/tokens", shared(500, LONG_MS))).await;
    let mut agent = deployed.agent().await;
    let beside = agent.client().unwrap();
    let (mut admitted, mut denied) = (0, 0);
    for _ in 0..40 {
        let decision = beside
            .check_budget("pro:acme", BUDGET, 3)
            .await
            .unwrap()
            .decision;
        assert!(decision.allowed);
        admitted += 3;
    }
    let never = beside.check_budget("pro:acme", BUDGET, 501).await.unwrap();
    assert!(!never.decision.allowed);
    denied += 501;
    // A look costs nothing and is counted nowhere.
    beside.check_budget("pro:acme", BUDGET, 0).await.unwrap();
    agent.end().unwrap();
    assert!(!agent.log().contains("not everything"), "{}", agent.log());
    eventually("the accounts have it", async || {
        let fairness = deployed.admin.fairness().await.unwrap();
        let acme = fairness.tenants.iter().find(|one| one.tenant == "pro:acme");
        acme.is_some_and(|acme| {
            let tally = &acme.total;
            (tally.admitted_units.0, tally.denied_units.0) == (admitted, denied)
                && (tally.admitted_calls.0, tally.denied_calls.0) == (40, 1)
        })
    })
    .await;
    // All that is left can be had elsewhere, once the region has heard.
    let mut left = 500 - admitted as u64;
    eventually("what it held came back", async || {
        while left > 0 {
            let checked = deployed.admin.check_budget("pro:acme", BUDGET, 1).await;
            if !checked.unwrap().decision.allowed {
                return false;
            }
            left -= 1;
        }
        true
    })
    .await;
    let over = deployed
        .admin
        .check_budget("pro:acme", BUDGET, 1)
        .await
        .unwrap();
    assert!(!over.decision.allowed, "500 units are 500 units");
}
