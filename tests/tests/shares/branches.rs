//! A region of six isolates with branches: what tenants get is what their weights say, though one more object is between.

use std::time::Duration;

use weir_tests::checker::{admitted_by_window, violations};
use weir_tests::stage::Stage;
use weir_tests::workerd::Setup;
use weir_tests::workload::Workload;

use crate::branches::{BRANCHING, two_have_lent, until_two_lend};
use crate::shares::{assert_ideal, document, escrow, flood, until_judged, weighing};

/// 30, 60 and 120 by weights of 1, 2 and 4.
const LIMIT: u64 = 210;
const IDEAL: [(&str, u64); 3] = [("one", 30), ("two", 60), ("four", 120)];
const WINDOW: Duration = Duration::from_secs(3);

async fn assert_shares_follow_weights(reserve: &str) -> bool {
    let weights = weighing(&[("one", 1), ("two", 2), ("four", 4)]);
    let policy = |window| document(escrow(reserve, LIMIT, window), weights);
    let places = ["weur", "weur", "weur", "weur", "weur", "apac"];
    let setup = Setup::isolates(&places).variable("WEIR_BRANCH_ISOLATES", "1");
    let mut stage = Stage::new(setup, WINDOW, policy).await;
    let floods = IDEAL.iter().zip([3, 1, 2]);
    let floods = floods.map(|((tenant, _), workers)| Workload {
        workers,
        ..flood(&stage.clients, tenant)
    });
    let running = stage.start(floods.collect());
    tokio::time::sleep(BRANCHING).await;
    let before = running.history().operations().len();
    until_judged(&running, before, stage.window).await;
    let operations = running.stop().await.unwrap();
    println!(
        "{reserve}: admitted by window {:?}",
        admitted_by_window(&operations)
    );
    assert_eq!(violations(&operations, LIMIT, stage.window), []);
    assert_ideal(reserve, &operations[before..], stage.window, &IDEAL);
    two_have_lent(&mut stage.workerd)
}

#[tokio::test(flavor = "multi_thread")]
async fn pinned_shares_follow_weights_through_branches() {
    until_two_lend(async || assert_shares_follow_weights("pinned").await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paced_shares_follow_weights_through_branches() {
    until_two_lend(async || assert_shares_follow_weights("paced").await).await;
}
