//! What an agent decided arrives in the deployment's accounts to the unit, and what it held comes back when it ends.

use weir_shared::wire::check::Reason;
use weir_tests::clock;
use weir_tests::fixtures::{BUDGET, with};

use crate::agent::{Deployed, LONG_MS, SETTLING, eventually, shared};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_ends_hands_over_its_counters_and_gives_back_what_it_held() {
    let deployed =
        Deployed::with(|document| with(document, "/budgets/tokens", shared(500, LONG_MS))).await;
    let mut agent = deployed.agent().await;
    let beside = agent.client().unwrap();
    let (mut admitted, mut away) = (0, 0);
    let begin = clock::now();
    while admitted < 120 {
        let checked = beside.check_budget("pro:acme", BUDGET, 3).await.unwrap();
        if checked.decision.allowed {
            admitted += 3;
        } else {
            // On a busy machine the deployment may not answer in time: that is denied, and asked for again.
            assert_eq!(checked.decision.reason, Reason::Unavailable);
            assert!(begin.elapsed() < SETTLING, "{checked:?}");
            away += 1;
        }
    }
    let never = beside.check_budget("pro:acme", BUDGET, 501).await.unwrap();
    assert!(!never.decision.allowed);
    // A look costs nothing and is counted nowhere.
    beside.check_budget("pro:acme", BUDGET, 0).await.unwrap();
    agent.end().unwrap();
    assert!(!agent.log().contains("not everything"), "{}", agent.log());
    eventually("the accounts have it", async || {
        let Ok(fairness) = deployed.admin.fairness().await else {
            return false;
        };
        let acme = fairness.tenants.iter().find(|one| one.tenant == "pro:acme");
        acme.is_some_and(|acme| {
            let tally = &acme.total;
            let denied = (tally.denied_units.0, tally.denied_calls.0);
            let are_told = |away: u128| denied == (501 + 3 * away, 1 + away);
            (tally.admitted_units.0, tally.admitted_calls.0) == (admitted, 40)
                && (0..=away).any(are_told)
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
        .check_budget_once_there("pro:acme", BUDGET, 1)
        .await;
    assert!(!over.decision.allowed, "500 units are 500 units");
}
