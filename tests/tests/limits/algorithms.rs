//! Each algorithm admits what it promises at once, and no more.

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::calls::charge;
use weir_tests::client::{Checked, Client};

use crate::limits::{HOUR_MS, LONG_MS, alone, ask, await_allowed, document, left, start, take};

/// What every limit of [`limits`] admits at once.
const BOUND: u64 = 20;

/// Every algorithm that a scope has, by name; none of them refills while a test runs.
fn limits(scope: &str) -> Vec<(String, Value)> {
    let windows = [
        (
            "fixed",
            json!({ "algorithm": "fixed_window", "limit": BOUND, "window_ms": LONG_MS }),
        ),
        (
            "sliding",
            json!({ "algorithm": "sliding_window", "limit": BOUND, "window_ms": LONG_MS, "buckets": 10 }),
        ),
        (
            "two_counters",
            json!({ "algorithm": "sliding_window", "limit": BOUND, "window_ms": LONG_MS, "buckets": 1 }),
        ),
        (
            "cycle",
            json!({ "algorithm": "quota", "limit": BOUND, "cadence": "fixed", "period_ms": LONG_MS, "anchor": 0 }),
        ),
        (
            "monthly",
            json!({ "algorithm": "quota", "limit": BOUND, "cadence": "calendar_month" }),
        ),
        (
            "rolling",
            json!({ "algorithm": "quota", "limit": BOUND, "cadence": "rolling", "period_ms": LONG_MS }),
        ),
    ];
    let local = [
        (
            "gcra",
            json!({ "algorithm": "gcra", "limit": 6, "period_ms": HOUR_MS, "burst": BOUND }),
        ),
        // The half of a token is never enough for a unit.
        (
            "bucket",
            json!({ "algorithm": "token_bucket", "capacity": 20.5, "refill_per_sec": 0.0001 }),
        ),
        (
            "dual",
            json!({
                "algorithm": "dual_token_bucket", "capacity": 20.5, "refill_per_sec": 0.0001,
                "peak_capacity": 20.25, "peak_per_sec": 0.001
            }),
        ),
        (
            "log",
            json!({ "algorithm": "sliding_log", "limit": BOUND, "window_ms": HOUR_MS }),
        ),
    ];
    let local = local.into_iter().filter(|_| scope != "global");
    let named = windows.into_iter().chain(local).map(|(name, mut body)| {
        body["scope"] = json!(scope);
        (format!("{scope}_{name}"), body)
    });
    named.collect()
}

fn of_scopes(scopes: &[&str]) -> (Vec<String>, Value) {
    let all: Vec<_> = scopes.iter().flat_map(|scope| limits(scope)).collect();
    let names = all.iter().map(|(name, _)| name.clone()).collect();
    (names, Value::Object(all.into_iter().collect()))
}

#[tokio::test]
async fn every_algorithm_admits_exactly_its_bound_at_once() {
    let (names, limits) = of_scopes(&["region", "isolate", "global"]);
    let workerd = start(alone(), limits).await;
    let client = workerd.client(0).unwrap();
    for name in names {
        for unit in 1..=BOUND {
            let decision = take(&client, &name, "k", 1).await;
            assert!(decision.allowed, "{name}, unit {unit}: {decision:?}");
            assert_eq!(
                (decision.limit, decision.binding.as_str()),
                (BOUND, name.as_str())
            );
            assert_eq!(
                (decision.reason, decision.retry_after_ms),
                (Reason::Admitted, Some(0))
            );
            if !name.starts_with("global") {
                assert_eq!(decision.remaining, BOUND - unit, "{name}, unit {unit}");
            }
        }
        let Checked { decision, reply } = ask(&client, &charge(&name, "k", 1)).await;
        assert_eq!(
            (decision.allowed, decision.reason, decision.remaining),
            (false, Reason::LimitExceeded, 0),
            "{name}"
        );
        assert!(
            decision.retry_after_ms.is_some_and(|hint| hint > 0),
            "{name}: {decision:?}"
        );
        assert!(reply.header("retry-after").is_some(), "{name}");
    }
}

#[tokio::test]
async fn a_whole_bound_in_one_cost_is_admitted_and_one_more_never() {
    let (names, limits) = of_scopes(&["region", "isolate", "global"]);
    let workerd = start(alone(), limits).await;
    let client = workerd.client(0).unwrap();
    for name in names {
        for cost in [BOUND + 1, 9_007_199_254_740_991] {
            assert_never(&client, &name, cost).await;
        }
        // What could never be admitted has cost nothing.
        assert_eq!(left(&client, &name, "k").await, BOUND, "{name}");
        assert!(take(&client, &name, "k", BOUND).await.allowed, "{name}");
        assert!(!take(&client, &name, "k", 1).await.allowed, "{name}");
        // Nor does it become a question of time once the bound is used.
        assert_never(&client, &name, BOUND + 1).await;
    }
}

async fn assert_never(client: &Client, name: &str, cost: u64) {
    let Checked { decision, reply } = ask(client, &charge(name, "k", cost)).await;
    assert_eq!(
        (decision.allowed, decision.reason, decision.retry_after_ms),
        (false, Reason::Never, None),
        "{name}, cost {cost}"
    );
    assert_eq!(reply.header("retry-after"), None, "{name}");
}

/// Costs of several units leave the rest to smaller ones.
#[tokio::test]
async fn a_cost_that_does_not_fit_leaves_room_for_one_that_does() {
    let (names, limits) = of_scopes(&["region", "isolate", "global"]);
    let workerd = start(alone(), limits).await;
    let client = workerd.client(0).unwrap();
    for name in names {
        assert!(take(&client, &name, "k", 13).await.allowed, "{name}");
        assert!(
            !take(&client, &name, "k", 8).await.allowed,
            "{name}: 7 are left"
        );
        assert!(
            take(&client, &name, "k", 7).await.allowed,
            "{name}: 7 are left"
        );
        assert!(
            !take(&client, &name, "k", 1).await.allowed,
            "{name}: all is used"
        );
    }
}

/// A changed limit counts on from what was used: a change never refunds.
#[tokio::test]
async fn a_saved_change_holds_at_once_and_refunds_nothing() {
    let (names, limits) = of_scopes(&["region", "isolate", "global"]);
    let workerd = start(alone(), limits.clone()).await;
    let client = workerd.client(0).unwrap();
    for name in &names {
        assert!(take(&client, name, "k", BOUND).await.allowed, "{name}");
        assert!(!take(&client, name, "k", 1).await.allowed, "{name}");
    }
    // The isolate that saved decides by it with the next request, and the denial of a moment ago stands no more.
    let saved = client.save_policy(&document(raised(limits))).await.unwrap();
    for name in &names {
        let mut more = take(&client, name, "k", 5).await;
        assert_eq!(more.policy_revision, saved.revision().unwrap(), "{name}");
        if name.starts_with("global") && !more.allowed {
            // An answer by the old terms may have been under way.
            more = await_allowed(&client, &charge(name, "k", 5)).await;
        }
        assert!(more.allowed, "{name}: {more:?}");
        let beyond = take(&client, name, "k", 1).await;
        assert!(
            !beyond.allowed,
            "{name} gave back what was used: {beyond:?}"
        );
    }
}

/// Five more units of everything.
fn raised(mut limits: Value) -> Value {
    for body in limits.as_object_mut().unwrap().values_mut() {
        let fields: &[&str] = match body["algorithm"].as_str() {
            Some("gcra") => &["burst"],
            Some("token_bucket") => &["capacity"],
            Some("dual_token_bucket") => &["capacity", "peak_capacity"],
            _ => &["limit"],
        };
        for field in fields {
            body[field] = match body[field].as_u64() {
                Some(units) => json!(units + 5),
                None => json!(body[field].as_f64().unwrap() + 5.0),
            };
        }
    }
    limits
}
