//! Rows that cannot be read: reported and survived, and no cap is lifted by them.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::check::DecisionBody;
use weir_shared::wire::operator::FairnessReply;
use weir_tests::checker::admitted_by_window;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, LIMIT, gcra, policy, with};
use weir_tests::history::{Operation, Outcome};
use weir_tests::storage::{Damage, objects};
use weir_tests::within::until;
use weir_tests::workerd::{Setup, Workerd};

const HOUR_MS: u64 = 3_600_000;
const CAP: u64 = 100;
const SHORT_BUDGET: &str = "short";
const SHORT_WINDOW_MS: u64 = 1_000;

/// Admissions come back within the rest of a window, one whole window and the time to see it.
const RECOVERY: Duration = Duration::from_millis(3 * SHORT_WINDOW_MS + 2_000);

/// How long what is on its way between objects may take on a busy machine.
const SETTLING: Duration = Duration::from_secs(30);

/// A budget whose window outlasts the test, one whose windows are short, and a limit that does not refill.
fn document() -> Value {
    let short = json!({ "limit": 50, "window_ms": SHORT_WINDOW_MS, "sharing": "first_come", "scope": "global" });
    let document = with(policy(CAP, 30 * 24 * HOUR_MS), "/budgets/short", short);
    with(document, "/limits/per_ip", gcra(6, HOUR_MS, 20))
}

/// What a damaged deployment is asked, and everything that it has admitted of the long budget.
struct Subject {
    workerd: Workerd,
    clients: Vec<Client>,
    admitted: Vec<Operation>,
}

impl Subject {
    async fn start() -> Self {
        let workerd = Setup::three_regions()
            .start()
            .await
            .expect("workerd starts");
        workerd
            .apply(&document())
            .await
            .expect("the policy is saved");
        let clients = workerd.clients().unwrap();
        let mut subject = Self {
            workerd,
            clients,
            admitted: Vec::new(),
        };
        assert!(
            subject.clients[1]
                .check_limit_once_there(LIMIT, "spent", 20)
                .await
                .decision
                .allowed
        );
        for client in 0..3 {
            let begun = now();
            while !subject.charge(client, 9).await.allowed {
                assert!(begun.elapsed() < SETTLING, "client {client} is denied");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        subject
    }

    /// Charges the long budget; any answer but a decision is a failure.
    async fn charge(&mut self, client: usize, cost: u64) -> DecisionBody {
        let checked = self.clients[client]
            .check_budget("pro:a", BUDGET, cost)
            .await;
        let decision = checked
            .unwrap_or_else(|error| panic!("no decision: {error:#}\n{}", self.workerd.log()))
            .decision;
        let (sent, received) = (Duration::ZERO, Duration::ZERO);
        let outcome = Outcome::Decided(decision.clone());
        self.admitted.push(Operation {
            client,
            tenant: "pro:a".to_owned(),
            cost,
            sent,
            received,
            outcome,
        });
        decision
    }

    /// Kills, damages every row of a class, starts again; returns how many values were damaged.
    async fn damage(&mut self, class: &str, damage: Damage) -> usize {
        self.await_ledgers().await;
        self.workerd.kill_hard();
        let mut damaged = 0;
        for object in objects(&self.workerd.disk(), class).expect("the class has objects") {
            damaged += object.damage(damage).expect("the rows can be written");
        }
        self.workerd.restart().await.expect("workerd comes back");
        damaged
    }

    /// Until all three ledgers have something to lose.
    async fn await_ledgers(&self) {
        let begun = now();
        loop {
            let view = self.clients[0].fairness().await;
            let counts = |view: &FairnessReply| {
                let regions = view.regions.iter();
                let counting = regions.filter(|region| region.total.admitted_calls.0 > 0);
                counting.count() == 3
            };
            if view.as_ref().is_ok_and(counts) {
                return;
            }
            assert!(begun.elapsed() < SETTLING, "{view:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn await_short_window(&self, client: usize) {
        let is_back = async || {
            let asked = self.clients[client].check_budget("pro:b", SHORT_BUDGET, 1);
            asked.await.is_ok_and(|checked| checked.decision.allowed)
        };
        until(RECOVERY, is_back).await;
    }

    /// The rest of the promises: no label over its cap, all planes answer, the policy can be replaced.
    async fn assert_whole(&mut self) {
        for (window, admitted) in admitted_by_window(&self.admitted) {
            assert!(
                admitted <= CAP,
                "window {window} admitted {admitted} of {CAP}"
            );
        }
        for client in &self.clients {
            assert!(client.check_limit(LIMIT, "other", 0).await.is_ok());
            // Without a readable policy the operator plane may say that it is not available; it may not hang or fail.
            let view = client.get("/operator/v1/fairness").await.unwrap();
            assert!(
                [200, 503].contains(&view.status),
                "{}: {}",
                view.status,
                view.text()
            );
        }
        let (begun, document) = (now(), document());
        loop {
            let replaced = self.clients[0].put_policy(&document, Some("*"));
            let replaced = replaced.await.unwrap();
            if replaced.status == 200 {
                return;
            }
            // A busy machine may have no time for it.
            let waits = replaced.status == 503 && begun.elapsed() < SETTLING;
            let said = replaced.text();
            assert!(waits, "the policy cannot be replaced: {said}");
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }
}

/// Every kind of damage to one class, one after the other, on one deployment.
async fn survive(class: &str) {
    let mut subject = Subject::start().await;
    for damage in Damage::ALL {
        let log_before = subject.workerd.log().len();
        let rows = subject.damage(class, damage).await;
        for round in 0..12 {
            subject.charge(round % 3, 1 + (round as u64 * 5) % 7).await;
        }
        let spent = subject.clients[1]
            .check_limit(LIMIT, "spent", 1)
            .await
            .unwrap()
            .decision;
        assert!(
            !spent.allowed,
            "{class}, {damage:?}: the burst came back: {spent:?}"
        );
        for client in 0..3 {
            subject.await_short_window(client).await;
        }
        subject.assert_whole().await;
        // What is logged takes its time to be read.
        let begun = now();
        loop {
            let log = subject.workerd.log()[log_before..].to_owned();
            if rows == 0 || log.contains("damaged row") {
                break;
            }
            assert!(
                begun.elapsed() < SETTLING,
                "{class}, {damage:?}: {rows} values damaged, not a word:\n{log}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        println!("{class}, {damage:?}: {rows} values damaged and survived");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_coordinator_lifts_no_cap() {
    survive("Coordinator").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_region_lifts_no_cap() {
    survive("Region").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_registry_lifts_no_cap() {
    survive("Registry").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_ledger_lifts_no_cap() {
    survive("Ledger").await;
}
