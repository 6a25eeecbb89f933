//! One budget, many holders: no window is ever overdrawn, and none is left unused while somebody asks.

use std::time::Duration;

use serde_json::Value;
use weir_tests::checker::{admitted_by_window, full_windows, left_unused, violations};
use weir_tests::client::Client;
use weir_tests::fixtures::{BUDGET, policy};
use weir_tests::history::{Operation, outcomes};
use weir_tests::shares::stalls;
use weir_tests::workerd::{Setup, Workerd};
use weir_tests::workload::Workload;

const LIMIT: u64 = 200;
const WINDOW: Duration = Duration::from_secs(2);
/// Six full windows and two cut ones.
const RUN: Duration = Duration::from_secs(14);

async fn deployment(setup: Setup) -> Workerd {
    let workerd = setup.start().await.expect("workerd starts");
    workerd
        .apply(&budget_policy())
        .await
        .expect("the policy is saved");
    workerd
}

fn budget_policy() -> Value {
    policy(LIMIT, WINDOW.as_millis() as u64)
}

/// The two promises: at most the limit in every window, and at least 95% of it, but for what a stall of the machine left, in
/// every one in which somebody was denied.
#[track_caller]
fn assert_capped_and_used(what: &str, operations: &[Operation]) {
    let full = full_windows(operations);
    println!(
        "{what}: limit {LIMIT}, admitted by window {:?}, {:?}",
        admitted_by_window(operations),
        outcomes(operations)
    );
    assert_eq!(violations(operations, LIMIT, WINDOW), [], "{what}");
    assert!(
        full.len() >= 4,
        "{what}: only {} full windows in {RUN:?}",
        full.len()
    );
    let stalls = stalls(operations, WINDOW);
    let most = |window: u64| LIMIT / 20 + stalls[&window].units(LIMIT);
    let unused = left_unused(operations, LIMIT, most);
    assert_eq!(unused, [], "{what}: of {LIMIT}, stalls {stalls:?}");
}

fn admitted_to(operations: &[Operation], client: usize) -> u64 {
    operations
        .iter()
        .filter(|operation| operation.client == client)
        .map(Operation::admitted)
        .sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn three_regions_share_one_budget() {
    let workerd = deployment(Setup::three_regions()).await;
    let clients = workerd.clients().unwrap();
    let operations = Workload::new(clients, BUDGET).run(RUN).await.unwrap();
    assert_capped_and_used("three regions", &operations);
    for client in 0..3 {
        assert!(
            admitted_to(&operations, client) > 0,
            "region {client} got nothing"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mixed_costs_of_several_tenants_share_one_budget() {
    let workerd = deployment(Setup::three_regions()).await;
    let tenants = ["enterprise:a", "pro:b", "free:c", "free:d", "unnamed"];
    let workload = Workload {
        tenants: tenants.map(str::to_owned).to_vec(),
        costs: vec![1, 3, 1, 17, 2, 1, 40, 5],
        ..Workload::new(workerd.clients().unwrap(), BUDGET)
    };
    let operations = workload.run(RUN).await.unwrap();
    assert_capped_and_used("mixed costs", &operations);
    for tenant in tenants {
        let admitted: u64 = operations
            .iter()
            .filter(|operation| operation.tenant == tenant)
            .map(Operation::admitted)
            .sum();
        assert!(admitted > 0, "{tenant} got nothing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_isolates_of_one_region_share_one_budget() {
    let workerd = deployment(Setup::isolates(&["weur", "weur"])).await;
    let operations = Workload::new(workerd.clients().unwrap(), BUDGET)
        .run(RUN)
        .await
        .unwrap();
    assert_capped_and_used("two isolates", &operations);
    for client in 0..2 {
        assert!(
            admitted_to(&operations, client) > 0,
            "isolate {client} got nothing"
        );
    }
}

/// Regions that fall silent give back what they hold: who is left gets the whole budget.
#[tokio::test(flavor = "multi_thread")]
async fn a_region_that_is_left_alone_gets_everything() {
    let workerd = deployment(Setup::three_regions()).await;
    let clients = workerd.clients().unwrap();
    let together = Workload::new(clients.clone(), BUDGET)
        .run(2 * WINDOW)
        .await
        .unwrap();
    assert_eq!(violations(&together, LIMIT, WINDOW), []);
    // What the others hold comes back: of the window in which they fell silent, and of the next, which they were lent
    // ahead.
    let settling = alone(&clients[1]).run(2 * WINDOW).await.unwrap();
    let operations = alone(&clients[1]).run(RUN).await.unwrap();
    assert_capped_and_used("left alone", &operations);
    let joined: Vec<Operation> = [together, settling, operations].concat();
    for (window, admitted) in admitted_by_window(&joined) {
        assert!(
            admitted <= LIMIT,
            "window {window} admitted {admitted} of {LIMIT}"
        );
    }
}

fn alone(client: &Client) -> Workload {
    Workload {
        workers: 8,
        pause: Duration::from_millis(10),
        ..Workload::new(vec![client.clone()], BUDGET)
    }
}
