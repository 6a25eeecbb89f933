//! Holders of limits that are out of reach: a decision all the same, as the policy says.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::calls::{charge, charge_keys, together};
use weir_tests::clock::now;
use weir_tests::witness::Fault;

use crate::limits::{
    TRIES, alone, await_allowed, await_left, decide, decide_once, key_in, start, still, take,
};

const BOUND: u64 = 10;

/// How long a decision takes at most that is made without the holder, on a busy machine.
const ANSWERED: Duration = Duration::from_secs(8);

fn limits() -> Value {
    let with = |on_unavailable: &str| {
        let mut body = still(BOUND);
        body["on_unavailable"] = json!(on_unavailable);
        body
    };
    json!({
        "strict": still(BOUND),
        "denies": with("deny"),
        "lenient": with("allow"),
        "other": still(BOUND),
        "mixed": { "all": ["lenient", "other"] },
        "either": { "any": ["strict", "other"] },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_out_of_reach_denies_or_allows_as_the_policy_says() {
    let workerd = start(alone().witnessed(), limits()).await;
    let (client, witness) = (workerd.client(0).unwrap(), workerd.witness().unwrap());
    for limit in ["strict", "denies", "lenient"] {
        assert!(take(&client, limit, "k", 1).await.allowed);
    }
    // Those that are open have nothing drawn ahead any more.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    witness
        .fault("Region/decide", Fault::Refuse, 1_000_000)
        .await
        .unwrap();
    for (limit, allowed) in [("strict", false), ("denies", false), ("lenient", true)] {
        let asked = now();
        // All that is left: more than an isolate that has not given back what it drew ahead has of it.
        let decision = decide_once(&client, &charge(limit, "k", BOUND - 1)).await;
        assert_eq!(
            (decision.allowed, decision.reason, decision.binding.as_str()),
            (allowed, Reason::Unavailable, limit),
            "{decision:?}"
        );
        assert_eq!(decision.retry_after_ms == Some(0), allowed, "{decision:?}");
        assert!(asked.elapsed() < ANSWERED, "{limit}: {:?}", asked.elapsed());
    }
    witness.calm().await.unwrap();
    for limit in ["strict", "denies", "lenient"] {
        await_left(&client, limit, "k", BOUND - 1).await;
        assert!(
            take(&client, limit, "k", BOUND - 1).await.allowed,
            "{limit}"
        );
    }
}

/// What is excused does not deny; what is not is asked as ever.
#[tokio::test(flavor = "multi_thread")]
async fn the_rest_of_a_question_is_decided_without_the_one_that_is_out_of_reach() {
    let workerd = start(alone().witnessed(), limits()).await;
    let (client, witness) = (workerd.client(0).unwrap(), workerd.witness().unwrap());
    let (near, far) = (key_in(0, 0), key_in(1, 0));
    // The shard of one key alone is out of reach, when the other is drawn from or asked afterwards.
    let strict = together(
        "pro:a",
        &[charge("strict", &near, 1), charge("other", &far, 1)],
    );
    witness
        .fault("Region/decide", Fault::Refuse, 1)
        .await
        .unwrap();
    let denied = decide_once(&client, &strict).await;
    assert_eq!(
        (denied.allowed, denied.reason),
        (false, Reason::Unavailable)
    );
    await_left(&client, "strict", &near, BOUND).await;
    await_left(&client, "other", &far, BOUND).await;
    let mut one = None;
    for nth in 1..=TRIES {
        let (strict, other) = (key_in(0, nth), key_in(1, nth));
        let either = charge_keys("either", &[("strict", &strict), ("other", &other)], 1);
        witness.calm().await.unwrap();
        witness
            .fault("Region/decide", Fault::Refuse, 1)
            .await
            .unwrap();
        let decision = decide_once(&client, &either).await;
        // Where the machine stands still the other is out of reach, too.
        let both = decision.reason == Reason::Unavailable;
        one = Some(decision);
        if !both {
            break;
        }
    }
    let one = one.expect("a decision");
    assert!(one.allowed, "one of two is enough: {one:?}");
    assert_eq!(one.reason, Reason::Admitted);
    let mixed = charge_keys("mixed", &[("lenient", &near), ("other", &far)], BOUND);
    witness.calm().await.unwrap();
    await_allowed(
        &client,
        &charge_keys(
            "mixed",
            &[("lenient", &near), ("other", &key_in(2, 0))],
            BOUND,
        ),
    )
    .await;
    let used = decide(&client, &mixed).await;
    assert!(
        !used.allowed,
        "the lenient one answers, and denies: {used:?}"
    );
}
