//! Three regions of two isolates each: what tenants get is what their weights say, wherever they ask.

use std::time::Duration;

use weir_tests::checker::{admitted_by_window, violations};
use weir_tests::client::Client;
use weir_tests::history::Operation;
use weir_tests::shares::settled_windows;
use weir_tests::stage::Stage;
use weir_tests::workerd::Setup;
use weir_tests::workload::Workload;

use crate::shares::{SIX, assert_ideal, assert_rule, document, escrow, flood, run, weighing};

/// 30, 60 and 120 by weights of 1, 2 and 4.
const LIMIT: u64 = 210;
const IDEAL: [(&str, u64); 3] = [("one", 30), ("two", 60), ("four", 120)];
const WINDOW: Duration = Duration::from_secs(3);

#[track_caller]
fn assert_fair(what: &str, stage: &Stage, operations: &[Operation]) {
    println!(
        "{what}: admitted by window {:?}",
        admitted_by_window(operations)
    );
    assert_eq!(violations(operations, LIMIT, stage.window), [], "{what}");
    assert_ideal(what, operations, stage.window, &IDEAL);
}

async fn stage(reserve: &str) -> Stage {
    let weights = weighing(&[("one", 1), ("two", 2), ("four", 4)]);
    let policy = |window| document(escrow(reserve, LIMIT, window), weights);
    Stage::new(Setup::isolates(&SIX), WINDOW, policy).await
}

/// Each tenant floods from a region of its own.
fn apart(clients: &[Client]) -> Vec<Workload> {
    let places = clients.chunks(2);
    let floods = places
        .zip(IDEAL)
        .map(|(place, (tenant, _))| flood(place, tenant));
    floods.collect()
}

/// Each tenant floods from all regions; the lightest has most senders.
fn everywhere(clients: &[Client]) -> Vec<Workload> {
    let floods = IDEAL
        .iter()
        .zip([3, 1, 2])
        .map(|((tenant, _), workers)| Workload {
            workers,
            ..flood(clients, tenant)
        });
    floods.collect()
}

async fn assert_shares_follow_weights(reserve: &str) {
    let stage = stage(reserve).await;
    let operations = run(&stage, apart(&stage.clients)).await;
    assert_fair(&format!("{reserve}, apart"), &stage, &operations);
    let operations = run(&stage, everywhere(&stage.clients)).await;
    assert_fair(&format!("{reserve}, everywhere"), &stage, &operations);
}

#[tokio::test(flavor = "multi_thread")]
async fn pinned_shares_follow_weights_over_regions() {
    assert_shares_follow_weights("pinned").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paced_shares_follow_weights_over_regions() {
    assert_shares_follow_weights("paced").await;
}

/// A window has time for a few contacts alone: allowances are then corrected too seldom for shares to the unit.
#[tokio::test(flavor = "multi_thread")]
async fn pooled_shares_lean_to_weights_in_short_windows() {
    let stage = stage("pooled").await;
    for workloads in [apart(&stage.clients), everywhere(&stage.clients)] {
        let operations = run(&stage, workloads).await;
        println!("pooled: {:?}", settled_windows(&operations));
        assert_eq!(violations(&operations, LIMIT, stage.window), []);
        assert_rule("pooled", &operations, stage.window, |seen| {
            let most_of_it = |(tenant, ideal): (&str, u64)| seen.has(tenant, ideal * 6 / 10);
            Some(seen.is_used(LIMIT * 8 / 10) && IDEAL.into_iter().all(most_of_it))
        });
    }
}
