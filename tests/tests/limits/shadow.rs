//! In shadow: decided and counted as it would be, and never enforced.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::accounting::ANONYMOUS;
use weir_shared::wire::check::Reason;
use weir_tests::calls::{charge, charge_keys, together};
use weir_tests::client::{Checked, Client};
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, with};
use weir_tests::workerd::Workerd;

use crate::limits::{
    BUDGET_LIMIT, LONG_MS, TRIES, alone, await_left, decide, document, fixed, heard, left, start,
    still, take,
};

const BOUND: u64 = 5;

/// How long what was decided may take to be counted on a busy machine.
const COUNTED: Duration = Duration::from_secs(30);

/// The limits of a policy that does not enforce, and who asks for them.
const NAMES: [&str; 3] = ["region", "isolate", "global"];
const COUNTED_TENANT: &str = "pro:counted";

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
    for _ in 0..TRIES {
        let workerd = start(alone(), limits()).await;
        let client = workerd.client(0).unwrap();
        if use_up_in_shadow(&client).await.is_some() {
            // Counted as it would have been decided: what a shadow let pass was not charged.
            let names = ["region", "isolate", "global", "all_in_shadow"];
            let denied = 3 + BOUND + 1;
            return assert_counted(&client, ANONYMOUS, &names, (BOUND, denied)).await;
        }
    }
    panic!("{TRIES} times a holder was out of reach");
}

/// Uses limits up, and more; `None` where a holder was out of reach.
async fn use_up_in_shadow(client: &Client) -> Option<()> {
    for limit in ["region", "isolate", "global", "all_in_shadow"] {
        let one = charge(limit, "k", 1);
        for unit in 0..BOUND {
            let decision = heard(client, &one).await?.decision;
            assert_eq!(
                (decision.allowed, decision.reason),
                (true, Reason::Admitted),
                "{limit}, {unit}"
            );
        }
        for _ in 0..3 {
            let Checked { decision, reply } = heard(client, &one).await?;
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
        let never = heard(client, &charge(limit, "k", BOUND + 1)).await?;
        let never = never.decision;
        assert_eq!(
            (never.allowed, never.reason),
            (true, Reason::Never),
            "{limit}: {never:?}"
        );
    }
    Some(())
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
    let limits = json!({ "region": still(BOUND), "isolate": fixed(BOUND, LONG_MS, "isolate"), "global": fixed(BOUND, LONG_MS, "global") });
    let lenient = with(document(limits), "/enforcing", json!(false));
    for _ in 0..TRIES {
        let workerd = alone().start().await.unwrap();
        workerd.apply(&lenient).await.unwrap();
        let client = workerd.client(0).unwrap();
        if use_up_unenforced(&client).await.is_some() {
            return assert_enforced_again(&workerd, &client, lenient).await;
        }
    }
    panic!("{TRIES} times a holder was out of reach");
}

/// Uses a budget and limits up, and more; `None` where a holder was out of reach.
async fn use_up_unenforced(client: &Client) -> Option<()> {
    let of = |cost: u64| json!({ "tenant": COUNTED_TENANT, "budget": BUDGET, "cost": cost });
    let whole = heard(client, &of(BUDGET_LIMIT)).await?.decision;
    assert_eq!(whole.reason, Reason::Admitted);
    let over = heard(client, &of(7)).await?.decision;
    assert_eq!(
        (over.allowed, over.reason, over.retry_after_ms),
        (true, Reason::CapReached, Some(0))
    );
    for limit in NAMES {
        let of = |cost: u64| json!({ "tenant": COUNTED_TENANT, "limit": limit, "key": "k", "cost": cost });
        let whole = heard(client, &of(BOUND)).await?.decision;
        assert_eq!(whole.reason, Reason::Admitted, "{limit}");
        let over = heard(client, &of(2)).await?.decision;
        assert_eq!(
            (over.allowed, over.reason),
            (true, Reason::LimitExceeded),
            "{limit}"
        );
    }
    Some(())
}

async fn assert_enforced_again(workerd: &Workerd, client: &Client, lenient: Value) {
    assert_counted(client, COUNTED_TENANT, &NAMES, (BOUND, 2)).await;
    assert_counted(client, COUNTED_TENANT, &[BUDGET], (BUDGET_LIMIT, 7)).await;
    // Enforced again, it denies at once.
    workerd
        .apply(&with(lenient, "/enforcing", json!(true)))
        .await
        .unwrap();
    for limit in NAMES {
        assert!(!take(client, limit, "k", 1).await.allowed, "{limit}");
        assert_eq!(left(client, limit, "k").await, 0, "{limit}");
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
