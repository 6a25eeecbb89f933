//! An upgrade and its rollback, step by step: both versions of the Worker answer, and share the objects of both.
//!
//! `cargo xtask upgrade` builds the version before, and names it in `WEIR_PREVIOUS_BUILD`. Where nothing does, the Worker under test
//! takes both parts: then the way of an upgrade is tried, and not two versions.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use weir_shared::wire::audit::AuditVerdict;
use weir_shared::wire::check::{DecisionBody, Reason};
use weir_shared::wire::health::Health;
use weir_shared::wire::operator::FairnessReply;
use weir_shared::wire::role::Role;
use weir_tests::calls::reserved;
use weir_tests::checker::{admitted_by_window, full_windows, violations};
use weir_tests::client::Client;
use weir_tests::fixtures::{BUDGET, gcra, policy, token_request, with};
use weir_tests::history::{Operation, Outcome, outcomes};
use weir_tests::workerd::{Placement, Setup, Version, Workerd};
use weir_tests::workload::Workload;
use weir_tests::{clock, paths};

use Version::{Present as New, Previous as Old};

const CAP: u64 = 200;
const WINDOW: Duration = Duration::from_secs(2);

/// How long each step stands: what was lent before a kill is lost for its window and the next one; then two are whole.
const STANDS: Duration = Duration::from_secs(8);

/// How long what was counted may take to reach the ledgers on a busy machine.
const SETTLING: Duration = Duration::from_secs(30);

/// A budget in which nobody competes, and whoever is counted to the unit in it.
const QUIET: &str = "quiet";
const COUNTED: &str = "pro:counted";

/// A limit of one unit in ten minutes in bursts of five: what is spent does not come back within the test.
const SLOW: &str = "slow";

/// A step of the way: who serves the three isolates, and the objects: coordinators, regions, the registry, ledgers.
struct Step {
    name: &'static str,
    isolates: [Version; 3],
    objects: [Version; 4],
}

/// A gradual deployment, all of it, and back.
const WAY: [Step; 7] = [
    step("before", [Old; 3], [Old; 4]),
    step("isolates of both, old objects", [New, Old, New], [Old; 4]),
    step("objects of both", [New, Old, New], [New, Old, New, Old]),
    step("the other objects", [Old, New, Old], [Old, New, Old, New]),
    step("after", [New; 3], [New; 4]),
    step(
        "back: isolates of both, old objects",
        [New, Old, New],
        [Old; 4],
    ),
    step("back", [Old; 3], [Old; 4]),
];

const fn step(name: &'static str, isolates: [Version; 3], objects: [Version; 4]) -> Step {
    Step {
        name,
        isolates,
        objects,
    }
}

impl Step {
    fn placement(&self) -> Placement {
        Placement {
            isolates: self.isolates.to_vec(),
            objects: self.objects,
        }
    }
}

fn document() -> Value {
    let quiet = json!({
        "limit": 1_000_000, "window_ms": 3_600_000, "sharing": "first_come", "scope": "global"
    });
    let base = policy(CAP, WINDOW.as_millis() as u64);
    let base = with(base, &format!("/budgets/{QUIET}"), quiet);
    with(base, &format!("/limits/{SLOW}"), gcra(6, 3_600_000, 5))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_and_its_rollback_keep_the_cap_the_accounts_and_what_was_given_out() {
    let previous = paths::previous_build().unwrap_or_else(|| paths::edge_build().unwrap());
    let mut workerd = Setup::three_regions()
        .previous(&previous)
        .start()
        .await
        .unwrap();
    workerd.apply(&document()).await.unwrap();
    let running = Workload::new(workerd.clients().unwrap(), BUDGET).start();
    let mut kept = Kept::default();
    let mut stood = Vec::new();
    for (index, step) in WAY.iter().enumerate() {
        if index > 0 {
            workerd.place(&step.placement()).await.unwrap();
        }
        let from = running.elapsed();
        assert_served(&workerd, step).await;
        kept.go_on(&workerd, index).await;
        tokio::time::sleep(STANDS.saturating_sub(running.elapsed() - from)).await;
        stood.push((step.name, from, running.elapsed()));
    }
    let operations = running.stop().await.unwrap();
    println!("{:?}", outcomes(&operations));
    let lost = |operation: &Operation| matches!(operation.outcome, Outcome::Lost(_));
    assert!(operations.iter().any(lost), "no step fell into the load");
    assert_eq!(violations(&operations, CAP, WINDOW), []);
    for (name, from, to) in stood {
        assert_used(name, &within(&operations, from, to));
    }
    let log = workerd.log();
    assert!(!log.contains("damaged row"), "{log}");
}

fn within(operations: &[Operation], from: Duration, to: Duration) -> Vec<Operation> {
    let inside = operations.iter();
    inside
        .filter(|operation| operation.sent >= from && operation.received <= to)
        .cloned()
        .collect()
}

/// Two versions that refuse each other's messages keep any cap: nothing would be admitted. Half of the cap is, or of what a
/// busy machine asks for, where it asks for most. What was answered without a window may have been asked of any.
#[track_caller]
fn assert_used(step: &str, operations: &[Operation]) {
    let full = full_windows(operations);
    println!(
        "{step}: {} answers, admitted by window {:?}",
        operations.len(),
        admitted_by_window(operations)
    );
    let asked = |window: u64| -> u64 {
        let of = operations
            .iter()
            .filter(|operation| operation.window().is_none_or(|label| label == window));
        of.map(|operation| operation.cost).sum()
    };
    let busiest = full.keys().map(|window| asked(*window)).max();
    let is_used = full.iter().any(|(window, admitted)| {
        let asked = asked(*window);
        Some(2 * asked) >= busiest && 2 * admitted >= CAP.min(asked)
    });
    assert!(is_used, "{step}: {full:?} of {CAP}, {busiest:?} asked for");
}

/// Each isolate is of the version that the step says, where that version can tell.
async fn assert_served(workerd: &Workerd, step: &Step) {
    for (told, version) in told(workerd).await.iter().zip(step.isolates) {
        let agrees = told.as_deref().is_none_or(|told| told == version.name());
        assert!(agrees, "{}: {told:?}", step.name);
    }
}

/// What each isolate tells of its version.
async fn told(workerd: &Workerd) -> Vec<Option<String>> {
    let mut told = Vec::new();
    for client in workerd.clients().unwrap() {
        let health: Health = client.get("/healthz").await.unwrap().ok().unwrap();
        told.push(health.version.map(|version| version.id));
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_is_told_which_version_answers() {
    let present = paths::edge_build().unwrap();
    let mut workerd = Setup::three_regions()
        .previous(&present)
        .start()
        .await
        .unwrap();
    workerd.place(&WAY[1].placement()).await.unwrap();
    let expected = WAY[1]
        .isolates
        .map(|version| Some(version.name().to_owned()));
    assert_eq!(told(&workerd).await, expected);
    let scraped = workerd.client(0).unwrap().get("/metrics").await.unwrap();
    let build = format!("id=\"{}\"", WAY[1].isolates[0].name());
    let scraped = scraped.text();
    let line = scraped
        .lines()
        .find(|line| line.starts_with("weir_build_info"));
    assert!(line.is_some_and(|line| line.contains(&build)), "{line:?}");
}

/// What callers and operators were given, by whichever version, and what it has come to.
#[derive(Default)]
struct Kept {
    units: u128,
    reservation: Option<String>,
    tokens: Vec<String>,
}

impl Kept {
    /// What holds in every step, by each isolate.
    async fn go_on(&mut self, workerd: &Workerd, index: usize) {
        let clients = workerd.clients().unwrap();
        // A policy that one version saves is in force at both.
        let limit = json!(1_000_000 + index);
        let changed = with(document(), &format!("/budgets/{QUIET}/limit"), limit);
        workerd.apply(&changed).await.unwrap();
        self.charge(&clients, index).await;
        self.are_let_in(&clients, index).await;
        self.are_counted(&clients[index % 3]).await;
        assert_spent(&clients[1], index).await;
        let verdict: AuditVerdict = read(&clients[0], "/operator/v1/audit/verify").await;
        assert!(verdict.intact, "{verdict:?}");
    }

    /// Charges by each isolate, settles what was reserved in the step before, and reserves anew.
    async fn charge(&mut self, clients: &[Client], index: usize) {
        for client in clients {
            let question = json!({ "tenant": COUNTED, "budget": QUIET, "cost": 3 });
            admitted(client, &question).await;
            self.units += 3;
        }
        let client = &clients[index % 3];
        if let Some(reservation) = self.reservation.take() {
            let start = clock::now();
            // Objects that have just been started may be out of reach; a settlement counts once, however often it is asked
            // for.
            while let Err(error) = client.settle(&reservation, 4).await {
                assert!(start.elapsed() < SETTLING, "{error:#}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            self.units += 4;
        }
        let question = json!({ "tenant": COUNTED, "budget": QUIET, "cost": 10 });
        let held = admitted(client, &reserved(question)).await;
        self.reservation = held.reservation;
        assert!(self.reservation.is_some());
    }

    /// Whoever has a token of either version, at both.
    async fn are_let_in(&mut self, clients: &[Client], index: usize) {
        let request = token_request(&format!("viewer-{index}"), Role::Viewer);
        let made = clients[(index + 1) % 3].make_token(&request).await.unwrap();
        self.tokens.push(made.token);
        for token in &self.tokens {
            for client in clients {
                let viewer = client.with_token(token);
                read::<Value>(&viewer, "/operator/v1/policy").await;
            }
        }
    }

    /// To the unit, over all steps so far.
    async fn are_counted(&self, client: &Client) {
        let start = clock::now();
        loop {
            let view: FairnessReply = read(client, "/operator/v1/fairness").await;
            let report = view.tenants.iter().find(|report| report.tenant == COUNTED);
            let counted = report.map_or(0, |report| report.total.admitted_units.0);
            if counted == self.units {
                return;
            }
            assert!(
                start.elapsed() < SETTLING,
                "{counted} units were counted of {}",
                self.units
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// What a path answers, once its objects do: a region that has just been started may hear of a token late.
async fn read<T: DeserializeOwned>(client: &Client, path: &str) -> T {
    let start = clock::now();
    loop {
        let reply = client.get(path).await.unwrap();
        if ![401, 503].contains(&reply.status) || start.elapsed() > SETTLING {
            return reply.ok().unwrap();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The answer that admits it. Objects that have just been started may be out of reach for a moment: that charges nothing, and
/// whoever is told so asks again.
async fn admitted(client: &Client, question: &Value) -> DecisionBody {
    let start = clock::now();
    loop {
        let decision = client.decide(question).await.unwrap().decision;
        if decision.allowed {
            return decision;
        }
        let waits = decision.reason == Reason::Unavailable && start.elapsed() < SETTLING;
        assert!(waits, "{decision:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The burst is spent in the first step; no later one gives any of it back.
async fn assert_spent(client: &Client, index: usize) {
    let ask = async || -> DecisionBody {
        let checked = client.check_limit_once_there(SLOW, "spent", 1).await;
        checked.decision
    };
    for _ in 0..if index == 0 { 5 } else { 0 } {
        assert!(ask().await.allowed);
    }
    let denied = ask().await;
    assert!(!denied.allowed, "in step {index}: {denied:?}");
}
