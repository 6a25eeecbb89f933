//! Guards: slots with a lease, a budget a minute, over isolates and regions.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_shared::wire::guard::AcquiredBody;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::with;
use weir_tests::workerd::Setup;

use crate::metering::{SETTLING, acquire, acquired, decide, refused, release, slot_call, start};

fn none() -> Value {
    json!({})
}

fn guard(concurrency: impl Into<Value>, per_minute: impl Into<Value>, lease_ms: u64) -> Value {
    json!({ "concurrency": concurrency.into(), "per_minute": per_minute.into(), "lease_ms": lease_ms })
}

/// Over two regions at once, as many get a slot as there are; each that comes back, from whichever region, is one more.
#[tokio::test(flavor = "multi_thread")]
async fn slots_bound_the_whole_deployment_and_come_back_from_any_region() {
    let guards = json!({ "queries": guard(4, "unlimited", 60_000) });
    let setup = Setup::isolates(&["weur", "weur", "apac"]);
    let workerd = start(setup, none(), guards).await;
    let clients = workerd.clients().unwrap();
    let asked = (0..24).map(|index| acquire(&clients[index % 3], "queries", "pro:a"));
    let replies = join_all(asked).await;
    let mut slots = Vec::new();
    for reply in &replies {
        match reply.status {
            200 => slots.push(
                reply.ok::<Value>().unwrap()["slot"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
            ),
            // The object was late; what it took comes back.
            503 => {}
            _ => assert!(refused(reply).1 <= 60_000),
        }
    }
    let start = now();
    while slots.len() < 4 && start.elapsed() < SETTLING {
        let reply = acquire(&clients[0], "queries", "pro:a").await;
        if reply.status == 200 {
            slots.push(reply.ok::<AcquiredBody>().unwrap().slot);
        }
    }
    assert_eq!(slots.len(), 4);
    for (index, slot) in slots.iter().enumerate() {
        let (here, there) = (&clients[index % 3], &clients[(index + 1) % 3]);
        assert_eq!(acquire(here, "queries", "pro:a").await.status, 429);
        assert!(!release(there, "queries", slot).await.held);
        let next = acquired(here, "queries", "pro:a").await;
        assert!(
            next.allowed && next.expires_at > epoch_ms() + 50_000,
            "{next:?}"
        );
        assert_eq!(acquire(there, "queries", "pro:a").await.status, 429);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_of_scope_region_bound_each_region_and_are_released_from_any() {
    let guards =
        json!({ "queries": with(guard(2, "unlimited", 60_000), "/scope", json!("region")) });
    let workerd = start(Setup::isolates(&["weur", "apac"]), none(), guards).await;
    let clients = workerd.clients().unwrap();
    let mut last = None;
    for client in &clients {
        for _ in 0..2 {
            last = Some(acquired(client, "queries", "pro:a").await);
        }
        assert_eq!(acquire(client, "queries", "pro:a").await.status, 429);
    }
    let apacs = last.unwrap().slot;
    assert!(!release(&clients[0], "queries", &apacs).await.held);
    assert_eq!(
        acquire(&clients[0], "queries", "pro:a").await.status,
        429,
        "it was the other's"
    );
    assert_eq!(acquire(&clients[1], "queries", "pro:a").await.status, 200);
}

/// A holder that crashed says nothing: its slot is free when its lease lapses, and the refusal told when.
#[tokio::test(flavor = "multi_thread")]
async fn a_slot_of_a_crashed_holder_is_free_when_its_lease_lapses_at_the_time_that_was_told() {
    const LEASE_MS: u64 = 5_000;
    let guards = json!({ "queries": guard(1, "unlimited", LEASE_MS) });
    let workerd = start(Setup::isolates(&["weur", "apac"]), none(), guards).await;
    let clients = workerd.clients().unwrap();
    for round in 0..2 {
        let asked = now();
        let _crashed = acquired(&clients[round], "queries", "pro:a").await;
        let other = &clients[1 - round];
        let (detail, after_ms) = refused(&acquire(other, "queries", "pro:a").await);
        let told = now();
        assert_eq!(detail, "No slot of the guard is free.");
        let passed_ms = told.duration_since(asked).as_millis() as u64;
        assert!(
            after_ms <= LEASE_MS && after_ms + passed_ms + 1 >= LEASE_MS,
            "{after_ms} ms to wait {passed_ms} ms after it was taken"
        );
        let early = Duration::from_millis(after_ms.saturating_sub(passed_ms + 150));
        tokio::time::sleep(early).await;
        let mut late = None;
        if asked.elapsed() < Duration::from_millis(LEASE_MS) {
            let reply = acquire(other, "queries", "pro:a").await;
            let answered = asked.elapsed();
            assert!(
                reply.status == 429 || answered >= Duration::from_millis(LEASE_MS),
                "{answered:?}"
            );
            // A machine that stood still meanwhile asked late enough.
            late = Some(reply).filter(|reply| reply.status == 200);
        }
        let reply = if let Some(reply) = late {
            reply
        } else {
            let rest = Duration::from_millis(after_ms + 5).saturating_sub(told.elapsed());
            tokio::time::sleep(rest).await;
            acquire(other, "queries", "pro:a").await
        };
        assert_eq!(reply.status, 200, "{}", reply.text());
        let slot: AcquiredBody = reply.ok().unwrap();
        release(other, "queries", &slot.slot).await;
    }
}

/// A holder that lives renews; another waits until it stops. What has lapsed is not renewed back to life.
#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_is_renewed_stays_held_and_one_that_lapsed_does_not_come_back() {
    const LEASE_MS: u64 = 5_000;
    let guards = json!({ "queries": guard(1, "unlimited", LEASE_MS) });
    let workerd = start(Setup::isolates(&["weur", "apac"]), none(), guards).await;
    let clients = workerd.clients().unwrap();
    let slot = acquired(&clients[0], "queries", "pro:a").await;
    let mut until = slot.expires_at;
    for round in 0..6 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let renewed = slot_call(&clients[round % 2], "queries", "renew", &slot.slot).await;
        assert!(renewed.held, "{round}: {renewed:?}");
        let later = renewed.expires_at.unwrap();
        assert!(later > until, "{later} after {until}");
        until = later;
        assert_eq!(acquire(&clients[1], "queries", "pro:a").await.status, 429);
    }
    tokio::time::sleep(Duration::from_millis(LEASE_MS + 50)).await;
    let lapsed = slot_call(&clients[0], "queries", "renew", &slot.slot).await;
    assert_eq!((lapsed.held, lapsed.expires_at), (false, None));
    let next = acquired(&clients[1], "queries", "pro:a").await;
    // Who was late releases what is another's by now: nothing happens.
    for _ in 0..3 {
        assert!(!release(&clients[0], "queries", &slot.slot).await.held);
    }
    assert_eq!(acquire(&clients[0], "queries", "pro:a").await.status, 429);
    for _ in 0..3 {
        assert!(
            !release(&clients[0], "queries", &next.slot).await.held,
            "again and again"
        );
    }
    let after = acquired(&clients[0], "queries", "pro:a").await;
    assert_eq!(
        acquire(&clients[0], "queries", "pro:a").await.status,
        429,
        "released once"
    );
    assert_ne!(after.slot, next.slot);
}

/// Slots are looked at first. What is refused for want of one takes nothing of the minute's budget.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_for_want_of_a_slot_charges_no_budget_and_one_for_want_of_budget_takes_no_slot() {
    let guards = json!({ "queries": guard(1, 2, 60_000) });
    let workerd = start(Setup::isolates(&["weur"]), none(), guards).await;
    let client = workerd.client(0).unwrap();
    let started = now();
    let first = acquired(&client, "queries", "pro:a").await;
    for _ in 0..10 {
        let (detail, _) = refused(&acquire(&client, "queries", "pro:a").await);
        assert_eq!(detail, "No slot of the guard is free.");
    }
    release(&client, "queries", &first.slot).await;
    let second = acquired(&client, "queries", "pro:a").await;
    release(&client, "queries", &second.slot).await;
    for _ in 0..10 {
        let (detail, after_ms) = refused(&acquire(&client, "queries", "pro:a").await);
        assert_eq!(detail, "The calls of this minute are used up.");
        // A call flows back each 30 s, from the first one on.
        let passed_ms = started.elapsed().as_millis() as u64;
        assert!(
            after_ms <= 30_000 && after_ms + passed_ms + 1 >= 30_000,
            "{after_ms} ms to wait, {passed_ms} ms after the first"
        );
    }
    let look = json!({ "tenant": "pro:a", "guard": "queries", "cost": 0 });
    let looked = decide(&client, &look).await;
    assert_eq!(
        (looked.allowed, looked.reason, looked.slot),
        (false, Reason::LimitExceeded, None)
    );
}

/// A budget of one call a second, used up: the refusal tells the millisecond at which the next passes.
#[tokio::test(flavor = "multi_thread")]
async fn the_time_told_for_the_budget_is_the_time_at_which_a_call_passes() {
    let guards = json!({ "queries": guard("unlimited", 60, 60_000) });
    let workerd = start(Setup::isolates(&["weur"]), none(), guards).await;
    let client = workerd.client(0).unwrap();
    let mut allowed = 0;
    let refusal = loop {
        let reply = acquire(&client, "queries", "pro:a").await;
        if reply.status == 429 {
            break reply;
        }
        allowed += 1;
        assert!(allowed < 200, "the budget has no end");
    };
    assert!(allowed >= 60, "{allowed} of 60");
    let told = now();
    let (_, after_ms) = refused(&refusal);
    assert!((1..=1_000).contains(&after_ms), "{after_ms}");
    tokio::time::sleep(Duration::from_millis(after_ms.saturating_sub(200))).await;
    let early = acquire(&client, "queries", "pro:a").await;
    if told.elapsed() < Duration::from_millis(after_ms.saturating_sub(100)) {
        assert_eq!(early.status, 429, "before its time");
    }
    let rest = Duration::from_millis(after_ms + 5).saturating_sub(told.elapsed());
    tokio::time::sleep(rest).await;
    if early.status == 429 {
        assert_eq!(acquire(&client, "queries", "pro:a").await.status, 200);
    }
}

/// A guard that is checked gives a slot that the guard's own routes renew and release.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_of_a_guard_gives_a_slot_like_any_other() {
    let guards = json!({ "queries": guard(1, "unlimited", 30_000), "free": guard("unlimited", "unlimited", 30_000) });
    let workerd = start(Setup::isolates(&["weur", "apac"]), none(), guards).await;
    let clients = workerd.clients().unwrap();
    let question = json!({ "tenant": "pro:a", "guard": "queries" });
    let decision = decide(&clients[0], &question).await;
    assert!(decision.allowed, "{decision:?}");
    let left_ms = decision.expires_at.unwrap().saturating_sub(epoch_ms());
    assert!((20_000..=30_000).contains(&left_ms), "{left_ms}");
    let slot = decision.slot.unwrap();
    let denied = decide(&clients[1], &question).await;
    assert_eq!(
        (denied.allowed, denied.reason, denied.slot),
        (false, Reason::Concurrency, None)
    );
    assert!(slot_call(&clients[1], "queries", "renew", &slot).await.held);
    assert!(!release(&clients[1], "queries", &slot).await.held);
    assert!(decide(&clients[1], &question).await.allowed);
    // Without bounds, slots are given all the same.
    for _ in 0..5 {
        let slot = acquired(&clients[0], "free", "pro:a").await.slot;
        assert!(slot_call(&clients[1], "free", "renew", &slot).await.held);
        assert!(!release(&clients[1], "free", &slot).await.held);
    }
}

/// 300 calls at an allowed rate, one after the other: none is rejected.
#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_calls_within_the_bounds_are_all_allowed() {
    let guards = json!({ "queries": guard(2, 300, 10_000) });
    let workerd = start(Setup::isolates(&["weur", "apac"]), none(), guards).await;
    let clients = workerd.clients().unwrap();
    for nth in 0..300 {
        let reply = acquire(&clients[nth % 2], "queries", "pro:a").await;
        assert_eq!(reply.status, 200, "{nth}: {}", reply.text());
        let slot: Value = reply.ok().unwrap();
        release(
            &clients[(nth + 1) % 2],
            "queries",
            slot["slot"].as_str().unwrap(),
        )
        .await;
    }
}
