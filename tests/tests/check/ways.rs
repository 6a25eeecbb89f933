//! The same question gets the same answer whatever way it comes: as the entry reads it in place, as it goes over as text,
//! or as a request that the Worker reads by itself.

use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream;
use reqwest::{Body, Method};
use serde_json::{Value, json};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, policy, with};
use weir_tests::reply::Reply;
use weir_tests::workerd::Setup;

use weir_shared::ordered::OrderedSet;

use crate::check::{COUNTED, LONG_MS, deployment};

const TENANT: &str = "pro:a";
const COST: u128 = 10;

/// A way to ask: the path, the content type, the body, and whether its length is told.
type Way = (&'static str, &'static str, Value, bool);

fn ways() -> [Way; 6] {
    let json = "application/json";
    let short = json!({ "tenant": TENANT, "budget": BUDGET, "cost": 10 });
    let long = json!({ "tenant": TENANT, "checks": [{ "budget": BUDGET, "cost": 10 }] });
    [
        ("/v1/check", json, short.clone(), true),
        (
            "/v1/check",
            "application/json; charset=utf-8",
            short.clone(),
            true,
        ),
        ("/v1/check", json, long.clone(), true),
        ("/v1/check", json, short.clone(), false),
        (
            "/v1/check/batch",
            json,
            json!({ "requests": [short] }),
            true,
        ),
        ("/v1/check/batch", json, json!({ "requests": [long] }), true),
    ]
}

async fn ask(client: &Client, (path, media_type, body, sized): &Way) -> Reply {
    let bytes = body.to_string().into_bytes();
    let body = match sized {
        true => Body::from(bytes),
        false => Body::wrap_stream(stream::iter([Ok::<_, std::io::Error>(bytes)])),
    };
    let request = client.request(Method::POST, path);
    let request = request.header("content-type", *media_type).body(body);
    client.send(request).await.unwrap()
}

/// The answer once the holders answer, and how often it was asked for: what was out of reach is counted as denied.
async fn ask_there(client: &Client, way: &Way) -> (u128, Reply) {
    let begun = now();
    let mut times = 1;
    loop {
        let reply = ask(client, way).await;
        let answer = decision(&reply);
        if answer["reason"] != "unavailable" {
            return (times, reply);
        }
        assert!(begun.elapsed() < COUNTED, "{answer}");
        times += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The decision, whether it came alone or in a batch.
fn decision(reply: &Reply) -> Value {
    let body: Value = reply.ok().unwrap();
    match body.get("decisions") {
        Some(decisions) => decisions[0].clone(),
        None => body,
    }
}

fn header_names(reply: &Reply) -> OrderedSet<String> {
    reply.headers.keys().map(ToString::to_string).collect()
}

#[tokio::test]
async fn every_way_of_asking_gets_the_same_answer_and_is_counted_alike() {
    let shared = json!("weighted_fair_escrow");
    let document = with(policy(300, LONG_MS), "/budgets/tokens/sharing", shared);
    let (workerd, revision) = deployment(Setup::isolates(&["weur"]), document).await;
    let client = workerd.client(0).unwrap();
    let ways = ways();
    let (mut asked, mut admitted) = (0, 0);
    for way in ways.iter().cycle().take(36) {
        let (times, reply) = ask_there(&client, way).await;
        let answer = decision(&reply);
        asked += times;
        assert_eq!(
            (&answer["limit"], &answer["policy_revision"]),
            (&json!(300), &json!(revision)),
            "{way:?}"
        );
        assert_eq!(
            answer["allowed"] == true,
            answer["reason"] == "admitted",
            "{answer}"
        );
        admitted += u128::from(answer["allowed"] == true);
    }
    assert!((28..=30).contains(&admitted), "{admitted} times 10 of 300");
    let all = join_all(ways.iter().map(async |way| ask_there(&client, way).await)).await;
    asked += all.iter().map(|(times, _)| times).sum::<u128>();
    let replies: Vec<Reply> = all.into_iter().map(|(_, reply)| reply).collect();
    let first = decision(&replies[0]);
    assert_eq!(first["allowed"], false, "{first}");
    for (reply, way) in replies.iter().zip(ways) {
        let answer = decision(reply);
        let fields = |answer: &Value| {
            let names = answer.as_object().unwrap().keys().cloned();
            names.collect::<Vec<_>>()
        };
        assert_eq!(fields(&answer), fields(&first), "{way:?}");
        for field in [
            "allowed",
            "limit",
            "remaining",
            "reason",
            "binding",
            "region",
            "window",
        ] {
            assert_eq!(answer[field], first[field], "{field} of {way:?}");
        }
        let single = way.0 == "/v1/check";
        for name in ["ratelimit", "ratelimit-policy", "retry-after"] {
            assert_eq!(reply.header(name).is_some(), single, "{name} of {way:?}");
        }
        if single {
            assert_eq!(header_names(reply), header_names(&replies[0]), "{way:?}");
            assert_eq!(
                reply.header("ratelimit-policy"),
                replies[0].header("ratelimit-policy")
            );
        }
    }
    let counted = || async {
        let view = client.fairness().await.ok()?;
        let mut tenants = view.tenants.into_iter();
        let report = tenants.find(|report| report.tenant == TENANT)?;
        Some((report.total.admitted_units.0, report.total.denied_units.0))
    };
    let begun = now();
    loop {
        let last = counted().await;
        if last == Some((admitted * COST, (asked - admitted) * COST)) {
            return;
        }
        assert!(
            begun.elapsed() < COUNTED,
            "{last:?} units admitted and denied; {admitted} of {asked} checks were admitted"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_batch_that_has_to_ask_for_units_charges_each_of_its_questions_once() {
    let (workerd, _) = deployment(Setup::isolates(&["weur"]), policy(1_000, LONG_MS)).await;
    let client = workerd.client(0).unwrap();
    let short = json!({ "tenant": TENANT, "budget": BUDGET, "cost": 7 });
    let requests = vec![short; 50];
    let (begun, mut admitted) = (now(), 0);
    // Until one batch is denied as a whole by holders that all answered.
    let mut is_used_up = false;
    while !is_used_up {
        assert!(begun.elapsed() < COUNTED, "{admitted} times 7 of 1,000");
        let body = json!({ "requests": requests });
        let reply: Value = client
            .post("/v1/check/batch", &body)
            .await
            .unwrap()
            .ok()
            .unwrap();
        let decisions = reply["decisions"].as_array().unwrap();
        assert_eq!(decisions.len(), 50);
        let passed = |one: &&Value| one["allowed"] == true;
        admitted += decisions.iter().filter(passed).count();
        let away = |one: &Value| one["reason"] == "unavailable";
        is_used_up = !decisions.iter().any(|one| passed(&one) || away(one));
    }
    assert_eq!(admitted, 142, "142 times 7 of 1,000");
}
