//! Regions that the policy does not have.

use serde_json::json;
use weir_tests::fixtures::LIMIT;
use weir_tests::workerd::Setup;

use crate::bad_input::{CHECK, assert_problem, still};

#[tokio::test]
async fn an_unknown_region_is_refused_and_takes_no_room() {
    let workerd = Setup::region_by_header().start().await.unwrap();
    workerd.apply(&still()).await.unwrap();
    let client = workerd.client(0).unwrap();
    let check = json!({ "limit": LIMIT, "key": "k", "cost": 0 });
    let many = (0..40).map(|number| format!("mars{number}"));
    let malformed = ["Weur".to_owned(), "weur x".to_owned(), "x".repeat(200)];
    for region in many.chain(malformed) {
        let reply = client.in_region(&region).post(CHECK, &check).await.unwrap();
        assert_problem(&region, &reply, 400, Some("/weir-region"));
    }
    for region in ["wnam", "enam", "weur", "eeur", "apac", "oc"] {
        let known = client
            .in_region(region)
            .check_limit(LIMIT, "k", 1)
            .await
            .unwrap();
        assert_eq!(known.decision.region, region);
    }
}
