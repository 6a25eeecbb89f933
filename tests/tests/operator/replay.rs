//! What was asked for, played against a candidate that is not put in force.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::limits::{REPLAY_BODY_BYTES_MAX, REPLAY_ENTRIES_MAX};
use weir_shared::wire::check::DecisionBody;
use weir_shared::wire::role::Role;
use weir_tests::client::Client;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::{token_request, with};
use weir_tests::workerd::TOKEN;

use crate::operator::{
    FAIRNESS, SETTLING, assert_problem, await_known, await_that, decide_there, decided, deployment,
    document, posted,
};

const REPLAY: &str = "/operator/v1/replay";

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_is_played_against_both_policies_and_changes_nothing() {
    let (_workerd, client) = deployment().await;
    let before = client.policy().await.unwrap();
    let wider = with(document(), "/limits/own/limit", json!(15));
    let trace: Vec<Value> = (0..20)
        .map(|at| json!({ "at": at, "tenant": "acme", "limit": "own" }))
        .collect();
    let asked = json!({ "policy": wider, "trace": trace });
    let told: Value = posted(&client, REPLAY, &asked).await.ok().unwrap();
    let row = &told["rows"][0];
    assert_eq!(
        (&row["kind"], &row["tenant"]),
        (&json!("limit"), &json!("acme"))
    );
    for (side, admitted) in [("present", 10), ("candidate", 15)] {
        assert_eq!(row[side]["admitted_calls"], admitted, "{told}");
        assert_eq!(row[side]["denied_units"], 20 - admitted, "{told}");
    }
    assert_eq!((&told["entries"], &told["to"]), (&json!(20), &json!(19)));
    assert_eq!(client.policy().await.unwrap(), before);
    // Nothing of it was charged.
    let check = json!({ "tenant": "acme", "limit": "own", "cost": 10 });
    assert!(decide_there(&client, check).await.allowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_comes_to_what_the_callers_saw() {
    let from = epoch_ms();
    // The meter has 86 units, of which none come back in time; a batch above what is left goes into debt at most once.
    let metered = json!({ "tenant": "acme", "meter": "bytes", "cost": 10 });
    let shared = json!({ "tenant": "stranger", "budget": "tokens", "cost": 30 });
    let checks = [vec![metered; 30], vec![shared; 40]].concat();
    let (_workerd, client, decisions) = decided(&checks).await;
    let allowed = |decisions: &[DecisionBody]| {
        let allowed = decisions.iter().filter(|decision| decision.allowed);
        allowed.count() as u64
    };
    let admitted = 10 * allowed(&decisions[..30]);
    let shares = 30 * allowed(&decisions[30..]);
    let asked = |series: &Value| {
        let points = series["points"].as_array().unwrap().iter();
        let units = |tally: &Value| {
            let of = |name: &str| tally[name].as_u64().unwrap_or(0);
            of("admitted_units") + of("shed_units") + of("denied_units")
        };
        let all = points.map(|at| units(&at["meters"]["bytes"]) + units(&at["budgets"]["tokens"]));
        all.sum::<u64>() == 300 + 1_200
    };
    await_that(&client, "/operator/v1/series", asked).await;
    let wider = with(document(), "/meters/bytes/per_sec", json!(1_000));
    let asked = json!({ "policy": wider, "from": from, "to": epoch_ms() });
    let told = whole(&client, &asked).await;
    let row = |kind: &str| {
        let rows = told["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["kind"] == kind);
        row.unwrap_or_else(|| panic!("no {kind}: {told}"))
    };
    assert_eq!(
        row("meter")["present"]["admitted_units"],
        admitted,
        "{told}"
    );
    assert_eq!(row("meter")["candidate"]["admitted_units"], 300, "{told}");
    // One holder has no leases: it admits what the regions did, and at most what they could not divide.
    let played = row("budget")["present"]["admitted_units"].as_u64().unwrap();
    assert!((shares..=shares + 30).contains(&played), "{shares}: {told}");
    assert_eq!(told["from"], from / 60_000 * 60_000);
}

/// What was recorded by all regions: one that is late is left out, and named.
async fn whole(client: &Client, asked: &Value) -> Value {
    let start = now();
    loop {
        let told: Value = posted(client, REPLAY, asked).await.ok().unwrap();
        if told["unreachable"].is_null() {
            return told;
        }
        assert!(start.elapsed() < SETTLING, "{told}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_played_is_refused_where_the_fault_is() {
    let (_workerd, client) = deployment().await;
    let entry = json!({ "at": 0, "tenant": "acme", "budget": "tokens" });
    let asked = |trace: Value| json!({ "policy": document(), "trace": trace });
    let zero = with(document(), "/budgets/tokens/limit", json!(0));
    for (field, body) in [
        ("/policy", json!({ "trace": [] })),
        (
            "/policy/budgets/tokens/limit",
            json!({ "policy": zero, "trace": [] }),
        ),
        (
            "/policy/colour",
            json!({ "policy": { "colour": 1 }, "trace": [] }),
        ),
        ("/trace", json!({ "policy": document() })),
        (
            "/trace/1/budget",
            asked(json!([entry, { "at": 0, "tenant": "acme", "budget": "nope" }])),
        ),
        (
            "/trace/0/tenant",
            asked(json!([{ "at": 0, "limit": "own" }])),
        ),
        (
            "/trace/0/cost",
            asked(json!([{ "at": 0, "tenant": "a", "budget": "tokens", "cost": -1 }])),
        ),
        (
            "/trace",
            asked(vec![entry.clone(); REPLAY_ENTRIES_MAX + 1].into()),
        ),
        (
            "/to",
            json!({ "policy": document(), "from": 0, "to": 1_000_000_000 }),
        ),
    ] {
        let reply = posted(&client, REPLAY, &body).await;
        assert_problem(field, &reply, 400, Some(field));
    }
    // The length that is said is enough: who writes so long a body meanwhile may find the connection closed.
    let length = REPLAY_BODY_BYTES_MAX + 1;
    let head = format!(
        "POST {REPLAY} HTTP/1.1\r\nHost: weir\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    let answer = client.send_raw(head.as_bytes()).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    // As much as may be played is played soon, and by whoever may look.
    let viewer = token_request("viewer", Role::Viewer);
    let viewer = client.with_token(&client.make_token(&viewer).await.unwrap().token);
    await_known(&viewer, FAIRNESS).await;
    let most: Vec<Value> = (0..REPLAY_ENTRIES_MAX)
        .map(|at| json!({ "at": at, "tenant": format!("t{}", at % 5_000), "budget": "tokens" }))
        .collect();
    let start = now();
    let reply = posted(&viewer, REPLAY, &asked(most.into())).await;
    println!("{REPLAY_ENTRIES_MAX} requests in {:?}", start.elapsed());
    let told: Value = reply.ok().unwrap();
    assert_eq!(told["entries"], REPLAY_ENTRIES_MAX);
    assert_eq!(
        (&told["rows_total"], told["rows"].as_array().unwrap().len()),
        (&json!(5_000), 1_000)
    );
    assert!(told["others"]["present"].is_object(), "{}", told["others"]);
}
