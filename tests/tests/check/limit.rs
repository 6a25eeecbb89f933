//! Limits.

use std::time::Duration;

use weir_shared::wire::check::{DecisionBody, Reason};
use weir_tests::client::{Checked, Client, limit_check};
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::{LIMIT, gcra, policy, with};
use weir_tests::workerd::{REGIONS, Setup};

use crate::check::headers::{assert_rate_limit, assert_retry_after};
use crate::check::{HOUR_MS, LONG_MS, TRIES, admitted, deployment, still};

/// How long units that were drawn ahead may take to come back.
const RETURNED: Duration = Duration::from_secs(30);

/// Between one unit that is due and the next, there.
const DUE_EVERY: Duration = Duration::from_secs(2);

/// How long before the hint it is asked once more.
const SLACK: Duration = Duration::from_millis(400);

#[tokio::test]
async fn a_cold_key_admits_exactly_its_burst() {
    let (workerd, revision) = deployment(Setup::three_regions(), still()).await;
    let client = workerd.client(1).unwrap();
    let mut attempt = 0;
    while !admits_its_burst(&client, &address(attempt), revision).await {
        attempt += 1;
        assert!(attempt < TRIES, "its shard was out of reach each time");
    }
    let spent = address(attempt);
    let Checked { decision, reply } = client.check_limit_once_there(LIMIT, &spent, 1).await;
    assert!(!decision.allowed);
    assert_eq!(
        (decision.reason, decision.remaining),
        (Reason::LimitExceeded, 0)
    );
    assert_retry_after(&reply, decision.retry_after_ms.unwrap());
    // Keys are apart, and so are regions.
    admitted(&client, &limit_check(LIMIT, "203.0.113.99", 20)).await;
    let other_region = workerd.client(2).unwrap();
    admitted(&other_region, &limit_check(LIMIT, &spent, 20)).await;
}

fn address(number: u32) -> String {
    format!("203.0.113.{number}")
}

/// Takes a fresh key's burst unit by unit; false where its shard was out of reach.
async fn admits_its_burst(client: &Client, key: &str, revision: u64) -> bool {
    for remaining in (0..20).rev() {
        let asked = epoch_ms();
        let Checked { decision, reply } = client.check_limit(LIMIT, key, 1).await.unwrap();
        if decision.reason == Reason::Unavailable {
            return false;
        }
        assert!(decision.allowed, "with {remaining} left: {decision:?}");
        assert_eq!(
            (decision.limit, decision.remaining, decision.window),
            (20, remaining, None)
        );
        assert_eq!(
            (decision.binding.as_str(), decision.region.as_str()),
            (LIMIT, REGIONS[1])
        );
        assert_eq!(decision.policy_revision, revision);
        assert_rate_limit(&reply, &decision, asked, (6, HOUR_MS / 1_000));
    }
    true
}

#[tokio::test]
async fn isolates_of_a_region_share_a_key_and_never_admit_more_than_its_burst() {
    let (workerd, _) = deployment(Setup::isolates(&["weur", "weur"]), still()).await;
    let clients = workerd.clients().unwrap();
    let checks = (0..60).map(|index| clients[index % 2].check_limit(LIMIT, "shared", 1));
    let answers = futures_util::future::join_all(checks).await;
    let mut admitted = answers
        .into_iter()
        .filter(|answer| answer.as_ref().unwrap().decision.allowed)
        .count();
    assert!(admitted <= 20, "{admitted} of 20");
    // What one isolate drew ahead and does not need comes back to the other.
    let start = now();
    while admitted < 20 {
        let one = clients[0].check_limit(LIMIT, "shared", 1).await.unwrap();
        admitted += usize::from(one.decision.allowed);
        assert!(start.elapsed() < RETURNED, "{admitted} of 20");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for client in &clients {
        let beyond = client.check_limit(LIMIT, "shared", 1).await.unwrap();
        assert!(!beyond.decision.allowed, "{:?}", beyond.decision);
    }
}

/// One unit in two seconds: denied shortly before the hint, admitted at it.
#[tokio::test]
async fn a_retry_at_the_hint_is_admitted_and_before_it_is_not() {
    let document = with(
        policy(1_000, LONG_MS),
        "/limits/per_ip",
        gcra(30, 60_000, 3),
    );
    let (workerd, _) = deployment(Setup::isolates(&["weur"]), document).await;
    let client = workerd.client(0).unwrap();
    for attempt in 0..TRIES {
        if retries_at_the_hint(&client, &format!("key {attempt}")).await {
            return;
        }
    }
    panic!("{TRIES} times the machine stood still");
}

/// Whether everything was asked in time; then it asserts the promise.
async fn retries_at_the_hint(client: &Client, key: &str) -> bool {
    let ask = async |cost: u64| {
        let sent = now();
        let decision = client.check_limit(LIMIT, key, cost).await.unwrap().decision;
        let hint = Duration::from_millis(decision.retry_after_ms.unwrap());
        (decision, hint, sent, now())
    };
    let (spent, _, spent_at, _) = ask(3).await;
    let away = |decision: &DecisionBody| decision.reason == Reason::Unavailable;
    if away(&spent) {
        return false;
    }
    assert!(spent.allowed, "{spent:?}");
    let (denied, hint, sent, received) = ask(1).await;
    if away(&denied) || spent_at.elapsed() >= DUE_EVERY {
        return false;
    }
    assert!(!denied.allowed, "{denied:?}");
    assert!(hint <= DUE_EVERY, "one unit is due by then: {hint:?}");
    tokio::time::sleep((hint - SLACK.min(hint)).saturating_sub(received.elapsed())).await;
    let (early, shorter, _, again) = ask(1).await;
    if away(&early) || sent.elapsed() >= hint {
        return false;
    }
    assert!(!early.allowed, "{early:?}");
    assert!(shorter <= hint && shorter <= SLACK, "{shorter:?} was left");
    tokio::time::sleep((again + shorter).saturating_duration_since(now())).await;
    let (retried, ..) = ask(1).await;
    if away(&retried) {
        return false;
    }
    assert!(retried.allowed, "{retried:?}");
    let (next, ..) = ask(1).await;
    if spent_at.elapsed() >= 2 * DUE_EVERY {
        return false;
    }
    assert!(!next.allowed, "only one unit was due");
    true
}
