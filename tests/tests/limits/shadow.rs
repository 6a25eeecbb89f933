//! In shadow: decided and counted as it would be, and never enforced.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::accounting::ANONYMOUS;
use weir_shared::wire::check::Reason;
use weir_tests::calls::{charge, charge_keys, together};
use weir_tests::client::{Checked, Client};
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, with};

use crate::limits::{
    BUDGET_LIMIT, LONG_MS, alone, ask, await_left, decide, document, fixed, left, start, still,
    take,
};

const BOUND: u64 = 5;

/// How long what was decided may take to be counted on a busy machine.
const COUNTED: Duration = Duration::from_secs(10);

fn shadow(mut body: Value) -> Value {
    body["shadow"] = json!(true);
    body
}

fn limits() -> Value {
    json!({
        "region": shadow(still(BOUND)),
        "isolate": shadow(fixed(BOUND, LONG_MS, "isolate")),
        "global": shadow(fixed(BOUND, LONG_MS, "global")),
        "strict": still(BOUND),
        "all": { "all": ["region", "strict"] },
        "any": { "any": ["region", "strict"] },
        "all_in_shadow": shadow(json!({ "all": [{ "name": "a", "limit": "strict" }] })),
    })
}

#[tokio::test]
async fn a_limit_in_shadow_says_what_it_would_have_done_and_admits() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    for limit in ["region", "isolate", "global", "all_in_shadow"] {
        for unit in 0..BOUND {
            let decision = take(&client, limit, "k", 1).await;
            assert_eq!(
                (decision.allowed, decision.reason),
                (true, Reason::Admitted),
                "{limit}, {unit}"
            );
        }
        for _ in 0..3 {
            let Checked { decision, reply } = ask(&client, &charge(limit, "k", 1)).await;
            assert_eq!(
                (
                    decision.allowed,
                    decision.reason,
                    decision.remaining,
                    decision.retry_after_ms
                ),
                (true, Reason::LimitExceeded, 0, Some(0)),
                "{limit}"
            );
            assert_eq!(reply.header("retry-after"), None, "{limit}");
        }
        let never = take(&client, limit, "k", BOUND + 1).await;
        assert_eq!(
            (never.allowed, never.reason),
            (true, Reason::Never),
            "{limit}: {never:?}"
        );
    }
    // Counted as it would have been decided: what a shadow let pass was not charged.
    let denied = 3 + BOUND + 1;
    assert_counted(
        &client,
        ANONYMOUS,
        &["region", "isolate", "global", "all_in_shadow"],
        (BOUND, denied),
    )
    .await;
}

#[tokio::test]
async fn a_dimension_in_shadow_has_no_say() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    let both = |limit, key: &str| charge_keys(limit, &[("region", key), ("strict", key)], 1);
    assert!(take(&client, "region", "k", BOUND).await.allowed);
    for _ in 0..BOUND {
        let decision = decide(&client, &both("all", "k")).await;
        assert_eq!(
            (decision.allowed, decision.binding.as_str(), decision.reason),
            (true, "strict", Reason::Admitted)
        );
    }
    let denied = decide(&client, &both("all", "k")).await;
    assert_eq!((denied.allowed, denied.binding.as_str()), (false, "strict"));
    // Nor does it admit what the others deny.
    assert!(take(&client, "strict", "j", BOUND).await.allowed);
    let denied = decide(&client, &both("any", "j")).await;
    assert_eq!((denied.allowed, denied.binding.as_str()), (false, "strict"));
    await_left(&client, "region", "j", BOUND).await;
}

#[tokio::test]
async fn a_check_in_shadow_stands_beside_those_that_are_enforced() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    let question = together(
        "pro:a",
        &[charge("region", "k", 1), charge("strict", "j", 2)],
    );
    assert!(take(&client, "region", "k", BOUND).await.allowed);
    let passed = decide(&client, &question).await;
    assert_eq!(
        (passed.allowed, passed.binding.as_str(), passed.remaining),
        (true, "strict", BOUND - 2)
    );
    // What would have been denied is not charged; what denies charges nothing, in shadow or not.
    assert!(take(&client, "strict", "j", BOUND - 2).await.allowed);
    let question = together(
        "pro:a",
        &[charge("region", "fresh", 1), charge("strict", "j", 1)],
    );
    assert!(!decide(&client, &question).await.allowed);
    await_left(&client, "region", "fresh", BOUND).await;
}

#[tokio::test]
async fn a_policy_that_does_not_enforce_admits_everything_and_counts() {
    let workerd = alone().start().await.unwrap();
    let limits = json!({ "region": still(BOUND), "isolate": fixed(BOUND, LONG_MS, "isolate"), "global": fixed(BOUND, LONG_MS, "global") });
    let lenient = with(document(limits), "/enforcing", json!(false));
    workerd.apply(&lenient).await.unwrap();
    let client = workerd.client(0).unwrap();
    let of = |cost: u64| json!({ "tenant": "pro:counted", "budget": BUDGET, "cost": cost });
    assert_eq!(
        decide(&client, &of(BUDGET_LIMIT)).await.reason,
        Reason::Admitted
    );
    let over = decide(&client, &of(7)).await;
    assert_eq!(
        (over.allowed, over.reason, over.retry_after_ms),
        (true, Reason::CapReached, Some(0))
    );
    for limit in ["region", "isolate", "global"] {
        let of = |cost: u64| json!({ "tenant": "pro:counted", "limit": limit, "key": "k", "cost": cost });
        assert_eq!(
            decide(&client, &of(BOUND)).await.reason,
            Reason::Admitted,
            "{limit}"
        );
        let over = decide(&client, &of(2)).await;
        assert_eq!(
            (over.allowed, over.reason),
            (true, Reason::LimitExceeded),
            "{limit}"
        );
    }
    assert_counted(
        &client,
        "pro:counted",
        &["region", "isolate", "global"],
        (BOUND, 2),
    )
    .await;
    assert_counted(&client, "pro:counted", &[BUDGET], (BUDGET_LIMIT, 7)).await;
    // Enforced again, it denies at once.
    workerd
        .apply(&with(lenient, "/enforcing", json!(true)))
        .await
        .unwrap();
    for limit in ["region", "isolate", "global"] {
        assert!(!take(&client, limit, "k", 1).await.allowed, "{limit}");
        assert_eq!(left(&client, limit, "k").await, 0, "{limit}");
    }
}

/// What would have been denied is counted so, and not as denied: units admitted, and those that would not have been, by name.
async fn assert_counted(client: &Client, tenant: &str, names: &[&str], units: (u64, u64)) {
    let asked = now();
    loop {
        let view = client.fairness().await.unwrap();
        let mut tenants = view.tenants.into_iter();
        let counted = tenants.find(|report| report.tenant == tenant);
        if let Some(report) = &counted {
            let tally = |name: &str| {
                let budget = report.budgets.get(name).map(|budget| budget.total);
                budget.or_else(|| report.limits.get(name).copied())
            };
            let of = |name: &&str| {
                tally(name).is_some_and(|tally| {
                    let would = tally.would_deny_units.0;
                    (tally.admitted_units.0, tally.denied_units.0, would)
                        == (units.0.into(), 0, units.1.into())
                })
            };
            if names.iter().all(of) {
                return;
            }
        }
        assert!(
            asked.elapsed() < COUNTED,
            "{names:?} not counted as {units:?}: {counted:?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
