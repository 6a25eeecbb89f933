//! What present tenants leave: reserved for them where it is pinned, released at an even pace where it is paced, and
//! there when they come for it.

use std::time::Duration;

use serde_json::json;
use weir_shared::wire::check::Reason;
use weir_tests::checker::{admitted_by_window, violations};
use weir_tests::client::Client;
use weir_tests::history::{Operation, Outcome, outcomes};
use weir_tests::shares::{of, settled_windows, sketch, stalls};
use weir_tests::stage::Stage;
use weir_tests::workerd::Setup;
use weir_tests::workload::Workload;

use crate::shares::{
    SIX, assert_rule, document, escrow, flood, got, load, run, run_until, weighing,
};

const LIMIT: u64 = 240;
const WINDOW: Duration = Duration::from_secs(4);

async fn deployment(reserve: &str, weights: &[(&str, u64)]) -> Stage {
    let policy = |window| document(escrow(reserve, LIMIT, window), weighing(weights));
    Stage::new(Setup::isolates(&SIX), WINDOW, policy).await
}

const LIGHT: [&str; 4] = ["light0", "light1", "light2", "light3"];

/// One hungry tenant, and four that ask for some eight units of their 48.
async fn with_light_tenants(reserve: &str) -> (Vec<Operation>, Duration) {
    let weights = LIGHT.map(|name| (name, 1));
    let weights = [&weights[..], &[("hungry", 1)]].concat();
    let stage = deployment(reserve, &weights).await;
    let clients = &stage.clients;
    let light = LIGHT
        .iter()
        .enumerate()
        .map(|(nth, tenant)| load(&clients[nth..=nth], tenant, 1, 500));
    let loads = light.chain([flood(clients, "hungry")]);
    (run(&stage, loads.collect()).await, stage.window)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_light_tenants_leave_is_used_where_it_is_paced() {
    let (operations, window) = with_light_tenants("paced").await;
    let windows = settled_windows(&operations);
    println!("paced: {windows:?}, {:?}", sketch(&operations));
    assert_eq!(violations(&operations, LIMIT, window), []);
    assert_rule("used", &operations, window, |seen| {
        Some(seen.is_used(LIMIT * 9 / 10))
    });
}

/// The control: a guarantee that stays reserved is not used by anybody else.
#[tokio::test(flavor = "multi_thread")]
async fn what_light_tenants_leave_stays_reserved_where_it_is_pinned() {
    let (operations, window) = with_light_tenants("pinned").await;
    let windows = settled_windows(&operations);
    println!("pinned: {windows:?}, {:?}", sketch(&operations));
    assert_eq!(violations(&operations, LIMIT, window), []);
    assert_rule("hungry", &operations, window, |seen| {
        // A fifth; what may be borrowed of the others until the last of them has come, which is half a second; and a
        // unit for each holder.
        let fifth = LIMIT / 5;
        let most = fifth + LIMIT / 10 + 12 + seen.stall.units(LIMIT);
        Some(seen.has("hungry", fifth * 9 / 10) && seen.got("hungry") <= most)
    });
    let light_denied = LIGHT.iter().any(|tenant| denied(&operations, tenant) > 0);
    assert!(!light_denied, "{:?}", outcomes(&operations));
}

/// Requests that were denied, and not because a holder was slow to answer another one.
fn denied(operations: &[Operation], tenant: &str) -> usize {
    let decided = of(operations, tenant).filter_map(Operation::decision);
    let denied =
        decided.filter(|decision| !decision.allowed && decision.reason != Reason::Unavailable);
    denied.count()
}

/// Those that were sent after the second window had begun.
fn from_the_second_window(operations: &[Operation]) -> Vec<Operation> {
    let windows = admitted_by_window(operations);
    let labels: Vec<&u64> = windows.keys().collect();
    let second = *labels.get(1).expect("two windows");
    let began = operations
        .iter()
        .filter(|operation| operation.window() >= Some(*second))
        .map(|operation| operation.sent)
        .min()
        .expect("an operation of it");
    let later = operations
        .iter()
        .filter(|operation| operation.sent >= began);
    later.cloned().collect()
}

/// Some 100 units of the 120 that half of the weight has, in a window of 4 s, at an even pace.
fn steady(client: &Client) -> Workload {
    load(std::slice::from_ref(client), "steady", 2, 75)
}

async fn assert_steady_is_served(reserve: &str) {
    let stage = deployment(reserve, &[("steady", 1), ("flood", 1)]).await;
    let clients = &stage.clients;
    let loads = vec![steady(&clients[0]), flood(clients, "flood")];
    let asked = |operations: &[Operation]| of(operations, "steady").count();
    let is_enough = |operations: &[Operation]| asked(&from_the_second_window(operations)) > 200;
    let operations = run_until(&stage, loads, is_enough).await;
    let windows = settled_windows(&operations);
    println!("{reserve}: {windows:?}, {:?}", sketch(&operations));
    assert_eq!(violations(&operations, LIMIT, stage.window), []);
    for shares in windows.values() {
        let steady = got(shares, "steady");
        assert!(
            steady <= LIMIT / 2,
            "it was not within its guarantee, the test proves nothing: {shares:?}"
        );
    }
    let settled = from_the_second_window(&operations);
    let (asked, denied) = (asked(&settled), denied(&settled, "steady"));
    // What a holder had of the guarantee lay still for as long as the machine did.
    let stalls = stalls(&settled, stage.window).into_values();
    let stood = stalls.filter(|stall| !stall.is_quiet());
    let excused: u64 = stood.map(|stall| stall.units(LIMIT / 2)).sum();
    println!("{reserve}: {denied} of {asked} denied, {excused} may be of stalls");
    assert!(asked > 200, "only {asked} requests");
    assert!(
        denied.saturating_sub(excused as usize) * 50 <= asked,
        "{reserve}: {denied} of {asked} were denied within the guarantee: {:?}",
        reasons(&settled)
    );
}

fn reasons(operations: &[Operation]) -> Vec<(u128, Reason)> {
    let steady = of(operations, "steady").filter_map(|operation| match &operation.outcome {
        Outcome::Decided(decision) if !decision.allowed => {
            Some((operation.sent.as_millis(), decision.reason))
        }
        _ => None,
    });
    steady.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_steady_tenant_is_not_denied_under_a_flood_where_it_is_paced() {
    assert_steady_is_served("paced").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_steady_tenant_is_not_denied_under_a_flood_where_it_is_pinned() {
    assert_steady_is_served("pinned").await;
}

/// The other way round: what a tenant may lend is bounded, and the rest stays reserved for it, used or not.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_tenant_does_not_lend_stays_reserved_for_it() {
    let tenants = json!({
        "hungry": { "weight": 1 },
        "keeps": { "weight": 1, "lend_max": 24 },
    });
    let policy = |window| document(escrow("paced", LIMIT, window), tenants);
    let stage = Stage::new(Setup::isolates(&SIX), WINDOW, policy).await;
    let clients = &stage.clients;
    let loads = vec![
        load(&clients[..1], "keeps", 1, 400),
        flood(clients, "hungry"),
    ];
    let operations = run(&stage, loads).await;
    let windows = settled_windows(&operations);
    println!("{windows:?}, {}", sketch(&operations));
    assert_eq!(violations(&operations, LIMIT, stage.window), []);
    assert_rule("hungry", &operations, stage.window, |seen| {
        // Half of it is its own, and 24 of the other's may be had.
        let half = LIMIT / 2;
        let most = half + 24 + seen.stall.units(LIMIT);
        Some(seen.got("hungry") <= most && seen.has("hungry", half))
    });
}
