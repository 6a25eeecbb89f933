//! One request after another in one window: the decisions are those of the rule, to the unit.
//!
//! With L the limit and W the sum of the weights of who has asked in the window, a tenant's guarantee is g = floor(w L / W).

use std::time::Duration;

use futures_util::future::join_all;
use weir_tests::fixtures::with;

use crate::shares::{LONG_MS, alone, await_allowed, budget, document, start, take, weighing};

/// A tenant, its cost, and whether it is admitted; the ceiling it is told.
type Step = (&'static str, u64, bool, u64);

/// What a region has lent to an isolate ahead of demand is not there for another tenant until it has come back, which
/// takes a few contacts: what is to be admitted may have to be asked for again, what is to be denied stays denied.
const COMES_BACK: Duration = Duration::from_millis(1_200);

/// Tenants `a` of weight 3, `b` and `c` of weight 1, and a limit of 100.
async fn assert_steps(sharing: &str, scope: &str, steps: &[Step]) {
    let document = document(
        budget(sharing, scope, 100, LONG_MS),
        weighing(&[("a", 3), ("b", 1), ("c", 1)]),
    );
    let workerd = start(alone(), &document).await;
    let client = workerd.client(0).unwrap();
    for (nth, (tenant, cost, allowed, limit)) in steps.iter().enumerate() {
        let mut decision = take(&client, tenant, *cost).await;
        if scope == "region" && *allowed && !decision.allowed {
            decision = await_allowed(&client, tenant, *cost).await;
        } else if scope == "region" && !*allowed {
            tokio::time::sleep(COMES_BACK).await;
            decision = take(&client, tenant, *cost).await;
        }
        let what = format!("{sharing} at {scope}, step {nth} of {steps:?}: {decision:?}");
        assert_eq!(decision.allowed, *allowed, "{what}");
        // What a denial tells may be what the region said before, of another cost.
        if *allowed || scope == "isolate" {
            assert_eq!(decision.limit, *limit, "{what}");
        }
    }
}

/// Units of one window in the order in which they are asked for. `admit iff cost <= pool and
/// used + cost <= g + min(cost, avail)`, with `pool = L - sum of used` and `avail` what of it no other's guarantee covers.
const ESCROW: [&[Step]; 3] = [
    &[
        // Alone: g = 100.
        ("a", 10, true, 100),
        // W = 4: g is 75 and 25.
        ("b", 1, true, 25),
        ("b", 24, true, 25),
        // avail = 65 - (75 - 10) = 0.
        ("b", 1, false, 25),
        ("a", 60, true, 75),
        // 5 are left, all of them its own.
        ("a", 8, false, 75),
        ("a", 5, true, 75),
        ("b", 1, false, 25),
        ("a", 1, false, 75),
    ],
    &[
        ("a", 1, true, 100),
        ("b", 1, true, 25),
        // avail = 98 - (75 - 1) = 24: a larger cost may overdraw by what its own guarantee has left. 1 + 40 = 25 + 16.
        ("b", 40, true, 41),
        // 59 are left.
        ("a", 60, false, 75),
        ("a", 59, false, 75),
        ("a", 58, true, 75),
        ("b", 1, false, 41),
    ],
    &[
        ("a", 30, true, 100),
        // W = 4.
        ("c", 10, true, 25),
        // W = 5: g is 60, 20 and 20.
        ("b", 7, true, 20),
        // avail = 53 - (60 - 30) - (20 - 7) = 10: 10 + 20 = 20 + 10.
        ("c", 20, true, 30),
        ("c", 10, false, 20),
        // avail = 33 - 30 = 3.
        ("b", 30, false, 23),
        ("a", 20, true, 60),
        ("b", 15, false, 20),
        ("c", 9, false, 20),
        ("a", 2, true, 60),
        ("b", 11, true, 20),
        ("a", 1, false, 60),
    ],
];

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_escrow_decides_by_its_rule_in_an_isolate() {
    for steps in ESCROW {
        assert_steps("weighted_fair_escrow", "isolate", steps).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_escrow_decides_by_its_rule_in_a_region() {
    join_all(ESCROW.map(|steps| assert_steps("weighted_fair_escrow", "region", steps))).await;
}

/// A ceiling of floor(w L / W), whatever the others leave.
const WEIGHTED: &[Step] = &[
    ("a", 10, true, 100),
    ("b", 20, true, 25),
    ("b", 6, false, 25),
    ("a", 66, false, 75),
    ("a", 65, true, 75),
    ("b", 5, true, 25),
    ("b", 1, false, 25),
];

/// The same with equal weights: floor(L / n).
const EQUAL: &[Step] = &[
    ("a", 10, true, 100),
    ("b", 50, true, 50),
    ("b", 1, false, 50),
    ("a", 41, false, 50),
    ("c", 34, false, 33),
    ("c", 33, true, 33),
    ("a", 7, true, 33),
    ("a", 1, false, 33),
];

#[tokio::test(flavor = "multi_thread")]
async fn fair_shares_are_ceilings_by_weight_or_by_number() {
    for scope in ["isolate", "region"] {
        tokio::join!(
            assert_steps("weighted_fair_share", scope, WEIGHTED),
            assert_steps("fair_share", scope, EQUAL),
        );
    }
}

/// Alone a tenant has all; the weight that it has in an edited policy counts from its next request on.
#[tokio::test(flavor = "multi_thread")]
async fn an_edited_weight_counts_from_the_next_request_on() {
    let body = |weight: u64| {
        document(
            budget("weighted_fair_escrow", "isolate", 100, LONG_MS),
            weighing(&[("a", weight), ("b", 1)]),
        )
    };
    let workerd = start(alone(), &body(1)).await;
    let client = workerd.client(0).unwrap();
    assert!(take(&client, "b", 1).await.allowed);
    assert_eq!(take(&client, "a", 1).await.limit, 50);
    workerd.apply(&body(3)).await.unwrap();
    assert_eq!(take(&client, "a", 1).await.limit, 75);
    assert_eq!(take(&client, "b", 1).await.limit, 25);
    workerd
        .apply(&with(body(1), "/tenants/b/weight", serde_json::json!(4)))
        .await
        .unwrap();
    // The weight of `a` is still the one of its last request: 4 * 100 / 7.
    assert_eq!(take(&client, "b", 1).await.limit, 57);
    assert_eq!(take(&client, "a", 1).await.limit, 20);
}
