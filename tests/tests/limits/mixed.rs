//! Everything at once: questions of every form, on the same keys, at the same time, from two isolates. In the end each
//! key is charged exactly for what was admitted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::limits::HOLD_MS;
use weir_shared::ordered::OrderedMap;
use weir_tests::calls::{charge, charge_keys, reserved, together};
use weir_tests::client::Client;
use weir_tests::dice::Dice;
use weir_tests::fixtures::BUDGET;
use weir_tests::witness::Fault;
use weir_tests::workerd::Setup;

use crate::limits::{
    BUDGET_LIMIT, HOUR_MS, LONG_MS, await_allowed, await_left, decide, decide_once, fixed, settle,
    start, take,
};

const BOUND: u64 = 30;

/// The global limit, which is not used up.
const PLANET: u64 = 1_000;

/// Workers, and what each asks.
const WORKERS: u64 = 8;
const QUESTIONS: usize = 60;

/// Of each region limit, keys that lie in several shards.
const KEYS: [&str; 4] = ["k0", "k1", "k2", "k3"];

/// Limits of the region, none of which refills while the test runs.
const REGIONAL: [&str; 5] = ["gcra", "bucket", "fixed", "sliding", "log"];

fn limits() -> Value {
    json!({
        "gcra": { "algorithm": "gcra", "limit": 6, "period_ms": HOUR_MS, "burst": BOUND, "scope": "region" },
        "bucket": { "algorithm": "token_bucket", "capacity": BOUND, "refill_per_sec": 0.0001, "scope": "region" },
        "fixed": fixed(BOUND, LONG_MS, "region"),
        "sliding": { "algorithm": "sliding_window", "limit": BOUND, "window_ms": LONG_MS, "scope": "region" },
        "log": { "algorithm": "sliding_log", "limit": BOUND, "window_ms": HOUR_MS, "scope": "region" },
        "planet": fixed(PLANET, LONG_MS, "global"),
        "pair": { "all": [{ "name": "a", "limit": "fixed" }, { "name": "b", "limit": "gcra", "weight": 2 }] },
    })
}

/// Units by limit and key.
type Charges = OrderedMap<(String, String), u64>;

/// A question, with what it charges if it is admitted.
struct Asked {
    question: Value,
    charges: Charges,
}

fn asked(dice: &mut Dice) -> Asked {
    let cost = 1 + dice.below(4);
    let mut charges = Charges::new();
    let mut note = |limit: &str, key: &str, units: u64| {
        *charges
            .entry((limit.to_owned(), key.to_owned()))
            .or_default() += units;
    };
    let question = match dice.below(4) {
        0 => {
            let (a, b) = (dice.pick(&KEYS), dice.pick(&KEYS));
            note("fixed", a, cost);
            note("gcra", b, 2 * cost);
            charge_keys("pair", &[("a", a), ("b", b)], cost)
        }
        1 => {
            let (limit, other) = (dice.pick(&REGIONAL), dice.pick(&REGIONAL));
            let (key, other_key) = (dice.pick(&KEYS), dice.pick(&KEYS));
            note(limit, key, cost);
            note(other, other_key, 1);
            note("planet", "p", cost);
            note(BUDGET, "", 2);
            let checks = [
                charge(limit, key, cost),
                charge("planet", "p", cost),
                charge(other, other_key, 1),
                json!({ "budget": BUDGET, "cost": 2 }),
            ];
            together("pro:a", &checks)
        }
        _ => {
            let (limit, key) = (dice.pick(&REGIONAL), dice.pick(&KEYS));
            note(limit, key, cost);
            charge(limit, key, cost)
        }
    };
    Asked { question, charges }
}

/// One worker's questions, one after the other; what was charged. Where calls fail, a settlement may fail, too.
async fn work(client: Client, seed: u64, calls_fail: bool) -> Charges {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed);
    let mut charged = Charges::new();
    let mut add = |charges: &Charges| {
        for (place, units) in charges {
            *charged.entry(place.clone()).or_default() += units;
        }
    };
    for _ in 0..QUESTIONS {
        let Asked { question, charges } = asked(&mut dice);
        match dice.below(5) {
            0 => {
                let second = asked(&mut dice);
                let questions = [question, second.question];
                let decisions = client.batch(&questions).await.unwrap();
                for (decision, charges) in decisions.iter().zip([charges, second.charges]) {
                    if decision.allowed {
                        add(&charges);
                    }
                }
            }
            1 => {
                let released = dice.below(2) == 0;
                let decision = decide_once(&client, &reserved(question)).await;
                if let Some(reservation) = decision.reservation {
                    if released && calls_fail {
                        // What is not settled stays charged.
                        let _may_fail = client.settle(&reservation, 0).await;
                    } else if released {
                        settle(&client, &reservation, 0).await;
                    } else {
                        add(&charges);
                    }
                }
            }
            2 => {
                // A look, and a cost that could never pass: neither is charged.
                let mut look = question.clone();
                if look.get("limit").is_some() {
                    look["cost"] = json!(0);
                    decide_once(&client, &look).await;
                    look["cost"] = json!(10 * BOUND);
                    assert!(!decide_once(&client, &look).await.allowed);
                }
            }
            _ => {
                if decide_once(&client, &question).await.allowed {
                    add(&charges);
                }
            }
        }
    }
    charged
}

/// What all workers were charged together.
async fn work_all(clients: &[Client], calls_fail: bool) -> Charges {
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let client = clients[worker as usize % clients.len()].clone();
            tokio::spawn(work(client, worker + 1, calls_fail))
        })
        .collect();
    let mut charged = Charges::new();
    for worker in workers {
        for (place, units) in worker.await.unwrap() {
            *charged.entry(place).or_default() += units;
        }
    }
    println!("{charged:?}");
    charged
}

fn used(charged: &Charges, limit: &str, key: &str) -> u64 {
    let place = (limit.to_owned(), key.to_owned());
    charged.get(&place).copied().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_key_is_charged_exactly_for_what_was_admitted() {
    let workerd = start(Setup::isolates(&["weur", "weur"]), limits()).await;
    let clients = workerd.clients().unwrap();
    let charged = work_all(&clients, false).await;
    for limit in REGIONAL {
        for key in KEYS {
            let used = used(&charged, limit, key);
            assert!(used <= BOUND, "{limit} {key}: {used} of {BOUND}");
            for client in &clients {
                await_left(client, limit, key, BOUND - used).await;
            }
        }
    }
    let rest = PLANET - used(&charged, "planet", "p");
    await_allowed(&clients[0], &charge("planet", "p", rest)).await;
    assert!(!take(&clients[1], "planet", "p", 1).await.allowed);
    let of_budget = |cost: u64| json!({ "tenant": "pro:a", "budget": BUDGET, "cost": cost });
    let rest = BUDGET_LIMIT - used(&charged, BUDGET, "");
    await_allowed(&clients[1], &of_budget(rest)).await;
    assert!(!decide(&clients[0], &of_budget(1)).await.allowed);
}

/// Calls fail before they arrive and after they were carried out, all the while: what is undone is undone once.
#[tokio::test(flavor = "multi_thread")]
async fn lost_calls_never_give_back_what_was_admitted() {
    let setup = Setup::isolates(&["weur", "weur"]).witnessed();
    let workerd = start(setup, limits()).await;
    let (clients, witness) = (workerd.clients().unwrap(), workerd.witness().unwrap());
    let calm = Arc::<AtomicBool>::default();
    let stop = Arc::clone(&calm);
    let faults = tokio::spawn(async move {
        let calls = ["Region/decide", "Region/finish", "Region/settle-keys"];
        let kinds = [Fault::Lose, Fault::Refuse];
        for round in 0.. {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let (call, kind) = (calls[round % 3], kinds[round / 3 % 2]);
            witness.fault(call, kind, 1).await.unwrap();
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    });
    let charged = work_all(&clients, true).await;
    calm.store(true, Ordering::Relaxed);
    faults.await.unwrap();
    let witness = workerd.witness().unwrap();
    witness.calm().await.unwrap();
    println!("{:?}", witness.seen().await.unwrap());
    // Until everything that was held has lapsed. On a busy machine some of it comes back later.
    tokio::time::sleep(Duration::from_millis(HOLD_MS + 2_000)).await;
    for limit in REGIONAL {
        for key in KEYS {
            let used = used(&charged, limit, key);
            let mut had = 0;
            for client in &clients {
                while take(client, limit, key, 1).await.allowed {
                    had += 1;
                    assert!(
                        used + had <= BOUND,
                        "{limit} {key}: {used} and {had} of {BOUND}"
                    );
                }
            }
        }
    }
}
