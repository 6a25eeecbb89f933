//! Limits made of others: all of them or any, with weights.

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::calls::{charge, charge_keys};
use weir_tests::client::Client;
use weir_tests::workerd::Workerd;

use crate::limits::{
    HOUR_MS, LONG_MS, alone, await_allowed, await_left, decide, fixed, key_in, start, still, take,
};

fn limits() -> Value {
    json!({
        "wide": { "algorithm": "gcra", "limit": 6, "period_ms": HOUR_MS, "burst": 10, "scope": "region" },
        "narrow": still(4),
        "log": { "algorithm": "sliding_log", "limit": 7, "window_ms": HOUR_MS, "scope": "region" },
        "own": fixed(5, LONG_MS, "isolate"),
        "planet": fixed(6, LONG_MS, "global"),
        "both": { "all": ["wide", { "name": "second", "limit": "narrow" }] },
        "either": { "any": ["wide", { "name": "second", "limit": "narrow" }] },
        "every_scope": { "all": ["wide", "own", "planet", "log"] },
        "weighted": { "all": [{ "limit": "wide", "weight": 2 }, { "name": "half", "limit": "narrow", "weight": 0.5 }] },
        "same_key": { "all": [{ "name": "a", "limit": "log" }, { "name": "b", "limit": "log", "weight": 2 }] },
    })
}

async fn deployment() -> (Workerd, Client) {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

/// Keys of two dimensions: in one shard of the region, and in two.
fn places() -> [(String, String); 2] {
    [(key_in(0, 0), key_in(0, 1)), (key_in(1, 0), key_in(2, 0))]
}

#[tokio::test]
async fn all_admits_when_each_does_and_charges_each_or_none() {
    let (_workerd, client) = deployment().await;
    for (wide, narrow) in places() {
        let ask = |cost| charge_keys("both", &[("wide", &wide), ("second", &narrow)], cost);
        let first = decide(&client, &ask(3)).await;
        assert_eq!(
            (
                first.allowed,
                first.binding.as_str(),
                first.remaining,
                first.limit
            ),
            (true, "second", 1, 4),
            "the one with the least left binds, by the dimension's name"
        );
        await_left(&client, "wide", &wide, 7).await;
        let denied = decide(&client, &ask(2)).await;
        assert_eq!(
            (
                denied.allowed,
                denied.binding.as_str(),
                denied.reason,
                denied.remaining
            ),
            (false, "second", Reason::LimitExceeded, 1)
        );
        // None is charged, and no charge is on its way to be given back.
        for _ in 0..5 {
            assert!(!decide(&client, &ask(2)).await.allowed);
        }
        await_left(&client, "wide", &wide, 7).await;
        await_left(&client, "narrow", &narrow, 1).await;
        // Of two that deny, the one with the longer wait binds: the window of thirty days, not the next unit.
        assert!(take(&client, "wide", &wide, 7).await.allowed);
        let both = decide(&client, &ask(2)).await;
        assert_eq!((both.allowed, both.binding.as_str()), (false, "second"));
        let never = decide(&client, &ask(11)).await;
        assert_eq!((never.reason, never.retry_after_ms), (Reason::Never, None));
    }
}

#[tokio::test]
async fn any_charges_only_those_that_admit() {
    let (_workerd, client) = deployment().await;
    for (wide, narrow) in places() {
        let ask = |cost| charge_keys("either", &[("wide", &wide), ("second", &narrow)], cost);
        let both = decide(&client, &ask(3)).await;
        assert_eq!(
            (both.allowed, both.binding.as_str(), both.remaining),
            (true, "wide", 7),
            "the one with the most left binds"
        );
        await_left(&client, "narrow", &narrow, 1).await;
        let one = decide(&client, &ask(6)).await;
        assert_eq!(
            (one.allowed, one.binding.as_str(), one.remaining),
            (true, "wide", 1)
        );
        await_left(&client, "narrow", &narrow, 1).await;
        await_left(&client, "wide", &wide, 1).await;
        let denied = decide(&client, &ask(2)).await;
        assert_eq!(
            (denied.allowed, denied.binding.as_str()),
            (false, "wide"),
            "the one with the shorter wait binds"
        );
        // Both are asked for their last unit, and both are charged.
        assert!(decide(&client, &ask(1)).await.allowed);
        await_left(&client, "wide", &wide, 0).await;
        await_left(&client, "narrow", &narrow, 0).await;
        assert!(!decide(&client, &ask(1)).await.allowed);
    }
}

#[tokio::test]
async fn dimensions_of_every_scope_are_charged_together_or_not_at_all() {
    let (_workerd, client) = deployment().await;
    // The first of a round is used up, and stands for the denial; the others are asked for all they have.
    let bounds = [("wide", 10), ("own", 5), ("planet", 6), ("log", 7)];
    for (round, (exhausted, bound)) in bounds.into_iter().enumerate() {
        let key = |name: &str| format!("{name}{round}");
        let named = bounds.map(|(name, _)| (name, key(name)));
        let keys: Vec<_> = named
            .iter()
            .map(|(name, key)| (*name, key.as_str()))
            .collect();
        let ask = |cost| charge_keys("every_scope", &keys, cost);
        let first = decide(&client, &ask(2)).await;
        assert_eq!(
            (first.allowed, first.binding.as_str(), first.remaining),
            (true, "own", 3)
        );
        assert!(
            take(&client, exhausted, &key(exhausted), bound - 2)
                .await
                .allowed
        );
        for _ in 0..4 {
            let denied = decide(&client, &ask(1)).await;
            assert_eq!(
                (denied.allowed, denied.binding.as_str()),
                (false, exhausted)
            );
        }
        for (other, bound) in bounds.into_iter().filter(|(name, _)| *name != exhausted) {
            await_allowed(&client, &charge(other, &key(other), bound - 2)).await;
            assert!(
                !take(&client, other, &key(other), 1).await.allowed,
                "{other}"
            );
        }
    }
}

#[tokio::test]
async fn weights_multiply_the_cost_exactly() {
    let (_workerd, client) = deployment().await;
    for (wide, narrow) in places() {
        let ask = |cost| charge_keys("weighted", &[("wide", &wide), ("half", &narrow)], cost);
        let one = decide(&client, &ask(1)).await;
        assert_eq!(
            (one.allowed, one.binding.as_str(), one.remaining),
            (true, "half", 3),
            "3.5 are left"
        );
        await_left(&client, "wide", &wide, 8).await;
        await_left(&client, "narrow", &narrow, 3).await;
        // 3.5 of the narrow one are left: three whole units, or seven halves.
        assert!(take(&client, "narrow", &narrow, 3).await.allowed);
        assert!(
            !take(&client, "narrow", &narrow, 1).await.allowed,
            "half a unit is left"
        );
        assert!(
            decide(&client, &ask(1)).await.allowed,
            "which is what one costs here"
        );
        assert!(!decide(&client, &ask(1)).await.allowed);
        await_left(&client, "wide", &wide, 6).await;
    }
    // Eight halves are four units.
    let (wide, narrow) = (key_in(0, 7), key_in(3, 7));
    let five = decide(
        &client,
        &charge_keys("weighted", &[("wide", &wide), ("half", &narrow)], 5),
    )
    .await;
    assert!(five.allowed, "2.5 of 4, and 10 of 10: {five:?}");
    await_left(&client, "wide", &wide, 0).await;
    await_left(&client, "narrow", &narrow, 1).await;
}

/// Two dimensions on one key are charged the sum.
#[tokio::test]
async fn a_key_that_is_named_twice_is_asked_for_the_sum() {
    let (_workerd, client) = deployment().await;
    let ask = |cost| charge_keys("same_key", &[("a", "k"), ("b", "k")], cost);
    assert!(decide(&client, &ask(2)).await.allowed, "2 + 4 of 7");
    await_left(&client, "log", "k", 1).await;
    assert!(!decide(&client, &ask(1)).await.allowed, "1 + 2 of 1");
    await_left(&client, "log", "k", 1).await;
    assert!(decide(&client, &charge("log", "k", 1)).await.allowed);
}

#[tokio::test]
async fn a_look_at_all_dimensions_changes_none() {
    let (_workerd, client) = deployment().await;
    for (wide, narrow) in places() {
        let keys = [("wide", wide.as_str()), ("second", narrow.as_str())];
        for _ in 0..10 {
            let look = decide(&client, &charge_keys("both", &keys, 0)).await;
            assert_eq!(
                (look.allowed, look.binding.as_str(), look.remaining),
                (true, "second", 4)
            );
        }
        assert!(
            decide(&client, &charge_keys("both", &keys, 4))
                .await
                .allowed
        );
        for _ in 0..10 {
            let look = decide(&client, &charge_keys("both", &keys, 0)).await;
            assert_eq!(
                (look.allowed, look.binding.as_str(), look.remaining),
                (false, "second", 0)
            );
        }
        await_left(&client, "wide", &wide, 6).await;
    }
}
