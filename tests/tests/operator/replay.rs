//! What was asked for, played against a candidate that is not put in force.

use serde_json::{Value, json};
use weir_shared::limits::{REPLAY_BODY_BYTES_MAX, REPLAY_ENTRIES_MAX};
use weir_shared::wire::role::Role;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::{token_request, with};
use weir_tests::workerd::TOKEN;

use crate::operator::{assert_problem, await_that, decide, decide_there, deployment, document};

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
    let told: Value = client.post(REPLAY, &asked).await.unwrap().ok().unwrap();
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
    let (_workerd, client) = deployment().await;
    let from = epoch_ms();
    // The meter has 86 units, of which none come back in time; a batch above what is left goes into debt at most once.
    let mut admitted = 0;
    for _ in 0..30 {
        let check = json!({ "tenant": "acme", "meter": "bytes", "cost": 10 });
        admitted += 10 * u64::from(decide(&client, check).await.allowed);
    }
    let mut shares = 0;
    for _ in 0..40 {
        let check = json!({ "tenant": "stranger", "budget": "tokens", "cost": 30 });
        shares += 30 * u64::from(decide(&client, check).await.allowed);
    }
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
    let told: Value = client.post(REPLAY, &asked).await.unwrap().ok().unwrap();
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
    assert!(told["unreachable"].is_null(), "{told}");
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
        let reply = client.post(REPLAY, &body).await.unwrap();
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
    let most: Vec<Value> = (0..REPLAY_ENTRIES_MAX)
        .map(|at| json!({ "at": at, "tenant": format!("t{}", at % 5_000), "budget": "tokens" }))
        .collect();
    let start = now();
    let reply = viewer.post(REPLAY, &asked(most.into())).await.unwrap();
    println!("{REPLAY_ENTRIES_MAX} requests in {:?}", start.elapsed());
    let told: Value = reply.ok().unwrap();
    assert_eq!(told["entries"], REPLAY_ENTRIES_MAX);
    assert_eq!(
        (&told["rows_total"], told["rows"].as_array().unwrap().len()),
        (&json!(5_000), 1_000)
    );
    assert!(told["others"]["present"].is_object(), "{}", told["others"]);
}
