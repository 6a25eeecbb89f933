//! What is reserved is used as it is settled, on every surface, whatever dies.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::accounting::Tally;
use weir_shared::wire::check::{DecisionBody, Reason};
use weir_shared::wire::settle::SettledBody;
use weir_tests::calls::{reserved, together};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::dice::Dice;
use weir_tests::fixtures::{BUDGET, LIMIT, with};

use crate::ledger::books::{Books, Own, decide, tally};
use crate::ledger::scrape::{fallen, scrape_after};
use crate::ledger::surfaces::agree;
use crate::ledger::{LONG_MS, METER, SETTLING, SHADOW, document, spend, start};

const TENANTS: [&str; 3] = ["enterprise:acme", "pro:hooli", "unnamed"];

/// A reservation that the driver holds.
struct Held {
    text: String,
    tenant: &'static str,
    what: What,
    cost: u64,
    /// What was said first.
    actual: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Budget,
    Limit,
    Meter,
    /// The budget and the limit, all or nothing.
    Both,
}

fn policy() -> Value {
    let meter = json!({ "per_sec": 0.01, "burst_seconds": 86_000, "max_debt_ms": 3_600_000 });
    let limit = json!({
        "algorithm": "fixed_window", "limit": 400, "window_ms": LONG_MS, "scope": "region", "per_tenant": false
    });
    let shadow = with(limit.clone(), "/shadow", json!(true));
    let shadow = with(shadow, "/limit", json!(40));
    let document = with(
        document(20_000, LONG_MS),
        "/meters",
        json!({ METER: meter }),
    );
    let document = with(document, &format!("/limits/{LIMIT}"), limit);
    with(document, &format!("/limits/{SHADOW}"), shadow)
}

struct Driver {
    books: Books,
    held: Vec<Held>,
    dice: Dice,
}

impl Driver {
    fn own(&mut self, tenant: &str) -> &mut Own {
        self.books.0.entry(tenant.to_owned()).or_default()
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        self.dice.pick(all)
    }

    async fn step(&mut self, clients: &[Client]) {
        let client = self.pick(clients).clone();
        match self.dice.below(10) {
            0..=3 => self.reserve(&client).await,
            4..=7 => self.settle(&client).await,
            8 => self.charge(&client).await,
            _ => self.look_in_shadow(&client).await,
        }
    }

    async fn reserve(&mut self, client: &Client) {
        let tenant = *self.pick(&TENANTS);
        let what = *self.pick(&[What::Budget, What::Limit, What::Meter, What::Both]);
        let cost = 1 + self.dice.below(120);
        let key = format!("k{}", self.dice.below(2));
        let budget = json!({ "budget": BUDGET, "cost": cost });
        let limit = json!({ "limit": LIMIT, "key": key, "cost": cost });
        let question = match what {
            What::Budget => spend(tenant, cost),
            What::Limit => with(limit, "/tenant", json!(tenant)),
            What::Meter => json!({ "tenant": tenant, "meter": METER, "cost": cost }),
            What::Both => together(tenant, &[budget, limit]),
        };
        let decision: DecisionBody = decide(client, &reserved(question)).await;
        let own = self.own(tenant);
        let Some(text) = decision.reservation else {
            assert!(!decision.allowed);
            match what {
                What::Budget => tally(&mut own.budget, false, cost),
                // Of both the one that denies is counted: the limit, unless the region was too busy to lend of the budget.
                What::Both if decision.binding == BUDGET => tally(&mut own.budget, false, cost),
                What::Limit | What::Both => tally(&mut own.limit, false, cost),
                What::Meter => {
                    own.meter.shed_calls += 1;
                    own.meter.shed_units += cost;
                }
            }
            return;
        };
        if matches!(what, What::Budget | What::Both) {
            open(&mut own.budget, cost);
        }
        if matches!(what, What::Limit | What::Both) {
            open(&mut own.limit, cost);
        }
        if what == What::Meter {
            own.meter.admitted_calls += 1;
            own.meter.reserved_units += cost;
        }
        self.held.push(Held {
            text,
            tenant,
            what,
            cost,
            actual: None,
        });
    }

    /// Settles one of those that were made, from any isolate: up, down, to nothing, or once more.
    async fn settle(&mut self, client: &Client) {
        if self.held.is_empty() {
            return;
        }
        let index = self.dice.below(self.held.len() as u64) as usize;
        let cost = self.held[index].cost;
        let actual = match self.dice.below(4) {
            0 => 0,
            1 => cost + self.dice.below(80),
            _ => self.dice.below(cost + 1),
        };
        let told = settle(client, &self.held[index].text, actual).await;
        let held = &mut self.held[index];
        let first = held.actual.is_none();
        assert_eq!(
            (told.reserved, told.actual),
            (cost, held.actual.unwrap_or(actual))
        );
        held.actual = Some(told.actual);
        let (tenant, what) = (held.tenant, held.what);
        if first {
            close(self.own(tenant), what, cost, actual);
        }
    }

    async fn charge(&mut self, client: &Client) {
        let tenant = *self.pick(&TENANTS);
        let cost = 1 + self.dice.below(30);
        let allowed = decide(client, &spend(tenant, cost)).await.allowed;
        tally(&mut self.own(tenant).budget, allowed, cost);
    }

    async fn look_in_shadow(&mut self, client: &Client) {
        let tenant = *self.pick(&TENANTS);
        let cost = 1 + self.dice.below(20);
        let question = json!({ "tenant": tenant, "limit": SHADOW, "key": "k", "cost": cost });
        let decision = decide(client, &question).await;
        assert!(decision.allowed, "{decision:?}");
        let shadow = &mut self.own(tenant).shadow;
        if decision.reason == Reason::Admitted {
            tally(shadow, true, cost);
        } else {
            shadow.would_deny_calls += 1;
            shadow.would_deny_units += cost;
        }
    }
}

/// Settles, once its holders answer: a settlement counts once, however often it is asked for.
async fn settle(client: &Client, text: &str, actual: u64) -> SettledBody {
    let begun = now();
    loop {
        match client.settle(text, actual).await {
            Ok(told) => return told,
            Err(error) => assert!(begun.elapsed() < SETTLING, "{error:#}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn open(tally: &mut Tally, cost: u64) {
    tally.admitted_calls += 1;
    tally.reserved_units += cost;
}

fn close(own: &mut Own, what: What, cost: u64, actual: u64) {
    let settle = |tally: &mut Tally| {
        tally.reserved_units.0 -= u128::from(cost);
        tally.admitted_units += actual;
    };
    match what {
        What::Budget => settle(&mut own.budget),
        What::Limit => settle(&mut own.limit),
        What::Both => {
            settle(&mut own.budget);
            settle(&mut own.limit);
        }
        What::Meter => {
            own.meter.reserved_units.0 -= u128::from(cost);
            own.meter.admitted_units += actual;
        }
    }
}

/// Random reservations, settlements, denials and undoings at three isolates of three regions. A kill loses what an isolate
/// had not told: so all is told before, and then some are settled, and everything dies as soon as they are answered.
#[tokio::test(flavor = "multi_thread")]
async fn every_surface_tells_what_was_settled_and_a_kill_loses_no_settlement() {
    let mut workerd = start(&policy()).await;
    let seed = std::env::var("WEIR_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(0x9e37_79b9_7f4a_7c15);
    println!("seed {seed}");
    let mut driver = Driver {
        books: Books::default(),
        held: Vec::new(),
        dice: Dice(seed),
    };
    let mut before = Default::default();
    for life in 0..3 {
        let clients = workerd.clients().unwrap();
        for _ in 0..60 {
            driver.step(&clients).await;
        }
        agree(&driver.books, &clients[0]).await;
        let told = scrape_after(&clients[1], &before).await;
        assert_eq!(fallen(&before, &told), None, "in life {life}");
        before = told;
        for _ in 0..6 {
            driver.settle(&clients[life % 3]).await;
        }
        workerd.kill_hard();
        workerd.restart().await.unwrap();
        let clients = workerd.clients().unwrap();
        // A region that is asked for anything tells what it had not told.
        for client in &clients {
            decide(client, &spend("unnamed", 0)).await;
        }
        agree(&driver.books, &clients[2]).await;
    }
    let open = driver.held.iter().filter(|held| held.actual.is_none());
    println!(
        "{} reservations, {} of them open",
        driver.held.len(),
        open.count()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_settled_to_thirty_and_ten_settled_to_twenty_five_are_fifty_five() {
    let workerd = start(&document(1_000, LONG_MS)).await;
    let clients = workerd.clients().unwrap();
    let mut books = Books::default();
    let mut texts = Vec::new();
    for cost in [300, 10] {
        let question = reserved(spend("pro:hooli", cost));
        let own = books.0.entry("pro:hooli".to_owned()).or_default();
        let decision = loop {
            let decision = decide(&clients[0], &question).await;
            if decision.reason != Reason::Unavailable {
                break decision;
            }
            // It is counted as what it is, a denial.
            tally(&mut own.budget, false, cost);
        };
        texts.push(decision.reservation.unwrap());
        open(&mut own.budget, cost);
    }
    agree(&books, &clients[1]).await;
    for (text, (cost, actual)) in texts.iter().zip([(300, 30), (10, 25)]) {
        settle(&clients[1], text, actual).await;
        let own = books.0.get_mut("pro:hooli").unwrap();
        close(own, What::Budget, cost, actual);
    }
    assert_eq!(books.0["pro:hooli"].budget.admitted_units.0, 55);
    agree(&books, &clients[2]).await;
}
