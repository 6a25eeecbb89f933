//! The forms of a check, and the costs at both ends of their range.

use serde_json::json;
use weir_shared::wire::check::{CheckItem, CheckRequest, DecisionBody, Reason, Require};
use weir_tests::client::{Checked, Client, budget_check, limit_check};
use weir_tests::fixtures::{BUDGET, LIMIT};
use weir_tests::workerd::Setup;

use crate::check::{TRIES, admitted, deployment, still};

#[tokio::test]
async fn what_no_state_could_admit_is_never_and_costs_nothing() {
    let (workerd, _) = deployment(Setup::isolates(&["weur"]), still()).await;
    let client = workerd.client(0).unwrap();
    for cost in [21, 9_007_199_254_740_991] {
        let Checked { decision, reply } = client.check_limit_once_there(LIMIT, "k", cost).await;
        assert_eq!(
            (decision.allowed, decision.reason, decision.retry_after_ms),
            (false, Reason::Never, None)
        );
        assert_eq!(
            reply.header("retry-after"),
            None,
            "there is no time after which it could pass"
        );
    }
    for cost in [1_001, 9_007_199_254_740_991] {
        let Checked { decision, reply } =
            client.check_budget_once_there("pro:a", BUDGET, cost).await;
        assert_eq!(
            (decision.allowed, decision.reason, decision.retry_after_ms),
            (false, Reason::Never, None)
        );
        assert_eq!(reply.header("retry-after"), None);
    }
    admitted(&client, &limit_check(LIMIT, "k", 20)).await;
    admitted(&client, &budget_check("pro:a", BUDGET, 1_000)).await;
}

#[tokio::test]
async fn a_cost_of_zero_looks_and_changes_nothing() {
    let (workerd, _) = deployment(Setup::isolates(&["weur"]), still()).await;
    let client = workerd.client(0).unwrap();
    admitted(&client, &limit_check(LIMIT, "k", 15)).await;
    for _ in 0..30 {
        let look = client.check_limit_once_there(LIMIT, "k", 0).await.decision;
        assert!(look.allowed);
        assert_eq!(look.remaining, 5);
        let look = client.check_budget_once_there("pro:a", BUDGET, 0).await;
        assert!(look.decision.allowed);
    }
    admitted(&client, &limit_check(LIMIT, "k", 5)).await;
    admitted(&client, &budget_check("pro:a", BUDGET, 1_000)).await;
}

#[tokio::test]
async fn the_long_form_with_one_entry_is_the_short_form() {
    let (workerd, _) = deployment(Setup::isolates(&["weur"]), still()).await;
    let client = workerd.client(0).unwrap();
    let mut attempt = 0;
    while !both_forms_charge(&client, &format!("k{attempt}")).await {
        attempt += 1;
        assert!(attempt < TRIES, "the shard was out of reach each time");
    }
    let budget = CheckItem {
        budget: Some(BUDGET.into()),
        cost: Some(1_000),
        ..CheckItem::default()
    };
    let request = CheckRequest {
        tenant: Some("pro:a".into()),
        checks: Some(vec![budget]),
        require: Some(Require::All),
        ..CheckRequest::default()
    };
    admitted(&client, &request).await;
    // Without a cost, one unit.
    let default_cost = json!({ "tenant": "pro:a", "budget": BUDGET });
    let default_cost: DecisionBody = client
        .post("/v1/check", &default_cost)
        .await
        .unwrap()
        .ok()
        .unwrap();
    assert!(!default_cost.allowed, "{default_cost:?}");
}

/// Charges a fresh key in the long form and in the short one; false where its shard was out of reach.
async fn both_forms_charge(client: &Client, key: &str) -> bool {
    let limit = CheckItem {
        limit: Some(LIMIT.into()),
        key: Some(key.to_owned()),
        cost: Some(7),
        ..CheckItem::default()
    };
    let long = client.check_long(None, limit).await.unwrap().decision;
    let short = client.check_limit(LIMIT, key, 7).await.unwrap().decision;
    let reasons = [long.reason, short.reason];
    if reasons.contains(&Reason::Unavailable) {
        return false;
    }
    assert_eq!(
        (long.allowed, long.remaining, long.binding.as_str()),
        (true, 13, LIMIT)
    );
    assert_eq!((short.allowed, short.remaining), (true, 6));
    true
}
