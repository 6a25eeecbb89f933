//! What a check of a resource answers.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, gcra, with};
use weir_tests::workerd::Setup;

use super::{
    ORIGIN, check, decided, denied_of, document, fail_under, question, report, start, start_with,
};

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_denied_while_nothing_fails() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    for step in 0..200_u32 {
        let tenant = ["noisy", "noisy", "noisy", "quiet"][step as usize % 4];
        let decision = check(&client, tenant).await;
        assert!(decision.allowed, "{decision:?}");
        assert_eq!(
            (decision.binding.as_str(), decision.reason),
            (ORIGIN, Reason::Admitted)
        );
        report(&client, tenant, "success").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_under_which_the_origin_fails_is_denied_and_others_pass() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    let admitted = fail_under(&client, "noisy", 300).await;
    assert!(
        admitted < 200,
        "{admitted} of 300 were admitted while all failed"
    );
    for tenant in ["quiet", "calm", "still"] {
        assert!(check(&client, tenant).await.allowed, "{tenant}");
    }
    assert!(denied_of(&client, "noisy", 40).await >= 20);
}

/// Reports alone say enough: a Worker that only reports is seen, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_only_reported_about_is_denied_for_its_failures() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    for _ in 0..50 {
        report(&client, "noisy", "failure").await;
    }
    assert!(denied_of(&client, "noisy", 40).await >= 20);
    assert!(check(&client, "quiet").await.allowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_says_when_to_come_back_and_that_is_true() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    fail_under(&client, "noisy", 200).await;
    let (asked_at, denied) = loop {
        let asked_at = now();
        let checked = client.decide(&question("noisy", 1)).await.unwrap();
        if !checked.decision.allowed {
            break (asked_at, checked);
        }
    };
    let decision = &denied.decision;
    let retry_ms = decision.retry_after_ms.expect("not never");
    assert!(retry_ms > 0 && retry_ms < 60_000, "{decision:?}");
    assert!(
        decision.reset_at > 0 && decision.remaining == 0,
        "{decision:?}"
    );
    let header: u64 = denied.reply.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(header, retry_ms.div_ceil(1_000));
    let look = client.decide(&question("noisy", 0)).await.unwrap().decision;
    let is_early = asked_at.elapsed() < Duration::from_millis(retry_ms);
    assert!(!(look.allowed && is_early), "not earlier: {look:?}");
    // What the region takes in counts from when it hears of it, so that a wait may grow by a contact.
    let start = now();
    let mut wait_ms = retry_ms;
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(wait_ms + 20)).await;
        let again = check(&client, "noisy").await;
        if again.allowed {
            return;
        }
        wait_ms = again.retry_after_ms.expect("not never");
    }
    panic!("{retry_ms} ms became {:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_charges_nothing() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    fail_under(&client, "noisy", 200).await;
    for _ in 0..100 {
        client.decide(&question("quiet", 0)).await.unwrap();
    }
    assert!(check(&client, "quiet").await.allowed);
}

/// What another check of the same question denies is not charged to the resource.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_denied_elsewhere_uses_nothing_of_the_resource() {
    let document = with(document(json!({})), "/limits/few", gcra(1, 3_600_000, 1));
    let workerd = start_with(Setup::isolates(&["weur"]), document).await;
    let client = workerd.client(0).unwrap();
    fail_under(&client, "noisy", 200).await;
    let both = |key: &str| -> Value {
        json!({ "tenant": "quiet", "checks": [{ "overload": ORIGIN }, { "limit": "few", "key": key }] })
    };
    assert!(decided(&client, &both("k")).await.allowed);
    for _ in 0..60 {
        let decision = decided(&client, &both("k")).await;
        assert_eq!(decision.reason, Reason::LimitExceeded, "{decision:?}");
    }
    assert!(check(&client, "quiet").await.allowed);
}

/// A request that the resource denies charges nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_the_resource_denies_uses_nothing_else() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    fail_under(&client, "noisy", 200).await;
    let both = json!({ "tenant": "noisy", "checks": [{ "budget": BUDGET, "cost": 10 }, { "overload": ORIGIN }] });
    let (mut admitted, mut denied) = (0, 0);
    for _ in 0..40 {
        let decision = decided(&client, &both).await;
        match decision.allowed {
            true => admitted += 1,
            false => denied += 1,
        }
    }
    assert!(denied >= 20, "{denied} denied");
    let look = json!({ "tenant": "noisy", "budget": BUDGET, "cost": 0 });
    let left = decided(&client, &look).await.remaining;
    assert_eq!(left, 1_000 - 10 * admitted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_decided_in_order() {
    let workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    fail_under(&client, "noisy", 200).await;
    let questions: Vec<Value> = (0..20)
        .map(|index| question(["noisy", "quiet"][index % 2], u64::from(index < 2)))
        .collect();
    let decisions = client.batch(&questions).await.unwrap();
    assert_eq!(decisions.len(), 20);
    assert!(decisions[1].allowed, "{:?}", decisions[1]);
}
