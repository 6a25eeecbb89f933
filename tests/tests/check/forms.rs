//! The forms of a check, and the costs at both ends of their range.

use serde_json::json;
use weir_shared::wire::check::{CheckItem, CheckRequest, DecisionBody, Reason, Require};
use weir_tests::client::Checked;
use weir_tests::fixtures::{BUDGET, LIMIT};
use weir_tests::workerd::Setup;

use crate::check::{deployment, still};

#[tokio::test]
async fn what_no_state_could_admit_is_never_and_costs_nothing() {
    let (workerd, _) = deployment(Setup::isolates(&["weur"]), still()).await;
    let client = workerd.client(0).unwrap();
    for cost in [21, 9_007_199_254_740_991] {
        let Checked { decision, reply } = client.check_limit(LIMIT, "k", cost).await.unwrap();
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
        let Checked { decision, reply } = client.check_budget("pro:a", BUDGET, cost).await.unwrap();
        assert_eq!(
            (decision.allowed, decision.reason, decision.retry_after_ms),
            (false, Reason::Never, None)
        );
        assert_eq!(reply.header("retry-after"), None);
    }
    assert!(
        client
            .check_limit(LIMIT, "k", 20)
            .await
            .unwrap()
            .decision
            .allowed
    );
    assert!(
        client
            .check_budget("pro:a", BUDGET, 1_000)
            .await
            .unwrap()
            .decision
            .allowed
    );
}

#[tokio::test]
async fn a_cost_of_zero_looks_and_changes_nothing() {
    let (workerd, _) = deployment(Setup::isolates(&["weur"]), still()).await;
    let client = workerd.client(0).unwrap();
    assert!(
        client
            .check_limit(LIMIT, "k", 15)
            .await
            .unwrap()
            .decision
            .allowed
    );
    for _ in 0..30 {
        let look = client.check_limit(LIMIT, "k", 0).await.unwrap().decision;
        assert!(look.allowed);
        assert_eq!(look.remaining, 5);
        assert!(
            client
                .check_budget("pro:a", BUDGET, 0)
                .await
                .unwrap()
                .decision
                .allowed
        );
    }
    assert!(
        client
            .check_limit(LIMIT, "k", 5)
            .await
            .unwrap()
            .decision
            .allowed
    );
    assert!(
        client
            .check_budget("pro:a", BUDGET, 1_000)
            .await
            .unwrap()
            .decision
            .allowed
    );
}

#[tokio::test]
async fn the_long_form_with_one_entry_is_the_short_form() {
    let (workerd, _) = deployment(Setup::isolates(&["weur"]), still()).await;
    let client = workerd.client(0).unwrap();
    let limit = CheckItem {
        limit: Some(LIMIT.into()),
        key: Some("k".into()),
        cost: Some(7),
        ..CheckItem::default()
    };
    let long = client.check_long(None, limit).await.unwrap().decision;
    assert_eq!(
        (long.allowed, long.remaining, long.binding.as_str()),
        (true, 13, LIMIT)
    );
    let short = client.check_limit(LIMIT, "k", 7).await.unwrap().decision;
    assert_eq!((short.allowed, short.remaining), (true, 6));
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
    assert!(client.check(&request).await.unwrap().decision.allowed);
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
