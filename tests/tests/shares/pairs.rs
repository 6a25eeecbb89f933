//! Every pair of sharing and scope that is served decides to its limit, and says why it denies.

use serde_json::json;
use weir_shared::wire::check::{DecisionBody, Reason};
use weir_tests::clock::epoch_ms;
use weir_tests::fixtures::with;
use weir_tests::workerd::{Setup, Workerd};

use crate::shares::{
    LONG_MS, budget, document, start, take, take_the_rest, take_until_denied, weighing,
};

const LIMIT: u64 = 24;

/// Two isolates of one region and one of another.
const PLACES: [&str; 3] = ["weur", "weur", "apac"];

/// What is served. A rule of one request after another needs one holder that sees them all.
const SERVED: [(&str, &str); 11] = [
    ("first_come", "isolate"),
    ("first_come", "region"),
    ("first_come", "global"),
    ("fair_share", "isolate"),
    ("fair_share", "region"),
    ("weighted_fair_share", "isolate"),
    ("weighted_fair_share", "region"),
    ("weighted_fair_escrow", "isolate"),
    ("weighted_fair_escrow", "region"),
    ("weighted_fair_escrow", "global"),
    ("static_partition", "global"),
];

async fn deployment(sharing: &str, scope: &str) -> Workerd {
    let document = document(
        budget(sharing, scope, LIMIT, LONG_MS),
        weighing(&[("a", 1), ("b", 1)]),
    );
    // The first of three regions has 8 of 24, as the others have.
    let document = with(document, "/regions", json!(["weur", "apac", "enam"]));
    start(Setup::isolates(&PLACES), &document).await
}

/// What one tenant that is alone may have from each of [`PLACES`], asked in this order until it is denied.
fn alone_gets(sharing: &str, scope: &str) -> [u64; 3] {
    match (sharing, scope) {
        ("static_partition", _) => [LIMIT / 3, 0, LIMIT / 3],
        (_, "isolate") => [LIMIT, LIMIT, LIMIT],
        (_, "region") => [LIMIT, 0, LIMIT],
        _ => [LIMIT, 0, 0],
    }
}

/// The whole of what a holder of it all has.
fn whole(sharing: &str) -> u64 {
    if sharing == "static_partition" {
        LIMIT / 3
    } else {
        LIMIT
    }
}

#[track_caller]
fn assert_in_full(decision: &DecisionBody, limit: u64, asked_at: u64, what: &str) {
    assert_eq!(decision.binding, "tokens", "{what}");
    assert_eq!(decision.limit, limit, "{what}: {decision:?}");
    assert!(decision.window.is_some(), "{what}: {decision:?}");
    assert!(
        decision.reset_at > asked_at && decision.reset_at <= epoch_ms() + LONG_MS,
        "{what}: {decision:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_served_pair_decides_to_its_limit_and_tells_why_it_denies() {
    for (sharing, scope) in SERVED {
        let what = format!("{sharing} at {scope}");
        let workerd = deployment(sharing, scope).await;
        let (clients, limit) = (workerd.clients().unwrap(), whole(sharing));
        let asked_at = epoch_ms();
        let first = take(&clients[0], "a", 1).await;
        assert_in_full(&first, limit, asked_at, &what);
        assert_eq!(
            (first.allowed, first.reason, first.retry_after_ms),
            (true, Reason::Admitted, Some(0)),
            "{what}"
        );
        assert!(first.remaining < limit, "{what}: {first:?}");
        let expected = alone_gets(sharing, scope);
        for (place, client) in clients.iter().enumerate() {
            // What another isolate was lent ahead and does not need comes back.
            let already = u64::from(place == 0);
            let taken = take_the_rest(client, "a", expected[place] - already).await;
            assert_eq!(taken + already, expected[place], "{what}, place {place}");
            let denied = take(client, "a", 1).await;
            assert_in_full(&denied, limit, asked_at, &what);
            assert_eq!(
                (denied.allowed, denied.reason, denied.remaining),
                (false, Reason::CapReached, 0),
                "{what}, place {place}: {denied:?}"
            );
            let until_reset_ms = denied.reset_at - asked_at;
            assert!(
                denied
                    .retry_after_ms
                    .is_some_and(|ms| ms > 0 && ms <= until_reset_ms),
                "{what}: {denied:?}"
            );
        }
        if scope == "global" && sharing != "static_partition" {
            for client in &clients {
                assert_eq!(take(client, "a", 1).await.window, first.window, "{what}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_has_its_share_is_denied_while_units_remain_for_another() {
    let shared = SERVED
        .iter()
        .filter(|(sharing, _)| sharing.contains("fair_"));
    for (sharing, scope) in shared {
        let what = format!("{sharing} at {scope}");
        let workerd = deployment(sharing, scope).await;
        let client = workerd.client(0).unwrap();
        assert!(take(&client, "b", 1).await.allowed, "{what}");
        // Two tenants of equal weight are there: 12 of 24 each.
        let (taken, denied) = take_until_denied(&client, "a").await;
        assert_eq!(taken, LIMIT / 2, "{what}: {denied:?}");
        assert_eq!(
            (denied.reason, denied.limit, denied.remaining),
            (Reason::OverShare, LIMIT / 2, 0),
            "{what}: {denied:?}"
        );
        assert!(denied.retry_after_ms.is_some_and(|ms| ms > 0), "{what}");
        assert_eq!(
            take_the_rest(&client, "b", LIMIT / 2 - 1).await,
            LIMIT / 2 - 1,
            "{what}: what remained was not the other's"
        );
        for tenant in ["a", "b"] {
            let denied = take(&client, tenant, 1).await;
            assert_eq!(denied.reason, Reason::CapReached, "{what}: {denied:?}");
        }
    }
}

/// A cost above everything is told so, and takes nothing from anybody.
#[tokio::test(flavor = "multi_thread")]
async fn a_cost_that_can_never_pass_leases_nothing() {
    for (sharing, scope) in SERVED {
        let what = format!("{sharing} at {scope}");
        let workerd = deployment(sharing, scope).await;
        let (clients, limit) = (workerd.clients().unwrap(), whole(sharing));
        for client in &clients {
            for cost in [limit + 1, 1_000_000] {
                let denied = take(client, "a", cost).await;
                assert_eq!(
                    (denied.allowed, denied.reason, denied.retry_after_ms),
                    (false, Reason::Never, None),
                    "{what}: {denied:?}"
                );
            }
        }
        // Everything in one request, of another tenant, from the place that asked last.
        let all = take(&clients[2], "b", limit).await;
        assert!(all.allowed, "{what}: {all:?}");
    }
}

/// To look charges nothing, and does not make its tenant one of those that share.
#[tokio::test(flavor = "multi_thread")]
async fn a_look_takes_no_part_of_the_budget() {
    for (sharing, scope) in SERVED {
        let what = format!("{sharing} at {scope}");
        let workerd = deployment(sharing, scope).await;
        let (client, limit) = (workerd.client(0).unwrap(), whole(sharing));
        for _ in 0..3 {
            let look = take(&client, "b", 0).await;
            assert_eq!(
                (look.allowed, look.reason),
                (true, Reason::Admitted),
                "{what}"
            );
        }
        let all = take(&client, "a", limit).await;
        assert!(all.allowed, "{what}: {all:?}");
        let look = take(&client, "a", 0).await;
        assert_eq!(look.remaining, 0, "{what}: {look:?}");
    }
}

/// 100 over three regions, the remainder to the first in the order of the policy; nothing moves between them.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_gives_every_region_its_slice() {
    let body = budget("static_partition", "global", 101, LONG_MS);
    let regions = json!(["weur", "apac", "enam"]);
    let document = with(document(body, json!({})), "/regions", regions);
    let workerd = start(Setup::isolates(&["enam", "apac", "weur"]), &document).await;
    for (place, slice) in [33, 34, 34].into_iter().enumerate() {
        let client = workerd.client(place).unwrap();
        let never = take(&client, "a", slice + 1).await;
        assert_eq!(
            (never.reason, never.limit),
            (Reason::Never, slice),
            "{never:?}"
        );
        assert_eq!(
            take_the_rest(&client, "a", slice).await,
            slice,
            "place {place}"
        );
    }
}

/// Leases of other sizes change how often regions ask, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn bounds_of_leases_lose_and_add_nothing() {
    for (min, max) in [(1, 1), (5, 10), (LIMIT, LIMIT)] {
        for sharing in ["first_come", "weighted_fair_escrow"] {
            let what = format!("{sharing}, {min} to {max}");
            let body = budget(sharing, "global", LIMIT, LONG_MS);
            let body = with(body, "/lease", json!({ "min": min, "max": max }));
            let document = document(body, weighing(&[("a", 1), ("b", 1)]));
            let workerd = start(Setup::isolates(&PLACES), &document).await;
            let clients = workerd.clients().unwrap();
            assert!(take(&clients[2], "a", 2).await.allowed, "{what}");
            let taken = take_the_rest(&clients[0], "a", LIMIT - 2).await;
            assert_eq!(taken, LIMIT - 2, "{what}");
            for client in &clients {
                let denied = take(client, "a", 1).await;
                assert_eq!(denied.reason, Reason::CapReached, "{what}: {denied:?}");
            }
        }
    }
}
