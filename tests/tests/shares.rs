//! Shared budgets, end to end: every rule at every scope it is served at, over regions and isolates, edited, settled,
//! killed.

mod borrowing;
mod bounds;
mod branches;
mod edits;
mod fairness;
mod kills;
mod nested;
mod pairs;
mod refused;
mod rolls;
mod rules;
mod settlement;
mod strangers;

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::ordered::OrderedSet;
use weir_shared::wire::check::DecisionBody;
use weir_tests::client::Client;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::{BUDGET, policy, with, without};
use weir_tests::history::{Operation, outcomes};
use weir_tests::shares::{Shares, Stall, demand, hungry, settled_windows, sketch, stalls};
use weir_tests::stage::Stage;
use weir_tests::workerd::{Setup, Workerd};
use weir_tests::workload::{Running, Workload};

/// Thirty days. Windows begin at multiples of their length, so a test almost never straddles one.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// How long what is on its way between holders may take to arrive on a busy machine.
const SETTLING: Duration = Duration::from_secs(30);

/// Two isolates in each of three regions.
const SIX: [&str; 6] = ["wnam", "wnam", "weur", "weur", "apac", "apac"];

/// One isolate in one region.
fn alone() -> Setup {
    Setup::isolates(&["weur"])
}

/// A budget that is shared so, where it is kept.
fn budget(sharing: &str, scope: &str, limit: u64, window_ms: u64) -> Value {
    let body =
        json!({ "limit": limit, "window_ms": window_ms, "sharing": sharing, "scope": scope });
    match sharing {
        "weighted_fair_escrow" => with(body, "/reserve", json!("pinned")),
        _ => body,
    }
}

/// A global budget whose unused guarantees are kept so.
fn escrow(reserve: &str, limit: u64, window: Duration) -> Value {
    let window_ms = window.as_millis() as u64;
    let body = budget("weighted_fair_escrow", "global", limit, window_ms);
    with(body, "/reserve", json!(reserve))
}

/// A policy with that budget and these tenants by name. A budget of its own, the first by name, is what
/// [`Workerd::apply`] looks at.
fn document(budget: Value, tenants: Value) -> Value {
    let looked_at =
        json!({ "limit": 1, "window_ms": LONG_MS, "sharing": "first_come", "scope": "global" });
    let budgets = json!({ "looked_at": looked_at, BUDGET: budget });
    with(
        with(policy(1, LONG_MS), "/budgets", budgets),
        "/tenants",
        tenants,
    )
}

/// Tenants of these weights.
fn weighing(weights: &[(&str, u64)]) -> Value {
    let tenants = weights
        .iter()
        .map(|(name, weight)| ((*name).to_owned(), json!({ "weight": weight })));
    Value::Object(tenants.collect())
}

/// A deployment with that policy in force.
///
/// The shipped policy has an escrow of the same name. Where a partition takes the place of a budget of another kind, its
/// regions wait for the next window, so that here the budget is new.
async fn start(setup: Setup, document: &Value) -> Workerd {
    let workerd = setup.start().await.expect("workerd starts");
    if document["budgets"][BUDGET]["sharing"] == "static_partition" {
        let gone = without(document.clone(), &format!("/budgets/{BUDGET}"));
        workerd.apply(&gone).await.expect("the budget is removed");
    }
    workerd.apply(document).await.expect("the policy is saved");
    workerd
}

/// Charges the budget. A decision that is unavailable charges nothing, and a slow machine has some.
async fn take(client: &Client, tenant: &str, cost: u64) -> DecisionBody {
    let checked = client.check_budget_once_there(tenant, BUDGET, cost);
    checked.await.decision
}

/// Asks again until it is admitted: what other holders do not need comes back.
async fn await_allowed(client: &Client, tenant: &str, cost: u64) -> DecisionBody {
    let start = now();
    loop {
        let decision = take(client, tenant, cost).await;
        if decision.allowed {
            return decision;
        }
        assert!(
            start.elapsed() < SETTLING,
            "{cost} are not admitted to {tenant}: {decision:?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Takes single units until so many came, or none for a while, and one more; how many came.
async fn take_the_rest(client: &Client, tenant: &str, expected: u64) -> u64 {
    let (mut taken, mut last) = (0, now());
    while taken < expected && last.elapsed() < SETTLING {
        if take(client, tenant, 1).await.allowed {
            (taken, last) = (taken + 1, now());
        } else {
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    }
    taken + u64::from(take(client, tenant, 1).await.allowed)
}

/// Single units until one is denied: how many were admitted, and the denial.
async fn take_until_denied(client: &Client, tenant: &str) -> (u64, DecisionBody) {
    let mut taken = 0;
    loop {
        let decision = take(client, tenant, 1).await;
        if !decision.allowed {
            return (taken, decision);
        }
        taken += 1;
        assert!(taken <= 10_000, "{tenant} is never denied");
    }
}

/// Waits until a window of that length has just begun.
async fn window_start(window: Duration) {
    let window_ms = window.as_millis() as u64;
    let left_ms = window_ms - epoch_ms() % window_ms;
    // A window that is told to end at an instant ends a round trip later.
    tokio::time::sleep(Duration::from_millis(left_ms + 150)).await;
}

/// Requests of one unit, as many as `workers` loops of each client send with a pause between them.
fn load(clients: &[Client], tenant: &str, workers: usize, pause_ms: u64) -> Workload {
    Workload {
        tenants: vec![tenant.to_owned()],
        workers,
        pause: Duration::from_millis(pause_ms),
        ..Workload::new(clients.to_vec(), BUDGET)
    }
}

/// More than any tenant of the tests is meant to get, from every client: some 150 units a second in all, of budgets that
/// have 80 at most.
fn flood(clients: &[Client], tenant: &str) -> Workload {
    load(clients, tenant, 2, 12 * clients.len() as u64)
}

/// Sends until enough windows can be judged.
async fn run(stage: &Stage, loads: Vec<Workload>) -> Vec<Operation> {
    run_until(stage, loads, |_| true).await
}

/// The same, and until that is enough: senders wait for answers, and on a busy machine they ask less often.
async fn run_until(
    stage: &Stage,
    loads: Vec<Workload>,
    is_enough: impl Fn(&[Operation]) -> bool,
) -> Vec<Operation> {
    const WINDOWS_MAX: u32 = 20;
    let running = stage.start(loads);
    until_judged(&running, 0, stage.window).await;
    let is_enough = || is_enough(&running.history().operations());
    while !is_enough() && running.elapsed() < WINDOWS_MAX * stage.window {
        tokio::time::sleep(stage.window).await;
    }
    running.stop().await.expect("the load runs to its end")
}

/// Waits until there are enough windows to judge of the operations from that one on: without a stall, or in all.
async fn until_judged(running: &Running, from: usize, window: Duration) {
    const QUIET: usize = 4;
    const ALL: usize = 8;
    loop {
        tokio::time::sleep(window).await;
        let operations = running.history().operations();
        let operations = &operations[from..];
        let stalls = stalls(operations, window);
        let settled = settled_windows(operations);
        let quiet = settled.keys().filter(|label| stalls[label].is_quiet());
        if quiet.count() >= QUIET || settled.len() >= ALL {
            return;
        }
    }
}

/// The rule holds in each settled window of which it says anything, three at least. It is told how long the machine stalled
/// in the window, and whom it had demand of that was not served.
#[track_caller]
fn assert_rule(
    what: &str,
    operations: &[Operation],
    window: Duration,
    holds: impl Fn(&Seen<'_>) -> Option<bool>,
) {
    let settled = settled_windows(operations);
    let stalls = stalls(operations, window);
    let mut held = 0;
    for (label, shares) in &settled {
        let seen = Seen {
            label: *label,
            shares,
            stall: stalls[label],
            hungry: hungry(operations, *label),
            operations,
        };
        if let Some(holds) = holds(&seen) {
            assert!(holds, "{what}: {seen:?}");
            held += 1;
        }
    }
    assert!(
        held >= 3,
        "{what}: it was judged in {held} windows of {settled:?}"
    );
}

/// What was seen of a window.
struct Seen<'a> {
    label: u64,
    shares: &'a Shares,
    stall: Stall,
    /// Who was denied something.
    hungry: OrderedSet<&'a str>,
    operations: &'a [Operation],
}

impl fmt::Debug for Seen<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            label,
            shares,
            stall,
            hungry,
            ..
        } = self;
        write!(
            out,
            "window {label}: {shares:?}, {stall:?}, hungry {hungry:?}"
        )
    }
}

impl Seen<'_> {
    fn got(&self, tenant: &str) -> u64 {
        got(self.shares, tenant)
    }

    /// Whether a tenant got so much, but for what a stall took, or nearly all that it asked for: of senders that wait for
    /// answers a busy machine may ask for less.
    fn has(&self, tenant: &str, units: u64) -> bool {
        let due = units.min(self.asked(tenant));
        let due = due.saturating_sub(self.stall.units(units));
        self.got(tenant) >= due || !self.hungry.contains(tenant)
    }

    /// Whether all got so much together, but for what a stall took, or nearly all that they asked for.
    fn is_used(&self, units: u64) -> bool {
        let used: u64 = self.shares.values().sum();
        let asked: u64 = self.shares.keys().map(|tenant| self.asked(tenant)).sum();
        let due = units.min(asked).saturating_sub(self.stall.units(units));
        used >= due || self.hungry.is_empty()
    }

    /// What a tenant asked for, but for a tenth: what is asked for as the window ends may find nothing.
    fn asked(&self, tenant: &str) -> u64 {
        demand(self.operations, self.label, tenant) * 9 / 10
    }
}

/// In every settled window each tenant with demand for all of its ideal share got that, but for the bound: `c span (2 q +
/// 1)`, with costs c of 1, `span` the holders that lend to it and q the units that one of them may have ahead: for six
/// isolates of a unit each 6, and a tenth for a machine that is too busy to ask in time. Which tenants had the demand
/// depends on the machine, too, and what a stall left goes to who asks.
#[track_caller]
fn assert_ideal(what: &str, operations: &[Operation], window: Duration, ideals: &[(&str, u64)]) {
    println!(
        "{what}: {:?}, {:?}, {}",
        settled_windows(operations),
        outcomes(operations),
        sketch(operations)
    );
    let all: u64 = ideals.iter().map(|(_, ideal)| ideal).sum();
    for (tenant, ideal) in ideals {
        let what = format!("{what}: {tenant}, of {ideal}");
        let bound = 6 + ideal / 10;
        assert_rule(&what, operations, window, |seen| {
            let beyond = seen.got(tenant).saturating_sub(*ideal);
            let near = seen.has(tenant, ideal - bound) && beyond <= bound + seen.stall.units(all);
            // Who was not denied anything had less demand, and others what it left.
            let short = ideals.iter().any(|(other, _)| !seen.hungry.contains(other));
            seen.hungry
                .contains(tenant)
                .then_some(near || (short && beyond > 0))
        });
    }
}

fn got(shares: &Shares, tenant: &str) -> u64 {
    shares.get(tenant).copied().unwrap_or(0)
}
