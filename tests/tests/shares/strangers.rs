//! Names that the policy does not know: as many as somebody invents, they weigh no more than it says.

use std::time::Duration;

use serde_json::json;
use weir_tests::checker::{admitted_by_window, violations};
use weir_tests::client::Client;
use weir_tests::history::{Operation, outcomes};
use weir_tests::shares::{demand, of, settled_windows, sketch};
use weir_tests::stage::Stage;
use weir_tests::workerd::{REGIONS, Setup};
use weir_tests::workload::Workload;

use weir_shared::ordered::OrderedSet;

use crate::shares::{assert_rule, document, escrow, flood, got, load, run_until, weighing};

const LIMIT: u64 = 240;
const WINDOW: Duration = Duration::from_secs(4);

const NAMES: usize = 2_000;

/// A part of the names from each place, each sender at another of them.
fn invented(clients: &[Client]) -> Vec<Workload> {
    let parts = 4 * clients.len();
    let loads = (0..parts).map(|part| {
        let names = (0..NAMES).filter(|name| name % parts == part);
        Workload {
            tenants: names.map(|name| format!("invented{name}")).collect(),
            ..load(&clients[part % clients.len()..][..1], "", 1, 20)
        }
    });
    loads.collect()
}

async fn assert_known_keeps_its_guarantee(reserve: &str, tenants_max: u64) {
    // As heavy as all strangers together: half of the budget.
    let policy = |window| {
        let mut document = document(escrow(reserve, LIMIT, window), weighing(&[("known", 8)]));
        document["unknown_weight_max"] = json!(8);
        document["tenants_max"] = json!(tenants_max);
        document
    };
    let stage = Stage::new(Setup::isolates(&REGIONS), WINDOW, policy).await;
    let mut loads = invented(&stage.clients);
    loads.push(flood(&stage.clients[..1], "known"));
    let is_enough = |operations: &[Operation]| {
        let known = of(operations, "known").count() as u64;
        named(operations).len() > NAMES * 3 / 4 && known > LIMIT
    };
    let operations = run_until(&stage, loads, is_enough).await;
    let names = named(&operations);
    let windows = settled_windows(&operations);
    let known: Vec<u64> = windows
        .values()
        .map(|shares| got(shares, "known"))
        .collect();
    let merged: Vec<Operation> = operations.iter().cloned().map(merge).collect();
    println!(
        "{reserve}, {tenants_max} told apart: {} names, known {known:?}, by window {:?}, {:?}, {}",
        names.len(),
        admitted_by_window(&operations),
        outcomes(&operations),
        sketch(&merged)
    );
    assert_eq!(violations(&operations, LIMIT, stage.window), []);
    assert!(names.len() > NAMES * 3 / 4, "only {} names", names.len());
    let asked = of(&operations, "known").count() as u64;
    assert!(asked > LIMIT, "only {asked} requests");
    let what = format!("{reserve}, {tenants_max} told apart");
    assert_rule(&what, &merged, stage.window, |seen| {
        // What it did not ask for on a busy machine was not denied to it.
        let due = demand(&operations, seen.label, "known").min(LIMIT / 2);
        Some(seen.has("known", due * 9 / 10))
    });
    let strangers: u64 = operations
        .iter()
        .filter(|operation| operation.tenant != "known")
        .map(Operation::admitted)
        .sum();
    assert!(strangers > 0, "strangers got nothing");
}

fn named(operations: &[Operation]) -> OrderedSet<&str> {
    let names = operations.iter().map(|operation| operation.tenant.as_str());
    names.collect()
}

/// All strangers under one name, for the message.
fn merge(mut operation: Operation) -> Operation {
    if operation.tenant != "known" {
        "strangers".clone_into(&mut operation.tenant);
    }
    operation
}

#[tokio::test(flavor = "multi_thread")]
async fn invented_names_do_not_dilute_a_known_tenant_where_it_is_pinned() {
    assert_known_keeps_its_guarantee("pinned", 100_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invented_names_do_not_dilute_a_known_tenant_where_it_is_paced() {
    assert_known_keeps_its_guarantee("paced", 100_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_beyond_those_told_apart_share_one_account_where_it_is_pinned() {
    assert_known_keeps_its_guarantee("pinned", 50).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_beyond_those_told_apart_share_one_account_where_it_is_paced() {
    assert_known_keeps_its_guarantee("paced", 50).await;
}
