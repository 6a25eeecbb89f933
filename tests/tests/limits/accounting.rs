//! Every decided check is counted once, however it was asked.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::accounting::Tally;
use weir_shared::wire::operator::FairnessReply;
use weir_tests::calls::{charge, charge_keys, reserved, together};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::BUDGET;

use crate::limits::{LONG_MS, TRIES, alone, fixed, heard, key_in, settle, start, still};

const TENANT: &str = "pro:a";

/// How long what was decided may take to be counted on a busy machine.
const COUNTED: Duration = Duration::from_secs(30);

fn limits() -> Value {
    json!({
        "region": still(5),
        "isolate": fixed(5, LONG_MS, "isolate"),
        "global": fixed(5, LONG_MS, "global"),
        "pair": { "all": [{ "name": "a", "limit": "region" }, { "name": "b", "limit": "isolate" }] },
    })
}

fn of_tenant(mut question: Value) -> Value {
    question["tenant"] = json!(TENANT);
    question
}

/// What was asked, by name: admitted and denied, calls and units.
#[derive(Default)]
struct Books(OrderedMap<&'static str, [u64; 4]>);

impl Books {
    fn admitted(&mut self, name: &'static str, units: u64) {
        let entry = self.0.entry(name).or_default();
        entry[0] += 1;
        entry[1] += units;
    }

    fn denied(&mut self, name: &'static str, units: u64) {
        let entry = self.0.entry(name).or_default();
        entry[2] += 1;
        entry[3] += units;
    }

    fn difference(&self, view: &FairnessReply) -> Option<String> {
        let report = view.tenants.iter().find(|report| report.tenant == TENANT);
        let counted = |name: &str| -> Option<Tally> {
            let report = report?;
            let budget = report.budgets.get(name).map(|budget| budget.total);
            budget.or_else(|| report.limits.get(name).copied())
        };
        let numbers = |tally: Tally| {
            [
                tally.admitted_calls.0,
                tally.admitted_units.0,
                tally.denied_calls.0,
                tally.denied_units.0,
            ]
            .map(|number| number as u64)
        };
        let differs = |(name, expected): (&&'static str, &[u64; 4])| {
            let counted = counted(name).map(numbers);
            (counted != Some(*expected))
                .then(|| format!("{name}: {counted:?} instead of {expected:?}"))
        };
        self.0.iter().find_map(differs)
    }

    async fn await_agreement(&self, client: &Client) {
        let begun = now();
        loop {
            let difference = self.difference(&client.fairness().await.unwrap());
            if difference.is_none() {
                return;
            }
            assert!(begun.elapsed() < COUNTED, "{difference:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_check_of_a_question_is_counted_once_where_it_was_decided() {
    for _ in 0..TRIES {
        let workerd = start(alone(), limits()).await;
        let client = workerd.client(0).unwrap();
        if let Some(mut books) = ask_everything(&client).await {
            books.await_agreement(&client).await;
            if settle_one(&client, &mut books).await.is_some() {
                return;
            }
        }
    }
    panic!("{TRIES} times a holder was out of reach");
}

/// Asks in every form that there is; what is to be counted.
async fn ask_everything(client: &Client) -> Option<Books> {
    let mut books = Books::default();
    for limit in ["region", "isolate", "global"] {
        for (cost, allowed) in [(3, true), (3, false), (2, true), (1, false)] {
            let checked = heard(client, &of_tenant(charge(limit, "k", cost))).await?;
            assert_eq!(checked.decision.allowed, allowed, "{limit}");
            match allowed {
                true => books.admitted(limit, cost),
                false => books.denied(limit, cost),
            }
        }
        // A look is no use of anything.
        heard(client, &of_tenant(charge(limit, "k", 0))).await?;
        heard(client, &of_tenant(charge(limit, "j", 0))).await?;
    }
    // A composite limit is counted under its own name.
    let pair = of_tenant(charge_keys("pair", &[("a", "x"), ("b", "y")], 4));
    assert!(heard(client, &pair).await?.decision.allowed);
    assert!(!heard(client, &pair).await?.decision.allowed);
    books.admitted("pair", 4);
    books.denied("pair", 4);
    // Together: each for its own cost when all admit; when not, those that denied.
    let checks = |cost| {
        let checks = [
            json!({ "budget": BUDGET, "cost": 10 }),
            charge("region", &key_in(0, 3), cost),
            charge("isolate", "together", 1),
        ];
        together(TENANT, &checks)
    };
    assert!(heard(client, &checks(4)).await?.decision.allowed);
    books.admitted(BUDGET, 10);
    books.admitted("region", 4);
    books.admitted("isolate", 1);
    assert!(!heard(client, &checks(2)).await?.decision.allowed);
    books.denied("region", 2);
    // In a batch as alone.
    let batch = vec![of_tenant(charge("region", "batch", 2)); 4];
    let decisions = client.batch(&batch).await.unwrap();
    for decision in decisions {
        match decision.allowed {
            true => books.admitted("region", 2),
            false => books.denied("region", 2),
        }
    }
    // What was refused was not decided.
    let refused = client
        .batch(&[
            of_tenant(charge("region", "r", 1)),
            of_tenant(charge("nope", "r", 1)),
        ])
        .await;
    assert!(refused.is_err());
    Some(books)
}

/// Units that were drawn ahead and came back were never decided; what is reserved is used as it is settled.
async fn settle_one(client: &Client, books: &mut Books) -> Option<()> {
    let question = of_tenant(charge("region", "settled", 5));
    let decision = heard(client, &reserved(question)).await?.decision;
    books.admitted("region", 1);
    settle(client, &decision.reservation.unwrap(), 1).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    books.await_agreement(client).await;
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    assert_eq!(
        books.difference(&client.fairness().await.unwrap()),
        None,
        "nothing is counted again"
    );
    Some(())
}
