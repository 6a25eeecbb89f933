//! The rate-limit headers of a decision, read by a parser of structured fields.

use std::ops::RangeInclusive;

use serde_json::{Value, json};
use weir_tests::calls::{charge, charge_keys, together};
use weir_tests::client::Checked;
use weir_tests::clock::epoch_ms;
use weir_tests::fixtures::{BUDGET, with};
use weir_tests::ratelimit::{Item, parse};
use weir_tests::reply::Reply;
use weir_tests::workerd::Workerd;

use weir_shared::ordered::OrderedSet;

use crate::limits::{
    BUDGET_LIMIT, HOUR_MS, LONG_MS, alone, ask, document, fixed, key_in, learn_shards, still,
};

const MINUTE_MS: u64 = 60_000;

fn limits() -> Value {
    json!({
        "gcra": { "algorithm": "gcra", "limit": 100, "period_ms": MINUTE_MS, "burst": 20, "scope": "region" },
        "bucket": { "algorithm": "token_bucket", "capacity": 50, "refill_per_sec": 5, "scope": "isolate" },
        "fixed": still(7),
        "sliding": { "algorithm": "sliding_window", "limit": 9, "window_ms": HOUR_MS, "buckets": 10, "scope": "region" },
        "log": { "algorithm": "sliding_log", "limit": 5, "window_ms": 1_500, "scope": "region" },
        "global": fixed(11, LONG_MS, "global"),
        "pair": { "all": [{ "name": "a", "limit": "fixed" }, { "name": "b", "limit": "sliding" }] },
    })
}

async fn deployment(dialect: Option<&str>) -> Workerd {
    let workerd = alone().start().await.unwrap();
    let mut document = document(limits());
    if let Some(dialect) = dialect {
        document = with(document, "/rate_limit_headers", json!(dialect));
    }
    workerd.apply(&document).await.unwrap();
    learn_shards(&workerd);
    workerd
}

/// Both headers: the same names in the same order, each with the parameters that the draft gives it.
fn headers(reply: &Reply) -> (Vec<Item>, Vec<Item>) {
    let policy = parse(
        reply
            .header("ratelimit-policy")
            .expect("a RateLimit-Policy header"),
    )
    .unwrap();
    let state = parse(reply.header("ratelimit").expect("a RateLimit header")).unwrap();
    let names = |items: &[Item]| {
        items
            .iter()
            .map(|item| item.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&policy), names(&state));
    let distinct: OrderedSet<_> = names(&policy).into_iter().collect();
    assert_eq!(distinct.len(), policy.len(), "{policy:?}");
    for item in &policy {
        assert!(
            item.parameter("q").unwrap() > 0 && item.parameter("w").unwrap() > 0,
            "{item:?}"
        );
    }
    for item in &state {
        item.parameter("r").unwrap();
        item.parameter("t").unwrap();
    }
    (policy, state)
}

fn promised(item: &Item) -> (u64, u64) {
    (item.parameter("q").unwrap(), item.parameter("w").unwrap())
}

/// The seconds until an instant that an answer may tell to a question of that time: those left at some moment from then on.
fn left_s(reset_at: u64, asked: u64) -> RangeInclusive<u64> {
    let left = |at: u64| reset_at.saturating_sub(at).div_ceil(1_000);
    left(epoch_ms()).saturating_sub(1)..=left(asked) + 1
}

/// The item that binds, against the decision that was asked for at an instant.
#[track_caller]
fn assert_binding(state: &[Item], checked: &Checked, asked: u64) {
    let decision = &checked.decision;
    assert_eq!(state[0].name, decision.binding);
    assert_eq!(
        state[0].parameter("r").unwrap(),
        decision.remaining,
        "{decision:?}"
    );
    let expected = left_s(decision.reset_at, asked);
    let told_s = state[0].parameter("t").unwrap();
    assert!(
        expected.contains(&told_s),
        "t={told_s}, expected {expected:?}"
    );
}

#[tokio::test]
async fn a_single_check_names_its_limit() {
    let workerd = deployment(None).await;
    let client = workerd.client(0).unwrap();
    let seconds = |ms: u64| ms.div_ceil(1_000);
    let cases = [
        ("gcra", (100, 60)),
        ("bucket", (50, 10)),
        ("fixed", (7, seconds(LONG_MS))),
        ("sliding", (9, seconds(HOUR_MS))),
        ("log", (5, 2)),
        ("global", (11, seconds(LONG_MS))),
    ];
    for (limit, promise) in cases {
        let asked = epoch_ms();
        let checked = ask(&client, &charge(limit, "k", 3)).await;
        let (policy, state) = headers(&checked.reply);
        assert_eq!((policy.len(), policy[0].name.as_str()), (1, limit));
        assert_eq!(promised(&policy[0]), promise, "{limit}");
        assert_binding(&state, &checked, asked);
    }
    let asked = epoch_ms();
    let checked = client.check_budget_once_there("pro:a", BUDGET, 1).await;
    let (policy, state) = headers(&checked.reply);
    assert_eq!(policy[0].name, BUDGET);
    assert_eq!(promised(&policy[0]), (BUDGET_LIMIT, seconds(LONG_MS)));
    assert_binding(&state, &checked, asked);
}

#[tokio::test]
async fn several_checks_name_every_budget_and_limit_the_binding_one_first() {
    let workerd = deployment(None).await;
    let client = workerd.client(0).unwrap();
    let question = together(
        "pro:a",
        &[
            json!({ "budget": BUDGET, "cost": 3 }),
            charge("global", "k", 1),
            charge("bucket", "k", 1),
            charge("gcra", "k", 2),
            charge("fixed", "k", 5),
        ],
    );
    let asked = epoch_ms();
    let checked = ask(&client, &question).await;
    let (policy, state) = headers(&checked.reply);
    assert_binding(&state, &checked, asked);
    assert_eq!(checked.decision.binding, "fixed");
    let names: OrderedSet<_> = policy.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(
        names,
        OrderedSet::from([BUDGET, "global", "bucket", "gcra", "fixed"])
    );
    let left_of = |name: &str| {
        let item = state.iter().find(|item| item.name == name).unwrap();
        item.parameter("r").unwrap()
    };
    assert_eq!(
        (left_of("gcra"), left_of("bucket"), left_of("fixed")),
        (18, 49, 2)
    );

    let asked = epoch_ms();
    let denied = ask(&client, &question).await;
    assert!(!denied.decision.allowed);
    let (_, state) = headers(&denied.reply);
    assert_binding(&state, &denied, asked);
    assert_eq!(state[0].name, "fixed");
    let retry_s = denied
        .decision
        .retry_after_ms
        .unwrap()
        .div_ceil(1_000)
        .to_string();
    assert_eq!(denied.reply.header("retry-after"), Some(retry_s.as_str()));
}

#[tokio::test]
async fn a_composite_limit_names_its_dimensions() {
    let workerd = deployment(None).await;
    let client = workerd.client(0).unwrap();
    for (a, b) in [(key_in(0, 0), key_in(0, 1)), (key_in(1, 0), key_in(2, 0))] {
        let question = charge_keys("pair", &[("a", &a), ("b", &b)], 4);
        let asked = epoch_ms();
        let checked = ask(&client, &question).await;
        let (policy, state) = headers(&checked.reply);
        assert_binding(&state, &checked, asked);
        let names: Vec<_> = state.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(
            policy.iter().map(promised).next(),
            Some((7, LONG_MS / 1_000))
        );
        assert_eq!(
            (
                state[0].parameter("r").unwrap(),
                state[1].parameter("r").unwrap()
            ),
            (3, 5)
        );
    }
}

#[tokio::test]
async fn a_denial_says_when_to_retry_and_never_says_nothing() {
    for dialect in [None, Some("ietf"), Some("x_ratelimit"), Some("none")] {
        let workerd = deployment(dialect).await;
        let client = workerd.client(0).unwrap();
        let passed = ask(&client, &charge("log", "k", 5)).await;
        assert_eq!(passed.reply.header("retry-after"), None, "{dialect:?}");
        let whole = ask(&client, &charge("fixed", "k", 7)).await;
        assert!(whole.decision.allowed);
        let denied = ask(&client, &charge("fixed", "k", 7)).await;
        let retry_ms = denied.decision.retry_after_ms.expect("a time");
        let retry_s = retry_ms.div_ceil(1_000).to_string();
        assert_eq!(
            denied.reply.header("retry-after"),
            Some(retry_s.as_str()),
            "{dialect:?}"
        );
        let never = ask(&client, &charge("fixed", "k", 8)).await;
        assert_eq!(never.decision.retry_after_ms, None);
        assert_eq!(never.reply.header("retry-after"), None, "{dialect:?}");
    }
}

#[tokio::test]
async fn the_policy_chooses_the_dialect() {
    let ietf = ["ratelimit", "ratelimit-policy"];
    let older = [
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ];
    for (dialect, has_ietf, has_older) in [
        ("ietf", true, false),
        ("x_ratelimit", false, true),
        ("none", false, false),
    ] {
        let workerd = deployment(Some(dialect)).await;
        let client = workerd.client(0).unwrap();
        let question = together("pro:a", &[charge("fixed", "k", 1), charge("gcra", "k", 1)]);
        let asked = epoch_ms();
        let Checked { decision, reply } = ask(&client, &question).await;
        for name in ietf {
            assert_eq!(reply.header(name).is_some(), has_ietf, "{dialect}: {name}");
        }
        for name in older {
            assert_eq!(reply.header(name).is_some(), has_older, "{dialect}: {name}");
        }
        if has_older {
            let number = |name: &str| reply.header(name).unwrap().parse::<u64>().unwrap();
            assert_eq!(
                (number(older[0]), number(older[1])),
                (decision.limit, decision.remaining)
            );
            let expected = left_s(decision.reset_at, asked);
            assert!(expected.contains(&number(older[2])), "{dialect}");
        }
        let saved = client.policy().await.unwrap();
        assert_eq!(saved.document["rate_limit_headers"], json!(dialect));
    }
}
