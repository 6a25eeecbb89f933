//! The shards of meters and guards out of reach: a decision all the same, as the policy says.

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_shared::wire::guard::AcquiredBody;
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::witness::Fault;
use weir_tests::workerd::Setup;

use crate::metering::{
    SETTLING, acquire, acquire_once, await_left, release, slot_call, start, still, take_once,
};

fn lenient(body: Value) -> Value {
    with(body, "/on_unavailable", json!("allow"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_of_the_deployment_out_of_reach_denies_or_allows_as_the_policy_says() {
    let meters = json!({ "strict": still(10), "lenient": lenient(still(10)) });
    let guard = json!({ "concurrency": 2, "per_minute": 100, "lease_ms": 60_000 });
    let free = json!({ "concurrency": "unlimited", "per_minute": "unlimited" });
    let guards = json!({ "strict": guard, "lenient": lenient(guard.clone()), "free": free });
    let setup = Setup::isolates(&["weur"]).witnessed();
    let workerd = start(setup, meters, guards).await;
    let (client, witness) = (workerd.client(0).unwrap(), workerd.witness().unwrap());
    witness
        .fault("Coordinator/decide", Fault::Refuse, 1_000_000)
        .await
        .unwrap();
    for (meter, allowed) in [("strict", false), ("lenient", true)] {
        let asked = now();
        let decision = take_once(&client, "pro:a", meter, 2).await;
        assert_eq!(
            (decision.allowed, decision.reason),
            (allowed, Reason::Unavailable),
            "{decision:?}"
        );
        assert!(asked.elapsed() < SETTLING);
    }
    let refused = acquire_once(&client, "strict", "pro:a").await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    // What lets pass without its guard is given a slot that holds nothing.
    for guard in ["lenient", "free"] {
        let slot: AcquiredBody = acquire(&client, guard, "pro:a").await.ok().unwrap();
        assert!(slot_call(&client, guard, "renew", &slot.slot).await.held);
        assert!(!release(&client, guard, &slot.slot).await.held);
    }
    witness.calm().await.unwrap();
    for meter in ["strict", "lenient"] {
        await_left(&client, "pro:a", meter, 10).await;
    }
    for _ in 0..2 {
        assert_eq!(
            acquire(&client, "strict", "pro:a").await.status,
            200,
            "no slot was lost"
        );
    }
    assert_eq!(acquire(&client, "strict", "pro:a").await.status, 429);
}

/// An answer that is lost on its way: the slot and the units that were charged for it come back.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_charged_for_a_lost_answer_is_undone() {
    let meters = json!({ "m": still(10) });
    let guards = json!({ "queries": { "concurrency": 1, "per_minute": 10, "lease_ms": 60_000 } });
    let setup = Setup::isolates(&["weur"]).witnessed();
    let workerd = start(setup, meters, guards).await;
    let (client, witness) = (workerd.client(0).unwrap(), workerd.witness().unwrap());
    witness
        .fault("Coordinator/decide", Fault::Lose, 1)
        .await
        .unwrap();
    let lost = take_once(&client, "pro:a", "m", 4).await;
    assert_eq!((lost.allowed, lost.reason), (false, Reason::Unavailable));
    await_left(&client, "pro:a", "m", 10).await;
    witness
        .fault("Coordinator/decide", Fault::Lose, 1)
        .await
        .unwrap();
    let lost = acquire_once(&client, "queries", "pro:a").await;
    assert_eq!(lost.status, 503);
    let started = now();
    while acquire(&client, "queries", "pro:a").await.status != 200 {
        assert!(
            started.elapsed() < SETTLING,
            "the slot of a lost answer stays taken"
        );
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// A release that does not get through can be tried again, and the slot lapses if it is not.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_is_lost_can_be_repeated() {
    let guards =
        json!({ "queries": { "concurrency": 1, "per_minute": "unlimited", "lease_ms": 60_000 } });
    let setup = Setup::isolates(&["weur"]).witnessed();
    let workerd = start(setup, json!({}), guards).await;
    let (client, witness) = (workerd.client(0).unwrap(), workerd.witness().unwrap());
    let slot = crate::metering::acquired(&client, "queries", "pro:a")
        .await
        .slot;
    for kind in [Fault::Refuse, Fault::Lose] {
        witness.fault("Coordinator/guard", kind, 1).await.unwrap();
        let path = "/v1/guards/queries/release";
        let reply = client.post(path, &json!({ "slot": slot })).await.unwrap();
        assert_eq!(reply.status, 503, "{kind:?}: {}", reply.text());
        assert!(!release(&client, "queries", &slot).await.held, "{kind:?}");
    }
    assert_eq!(acquire(&client, "queries", "pro:a").await.status, 200);
}
