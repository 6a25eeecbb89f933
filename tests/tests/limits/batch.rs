//! Many questions in one call: each decided as if it had come alone, in their order, or none at all.

use serde_json::{Value, json};
use weir_shared::limits::{BATCH_REQUESTS_MAX, CHECK_BODY_BYTES_MAX};
use weir_shared::wire::check::{DecisionBody, Reason};
use weir_tests::calls::{charge, charge_keys, reserved, together};
use weir_tests::client::Client;
use weir_tests::fixtures::BUDGET;
use weir_tests::workerd::TOKEN;

use crate::limits::{
    BUDGET_LIMIT, LONG_MS, TRIES, alone, ask_all, await_allowed, decide, fixed, left, settle,
    start, still, take,
};

const BATCH: &str = "/v1/check/batch";
const BOUND: u64 = 5;

fn limits() -> Value {
    json!({
        "region": still(BOUND),
        "isolate": fixed(BOUND, LONG_MS, "isolate"),
        "global": fixed(BOUND, LONG_MS, "global"),
        "pair": { "all": [{ "name": "a", "limit": "region" }, { "name": "b", "limit": "region" }] },
        "shape": { "algorithm": "leaky_bucket", "rate_per_sec": 1, "max_queue_ms": 1_000, "scope": "region" },
    })
}

fn of_budget(cost: u64) -> Value {
    json!({ "tenant": "pro:a", "budget": BUDGET, "cost": cost })
}

#[tokio::test]
async fn decisions_come_in_the_order_of_the_questions() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    let questions: Vec<Value> = (0..60)
        .map(|index| match index % 4 {
            0 => of_budget(1 + index / 4),
            1 => charge("region", &format!("r{index}"), 1 + index % 5),
            2 => charge("isolate", &format!("i{index}"), 6),
            _ => charge_keys(
                "pair",
                &[("a", &format!("a{index}")), ("b", &format!("b{index}"))],
                2,
            ),
        })
        .collect();
    let decisions = ask_all(&client, &questions).await;
    assert_eq!(decisions.len(), questions.len());
    for (index, decision) in decisions.iter().enumerate() {
        let (allowed, binding, remaining) = match index % 4 {
            0 => (true, BUDGET, None),
            1 => (true, "region", Some(BOUND - 1 - index as u64 % 5)),
            2 => (false, "isolate", Some(BOUND)),
            _ => (true, "a", Some(BOUND - 2)),
        };
        assert_eq!(
            (decision.allowed, decision.binding.as_str()),
            (allowed, binding),
            "{index}: {decision:?}"
        );
        assert!(
            remaining.is_none_or(|remaining| decision.remaining == remaining),
            "{index}: {decision:?}"
        );
        assert_eq!(
            decision.reason == Reason::Never,
            index % 4 == 2,
            "{index}: {decision:?}"
        );
    }
}

/// Which of some questions on keys that they share are admitted. Where a holder is out of reach in the middle of them, others
/// ask anew, on the keys of the next try.
async fn admitted(client: &Client, questions: impl Fn(usize) -> Vec<Value>) -> Vec<bool> {
    for attempt in 0..TRIES {
        let decisions = client.batch(&questions(attempt)).await.unwrap();
        let mut reasons = decisions.iter().map(|decision| decision.reason);
        if reasons.all(|reason| reason != Reason::Unavailable) {
            return decisions.iter().map(|decision| decision.allowed).collect();
        }
    }
    panic!("{TRIES} times a holder was out of reach");
}

/// One after the other where they share a key: the first get what is left.
#[tokio::test]
async fn questions_on_one_key_are_decided_one_after_the_other() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    for limit in ["region", "isolate", "global"] {
        let one = |attempt: usize| vec![charge(limit, &format!("k{attempt}"), 1); 12];
        let expected: Vec<bool> = (0..12).map(|index| index < BOUND).collect();
        assert_eq!(admitted(&client, one).await, expected, "{limit}");
        // A cost that does not fit stands in nobody's way.
        let mixed = |attempt: usize| {
            let costs = [3, 4, 2, 1].map(|cost| charge(limit, &format!("mixed{attempt}"), cost));
            costs.to_vec()
        };
        let allowed = admitted(&client, mixed).await;
        assert_eq!(allowed, [true, false, true, false], "{limit}");
    }
    let share = |attempt: usize| {
        let (s, t) = (format!("s{attempt}"), format!("t{attempt}"));
        let both = [charge("region", &s, 1), charge("region", &t, 4)];
        vec![
            charge("region", &s, 3),
            together("pro:a", &both),
            charge("region", &t, 2),
            charge_keys("pair", &[("a", &s), ("b", &t)], 1),
            charge("region", &s, 1),
        ]
    };
    let allowed = admitted(&client, share).await;
    assert_eq!(allowed, [true, true, false, true, false]);
}

#[tokio::test]
async fn a_fault_in_one_refuses_the_whole_and_charges_nothing() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    let good = [
        of_budget(10),
        charge("region", "k", 2),
        charge("isolate", "k", 2),
    ];
    let faults = [
        (charge("region", "", 1), 400, "/requests/3/key"),
        (json!({ "limit": "region" }), 400, "/requests/3/key"),
        (
            json!({ "limit": "region", "key": "k", "cost": -1 }),
            400,
            "/requests/3/cost",
        ),
        (
            json!({ "limit": "region", "key": "k", "surprise": 1 }),
            400,
            "/requests/3/surprise",
        ),
        (charge("nope", "k", 1), 404, "/requests/3/limit"),
        (charge("shape", "k", 1), 400, "/requests/3/limit"),
        (
            json!({ "tenant": "pro:a", "budget": "nope" }),
            404,
            "/requests/3/budget",
        ),
        (json!({ "budget": BUDGET }), 400, "/requests/3/tenant"),
        (
            together("pro:a", &[charge("region", "k", 1), charge("nope", "k", 1)]),
            404,
            "/requests/3/checks/1/limit",
        ),
        (together("pro:a", &[]), 400, "/requests/3/checks"),
        (
            charge_keys("pair", &[("a", "k")], 1),
            400,
            "/requests/3/keys/b",
        ),
        (
            reserved(charge("isolate", "k", 1)),
            400,
            "/requests/3/reserve",
        ),
        (json!(["pro:a", BUDGET]), 400, "/requests/3"),
        (json!(7), 400, "/requests/3"),
    ];
    for (fault, status, field) in faults {
        let requests: Vec<_> = good
            .iter()
            .cloned()
            .chain([fault.clone()])
            .chain(good.clone())
            .collect();
        let reply = client
            .post(BATCH, &json!({ "requests": requests }))
            .await
            .unwrap();
        let problem = reply.problem().unwrap();
        assert_eq!(
            (problem.status, problem.field.as_deref()),
            (status, Some(field)),
            "{fault}"
        );
    }
    assert_eq!(left(&client, "region", "k").await, BOUND);
    assert_eq!(left(&client, "isolate", "k").await, BOUND);
    await_allowed(&client, &of_budget(BUDGET_LIMIT)).await;
}

#[tokio::test]
async fn a_batch_is_bounded_in_questions_and_in_bytes() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    let many = |count: usize| -> Vec<Value> {
        (0..count)
            .map(|index| charge("isolate", &index.to_string(), BOUND))
            .collect()
    };
    let decisions = client.batch(&many(BATCH_REQUESTS_MAX)).await.unwrap();
    assert_eq!(
        decisions.iter().filter(|decision| decision.allowed).count(),
        BATCH_REQUESTS_MAX
    );
    let cases = [
        (
            json!({ "requests": many(BATCH_REQUESTS_MAX + 1) }).to_string(),
            400,
            Some("/requests"),
        ),
        (
            json!({ "requests": [] }).to_string(),
            400,
            Some("/requests"),
        ),
        (json!({}).to_string(), 400, Some("/requests")),
        (json!({ "requests": 7 }).to_string(), 400, Some("/requests")),
        (
            json!({ "requests": null }).to_string(),
            400,
            Some("/requests"),
        ),
        (
            json!({ "requests": [charge("region", "k", 1)], "tenant": "pro:a" }).to_string(),
            400,
            Some("/tenant"),
        ),
        (charge("region", "k", 1).to_string(), 400, None),
        ("[]".to_owned(), 400, None),
        (
            format!("{{\"requests\":[{}]}}", "[".repeat(20_000)),
            400,
            None,
        ),
    ];
    for (body, status, field) in cases {
        let case: String = body.chars().take(60).collect();
        let reply = client.post_bytes(BATCH, body).await.unwrap();
        let problem = reply
            .problem()
            .unwrap_or_else(|error| panic!("{case}: {error:#}"));
        assert_eq!(problem.status, status, "{case}: {problem:?}");
        assert!(
            field.is_none() || problem.field.as_deref() == field,
            "{case}: {problem:?}"
        );
    }
    // Who is refused early may find the connection closed: it is one that nobody else uses.
    let too_long = format!("{{\"requests\":[{}]}}", " ".repeat(CHECK_BODY_BYTES_MAX));
    let other = Client::new(client.origin()).unwrap().with_token(TOKEN);
    let reply = other.post_bytes(BATCH, too_long).await.unwrap();
    assert_eq!(reply.problem().unwrap().status, 413);
    assert_eq!(
        left(&client, "region", "k").await,
        BOUND,
        "nothing was charged"
    );
}

#[tokio::test]
async fn a_batch_says_what_a_single_question_would_be_told() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    assert!(take(&client, "region", "used", BOUND).await.allowed);
    let questions = [
        charge("region", "fresh", 0),
        charge("region", "used", 1),
        charge("region", "fresh", BOUND + 1),
        reserved(charge("region", "kept", 2)),
    ];
    let decisions = ask_all(&client, &questions).await;
    let reservation = decisions[3].reservation.clone().expect("a reservation");
    let told = |decision: &DecisionBody| {
        let DecisionBody {
            allowed,
            limit,
            remaining,
            reset_at,
            binding,
            reason,
            region,
            window,
            policy_revision,
            ..
        } = decision.clone();
        (
            allowed,
            limit,
            remaining,
            reset_at,
            binding,
            reason,
            region,
            window,
            policy_revision,
        )
    };
    for (question, decision) in questions.iter().zip(&decisions).take(3) {
        let alone = decide(&client, question).await;
        assert_eq!(told(decision), told(&alone), "{question}");
    }
    assert_eq!(settle(&client, &reservation, 0).await.refunded, 2);
}
