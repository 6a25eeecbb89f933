//! Budgets.

use std::time::Duration;

use weir_shared::wire::check::{DecisionBody, Reason};
use weir_tests::client::{Checked, Client};
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::{BUDGET, policy};
use weir_tests::workerd::{REGIONS, Setup};

use crate::check::headers::{assert_rate_limit, assert_retry_after};
use crate::check::{COUNTED, LONG_MS, deployment};

#[tokio::test]
async fn a_budget_check_is_answered_in_full() {
    let (workerd, revision) = deployment(Setup::three_regions(), policy(1_000, LONG_MS)).await;
    let client = workerd.client(1).unwrap();
    let asked = epoch_ms();
    let Checked { decision, reply } = client
        .check_budget_once_there("enterprise:acme", BUDGET, 5)
        .await;
    assert!(decision.allowed);
    assert_eq!(
        (decision.reason, decision.retry_after_ms),
        (Reason::Admitted, Some(0))
    );
    assert_eq!(
        (
            decision.limit,
            decision.binding.as_str(),
            decision.region.as_str()
        ),
        (1_000, BUDGET, REGIONS[1])
    );
    assert_eq!(decision.policy_revision, revision);
    assert!(decision.window.is_some(), "{decision:?}");
    assert!(decision.remaining <= 995, "{decision:?}");
    let now = epoch_ms();
    assert!(
        decision.reset_at > now && decision.reset_at <= now + LONG_MS,
        "{decision:?} at {now}"
    );
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("retry-after"), None);
    assert_rate_limit(&reply, &decision, asked, (1_000, LONG_MS / 1_000));

    let same_window = workerd
        .client(2)
        .unwrap()
        .check_budget_once_there("pro:hooli", BUDGET, 1)
        .await
        .decision;
    assert_eq!(
        (same_window.window, same_window.region.as_str()),
        (decision.window, REGIONS[2])
    );
}

#[tokio::test]
async fn a_budget_gives_its_last_unit_and_then_denies() {
    let (workerd, _) = deployment(Setup::three_regions(), policy(1_000, LONG_MS)).await;
    let client = workerd.client(0).unwrap();
    assert!(
        client
            .check_budget_once_there("pro:a", BUDGET, 5)
            .await
            .decision
            .allowed
    );
    let rest = await_admitted(&client, "pro:b", 995).await;
    assert_eq!(rest.remaining, 0);
    for client in workerd.clients().unwrap() {
        let asked = epoch_ms();
        let Checked { decision, reply } = client.check_budget_once_there("pro:a", BUDGET, 1).await;
        assert!(!decision.allowed);
        assert_eq!(
            (decision.reason, decision.remaining, decision.window),
            (Reason::CapReached, 0, rest.window)
        );
        assert_eq!(reply.status, 200);
        assert_retry_after(&reply, decision.retry_after_ms.unwrap());
        assert_rate_limit(&reply, &decision, asked, (1_000, LONG_MS / 1_000));
    }
}

/// The first admission: what other holders were lent and do not need comes back, and a window that is told to end at
/// an instant ends a round trip later.
async fn await_admitted(client: &Client, tenant: &str, cost: u64) -> DecisionBody {
    let start = now();
    loop {
        let decision = client
            .check_budget(tenant, BUDGET, cost)
            .await
            .unwrap()
            .decision;
        if decision.allowed {
            return decision;
        }
        assert!(
            start.elapsed() < COUNTED,
            "{cost} are left and do not come: {decision:?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_window_rolls_and_the_budget_is_back() {
    let (workerd, _) = deployment(Setup::isolates(&["weur"]), policy(10, 2_000)).await;
    let client = workerd.client(0).unwrap();
    let await_all = async || await_admitted(&client, "pro:a", 10).await;
    let mut windows = Vec::new();
    // It begins with a window, so that what is asked twice is asked in one.
    tokio::time::sleep(Duration::from_millis(2_000 - epoch_ms() % 2_000)).await;
    let mut all = await_all().await;
    while windows.len() < 3 {
        let next = client
            .check_budget_once_there("pro:a", BUDGET, 10)
            .await
            .decision;
        if next.allowed {
            // The next window had begun.
            assert!(next.window > all.window, "{next:?} after {all:?}");
            all = next;
            continue;
        }
        windows.push(all.window.unwrap());
        let retry_after_ms = next.retry_after_ms.unwrap();
        assert!((1..=2_000).contains(&retry_after_ms), "{next:?}");
        tokio::time::sleep(Duration::from_millis(retry_after_ms)).await;
        all = await_all().await;
    }
    assert!(
        windows.is_sorted() && windows[0] < windows[1] && windows[1] < windows[2],
        "{windows:?}"
    );
}
