//! A policy is replaced by who has seen it, and by nobody else.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use weir_tests::client::Client;
use weir_tests::fixtures::{BUDGET, policy, with};
use weir_tests::reply::Reply;
use weir_tests::within::until;
use weir_tests::workerd::Setup;
use weir_tests::workload::Workload;

use crate::bad_input::{LONG_MS, assert_problem, still};

/// How often nine changes at a time are tried.
const TRIES: u32 = 5;

#[tokio::test]
async fn a_policy_is_replaced_only_by_who_has_seen_it() {
    let workerd = Setup::three_regions().start().await.unwrap();
    let first = workerd.apply(&still()).await.unwrap();
    let client = workerd.client(0).unwrap();
    let wanted = with(still(), "/budgets/tokens/limit", json!(70));

    let blind = client.put_policy(&wanted, None).await.unwrap();
    assert_problem("without If-Match", &blind, 428, None);
    for stale in ["\"0\"", "\"999999\"", "\"x\"", "\"\""] {
        let reply = client.put_policy(&wanted, Some(stale)).await.unwrap();
        assert_problem(&format!("If-Match: {stale}"), &reply, 412, None);
    }
    assert_eq!(client.policy().await.unwrap(), first, "nothing was changed");

    let reply = client.put_policy(&wanted, Some(&first.etag)).await.unwrap();
    let saved: Value = reply.ok().unwrap();
    assert_eq!(saved["budgets"][BUDGET]["limit"], 70);
    let second = client.policy().await.unwrap();
    assert_eq!(reply.header("etag"), Some(second.etag.as_str()));
    assert_eq!(second.document, saved);
    assert!(second.revision().unwrap() > first.revision().unwrap());
    let again = client.put_policy(&wanted, Some(&first.etag)).await.unwrap();
    assert_problem("the same If-Match again", &again, 412, None);
}

#[tokio::test]
async fn of_concurrent_changes_one_wins_and_the_others_are_told() {
    let workerd = Setup::three_regions().start().await.unwrap();
    workerd.apply(&still()).await.unwrap();
    let clients = workerd.clients().unwrap();
    let mut attempt = 0;
    while !one_wins(&clients).await {
        attempt += 1;
        assert!(attempt < TRIES, "the registry was too busy each time");
    }
}

/// Nine changes at a time; false where a busy machine had no time for one of them.
async fn one_wins(clients: &[Client]) -> bool {
    let before = clients[0].policy().await.unwrap();
    let puts = (0..9_usize).map(|index| {
        let document = with(still(), "/budgets/tokens/limit", json!(100 + index));
        let (client, etag) = (clients[index % 3].clone(), before.etag.clone());
        async move { client.put_policy(&document, Some(&etag)).await.unwrap() }
    });
    let replies = join_all(puts).await;
    if replies.iter().any(|reply| reply.status == 503) {
        return false;
    }
    let (won, lost): (Vec<Reply>, Vec<Reply>) =
        replies.into_iter().partition(|reply| reply.status == 200);
    assert_eq!(won.len(), 1);
    for reply in lost {
        assert_problem("a change that lost", &reply, 412, None);
    }
    let winner: Value = won[0].ok().unwrap();
    assert_eq!(clients[0].policy().await.unwrap().document, winner);
    true
}

/// In every region, idle or under load, within a second of the answer to the `PUT`.
#[tokio::test(flavor = "multi_thread")]
async fn a_saved_policy_is_in_force_everywhere_within_a_second() {
    const IN_FORCE: Duration = Duration::from_secs(1);
    let workerd = Setup::three_regions().start().await.unwrap();
    workerd.apply(&policy(1_000, LONG_MS)).await.unwrap();
    let clients = workerd.clients().unwrap();
    // The last region is left idle.
    let load = Workload::new(clients[..2].to_vec(), BUDGET).start();
    for limit in [2_000, 3_000, 2_500] {
        let saved = clients[0]
            .save_policy(&policy(limit, LONG_MS))
            .await
            .unwrap();
        let revision = saved.revision().unwrap();
        let decides_by = async |client: &Client| {
            let checked = client.check_budget("pro:a", BUDGET, 0).await.unwrap();
            checked.decision.policy_revision
        };
        let took = join_all(clients.iter().map(async |client| {
            until(IN_FORCE, async || decides_by(client).await >= revision).await
        }));
        println!("limit {limit} in force everywhere after {:?}", took.await);
        for client in &clients {
            let decision = client
                .check_budget("pro:a", BUDGET, 0)
                .await
                .unwrap()
                .decision;
            assert_eq!(
                (decision.policy_revision, decision.limit),
                (revision, limit)
            );
        }
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    load.stop().await.unwrap();
}
