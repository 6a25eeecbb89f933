//! What is decided is told to whoever watches, soon and without being asked for.

use std::time::Duration;

use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, policy};
use weir_tests::socket::Socket;
use weir_tests::watch::Watch;
use weir_tests::workerd::{Setup, TOKEN};

use crate::check::{LONG_MS, deployment};

const TENANT: &str = "pro:hooli";

/// From the first decision until all units are told: half a second to the region, a second to its ledger, and room.
const TOLD_WITHIN: Duration = Duration::from_secs(2);

/// A busy machine is late at times. What waits for a deadline or for an object to sleep is late each time.
const ATTEMPTS: usize = 5;

/// workerd puts an object to sleep ten seconds after its last call; the task that hands counters on ends a little later.
const ASLEEP_AFTER: Duration = Duration::from_secs(14);

#[tokio::test(flavor = "multi_thread")]
async fn the_first_counters_of_a_fresh_deployment_are_told_within_two_seconds() {
    let mut took = Vec::new();
    for _ in 0..ATTEMPTS {
        let (workerd, _) = deployment(Setup::three_regions(), policy(1_000, LONG_MS)).await;
        let client = workerd.client(0).unwrap();
        let mut socket = open(&client).await;
        took.push(told_after(&client, &mut socket).await);
        if took.last() <= Some(&TOLD_WITHIN) {
            return;
        }
    }
    panic!("told after {took:?} each time");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_counters_after_a_sleep_are_told_within_two_seconds() {
    let (workerd, _) = deployment(Setup::three_regions(), policy(1_000, LONG_MS)).await;
    let client = workerd.client(0).unwrap();
    let mut socket = open(&client).await;
    told_after(&client, &mut socket).await;
    let mut took = Vec::new();
    for _ in 0..ATTEMPTS {
        tokio::time::sleep(ASLEEP_AFTER).await;
        took.push(told_after(&client, &mut socket).await);
        if took.last() <= Some(&TOLD_WITHIN) {
            return;
        }
    }
    panic!("told after {took:?} each time");
}

async fn open(client: &Client) -> Socket {
    let bearer = format!("Bearer {TOKEN}");
    let path = "/operator/v1/live?channels=accounting";
    let opened = Socket::open(client, path, &[("Authorization", &bearer)]).await;
    opened.expect("a socket opens")
}

/// Decides on 1, 2 and 3 units, and waits until these six are told, to the unit. Nobody reads counters meanwhile, which
/// would hurry them.
async fn told_after(client: &Client, socket: &mut Socket) -> Duration {
    let (watch, start) = (Watch::start(std::slice::from_ref(client)), now());
    for cost in [1, 2, 3] {
        let checked = client.check_budget_once_there(TENANT, BUDGET, cost).await;
        assert!(checked.decision.allowed, "{:?}", checked.decision);
    }
    let mut told = 0;
    while told < 6 {
        let of_tenant = |message: &serde_json::Value| !message["tenants"][TENANT].is_null();
        let message = socket.next_that(of_tenant).await;
        let message = message.unwrap_or_else(|error| panic!("{told} of 6 units told: {error:#}"));
        let units = &message["tenants"][TENANT]["budgets"][BUDGET]["admitted_units"];
        told += units.as_u64().expect("a number of units");
    }
    assert_eq!(told, 6, "units told");
    // What the machine stood still is not Weir's; nobody reads counters by asking whether it is well.
    let end = now();
    (end - start).saturating_sub(watch.stop().await.during(start, end))
}
