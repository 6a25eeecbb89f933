//! Several meters and guards in one question: all or none.

use std::time::Duration;

use serde_json::json;
use weir_shared::wire::check::Reason;
use weir_tests::calls::together;
use weir_tests::clock::now;
use weir_tests::workerd::Setup;

use crate::metering::{
    SETTLING, acquire, await_left, decide, left, release, start, still, still_in_region,
};

/// Two meters of one shard, of a shard of the region and one of the deployment, and two of different scopes with one in
/// shadow: when one denies, none is charged.
#[tokio::test(flavor = "multi_thread")]
async fn several_meters_are_charged_all_or_none() {
    let meters = json!({
        "rows": still(9), "bytes": still(500), "here": still_in_region(9), "there": still_in_region(500),
    });
    let workerd = start(Setup::isolates(&["weur", "apac"]), meters, json!({})).await;
    let clients = workerd.clients().unwrap();
    for (tenant, few, many) in [
        ("pro:global", "rows", "bytes"),
        ("pro:regional", "here", "there"),
        ("pro:mixed", "rows", "there"),
        ("pro:crossed", "here", "bytes"),
    ] {
        let client = &clients[0];
        let question = json!({ "tenant": tenant, "meters": { few: 3, many: 100 } });
        for nth in 0..3 {
            let decision = decide(client, &question).await;
            assert!(decision.allowed, "{tenant}, {nth}: {decision:?}");
        }
        for _ in 0..5 {
            let denied = decide(client, &question).await;
            assert_eq!(
                (denied.allowed, denied.reason, denied.binding.as_str()),
                (false, Reason::LimitExceeded, few),
                "{tenant}: {denied:?}"
            );
        }
        await_left(client, tenant, many, 200).await;
        await_left(client, tenant, few, 0).await;
        let alone = json!({ "tenant": tenant, "meters": { many: 200 } });
        assert!(
            decide(client, &alone).await.allowed,
            "{tenant}: what was not charged is there"
        );
        assert!(!decide(client, &alone).await.allowed);
    }
}

/// From two regions at once, again and again: the sum of what passes is what the smaller meter has, and of the other one
/// exactly as much is charged.
#[tokio::test(flavor = "multi_thread")]
async fn questions_of_two_scopes_from_two_regions_charge_both_alike() {
    let meters = json!({ "ours": still(40), "mine": still_in_region(100) });
    let workerd = start(Setup::isolates(&["weur", "apac"]), meters, json!({})).await;
    let clients = workerd.clients().unwrap();
    let question = json!({ "tenant": "pro:a", "meters": { "ours": 1, "mine": 1 } });
    let running = clients.iter().map(|client| async {
        let mut admitted = 0;
        for _ in 0..60 {
            admitted += u64::from(decide(client, &question).await.allowed);
        }
        admitted
    });
    let admitted: Vec<u64> = futures_util::future::join_all(running).await;
    println!("admitted by region: {admitted:?}");
    let mut here = admitted[0];
    assert!(here + admitted[1] <= 40, "{admitted:?}");
    // What one isolate had drawn and did not use comes back.
    let (client, started) = (&clients[0], now());
    while here + admitted[1] < 40 {
        here += u64::from(decide(client, &question).await.allowed);
        assert!(started.elapsed() < SETTLING, "{here} and {}", admitted[1]);
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    assert!(!decide(client, &question).await.allowed);
    for (client, admitted) in clients.iter().zip([here, admitted[1]]) {
        await_left(client, "pro:a", "mine", 100 - admitted).await;
    }
}

/// A slot with a meter, a budget and a limit: a denial of any gives the slot back.
#[tokio::test(flavor = "multi_thread")]
async fn a_slot_is_taken_with_the_rest_or_not_at_all() {
    let meters = json!({ "rows": still(2), "here": still_in_region(2) });
    let guards = json!({
        "queries": { "concurrency": 4, "per_minute": 100, "lease_ms": 60_000 },
        "local": { "concurrency": 4, "per_minute": 100, "lease_ms": 60_000, "scope": "region" },
    });
    let workerd = start(Setup::isolates(&["weur"]), meters, guards).await;
    let client = workerd.client(0).unwrap();
    for (tenant, guard, meter) in [
        ("pro:one", "queries", "rows"),
        ("pro:two", "queries", "here"),
        ("pro:three", "local", "rows"),
        ("pro:four", "local", "here"),
    ] {
        let checks = [
            json!({ "guard": guard }),
            json!({ "meter": meter, "cost": 2 }),
            json!({ "budget": "tokens", "cost": 1 }),
            json!({ "limit": "per_ip", "key": tenant }),
        ];
        let question = together(tenant, &checks);
        let passed = decide(&client, &question).await;
        assert!(passed.allowed, "{tenant}: {passed:?}");
        let slot = passed.slot.expect("a slot");
        assert!(passed.expires_at.is_some());
        for _ in 0..6 {
            let denied = decide(&client, &question).await;
            assert_eq!((denied.allowed, denied.slot), (false, None), "{tenant}");
            assert_eq!(denied.binding, meter);
        }
        // One slot is taken; three are free.
        let mut others = Vec::new();
        for _ in 0..3 {
            let reply = acquire(&client, guard, tenant).await;
            assert_eq!(reply.status, 200, "{tenant}: {}", reply.text());
            others.push(reply);
        }
        assert_eq!(acquire(&client, guard, tenant).await.status, 429);
        assert!(!release(&client, guard, &slot).await.held);
        assert_eq!(acquire(&client, guard, tenant).await.status, 200);
        assert_eq!(left(&client, tenant, meter).await, 0);
    }
}

/// A guard that is full denies the rest too, and what the isolate had drawn is not lost by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_guard_that_is_full_charges_no_meter() {
    let meters = json!({ "rows": still(50) });
    let guards =
        json!({ "queries": { "concurrency": 1, "per_minute": "unlimited", "lease_ms": 60_000 } });
    let workerd = start(Setup::isolates(&["weur"]), meters, guards).await;
    let client = workerd.client(0).unwrap();
    let question = together(
        "pro:a",
        &[json!({ "meter": "rows" }), json!({ "guard": "queries" })],
    );
    assert!(decide(&client, &question).await.allowed);
    for _ in 0..10 {
        let denied = decide(&client, &question).await;
        assert_eq!(
            (denied.allowed, denied.reason, denied.binding.as_str()),
            (false, Reason::Concurrency, "queries")
        );
    }
    await_left(&client, "pro:a", "rows", 49).await;
}
