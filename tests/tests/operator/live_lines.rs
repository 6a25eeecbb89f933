//! One live socket for all regions: what each region tells comes over a line of its own, as soon as over a socket of its
//! own, and costs no more calls of objects.

use std::time::Duration;

use weir_shared::ordered::OrderedSet;

use serde_json::{Value, json};
use weir_tests::client::{Client, budget_check};
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, policy, with};
use weir_tests::socket::Socket;
use weir_tests::witness::{Fault, Witness};
use weir_tests::workerd::{REGIONS, Setup, TOKEN, Workerd};

use crate::operator::TRIES;

const LIVE: &str = "/operator/v1/live";

/// For how long nothing happens.
const IDLE: Duration = Duration::from_secs(5);

async fn deployment() -> (Workerd, Client) {
    let setup = Setup::region_by_header().witnessed();
    let workerd = setup.start().await.unwrap();
    let client = workerd.client(0).unwrap();
    let document = with(policy(700, 60_000), "/regions", json!(REGIONS));
    let document = with(document, "/home", json!("weur"));
    let saved = client.save_policy(&document).await.unwrap();
    for region in REGIONS {
        let there = client.in_region(region);
        let revision = saved.revision().unwrap();
        there
            .await_revision(revision, Duration::from_secs(60))
            .await
            .unwrap();
    }
    (workerd, client)
}

async fn open(client: &Client, query: &str) -> Socket {
    let bearer = format!("Bearer {TOKEN}");
    let path = format!("{LIVE}{query}");
    let opened = Socket::open(client, &path, &[("Authorization", &bearer)]).await;
    opened.unwrap_or_else(|error| panic!("{path}: {error:#}"))
}

fn order(line: usize, region: &str) -> String {
    json!({ "do": "open", "line": line, "region": region }).to_string()
}

/// A socket with a line of every region, numbered from 1.
async fn with_lines(client: &Client) -> Socket {
    let mut socket = open(client, "?lines=true").await;
    let lines = socket.next().await.unwrap();
    assert_eq!(
        (&lines["channel"], &lines["regions"]),
        (&json!("lines"), &json!(REGIONS))
    );
    for (line, region) in (1..).zip(REGIONS) {
        socket.send(&order(line, region)).await.unwrap();
    }
    let mut greeted = OrderedSet::new();
    while greeted.len() < REGIONS.len() {
        let hello = socket
            .next_that(|one| one["channel"] == "hello")
            .await
            .unwrap();
        let line = hello["line"].as_u64().unwrap();
        assert_eq!(hello["region"], REGIONS[line as usize - 1]);
        greeted.insert(line);
    }
    socket
}

async fn decide(client: &Client, region: &str, tenant: &str) {
    let there = client.in_region(region);
    there.check(&budget_check(tenant, BUDGET, 1)).await.unwrap();
}

fn counts(message: &Value, tenant: &str) -> bool {
    message["channel"] == "accounting" && !message["tenants"][tenant].is_null()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_region_tells_over_one_socket_as_soon_as_over_its_own() {
    let (workerd, client) = deployment().await;
    let mut all = with_lines(&client).await;
    for (line, region) in (1_u64..).zip(REGIONS) {
        let mut own = open(&client, &format!("?region={region}")).await;
        own.next_that(|one| one["channel"] == "hello")
            .await
            .unwrap();
        let tenant = format!("asks-in-{region}");
        decide(&client, region, &tenant).await;
        let start = now();
        let both = tokio::join!(
            own.next_that(|one| counts(one, &tenant)),
            all.next_that(|one| counts(one, &tenant))
        );
        println!(
            "{region}: told by both within {:?} of the answer",
            start.elapsed()
        );
        let (directly, mut over_line) = (both.0.unwrap(), both.1.unwrap());
        assert_eq!(over_line["line"], line);
        over_line.as_object_mut().unwrap().remove("line");
        assert_eq!(over_line, directly, "it tells the same");
    }
    let seen = workerd.witness().unwrap().seen().await.unwrap();
    let upgrades = 2 * REGIONS.len() as u64;
    assert_eq!(
        seen.count("Ledger/live"),
        upgrades,
        "one call a line and one a socket"
    );
}

/// Calls of ledgers so far.
async fn of_ledgers(witness: &Witness) -> u64 {
    let seen = witness.seen().await.unwrap();
    let calls = seen.calls.iter();
    let calls = calls.filter(|(call, _)| call.starts_with("Ledger/") && !call.ends_with("/alarm"));
    calls.map(|(_, count)| count).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn open_lines_cost_no_calls_of_objects() {
    let (workerd, client) = deployment().await;
    let witness = workerd.witness().unwrap();
    let mut socket = with_lines(&client).await;
    let mut calls = Vec::new();
    while calls.last() != Some(&0) {
        // What was told late comes to an end; what a line costs does not.
        assert!(calls.len() < TRIES, "{calls:?} in {IDLE:?} each");
        let before = of_ledgers(&witness).await;
        tokio::time::sleep(IDLE).await;
        calls.push(of_ledgers(&witness).await - before);
    }
    println!("in {IDLE:?} each without traffic: {calls:?} calls of ledgers");
    for line in 1..=REGIONS.len() as u64 {
        socket
            .send(&json!({ "do": "ask", "line": line }).to_string())
            .await
            .unwrap();
        let is = |one: &Value| one["channel"] == "pong" && one["line"] == line;
        socket.next_that(is).await.unwrap();
    }
    socket.send(r#"{"do":"ask"}"#).await.unwrap();
    let own = |one: &Value| one["channel"] == "pong" && one["line"].is_null();
    socket.next_that(own).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_lost_is_told_and_the_next_goes_on_where_it_was() {
    let (workerd, client) = deployment().await;
    let witness = workerd.witness().unwrap();
    let mut socket = with_lines(&client).await;
    let (lost, stays) = (REGIONS[2], REGIONS[1]);
    decide(&client, lost, "first").await;
    let first = socket.next_that(|one| counts(one, "first")).await.unwrap();
    let refused = format!("Ledger/live {lost}");
    witness.fault(&refused, Fault::Refuse, 1).await.unwrap();
    witness
        .abort("LEDGER", &format!("{lost}.g1"))
        .await
        .unwrap();
    let closed = socket
        .next_that(|one| one["channel"] == "closed")
        .await
        .unwrap();
    assert_eq!(closed["line"], 3);
    decide(&client, stays, "goes-on").await;
    socket
        .next_that(|one| counts(one, "goes-on"))
        .await
        .unwrap();
    socket.send(&order(4, lost)).await.unwrap();
    let refused = socket
        .next_that(|one| one["channel"] == "closed")
        .await
        .unwrap();
    assert_eq!(refused["line"], 4);
    // Not as fast as it can be said.
    tokio::time::sleep(Duration::from_millis(weir_shared::limits::LINE_OPEN_MS_MIN)).await;
    let after = first["sequence"].as_u64().unwrap();
    let again = json!({ "do": "open", "line": 5, "region": lost, "after": after });
    socket.send(&again.to_string()).await.unwrap();
    // The ledger's next life remembers nothing, and says so.
    let gap = socket
        .next_that(|one| one["channel"] == "gap")
        .await
        .unwrap();
    assert_eq!((&gap["line"], &gap["after"]), (&json!(5), &json!(after)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_order_and_what_is_no_region_open_nothing() {
    let (_workerd, client) = deployment().await;
    let mut socket = open(&client, "?lines=true&channels=health").await;
    socket.next().await.unwrap();
    socket.send(&order(1, "mars")).await.unwrap();
    assert_eq!(
        socket.next().await.unwrap(),
        json!({ "channel": "closed", "line": 1 })
    );
    socket.send("sing").await.unwrap();
    assert_eq!(socket.closed(IDLE).await, Some(1007));
    for query in ["?lines=true&region=weur", "?lines=true&after=3", "?lines=1"] {
        let bearer = format!("Bearer {TOKEN}");
        let path = format!("{LIVE}{query}");
        let refused = Socket::open(&client, &path, &[("Authorization", &bearer)]).await;
        let refused = format!("{:#}", refused.unwrap_err());
        assert!(refused.contains(" 400 "), "{query}: {refused}");
    }
}
