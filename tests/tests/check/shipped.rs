//! A deployment as it is shipped.

use weir_tests::client::limit_check;
use weir_tests::fixtures::{BUDGET, LIMIT};
use weir_tests::workerd::{REGIONS, Setup};

use crate::check::admitted;

#[tokio::test]
async fn a_header_names_the_region_only_where_that_is_allowed() {
    let by_header = Setup::region_by_header().start().await.unwrap();
    let client = by_header.client(0).unwrap();
    for region in REGIONS {
        // Each region has its own key.
        let there = client.in_region(region);
        let decided = admitted(&there, &limit_check(LIMIT, "k", 20)).await;
        assert_eq!(decided.region, region);
    }
    let bare = Setup::bare().start().await.unwrap();
    let client = bare.client(0).unwrap();
    let usual = client.check_limit(LIMIT, "k", 1).await.unwrap().decision;
    for region in REGIONS {
        let decided = client
            .in_region(region)
            .check_limit(LIMIT, "k", 1)
            .await
            .unwrap()
            .decision;
        assert_eq!(
            decided.region, usual.region,
            "the header {region} was followed"
        );
    }
}

#[tokio::test]
async fn a_fresh_deployment_decides_by_the_policy_that_it_ships_with() {
    let workerd = Setup::three_regions().start().await.unwrap();
    let client = workerd.client(1).unwrap();
    let saved = client.policy().await.unwrap();
    assert_eq!(saved.document["budgets"][BUDGET]["limit"], 30_000);
    let decision = client
        .check_budget_once_there("enterprise:acme", BUDGET, 1)
        .await
        .decision;
    assert_eq!(
        (decision.allowed, decision.limit, decision.policy_revision),
        (true, 30_000, saved.revision().unwrap())
    );
    for key in ["meters", "guards", "overload", "routes", "tenants"] {
        assert!(
            saved.document.get(key).is_some(),
            "every top-level key is answered, {key} too"
        );
    }
}

#[tokio::test]
async fn health_and_the_front_door_need_no_token() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    let client = workerd.client(0).unwrap().anonymous();
    let health: serde_json::Value = client.get("/healthz").await.unwrap().ok().unwrap();
    assert_eq!(health["status"], "ok");
    let front = client.get("/").await.unwrap();
    assert_eq!(
        (front.status, front.header("location")),
        (302, Some("/console/"))
    );
}
